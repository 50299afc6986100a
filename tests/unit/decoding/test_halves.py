import numpy as np
import pytest

from covote import Panel, Votes, decode
from covote.decoding import DECODERS, InMemory, halves, learned
from covote.decoding.methods import dawid_skene
from covote.decoding.methods.dawid_skene import DawidSkene


@pytest.mark.parametrize("in_halves", [True, False])
def test_products_of_chances_count_as_sums_of_logarithms_do(monkeypatch, in_halves):
    rng = np.random.default_rng(0)
    panel = Panel.from_blocks(4, [range(4)] * 5)
    truth = rng.integers(4, size=400)
    wrong = rng.random((400, 5)) < 0.4
    rows = np.where(wrong, rng.integers(4, size=(400, 5)), truth[:, None])
    votes, decoder = Votes.from_dense(rows, panel), DawidSkene()
    weights = decoder.learn(panel, decoder.count(votes, None), None)
    assert dawid_skene._safe(weights, np.array([0, 5]))
    assert not dawid_skene._safe(weights, np.array([0, 5_000]))
    assert halves.pays(panel)
    monkeypatch.setattr(halves, "pays", lambda _: in_halves)
    products = decoder.count(votes, weights)
    monkeypatch.setattr(dawid_skene, "_safe", lambda *_: False)
    sums = decoder.count(votes, weights)
    # Whole multiples of 2^-30 of an item: rounding may differ by one for each item.
    assert np.abs(products.table - sums.table).max() <= 400
    assert np.abs(products.share - sums.share).max() <= 400
    assert products.share.sum() > 399 * 2**30


@pytest.mark.filterwarnings("ignore:.*of the answers seem")
@pytest.mark.parametrize("method", ["em", "dawid-skene"])
@pytest.mark.parametrize("blocks", [[range(3)] * 4, [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3]], [[0, 1], [0]]])
def test_rows_in_two_halves_say_the_same_as_whole_rows(monkeypatch, method, blocks):
    panel = Panel.from_blocks(5, blocks)  # class 4 has no expert
    rng = np.random.default_rng(1)
    rows = np.stack([rng.choice([*block, -2], 300) for block in blocks], axis=1)
    votes = Votes.from_dense(rows, panel)
    options = {"iterations": 4, "tolerance": 0}
    for past in (votes, votes.part(0, 0)):  # no items at all are no special case
        assert halves.pays(panel)
        cut, cut_labels = (
            learned(InMemory(past), DECODERS[method](**options)),
            decode(past, method=method, **options),
        )
        with monkeypatch.context() as patch:
            patch.setattr(halves, "pays", lambda _: False)
            fresh = past.part(0, len(past))
            whole, labels = (
                learned(InMemory(fresh), DECODERS[method](**options)),
                decode(fresh, method=method, **options),
            )
        np.testing.assert_allclose(cut.statistics.share, whole.statistics.share, atol=10 * len(past) + 1)
        assert (cut_labels.index == labels.index).all()
        assert (cut_labels.tied == labels.tied).all()
        assert (cut_labels.runner_up == labels.runner_up).all()
        np.testing.assert_allclose(cut_labels.confidence, labels.confidence, atol=1e-5)
        np.testing.assert_allclose(cut_labels.margin, labels.margin, atol=1e-4)
