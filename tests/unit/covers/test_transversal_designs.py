import numpy as np
import pytest

from covote.covers.constructions.transversal_designs import most_groups, prime_factors, transversal_design


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
