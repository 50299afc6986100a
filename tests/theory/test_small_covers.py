"""The ratios that few experts can reach are proved again, and heavier claims are refused."""

import importlib.util
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from covote.bounds.small import RATIOS

PROVER = Path(__file__).parents[2] / "benchmarks" / "prove_small_covers.py"


def load_prover():
    spec = importlib.util.spec_from_file_location("prove_small_covers", PROVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prover = load_prover()
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
