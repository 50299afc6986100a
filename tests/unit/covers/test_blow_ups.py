import numpy as np
import pytest

from covote.covers.constructions.planes import projective_plane
from covote.covers.search.blow_ups import anneal_blowup, blow_up, hoped_sizes
from tests.plain_covers import covers


def blow_up_cost(lines, weights, size):
    """Return how many experts the blow-up needs."""
    held = np.where(lines >= 0, weights[lines], 0)
    costs = hoped_sizes(int(weights.sum()), size)[held.sum(axis=1)]
    return int(costs[(held > 0).sum(axis=1) > 1].sum())


@pytest.mark.parametrize("start", ["even", "added", "removed"])
@pytest.mark.parametrize(("order", "classes", "size"), [(2, 12, 6), (3, 40, 13), (5, 80, 17), (7, 45, 8)])
def test_a_blow_up_covers_at_its_price(order, classes, size, start):
    lines = projective_plane(order)
    weights = anneal_blowup(lines, classes, size, moves=20_000, seed=3, start=start)
    assert weights.sum() == classes
    assert weights.min() >= 0
    cover = blow_up(lines, weights, size, "plane")
    assert covers(cover.blocks, classes)
    assert len(cover.blocks) <= blow_up_cost(lines, weights, size)


def test_weights_of_zero_drop_lines():
    # A plane of order 3 without one line is the affine plane: 12 lines are left.
    weights = np.ones(13, dtype=np.int32)
    weights[projective_plane(3)[-1]] = 0
    assert blow_up_cost(projective_plane(3), weights, 3) == 12


def test_the_same_seed_gives_the_same_weights():
    one, two = (anneal_blowup(projective_plane(4), 70, 18, moves=5000, seed=1) for _ in range(2))
    assert np.array_equal(one, two)
