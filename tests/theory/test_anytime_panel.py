"""theory: section 5, the anytime panel: parallel classes of a plane decode long before they cover."""

import numpy as np
import pytest

from covote.covers.constructions.planes import affine_plane


def error(classes, blocks, items, rng):
    """Error of maximum likelihood with perfect experts that answer unknown items uniformly, by simulation."""
    truth = rng.integers(classes, size=items)
    hits = np.zeros((items, classes), dtype=int)
    degree = np.zeros(classes, dtype=int)
    for block in blocks:
        degree[block] += 1
        vote = np.where(np.isin(truth, block), truth, rng.choice(block, size=items))
        hits[np.arange(items), vote] += 1
    alive = hits == degree
    return 1 - (1 / alive.sum(axis=1)).mean()


@pytest.mark.parametrize(
    ("experts", "expected", "tolerance"),
    [(22, 0.333, 0.01), (33, 0.033, 0.004), (44, 0.003, 0.001), (132, 0, 0)],
)
def test_error_of_the_plane_of_order_11(experts, expected, tolerance):
    blocks = affine_plane(11)[:experts]
    measured = error(121, blocks, 20_000, np.random.default_rng(0))
    assert abs(measured - expected) <= tolerance
    d = experts // 11
    assert measured <= (120 - 10 * d) / (2 * 11**d) + tolerance
