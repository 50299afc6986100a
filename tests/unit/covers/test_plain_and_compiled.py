"""Plain Python and compiled kernels find the same: a seed means one panel, whatever pays."""

import numpy as np
import pytest

from covote import Panel, complete, design, select
from covote.compiled import kernel_mode
from covote.covers.random_kernels import random_state
from covote.covers.search.block_annealing import anneal
from covote.covers.search.blow_ups import anneal_blowup
from covote.covers.search.dual_annealing import anneal_sets, random_start
from covote.covers.search.greedy import greedy
from covote.covers.search.symmetric_covers import symmetric_cover
from tests.plain_covers import covers


def dual(classes, size, experts, times=1):
    masks = random_start(classes, experts, size, np.random.default_rng(0))
    anneal_sets(masks, experts, size, moves=3_000, state=random_state(1), times=times, hot=1.0)
    return masks


POOL = Panel.from_blocks(
    6, [[0, 1, 2, 3], [2, 3, 4, 5], [0, 1, 4, 5], [0, 2, 4], [1, 3, 5]], cost=[3, 2, 2, 1, 1]
)
GAPS = Panel.from_blocks(9, [[0, 1, 2], [3, 4, 5]])

CASES = {
    "greedy": lambda: greedy(13, 4, 2, seed=3),
    "block annealing": lambda: anneal(greedy(11, 4, seed=1), 11, moves=4_000, seed=2),
    "dual annealing": lambda: dual(20, 5, 20),
    "dual annealing, many experts": lambda: dual(30, 4, 80),
    "dual annealing, times 2": lambda: dual(12, 5, 14, times=2),
    "blow-up": lambda: anneal_blowup(greedy(7, 3), 17, 7, moves=3_000, seed=1),
    "symmetric": lambda: symmetric_cover(13, 4, target=15, moves=8_000, seed=1),
    "triples": lambda: design(14, 3, effort="fast").knows,
    "transversal design": lambda: design(10, 4, effort="fast").knows,
    "paper": lambda: design(9, 4, method="paper").knows,
    "random": lambda: design(9, 4, method="random").knows,
    "complete": lambda: complete(GAPS, 4, effort="fast").knows,
    "capacities": lambda: design(8, [5, 4, 4, 4, 4, 3], effort="fast").knows,
    "select": lambda: select(POOL, effort="fast").knows,
}


@pytest.mark.parametrize("case", CASES)
def test_both_ways_give_the_same(case):
    with kernel_mode("plain"):
        plain = CASES[case]()
    with kernel_mode("compiled"):
        compiled = CASES[case]()
    assert np.array_equal(plain, compiled)


@pytest.mark.slow
def test_a_plain_design_covers():
    with kernel_mode("plain"):
        panel = design(12, 5, effort="fast")
    assert covers([np.flatnonzero(row) for row in panel.knows], 12)
