import numpy as np
import pytest

from covote.covers.blocks import pair_counts
from covote.covers.constructions.planes import (
    affine_lines,
    affine_plane,
    most_groups,
    prime_factors,
    projective_lines,
    projective_plane,
    transversal_design,
)


def assert_every_pair_once(blocks, points):
    counts = pair_counts(blocks, points)
    assert counts.sum() == points * (points - 1)
    assert counts.max() == 1


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 11, 13])
def test_two_points_of_a_plane_are_on_one_line(q):
    assert projective_plane(q).shape == (q * q + q + 1, q + 1)
    assert_every_pair_once(projective_plane(q), q * q + q + 1)
    assert affine_plane(q).shape == (q * q + q, q)
    assert_every_pair_once(affine_plane(q), q * q)


@pytest.mark.parametrize(("dimension", "q"), [(2, 4), (3, 2), (3, 3), (4, 2), (3, 4)])
def test_two_points_of_a_space_are_on_one_line(dimension, q):
    assert_every_pair_once(projective_lines(dimension, q), (q ** (dimension + 1) - 1) // (q - 1))
    assert_every_pair_once(affine_lines(dimension, q), q**dimension)


def test_parallel_lines_come_together():
    lines = affine_plane(5).reshape(6, 5, 5)
    assert all(sorted(parallel.ravel()) == list(range(25)) for parallel in lines)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6, 8, 9, 12, 15, 20, 25, 35])
def test_points_of_two_groups_meet_once(order):
    groups = most_groups(order)
    blocks = transversal_design(order, groups)
    assert blocks.shape == (order * order, groups)
    for i in range(groups):
        for j in range(i):
            assert len(np.unique(blocks[:, i] * order + blocks[:, j])) == order * order


def test_prime_factors_multiply_up():
    for order in range(2, 400):
        assert np.prod(prime_factors(order)) == order
