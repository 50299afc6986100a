"""The ratios that few experts can reach are proved again, and heavier claims are refused."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from covote.bounds import best_lower_bound
from covote.bounds.cover_sizes import CELLS, RATIOS
from tests.conftest import benchmark

prover = benchmark("prove_small_covers")
cells = benchmark("prove_cells")
FAST = [experts for experts in RATIOS if experts <= 13]


@pytest.mark.parametrize("experts", FAST)
def test_few_experts_cover_no_more_than_the_ratio(experts):
    assert prover.prove(experts, RATIOS[experts]) >= 0


@pytest.mark.slow
@pytest.mark.parametrize("experts", [experts for experts in RATIOS if experts not in FAST])
def test_somewhat_more_experts_cover_no_more_than_the_ratio(experts):
    assert prover.prove(experts, RATIOS[experts]) >= 0


@pytest.mark.parametrize("experts", [4, 5, 8, 9])
def test_a_smaller_ratio_is_not_proved(experts):
    with pytest.raises(prover.NotProvedError, match="can weigh"):
        prover.prove(experts, RATIOS[experts] - Fraction(1, 1000))


def heaviest_family(experts):
    """Largest weight over all maximal families of pairwise meeting sets, one by one."""
    sets = [frozenset(c) for size in range(1, experts + 1) for c in combinations(range(experts), size)]
    best = 0.0

    def extend(family, rest):
        nonlocal best
        if not rest:
            load = np.array([[i in member for member in family] for i in range(experts)], dtype=float)
            answer = linprog(-np.ones(len(family)), A_ub=load, b_ub=np.ones(experts))
            best = max(best, -answer.fun)
            return
        first, others = rest[0], rest[1:]
        extend([*family, first], [other for other in others if other & first])
        disjoint = [other for other in others if not other & first]
        if disjoint:  # without `first`, some set that misses it must be in, or `first` could be added
            extend(family, others)

    extend([], sets)
    return best


@pytest.mark.parametrize("experts", [3, 4])
def test_the_ratio_is_the_heaviest_family_by_brute_force(experts):
    assert heaviest_family(experts) == pytest.approx(float(RATIOS[experts]))


def test_a_set_that_everyone_meets_splits_the_cells_and_keeps_every_type():
    """The patterns of a branch describe exactly the types that meet the fixed set and do not contain it."""
    node = prover.root(6, 3)
    chosen = np.array([1, 2])
    branch = prover.everyone_meets(node, chosen)
    assert branch.cells.tolist() == [1, 2, 2, 1]
    fixed = {0, 3, 4}  # one expert of the first cell {0,1,2}, two of the second {3,4,5}
    cells = [{0}, {1, 2}, {3, 4}, {5}]
    expected = set()
    for size in range(3, 7):
        for members in map(set, combinations(range(6), size)):
            first = {0, 1, 2}
            allowed = members & first and not members > first
            if allowed and members & fixed and not members > fixed:
                expected.add(tuple(len(members & cell) for cell in cells))
    assert {tuple(row) for row in branch.allowed.tolist()} == expected
    assert len(branch.allowed) == len(expected)


QUICK = [(12, 5, 8), (19, 8, 8), (60, 25, 8), (24, 9, 10)]


@pytest.mark.parametrize("cell", QUICK)
def test_a_single_cell_is_proved(cell):
    assert cell[:2] in CELLS[cell[2]]
    assert cells.prove_cell(cells.Cell(*cell)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("cell", [(v, k, m) for m, pairs in CELLS.items() for v, k in pairs])
def test_every_single_cell_is_proved(cell):
    assert cells.prove_cell(cells.Cell(*cell)) > 0


@pytest.mark.parametrize(
    ("classes", "size", "optimum"),
    [
        (4, 3, 3),
        (5, 3, 4),
        (6, 3, 6),
        (6, 4, 3),
        (7, 3, 7),
        (7, 5, 3),
        (8, 4, 6),
        (8, 5, 4),
        (9, 5, 5),
        (10, 6, 4),
    ],
)
def test_the_prover_of_cells_finds_the_known_optimum(classes, size, optimum):
    """One expert fewer than the optimum is refuted; the optimum is not."""
    assert cells.prove_cell(cells.Cell(classes, size, optimum - 1)) >= 0
    with pytest.raises(prover.NotProvedError, match="there is such a cover"):
        cells.prove_cell(cells.Cell(classes, size, optimum))


def test_the_paper_needs_its_nine_experts():
    """10 classes, size 4: proved as a single cell, and by the ratio for 8 experts."""
    assert cells.prove_cell(cells.Cell(10, 4, 8)) > 0
    assert best_lower_bound(10, 4)[0] == 9


def test_a_count_is_limited_without_losing_a_type():
    """After a count was limited, supersets of a set that everyone meets stay allowed."""
    node = cells.first_node(6, 3)
    free = cells.everyone_meets(node, np.array([1, 2]))
    limited = cells.everyone_meets(cells.count_limited(node, 0, 1)[0], np.array([1, 2]))
    assert len(limited.allowed) > len(free.allowed)
    assert limited.rows.shape == (1, len(limited.allowed))
