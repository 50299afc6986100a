"""Error probabilities: the exact error against brute force, and bounds that hold above it."""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from covote import Panel
from covote.bounds import (
    confusion_bound,
    converse_bound,
    exact_error,
    fano_bound,
    random_panel_bound,
    random_panel_error,
    random_panel_experts,
    random_partitions_bound,
)
from covote.errors import InputError, TooLargeError


def error_by_enumeration(panel, prior):
    """Sum over all answer vectors of the probability that is not the likeliest class's."""
    blocks = [np.flatnonzero(row) for row in panel.knows]
    right = 0.0
    for answers in product(*blocks):
        right += max(
            prior[k]
            * np.prod(
                [
                    float(y == k) if k in block else 1 / len(block)
                    for y, block in zip(answers, blocks, strict=True)
                ]
            )
            for k in range(len(panel.classes))
        )
    return 1 - right


def random_panel(rng, classes, experts):
    knows = np.zeros((experts, classes), dtype=bool)
    for row in knows:
        row[rng.choice(classes, size=rng.integers(1, min(4, classes) + 1), replace=False)] = True
    return Panel(classes, knows)


@pytest.mark.parametrize("seed", range(40))
def test_the_exact_error_equals_enumeration_of_all_answers(seed):
    rng = np.random.default_rng(seed)
    panel = random_panel(rng, classes=int(rng.integers(2, 8)), experts=int(rng.integers(0, 7)))
    prior = rng.dirichlet(np.ones(len(panel.classes)))
    for pi in (prior, np.full(len(prior), 1 / len(prior))):
        expected = error_by_enumeration(panel, pi)
        assert exact_error(panel, pi) == pytest.approx(expected, abs=1e-12)
        assert confusion_bound(panel, prior=pi) >= expected - 1e-12


def test_a_covering_panel_makes_no_error_at_all():
    panel = Panel.from_blocks(
        7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    )
    assert exact_error(panel) == 0.0
    assert confusion_bound(panel) == 0.0


def test_without_experts_only_the_likeliest_class_is_right():
    panel = Panel(4, np.zeros((0, 4), dtype=bool))
    assert exact_error(panel) == pytest.approx(0.75)
    assert exact_error(panel, [0.7, 0.1, 0.1, 0.1]) == pytest.approx(0.3)


def test_a_class_that_is_certain_leaves_no_error():
    panel = Panel.from_blocks(4, [[0, 1], [2, 3]])
    assert exact_error(panel, [0, 1, 0, 0]) == 0.0


def test_thirty_classes_are_exact_and_more_are_refused():
    pairs = [[k, (k + 1) % 30, (k + 7) % 30] for k in range(30)]
    panel = Panel.from_blocks(30, pairs)
    error = exact_error(panel)
    assert 0 < error <= confusion_bound(panel)
    with pytest.raises(TooLargeError, match="31"):
        exact_error(Panel.from_blocks(31, [list(range(31))]))


def test_tiny_errors_keep_their_digits():
    """Two groups that never meet: each class is confused with the other group's only."""
    blocks = [[0, 1, 2, 3]] * 12 + [[4, 5, 6, 7]] * 12
    panel = Panel.from_blocks(8, blocks)
    # Within its group the truth is certain; a class of the other group is alive with probability 4 * 4^-12,
    # and then the two tie: the error is half of that.
    assert exact_error(panel) == pytest.approx(0.5 * 4 * 4.0**-12, rel=1e-9)


@pytest.mark.parametrize(
    ("classes", "size"), [(2, 2), (3, 2), (10, 4), (12, 6), (30, 29), (100, 12), (1000, 40)]
)
@pytest.mark.parametrize("error", [0.001, 0.01, 0.2])
def test_lower_bounds_stay_below_upper_bounds(classes, size, error):
    lower = max(fano_bound(classes, size, error), converse_bound(classes, size, error))
    upper = [
        random_panel_bound(classes, size, error),
        random_panel_experts(classes, size, error),
    ]
    if classes % size == 0:
        upper.append(random_partitions_bound(classes, size, error))
    assert lower <= min(upper)


def confusion_by_multinomial(classes, size, experts):
    """(K-1)/2 E[R^-max(a, b); no common expert], summed over a and b with exact integers."""
    from fractions import Fraction
    from math import comb

    K, R, m = classes, size, experts
    one = Fraction(R * (K - R), K * (K - 1))
    neither = Fraction((K - R) * (K - R - 1), K * (K - 1))
    total = Fraction(0)
    for a in range(m + 1):
        for b in range(m - a + 1):
            ways = comb(m, a) * comb(m - a, b)
            total += ways * one ** (a + b) * neither ** (m - a - b) * Fraction(1, R ** max(a, b))
    return float(min(Fraction(1), Fraction(K - 1, 2) * total))


@pytest.mark.parametrize(
    "case", [(5, 2, 9), (6, 5, 4), (10, 4, 12), (20, 19, 30), (100, 12, 41), (4, 4, 3), (9, 3, 0)]
)
def test_the_union_bound_equals_its_definition(case):
    assert random_panel_error(*case) == pytest.approx(confusion_by_multinomial(*case), rel=1e-9)


def test_many_random_experts_need_no_long_sum():
    assert random_panel_error(10_000, 2, 103_226) <= 0.01 < random_panel_error(10_000, 2, 103_000)


@pytest.mark.parametrize(
    "prior", [[0.5, 0.5], [0.5, 0.6, -0.1], [1, 1, 1], ["a", "b", "c"], [np.nan, 0.5, 0.5]]
)
def test_a_prior_that_is_none(prior):
    panel = Panel.from_blocks(3, [[0, 1, 2]])
    with pytest.raises(InputError, match="prior"):
        exact_error(panel, prior)
    with pytest.raises(InputError, match="prior"):
        confusion_bound(panel, prior=prior)


@pytest.mark.parametrize("error", [0, 1, -0.1, float("nan"), "much"])
def test_an_error_that_is_no_probability(error):
    for bound in (
        fano_bound,
        converse_bound,
        random_panel_bound,
        random_partitions_bound,
        random_panel_experts,
    ):
        with pytest.raises(InputError, match="error"):
            bound(10, 5, error)


@pytest.mark.parametrize("experts", [2, 3, 4])
def test_duplicate_experts_help_no_more_than_distinct_ones(experts):
    subsets = list(combinations(range(4), 2))
    errors = {
        blocks: exact_error(Panel.from_blocks(4, [list(block) for block in blocks]))
        for blocks in combinations_with_replacement(subsets, experts)
    }
    distinct = [error for blocks, error in errors.items() if len(set(blocks)) == experts]
    assert min(distinct) <= 1e-12 + min(
        error for blocks, error in errors.items() if len(set(blocks)) < experts
    )
