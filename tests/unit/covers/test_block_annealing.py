import numpy as np
import pytest

from covote.covers.pruning import pair_counts
from covote.covers.random_kernels import chance
from covote.covers.search.block_annealing import _Attempt, anneal
from covote.covers.search.block_annealing_kernels import OWN, change, swap
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
    counts = pair_counts(blocks, classes)
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
    blocks = np.array([rng.permutation(9)[:4] for _ in range(8 * times)], np.int32)
    attempt = _Attempt(blocks, 9, times)
    for _ in range(200):
        i, slot = rng.integers(len(blocks)), rng.integers(4)
        y = rng.choice(np.setdiff1d(np.arange(9), attempt.blocks[i]))
        before = attempt.blocks.copy()
        after = before.copy()
        after[i, slot] = y
        delta = change(before[i], before[i, slot], y, attempt.tables.counts, times)
        assert delta == shortfall(after, 9, times) - shortfall(before, 9, times)
        swap(i, slot, y, attempt.tables, times)
        assert_tables_tell_the_truth(attempt, after, times)


def assert_tables_tell_the_truth(attempt, expected, times):
    blocks, counts, owners, place, degree, uncovered, position, cost = attempt.tables
    b, k = blocks.shape
    assert (blocks == expected).all()
    truth = pair_counts(blocks, len(counts))
    np.fill_diagonal(truth, OWN)
    assert (counts == truth).all()
    pairs = uncovered[: cost[0]]
    assert {tuple(pair) for pair in pairs.tolist()} == {
        (x, y) for x in range(len(truth)) for y in range(x + 1, len(truth)) if truth[x, y] < times
    }
    assert (position[pairs[:, 0], pairs[:, 1]] == np.arange(cost[0])).all()
    for x in range(len(counts)):
        slots = owners[x, : degree[x]]
        assert sorted(slots) == np.flatnonzero(blocks.ravel() == x).tolist()
        assert (place.ravel()[slots] == np.arange(degree[x])).all()
    assert degree.sum() == b * k


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
    first, second = chance(1), chance(2)
    assert (first != second).all()
    assert (first == chance(1)).all()
