"""The paper's bounds: its formulas, its examples, and the ends of the range."""

import math
from fractions import Fraction

import pytest

from covote.bounds import (
    conditional_entropy,
    counting_bound,
    fano_bound,
    greedy_guarantee,
    random_cover_bound,
    random_panel_bound,
    two_group_bound,
)
from covote.errors import InputError


def test_one_versus_one_and_one_expert_for_all_are_the_ends():
    assert counting_bound(10, 2) == 45
    assert counting_bound(10, 10) == 1
    assert two_group_bound(10, 2) == 45
    assert two_group_bound(11, 11) == 1


def test_thm_2_counts_exactly_where_floats_would_not():
    classes = 3 * 10**9
    assert counting_bound(classes, 2) == classes * (classes - 1) // 2


def test_thm_3_in_its_two_forms():
    assert random_cover_bound(10, 4) == math.ceil(7.5 * math.log(45) + 1)
    assert random_cover_bound(10, 4, delta=0.05) == math.ceil(7.5 * math.log(900))
    assert random_cover_bound(2, 2) == 1


def test_the_greedy_guarantee_is_a_harmonic_number():
    for size in (2, 3, 6, 100):
        pairs = size * (size - 1) // 2
        assert greedy_guarantee(size) == pytest.approx(
            float(sum(Fraction(1, i) for i in range(1, pairs + 1)))
        )


def test_the_long_harmonic_number_continues_the_short_one():
    short, long = greedy_guarantee(141), greedy_guarantee(142)  # 9,870 and 10,011 pairs
    assert long - short == pytest.approx(math.fsum(1 / i for i in range(9_871, 10_012)), abs=1e-12)


def test_lemma_4_vanishes_when_experts_know_everything():
    assert conditional_entropy(10, 10, 5) == 0
    assert conditional_entropy(10, 4, 0) == 0
    assert conditional_entropy(10, 5, 3) == pytest.approx(1.5 * math.log(5))


def test_thm_4_grows_as_the_corrected_remark_says():
    """For R = K^a the bound is about K^(1-a) / a, not K."""
    for exponent in (0.25, 0.5):
        ratios = [
            fano_bound(K, round(K**exponent), 1e-9) / (K ** (1 - exponent) / exponent)
            for K in (10**8, 10**12, 10**16)
        ]
        assert all(0.8 < ratio < 1.01 for ratio in ratios)


def test_thm_5_with_experts_that_know_everything():
    assert random_panel_bound(7, 7, 0.01) == 1


def test_a_small_problem_needs_no_expert_by_fano():
    assert fano_bound(2, 2, 0.4) == 0


@pytest.mark.parametrize("delta", [0.0, 1.0, -1, float("inf"), "rarely"])
def test_a_delta_that_is_no_probability(delta):
    with pytest.raises(InputError, match="delta"):
        random_cover_bound(10, 4, delta=delta)
