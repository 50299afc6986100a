from itertools import combinations

import numpy as np

from covote.covers.blocks import pair_counts, prune


def test_pair_counts_count_the_blocks_of_each_pair():
    blocks = [[0, 1, 2], [3, 1, 0]]
    counts = pair_counts(blocks, 5)
    for x, y in combinations(range(5), 2):
        assert counts[x, y] == counts[y, x] == sum({x, y} <= set(block) for block in blocks)
    assert not counts.diagonal().any()


def test_pair_counts_of_nothing_are_zero():
    assert not pair_counts(np.zeros((0, 3), np.int32), 4).any()


def test_a_copy_of_a_block_goes_and_the_rest_stays():
    fano = [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    assert sorted(map(tuple, prune([*fano, fano[3]], 7))) == sorted(map(tuple, fano))


def test_what_others_cover_already_needs_no_block():
    covered = np.ones((4, 4), np.int32)
    covered[0, 3] = covered[3, 0] = 0
    assert prune([[0, 1], [1, 2], [0, 3]], 4, 1, covered).tolist() == [[0, 3]]


def test_all_copies_stay_that_the_fold_needs():
    assert len(prune([[0, 1, 2]] * 5, 3, times=3)) == 3


def test_blocks_that_leave_pairs_uncovered_keep_what_they_cover():
    assert prune([[0, 1], [0, 1], [1, 2]], 4).tolist() == [[0, 1], [1, 2]]
