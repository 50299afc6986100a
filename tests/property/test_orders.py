"""The order of items, experts and classes changes nothing; benchmarks/orders.py has 1,000 cases."""

import numpy as np
import pytest

from covote import Panel, Votes, decode, simulate
from tests.conftest import benchmark

orders = benchmark("orders")


@pytest.mark.filterwarnings("ignore:.*of the answers seem")
@pytest.mark.parametrize("number", [*range(40), *range(49, 240, 10)])
def test_orders_change_nothing(number):
    assert list(orders.differences(number)) == []


def test_labels_learned_from_gold_do_not_depend_on_the_order_of_the_items():
    """Enough gold for labels to be learned, with probabilities: items are dealt into parts to choose how."""
    rng = np.random.default_rng(1)
    panel = Panel.from_blocks(4, [[0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 1, 3]])
    truth = np.arange(400) % 4
    votes = simulate(panel, truth, accuracy=0.6, seed=2)
    soft = rng.dirichlet(np.ones(4), size=(400, 4)) * panel.knows
    soft[*np.indices((400, 4)), np.maximum(votes.dense, 0)] += 0.5 * (votes.dense >= 0)
    soft = soft * panel.knows / (soft * panel.knows).sum(axis=2, keepdims=True)
    votes = Votes.from_dense(votes.dense, panel, probabilities=soft)
    gold = {n: int(truth[n]) for n in range(0, 400, 2)}
    first = decode(votes, gold=gold)
    for _ in range(3):
        order = rng.permutation(400)
        again = decode(votes.subset(order), gold=gold)
        assert (again.value == first.value[order]).all()
        np.testing.assert_allclose(again.confidence, first.confidence[order], rtol=1e-5)
