from itertools import combinations, product

import numpy as np
import pytest

from covote.covers import design
from covote.covers.blocks import Cover
from covote.covers.constructions.planes import projective_plane
from covote.covers.search.dual_annealing import blocks_of, masks_of
from covote.covers.search.integer_weights import best_twins, fitting_weights, settle_bases, settle_twins
from covote.covers.search.integer_weights_kernels import minimal_hits
from covote.covers.search.state import Search
from covote.progress import Work
from tests.plain_covers import covers

FANO = masks_of(projective_plane(2), 7)  # each point is the set of the three lines through it


def as_bits(sets):
    return np.array([[sum(1 << j for j in s), 0] for s in sets], dtype=np.uint64)


@pytest.mark.parametrize("core", [[{0, 1}], [{0, 1}, {1, 2}, {3, 4, 5}], [{0, 1, 2}, {2, 3, 4}, {0, 4, 5}]])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_minimal_hits_are_those_of_a_plain_search(core, most):
    def hits(chosen):
        return all(chosen & part for part in core)

    expected = {
        frozenset(chosen)
        for size in range(1, most + 1)
        for chosen in map(set, combinations(range(6), size))
        if hits(chosen) and not any(hits(chosen - {x}) for x in chosen)
    }
    room = np.zeros((100, 2), np.uint64)
    found = room[: minimal_hits(as_bits(core), 6, most, room, 10_000)]
    assert len(found) == len(expected)
    assert {frozenset(j for j in range(6) if int(low) >> j & 1) for low, _ in found} == expected


def test_numbers_of_twins_are_balanced():
    uneven = np.ascontiguousarray(np.repeat(FANO, [4, 3, 2, 2, 1, 1, 1], axis=1))
    assert (np.bitwise_count(uneven[0]) == 3).all()
    balanced = best_twins(uneven, 7, 6)
    assert covers(blocks_of(balanced, 7, 6), 14)


def test_a_family_that_cannot_do_is_refused():
    assert best_twins(np.repeat(FANO, 3, axis=1), 7, 8) is None
    assert best_twins(FANO, 7, 3) is None  # no twins, no core


def test_fewer_experts_are_found():
    search = Search(14, 6, 7, 0, Work(1))
    search.best = Cover(np.zeros((8, 6), dtype=np.int32), "a size to beat")
    settle_twins(search)
    assert search.found.blocks.shape == (7, 6)
    assert covers(search.found.blocks, 14)


def test_a_smaller_cover_of_the_same_proportions_leads_to_an_optimal_one():
    base = design(16, 6)
    assert len(base) == 10
    blocks = np.array([np.flatnonzero(row) for row in base.knows], dtype=np.int32)
    search = Search(66, 25, 10, 0, Work(1))
    search.best = Cover(np.zeros((11, 25), dtype=np.int32), "a size to beat")
    search.bases = [Cover(blocks, "a smaller cover")]
    settle_bases(search)
    assert len(search.found.blocks) == 10
    assert covers(search.found.blocks, 66)


@pytest.mark.parametrize(("classes", "size"), [(14, 6), (15, 6), (15, 7), (16, 7)])
def test_weights_of_a_plane_fit_exactly_when_a_plain_search_says_so(classes, size):
    lines = projective_plane(2)
    fit = any(
        sum(weights) == classes and all(sum(weights[p] for p in line) <= size for line in lines)
        for weights in product(range(4), repeat=7)
    )
    weights = fitting_weights(lines, 7, classes, size)
    assert (weights is not None) == fit
    if fit:
        assert weights.sum() == classes
        assert (weights[lines].sum(axis=1) <= size).all()


def test_few_large_experts_are_proved_optimal_by_a_normal_effort():
    assert design(50, 19).certificate.optimal
