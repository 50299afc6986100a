import numpy as np

from covote import Panel, Votes
from covote.decode import dawid_skene
from covote.decode.dawid_skene import DawidSkene


def test_products_of_chances_count_as_sums_of_logarithms_do(monkeypatch):
    rng = np.random.default_rng(0)
    panel = Panel.from_blocks(4, [range(4)] * 5)
    truth = rng.integers(4, size=400)
    wrong = rng.random((400, 5)) < 0.4
    rows = np.where(wrong, rng.integers(4, size=(400, 5)), truth[:, None])
    votes, decoder = Votes.from_dense(rows, panel), DawidSkene()
    weights = decoder.learn(panel, decoder.statistics(votes, None), None)
    assert dawid_skene._safe(weights, np.array([0, 5]))
    assert not dawid_skene._safe(weights, np.array([0, 5_000]))
    products = decoder.statistics(votes, weights)
    monkeypatch.setattr(dawid_skene, "_safe", lambda *_: False)
    sums = decoder.statistics(votes, weights)
    # Whole multiples of 2^-30 of an item: rounding may differ by one for each item.
    assert np.abs(products.table - sums.table).max() <= 400
    assert np.abs(products.share - sums.share).max() <= 400
    assert products.share.sum() > 399 * 2**30
