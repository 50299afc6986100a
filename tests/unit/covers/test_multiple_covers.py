from itertools import product

import numpy as np
import pytest

from covote.bounds import best_lower_bound
from covote.covers.blocks import pair_counts
from covote.covers.constructions.planes import projective_plane
from covote.covers.constructions.triples import triples
from covote.covers.search.greedy import greedy
from covote.covers.search.multiple_covers import fitting_weights, fold


def fewest(blocks, classes):
    return int(pair_counts(blocks, classes)[np.triu_indices(classes, 1)].min())


def test_ten_classes_by_four_twice_need_fifteen():
    blocks, _ = fold(greedy(10, 4), 10, 2, moves=4_000_000, lower=15)
    assert len(blocks) == 15
    assert fewest(blocks, 10) >= 2


@pytest.mark.parametrize("times", [1, 2, 3, 5])
@pytest.mark.parametrize(("classes", "size"), [(9, 3), (14, 7), (17, 5), (23, 21)])
def test_a_fold_covers_and_never_exceeds_the_copies(classes, size, times):
    single = greedy(classes, size)
    lower, _ = best_lower_bound(classes, size, times)
    blocks, how = fold(single, classes, times, moves=1_000_000, lower=lower)
    assert lower <= len(blocks) <= times * len(single)
    assert fewest(blocks, classes) >= times
    assert how


def test_copies_of_a_steiner_system_are_perfect():
    blocks, how = fold(triples(13), 13, 3, moves=10**9, lower=78)
    assert len(blocks) == 78
    assert how == "3 copies of a cover"


def test_no_moves_still_fold():
    blocks, _ = fold(greedy(12, 5), 12, 4, moves=0)
    assert fewest(blocks, 12) >= 4


def test_points_of_smaller_covers_stand_for_as_many_classes_as_fit():
    blocks, _ = fold(greedy(30, 13), 30, 3, moves=4_000_000, lower=19)
    assert len(blocks) == 19
    assert fewest(blocks, 30) >= 3


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
