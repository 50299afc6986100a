import numpy as np
import pytest

from covote import Panel, Votes, decode
from covote.decoding import DECODERS, InMemory, learned
from covote.decoding.methods.supervised_fits import fitted_trust, trusted
from covote.errors import InputError
from tests.unit.decoding.test_estimators import FANO, similar


@pytest.fixture(scope="module")
def votes_and_truth():
    return similar(FANO.without("expert-1", "expert-2"), items=1500)


def labelled(truth, count):
    return np.where(np.arange(len(truth)) < count, truth, -1)


def error(labels, truth, rows):
    gap = labels.confidence[rows] - (labels.index == truth)[rows]
    bins = np.minimum((labels.confidence[rows] * 10).astype(int), 9)
    return np.abs(np.bincount(bins, weights=gap)).sum() / rows.sum()


def test_a_few_labelled_items_make_the_confidence_honest():
    # Five experts that always say the same, and are right in seven of ten cases, seem to be sure.
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 1500)
    said = np.where(rng.random(1500) < 0.7, truth, rng.integers(0, 4, 1500))
    votes = Votes.from_dense(np.repeat(said[:, None], 5, axis=1), Panel(4, np.ones((5, 4), dtype=bool)))
    gold = labelled(truth, 60)
    labels, default = decode(votes, method="supervised", gold=gold), decode(votes, gold=gold)
    rest = gold < 0
    assert (labels.index == default.index).all()
    assert error(default, truth, rest) < 0.1
    assert error(labels, truth, rest) < 0.1
    assert ((labels.confidence >= 0) & (labels.confidence <= 1)).all()


@pytest.mark.parametrize(("items", "usual"), [(0, 0.3), (0, 0.0), (5000, 0.3), (5000, 0.0)])
def test_trust_is_as_usual_until_labelled_items_say_otherwise(items, usual):
    rng = np.random.default_rng(0)
    share = rng.uniform(0.05, 0.95, items)
    right = rng.random(items) < trusted(share, (-1.0, 0.6))
    shift, slope = fitted_trust(share, right, usual)
    wanted = (-1.0, 0.6) if items else (usual, 1.0)
    assert (shift, slope) == pytest.approx(wanted, abs=0.12 if items else 1e-3)


def test_more_labelled_items_make_the_labels_better(votes_and_truth):
    votes, truth = votes_and_truth
    rest = np.arange(len(truth)) >= 300
    labels = decode(votes, method="supervised", gold=labelled(truth, 300))
    default = decode(votes)
    # Over 1,200 items an accuracy is known to about 0.013.
    assert (labels.index == truth)[rest].mean() > (default.index == truth)[rest].mean() - 0.02
    assert error(labels, truth, rest) < 0.1
    kept = decode(votes, method="supervised", gold=labelled(truth, 300), learn_by="temperature")
    assert (kept.index == decode(votes, gold=labelled(truth, 300)).index).all()


def test_layout_and_parts_change_nothing(votes_and_truth):
    votes, truth = votes_and_truth
    gold = {n: int(k) for n, k in enumerate(truth[:60])}
    one = decode(votes, method="supervised", gold=gold)
    other = decode(votes.to_ragged(), method="supervised", gold=gold, workers=2)
    assert (one.index == other.index).all()
    np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-6)


def test_probabilities_are_judged_too(votes_and_truth):
    votes, truth = votes_and_truth
    soft = Votes.from_dense(votes.dense, votes.panel, probabilities=np.full(votes.dense.shape, 0.99))
    labels = decode(soft, method="supervised", gold=labelled(truth, 70))
    rest = np.arange(len(truth)) >= 70
    stated = abs(0.99 - (decode(soft).index == truth)[rest].mean())
    assert error(labels, truth, rest) < 0.7 * stated


def test_it_says_how_many_labelled_items_it_needs(votes_and_truth):
    votes, truth = votes_and_truth
    with pytest.raises(InputError, match="give them with gold"):
        decode(votes, method="supervised")
    with pytest.raises(InputError, match="needs 20 or more"):
        decode(votes, method="supervised", gold=labelled(truth, 10))
    assert learned(InMemory(votes), DECODERS["supervised"](gold=labelled(truth, 40))).statistics.items == len(
        truth
    )
