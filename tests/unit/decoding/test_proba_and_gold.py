"""Probabilities of all classes, and items whose class is known: in memory, from files, in parts."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from covote import CovoteError, Labels, Panel, Votes, decode, decode_file, simulate
from covote.decoding.gold import gold_sentence
from covote.files import Output
from tests import plain_decoders
from tests.methods import ESTIMATING
from tests.unit.decoding.test_learned import RING, real_looking

SOFT = ("learned",)


def soft_votes(items=200):
    votes, given, truth = real_looking(items)
    return Votes.from_dense(votes, RING, probabilities=given), truth


def plain_votes(items=200):
    votes, _, truth = real_looking(items)
    votes[::7, 1], votes[3] = -1, -1  # somebody was not asked, and nobody about one item
    return Votes.from_dense(votes, RING), truth


@pytest.mark.parametrize("silent", [[0], [50, 51], [199], list(range(200))])
def test_items_that_nobody_answered_have_no_label_and_change_no_other(silent):
    votes, given, _ = real_looking(200)
    asked = np.setdiff1d(np.arange(200), silent)
    some = Votes.from_dense(votes[asked], RING, probabilities=given[asked])
    votes[silent] = -1
    labels = decode(Votes.from_dense(votes, RING, probabilities=given))
    assert (labels.index[silent] == -1).all()
    if len(asked):
        assert (labels.index[asked] == decode(some).index).all()


@pytest.mark.filterwarnings("ignore:.*of the answers seem")
@pytest.mark.parametrize(("method", "soft"), [(m, False) for m in ESTIMATING] + [(m, True) for m in SOFT])
def test_probabilities_sum_to_one_and_the_label_has_its_confidence(method, soft):
    votes, _ = soft_votes() if soft else plain_votes()
    options = {"accuracy": 0.8} if method == "likelihood" else {}
    labels = decode(votes, method=method, proba=True, **options)
    heard = np.diff(votes.ragged.indptr) > 0
    if method == "likelihood":
        heard[:] = True  # the prior speaks where nobody does
    assert labels.proba.dtype == np.float32
    assert labels.proba.min() >= 0
    np.testing.assert_allclose(labels.proba.sum(axis=1), heard, atol=1e-5)
    has = np.flatnonzero(labels.index >= 0)
    np.testing.assert_allclose(labels.proba[has, labels.index[has]], labels.confidence[has], atol=1e-6)
    before = decode(votes, method=method, **options)
    assert (before.index == labels.index).all()  # asking for probabilities changes no label


@pytest.mark.parametrize("accuracy", [0.8, 1.0])
def test_likelihood_is_the_exact_posterior(accuracy):
    votes, _ = plain_votes(60)
    labels = decode(votes, method="likelihood", accuracy=accuracy, proba=True)
    for row, found in zip(votes.dense, labels.proba, strict=True):
        _, posterior = plain_decoders.likelihood(RING, row, [accuracy] * len(RING))
        if sum(posterior.values()):  # experts that cannot err, and did, leave nothing possible
            np.testing.assert_allclose(found, [float(posterior[k]) for k in range(5)], atol=1e-6)


@pytest.mark.parametrize(("method", "options"), [("authority", {})])
def test_methods_without_probabilities_say_so(method, options):
    votes, _ = plain_votes(20)
    with pytest.raises(CovoteError, match="no probabilities"):
        decode(votes, method=method, proba=True, **options)
    with pytest.raises(CovoteError, match="proba=True"):
        _ = decode(votes).proba


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_has_the_same_probabilities(tmp_path, ending):
    votes, truth = plain_votes(90)
    pq.write_table(votes.to_arrow(), tmp_path / "votes.parquet", row_group_size=100)
    gold = {n: int(truth[n]) for n in range(0, 30, 5)}
    out = tmp_path / f"proba.{ending}"
    outcome = decode_file(tmp_path / "votes.parquet", Output(proba=out), RING, gold=gold)
    table = csv.read_csv(out) if ending == "csv" else pq.read_table(out)
    expected = decode(votes, gold=gold, proba=True)
    assert table.column_names == ["item", "0", "1", "2", "3", "4"]
    at = np.searchsorted(np.arange(90), table["item"].to_numpy())
    found = np.column_stack([table[str(k)].to_numpy() for k in range(5)])
    np.testing.assert_allclose(found, expected.proba[at], atol=1e-6)
    assert gold_sentence(outcome.gold) == gold_sentence(expected.gold)


@pytest.mark.parametrize("method", ["learned", "likelihood", "authority", "em"])
@pytest.mark.parametrize("workers", [1, 3])
def test_known_items_keep_their_class_and_are_scored(method, workers):
    votes, truth = plain_votes(120)
    alone = decode(votes, method=method)
    gold = {n: int((truth[n] + n % 2) % 5) for n in range(40)}  # every second one contradicts the votes
    labels = decode(votes, method=method, gold=gold, workers=workers)
    assert labels.value[:40].tolist() == list(gold.values())
    assert (labels.status[:40] == "given").all()
    assert (labels.confidence[:40] == 1).all()
    assert not labels.tied[:40].any()
    assert "given" not in labels.status[40:]
    for n in np.flatnonzero(labels.tied)[:5]:
        assert len(labels.tied_classes(n)) > 1
    score = labels.gold
    answered = int((votes.dense[:40] != -1).any(axis=1).sum())  # nobody was asked about the others
    assert 30 < answered < 40
    assert (score.known, score.learned) == (answered, method == "em")  # the default leaves out each in turn
    if method not in ("learned", "em"):
        assert score.right == sum(alone.index[n] == k for n, k in gold.items())
    dense = votes.dense
    for i in range(len(RING)):
        asked = [n for n, k in gold.items() if RING.knows[i, k] and dense[n, i] != -1]
        assert score.expert_asked[i] == len(asked)
        assert score.expert_right[i] == sum(dense[n, i] == gold[n] for n in asked)


def test_gold_as_indices_counts_too():
    votes, truth = plain_votes(50)
    known = np.where(np.arange(50) < 10, truth, -1)
    labels = decode(votes, gold=known, evidence=False)
    assert (labels.index[:10] == truth[:10]).all()
    assert labels.gold.known == (votes.dense[:10] >= 0).any(axis=1).sum() == 9  # one has no answer


def test_the_sentence_says_when_a_method_learned_from_the_items():
    panel = Panel(["cat", "dog"], [[1, 1]] * 3)
    votes = simulate(panel, ["cat", "dog"] * 10, seed=0)
    labels: Labels = decode(votes, method="em", gold={0: "cat"})
    assert gold_sentence(labels.gold).startswith(
        "Measured on your gold item: 1 right (100%; 95% interval 21 to 100%)."
    )
    assert "learned from these very items" in gold_sentence(labels.gold)


def test_a_filled_in_review_list_is_no_measurement_of_the_other_items():
    votes, truth = plain_votes(300)
    first = np.argsort(np.where(decode(votes).index < 0, 0, decode(votes).confidence), kind="stable")[:60]
    doubtful = decode(votes, gold={int(n): int(truth[n]) for n in first}).gold
    assert doubtful.doubtful
    assert "more doubtful than the others" in gold_sentence(doubtful)
    assert "interval" not in gold_sentence(doubtful)
    random = decode(votes, gold={n: int(truth[n]) for n in range(60)}).gold
    assert not random.doubtful
    assert "95% interval" in gold_sentence(random)
    assert not decode(votes, gold=truth).gold.doubtful  # there are no others


def test_no_label_is_agreed_where_another_class_is_more_probable_after_calibration():
    """Gold items that are mostly labelled wrongly lower the confidence of all labels below that of others."""
    votes, truth = soft_votes(600)
    wrong = np.flatnonzero(decode(votes).index != truth)
    gold = np.full(600, -1)
    gold[wrong] = truth[wrong]
    labels = decode(votes, gold=gold, proba=True)
    agreed = labels.status == "agreed"
    own = labels.proba[np.arange(600), labels.index]
    assert agreed.any()
    assert (own[agreed] >= labels.proba[agreed].max(axis=1) - 1e-6).all()
    unsure = (labels.violations == 0) & (own < labels.proba.max(axis=1)) & (labels.status != "given")
    assert unsure.any()  # where nobody contradicts the label; these were agreed before
    assert (labels.status[unsure] == "conflict").all()
