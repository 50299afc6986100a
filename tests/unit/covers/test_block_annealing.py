from itertools import combinations

import numpy as np
import pytest

from covote.covers.blocks import OWN, pair_counts, uniform_need
from covote.covers.random_kernels import random_state
from covote.covers.search.block_annealing import Attempt, anneal, change, fewer_blocks, swap
from covote.covers.search.greedy import greedy
from covote.progress import Work

KNOWN_OPTIMA = {
    (7, 3): 7,
    (9, 3): 12,
    (13, 4): 13,
    (10, 6): 4,
    (10, 4): 9,
    (16, 4): 20,
    (15, 7): 7,
    (21, 5): 21,
    (12, 6): 6,
}


def shortfall(blocks, classes, times):
    counts = sum(pair_counts([block], classes) for block in blocks)
    return int(np.maximum(0, times - counts)[np.triu_indices(classes, 1)].sum())


@pytest.mark.parametrize(("cell", "optimum"), KNOWN_OPTIMA.items())
def test_known_optima_are_found(cell, optimum):
    classes, size = cell
    cover = anneal(greedy(classes, size), classes, moves=3_000_000, lower=optimum)
    assert len(cover) == optimum
    assert shortfall(cover, classes, 1) == 0


def test_twofold_cover_of_ten_by_four_needs_fifteen():
    cover = anneal(greedy(10, 4, 2), 10, 2, moves=3_000_000, lower=15)
    assert len(cover) == 15
    assert shortfall(cover, 10, 2) == 0


@pytest.mark.parametrize("times", [1, 2])
def test_the_change_is_the_difference_of_two_shortfalls(times):
    rng = np.random.default_rng(times)
    sizes = np.repeat(np.array([4, 3], np.int32), 4 * times)
    blocks = np.array([rng.permutation(9)[:4] for _ in sizes], np.int32)
    blocks[sizes == 3, 3] = -1
    need = uniform_need(9, times)
    attempt = Attempt(blocks, sizes, need)
    for _ in range(200):
        i = rng.integers(len(blocks))
        slot = rng.integers(sizes[i])
        y = rng.choice(np.setdiff1d(np.arange(9), attempt.blocks[i]))
        before = attempt.blocks.copy()
        after = before.copy()
        after[i, slot] = y
        delta = change(before[i, : sizes[i]], before[i, slot], y, attempt.tables.slack)
        assert delta == lack(after, need) - lack(before, need)
        swap(i, slot, y, attempt.tables)
        assert_tables_tell_the_truth(attempt, after, need)


def held(blocks, x, y):
    return sum({x, y} <= set(block) for block in blocks.tolist())


def lack(blocks, need):
    return sum(need[x, y] - held(blocks, x, y) for x, y in short_pairs(blocks, need))


def short_pairs(blocks, need):
    return {(x, y) for x, y in combinations(range(len(need)), 2) if held(blocks, x, y) < need[x, y]}


def assert_tables_tell_the_truth(attempt, expected, need):
    blocks, sizes, slack, owners, place, degree, uncovered, position, cost = attempt.tables
    assert (blocks == expected).all()
    for x, y in combinations(range(len(need)), 2):
        assert slack[x, y] == slack[y, x] == held(blocks, x, y) - need[x, y]
    assert (slack.diagonal() == OWN).all()
    pairs = uncovered[: cost[0]]
    assert {tuple(pair) for pair in pairs.tolist()} == short_pairs(blocks, need)
    assert (position[pairs[:, 0], pairs[:, 1]] == np.arange(cost[0])).all()
    for x in range(len(slack)):
        slots = owners[x, : degree[x]]
        assert sorted(slots) == np.flatnonzero(blocks.ravel() == x).tolist()
        assert (place.ravel()[slots] == np.arange(degree[x])).all()
    assert degree.sum() == sizes.sum()


def test_blocks_of_unequal_sizes_move_up_when_one_goes():
    sizes = np.array([4, 4, 3, 3, 3], np.int32)
    start = np.array([[0, 1, 2, 3], [0, 1, 4, 5], [2, 3, 4, -1], [2, 3, 5, -1], [0, 1, 2, -1]], np.int32)
    fewer = fewer_blocks(start, sizes, uniform_need(6), 0, random_state(0), 1, Work(0))
    assert len(fewer) == 5
    fewer = fewer_blocks(start, sizes, uniform_need(6), 100_000, random_state(0), 4, Work(100_000))
    assert len(fewer) == 4
    assert ((fewer >= 0).sum(axis=1) == sizes[:4]).all()
    assert shortfall([row[:size] for row, size in zip(fewer, sizes, strict=False)], 6, 1) == 0


def test_the_search_pauses_and_stops_when_told():
    seen = []

    def stop(made, total, words):
        seen.append(made)
        if len(seen) == 3:
            raise KeyboardInterrupt

    cover = anneal(greedy(20, 5), 20, moves=10**12, work=Work(10**12, stop))
    assert len(seen) == 3
    assert shortfall(cover, 20, 1) == 0


def test_no_moves_leave_the_pruned_start():
    start = [[0, 1, 2], [0, 1, 3], [2, 3, 0], [1, 2, 3]]
    assert len(anneal(start, 4, moves=0)) == 3


def test_a_single_block_stays():
    assert anneal([[0, 1, 2]], 3, moves=100).tolist() == [[0, 1, 2]]


def test_another_seed_walks_another_way():
    first, second = random_state(1), random_state(2)
    assert (first != second).all()
    assert (first == random_state(1)).all()
