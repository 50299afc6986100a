"""Error probabilities: the exact error against brute force, and bounds that hold above it."""

from itertools import product

import numpy as np
import pytest

from covote import Panel, decode, simulate
from covote.bounds import (
    converse_bound,
    exact_error,
    fano_bound,
    panel_error_bound,
    parallel_classes_error,
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
        assert panel_error_bound(panel, pi) >= expected - 1e-12


def test_a_covering_panel_makes_no_error_at_all():
    panel = Panel.from_blocks(
        7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    )
    assert exact_error(panel) == 0.0
    assert panel_error_bound(panel) == 0.0


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
    assert 0 < error <= panel_error_bound(panel)
    with pytest.raises(TooLargeError, match="31"):
        exact_error(Panel.from_blocks(31, [list(range(31))]))


def test_tiny_errors_keep_their_digits():
    """Two groups that never meet: each class is confused with the other group's only."""
    blocks = [[0, 1, 2, 3]] * 12 + [[4, 5, 6, 7]] * 12
    panel = Panel.from_blocks(8, blocks)
    # Within its group the truth is certain; a class of the other group is alive with probability 4 * 4^-12,
    # and then the two tie: the error is half of that.
    assert exact_error(panel) == pytest.approx(0.5 * 4 * 4.0**-12, rel=1e-9)


def test_the_regular_bound_is_the_papers_special_case():
    """d = 2 authorities each: avg(g) R^-d / 2 with g = 4 classes that share no expert."""
    grid = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert panel_error_bound(Panel.from_blocks(9, grid)) == pytest.approx(4 / 9 / 2)
    assert parallel_classes_error(9, 3, 2) == pytest.approx(4 / 9 / 2)


def test_parallel_classes_end_with_the_full_plane():
    assert parallel_classes_error(9, 3, 4) == 0.0
    with pytest.raises(InputError, match="at most 4"):
        parallel_classes_error(9, 3, 5)
    with pytest.raises(InputError, match="such as 5"):
        parallel_classes_error(10, 4, 1)


@pytest.mark.parametrize(
    ("classes", "size"), [(2, 2), (3, 2), (10, 4), (12, 6), (30, 29), (100, 12), (1000, 40)]
)
@pytest.mark.parametrize("error", [0.001, 0.01, 0.2])
def test_lower_bounds_stay_below_upper_bounds(classes, size, error):
    lower = max(fano_bound(classes, size, error), converse_bound(classes, size, error))
    upper = [
        random_panel_bound(classes, size, error),
        random_panel_experts(classes, size, error),
        random_panel_experts(classes, size, error, exact=False),
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
    assert random_panel_error(*case) <= random_panel_error(*case, exact=False) + 1e-12


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
        panel_error_bound(panel, prior)


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


def error_of_tables(panel, prior, tables):
    """The same sum over all answer vectors, for given tables."""
    error = 1.0
    for answers in product(*(range(table.shape[1]) for table in tables)):
        chance = prior * np.prod([table[:, v] for table, v in zip(tables, answers, strict=True)], axis=0)
        error -= chance.max()
    return error


@pytest.mark.parametrize("seed", range(20))
def test_the_exact_error_of_given_tables_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    panel = random_panel(rng, classes=int(rng.integers(2, 6)), experts=int(rng.integers(1, 6)))
    prior = rng.dirichlet(np.ones(len(panel.classes)))
    tables = [rng.dirichlet(np.ones(known.sum()), len(panel.classes)) for known in panel.knows]
    for table in tables:
        table[rng.random(len(table)) < 0.5] = np.eye(table.shape[1])[0]
    expected = error_of_tables(panel, prior, tables)
    assert exact_error(panel, prior, tables=tables) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_with_the_same_tables_reaches_the_exact_error(seed):
    rng = np.random.default_rng([8, seed])
    panel = Panel.from_blocks(4, [[0, 1, 2], [1, 2, 3], [0, 3]])  # every class is known to an expert
    prior = rng.dirichlet(np.full(4, 3))
    tables = [rng.dirichlet(np.full(known.sum(), 0.5), 4) for known in panel.knows]
    truth = rng.choice(4, 20_000, p=prior)
    labels = decode(simulate(panel, truth, noise=tables), method="likelihood", tables=tables, prior=prior)
    assert 1 - labels.chances(truth).mean() == pytest.approx(
        exact_error(panel, prior, tables=tables), abs=0.015
    )


def test_tables_of_the_papers_model_give_the_papers_error():
    panel = Panel.from_blocks(6, [[0, 1, 2], [2, 3, 4], [4, 5, 0], [1, 3, 5]])
    tables = [np.where(known[:, None], np.eye(6), 1 / known.sum())[:, known] for known in panel.knows]
    assert exact_error(panel, tables=tables) == pytest.approx(exact_error(panel), abs=1e-12)


def test_identical_experts_of_a_large_panel_are_counted_not_listed():
    panel = Panel.from_blocks(2, [[0, 1]] * 41)
    tables = [np.array([[0.7, 0.3], [0.3, 0.7]])] * 41
    from scipy.stats import binom

    assert exact_error(panel, tables=tables) == pytest.approx(binom.cdf(20, 41, 0.7), rel=1e-9)


def test_too_many_different_likelihoods_are_refused():
    rng = np.random.default_rng(0)
    panel = Panel.from_blocks(6, [[0, 1, 2, 3, 4, 5]] * 14)
    tables = [rng.dirichlet(np.ones(6), 6) for _ in range(14)]
    with pytest.raises(TooLargeError, match="different likelihoods; estimate the error with simulate"):
        exact_error(panel, tables=tables)
