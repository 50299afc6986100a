"""The default's confidence, against its definition written out in plain Python."""

from dataclasses import replace

import numpy as np
import pytest

from covote import Panel, Votes, decode
from covote.compiled import running
from covote.decoding import Statistics
from covote.decoding.fusion import coupled
from covote.decoding.methods.learned import LearnedVote
from covote.errors import FileError

RING = Panel.from_blocks(5, [[0, 1, 2], [2, 3, 4], [0, 3, 4], [1, 2, 4], [0, 1, 3]])


def real_looking(items=300, seed=0):
    """Return votes, probabilities and truth: experts err, and the second one is certain of everything."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, items)
    near = np.exp(-np.abs(np.arange(5)[:, None] - np.arange(5)))
    votes, given = np.empty((items, 5), int), []
    for i, row in enumerate(RING.knows):
        known = np.flatnonzero(row)
        score = 3 * near[truth][:, known] + rng.normal(0, 0.6 + 0.2 * i, (items, len(known)))
        p = np.exp(score * (20 if i == 1 else 1))
        given.append(p / p.sum(1, keepdims=True))
        votes[:, i] = known[score.argmax(1)]
    return votes, np.hstack(given).astype(np.float32), truth


def authority_shares(votes):
    count = np.stack([(votes == k).sum(1) for k in range(5)], axis=1) / RING.knows.sum(0)
    best = np.isclose(count, count.max(1, keepdims=True), atol=1e-12)
    return best / best.sum(1, keepdims=True)


def inside_and_outside(votes):
    """Return I and O of theory.md section 9 (items x classes)."""
    q, knows, size = authority_shares(votes), RING.knows, RING.sizes
    n = np.array([[[q[votes[:, i] == v, k].sum() for v in range(5)] for k in range(5)] for i in range(5)])
    right = np.array([sum(n[i, k, k] for k in range(5) if knows[i, k]) for i in range(5)])
    total = np.array([sum(n[i, k].sum() for k in range(5) if knows[i, k]) for i in range(5)])
    common = (right.sum() + 9) / (total.sum() + 10)
    p = np.clip((right + 20 * common) / (total + 20), 1 / size + 0.02, 0.995)
    inside, outside = np.zeros((len(votes), 5)), np.zeros((len(votes), 5))
    for i in range(5):
        for k in range(5):
            if knows[i, k]:
                chance = np.where(votes[:, i] == k, p[i], (1 - p[i]) / (size[i] - 1))
                inside[:, k] += np.log(size[i] * chance)
                continue
            similar = np.zeros(5)
            for v in np.flatnonzero(knows[i]):
                others = [j for j in range(5) if knows[j, v] and not knows[j, k]]
                similar[v] = (sum(n[j, k, v] for j in others) + 0.02) / (
                    sum(n[j, k].sum() for j in others) + 2
                )
            chance = (n[i, k] + 20 * similar / similar.sum()) / (n[i, k].sum() + 20)
            outside[:, k] += np.log(size[i] * chance[votes[:, i]])
    return inside, outside


def softmax(score):
    e = np.exp(score - score.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("mode", ["plain", "compiled"])
def test_it_is_a_softmax_of_what_all_answers_say(mode):
    votes, _, _ = real_looking()
    with running(mode):
        labels = decode(Votes.from_dense(votes, RING))
    inside, outside = inside_and_outside(votes)
    chance = softmax((inside + outside) / np.sqrt(RING.knows.sum(0).mean()))
    has = labels.index >= 0
    assert has.mean() > 0.8
    np.testing.assert_allclose(labels.confidence[has], chance[has, labels.index[has]], rtol=1e-5)
    assert np.isnan(labels.confidence[~has]).all()


def tempered(given, q):
    """Return probabilities raised to the power that makes q most likely, expert by expert, and the powers."""
    powers = [.02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .8, .9, 1, 1.2, 1.5, 2]  # fmt: skip
    found, chosen, at = [], [], 0
    for row in RING.knows:
        p = given[:, at : at + row.sum()].astype(float)
        p = (p / p.sum(1, keepdims=True) + 1e-3 / row.sum()) / (1 + 1e-3)
        tried = [p**b / (p**b).sum(1, keepdims=True) for b in powers]
        fit = [(q[:, row] * np.log(np.maximum(t, 1e-6))).sum() for t in tried]
        found.append(tried[int(np.argmax(fit))])
        chosen.append(powers[int(np.argmax(fit))])
        at += row.sum()
    return found, chosen


def read_by_own_curves(votes, given, q):
    """Return how likely every class is if each expert's probabilities are read by its own curve."""
    _, score = inside_and_outside(votes)
    edges, at = [.1, .25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20], 0  # fmt: skip
    for row, p in zip(RING.knows, tempered(given, q)[0], strict=True):
        score[:, row] += np.log(row.sum() * np.maximum(p, 1e-6))
        raw = np.sort(given[:, at : at + row.sum()].astype(float), axis=1)
        margin = np.log(np.maximum(raw[:, -1], 1e-12) / np.maximum(raw[:, -2], 1e-12))
        sure = np.array([sum(m > e for e in edges) for m in margin])
        inside = q[:, row].sum(1)
        share = []
        for weight in (inside, 1 - inside):
            seen = np.array([weight[sure == b].sum() for b in range(14)])
            usual = np.array([(sure == b).mean() for b in range(14)])
            share.append((seen + 10 * usual) / (weight.sum() + 10))
        with np.errstate(invalid="ignore", divide="ignore"):  # margins that nobody had
            score[:, row] += np.log(share[0] / share[1])[sure][:, None]
        at += row.sum()
    return softmax(score / np.sqrt(RING.knows.sum(0).mean()))


@pytest.mark.parametrize("mode", ["plain", "compiled"])
def test_with_probabilities_it_is_halfway_to_their_mean(mode):
    votes, given, _ = real_looking(120)
    with running(mode):
        labels = decode(Votes.from_dense(votes, RING, probabilities=given))
    q = authority_shares(votes)
    powers = tempered(given, q)[1]
    assert powers[1] < min(powers[:1] + powers[2:])  # the expert that is certain of everything
    mean, at = np.zeros((len(votes), 5)), 0
    for row in RING.knows:
        mean[:, row] += given[:, at : at + row.sum()]
        at += row.sum()
    expected = (read_by_own_curves(votes, given, q) + mean / RING.knows.sum(0)) / 2
    rows = np.arange(len(votes))
    np.testing.assert_allclose(labels.confidence, expected[rows, labels.index], rtol=1e-4)


@pytest.mark.parametrize(("certain", "own_is_better"), [((0, 2, 3), False), ((4,), True), ((3, 4), True)])
def test_the_reading_is_taken_that_confirms_more_clear_labels(certain, own_is_better):
    votes, given, _ = real_looking(400)
    at = 0
    for i, row in enumerate(RING.knows):
        if i in certain:  # 1 for whatever it answers
            given[:, at : at + row.sum()] = np.flatnonzero(row) == votes[:, [i]]
        at += row.sum()
    whole = Votes.from_dense(votes, RING, probabilities=given)
    count = np.stack([(votes == k).sum(1) for k in range(5)], axis=1) / RING.knows.sum(0)
    q = authority_shares(votes)
    clear, label = q.max(1) == 1, count.argmax(1)
    alike, own = coupled(whole), read_by_own_curves(votes, given, q)
    confirmed = [(table.argmax(1) == label)[clear].sum() for table in (alike, own)]
    assert (confirmed[1] > confirmed[0]) == own_is_better
    score = count + 0.3 * (own if own_is_better else alike)
    best_two = np.sort(score, axis=1)[:, -2:]
    far = best_two[:, 1] - best_two[:, 0] > (0 if own_is_better else 0.1)  # the tie score moves near ones
    assert far.mean() > 0.8
    np.testing.assert_array_equal(decode(whole).index[far], score.argmax(1)[far])


@pytest.mark.parametrize("soft", [False, True])
def test_it_tells_right_labels_from_wrong_ones_and_is_rather_too_low_for_independent_errors(soft):
    votes, given, truth = real_looking(800, seed=1)
    labels = decode(Votes.from_dense(votes, RING, probabilities=given if soft else None))
    right = labels.index == truth
    has = labels.index >= 0
    low = labels.confidence[has] < np.median(labels.confidence[has])
    assert right[has][~low].mean() > right[has][low].mean() + 0.05
    assert -0.2 < labels.confidence[has].mean() - right[has].mean() < 0.03


@pytest.mark.parametrize("soft", [False, True])
def test_parts_threads_and_ragged_votes_give_the_same_bytes(soft):
    votes, given, _ = real_looking(500)
    whole = Votes.from_dense(votes, RING, probabilities=given if soft else None)
    expected = decode(whole).confidence.tobytes()
    assert decode(whole, workers=3).confidence.tobytes() == expected
    assert decode(whole.to_ragged()).confidence.tobytes() == expected


def test_labels_do_not_depend_on_evidence():
    whole = Votes.from_dense(real_looking()[0], RING)
    np.testing.assert_array_equal(decode(whole).index, decode(whole, evidence=False).index)
    # Classes 0 and 1 tie. Class 1 has more authorities, but that may not decide 60% of all items.
    panel = Panel.from_blocks(4, [[0, 2, 3], [1, 2], [1, 3]])
    votes = Votes.from_dense([[0, 1, 1]] * 60 + [[2, 2, 3]] * 20 + [[3, 2, 3]] * 20, panel)
    assert decode(votes).index.tolist() == [-1] * 60 + [2] * 20 + [3] * 20
    for same in (votes, votes.to_ragged()):
        np.testing.assert_array_equal(decode(votes).index, decode(same, evidence=False).index)


def test_reported_ties_have_no_confidence():
    whole = Votes.from_dense(real_looking()[0], RING)
    assert np.isnan(decode(whole, method="authority").confidence).all()


def test_one_item_has_the_confidence_of_the_prior():
    labels = decode(Votes.from_dense([[0, 2, 0, 1, 0]], RING))
    assert 0.5 < labels.confidence[0] < 1
    assert len(decode(Votes.from_dense(np.empty((0, 5), int), RING)).confidence) == 0


def test_many_classes_compete_where_most_have_no_votes():
    panel = Panel.from_blocks(100, [list(range(100))] * 3)
    votes = np.repeat(np.arange(100), 3)[:, None].repeat(3, axis=1)
    alone = votes.copy()
    alone[::3, 1:] = -1
    labels = decode(Votes.from_dense(alone, panel))
    assert (labels.confidence[::3] < labels.confidence[1::3]).all()  # one answer says less than three
    assert (labels.confidence < 1).all()


def same_counts(one, other):
    return all(np.array_equal(*both) for both in zip(one, other, strict=True))


def test_what_probabilities_tell_adds_up_and_is_saved(tmp_path):
    votes, given, _ = real_looking(200)
    whole = Votes.from_dense(votes, RING, probabilities=given)
    decoder = LearnedVote()
    counts = decoder.count(whole, decoder.start(RING))
    halves = [decoder.count(part, decoder.start(RING)) for part in whole.parts(100)]
    assert same_counts((halves[0] + halves[1]).probabilities, counts.probabilities)
    plain = replace(halves[1], probabilities=None)
    assert same_counts((halves[0] + plain).probabilities, halves[0].probabilities)
    learned = decoder.learn(RING, counts, decoder.start(RING))
    learned = decoder.learn(RING, decoder.count(whole, learned), learned)
    assert learned.settled
    assert learned.statistics.probabilities.wins.sum() > 0
    for name in ("known.json", "known.npz"):
        learned.statistics.save(tmp_path / name)
        again = Statistics.load(tmp_path / name)
        assert same_counts(again.probabilities, learned.statistics.probabilities)
        decode(whole, past=again)


def test_of_few_items_probabilities_count_as_they_are_given():
    votes, given, _ = real_looking(3)
    labels = decode(Votes.from_dense(votes, RING, probabilities=given), proba=True)
    _, score = inside_and_outside(votes)
    mean, at = np.zeros((3, 5)), 0
    for row in RING.knows:
        own = given[:, at : at + row.sum()].astype(float)
        mean[:, row] += own
        smooth = (own / own.sum(1, keepdims=True) + 1e-3 / row.sum()) / (1 + 1e-3)
        score[:, row] += np.log(row.sum() * np.maximum(smooth, 1e-6))
        at += row.sum()
    chance = softmax(score / np.sqrt(RING.knows.sum(0).mean()))
    others = np.arange(5) != labels.index[:, None]  # the label itself has its confidence there
    shares = [table[others].reshape(3, 4) for table in (labels.proba, chance)]
    found, wanted = (some / some.sum(1, keepdims=True) for some in shares)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    expected = (chance + mean / RING.knows.sum(0)) / 2
    np.testing.assert_allclose(labels.confidence, expected[np.arange(3), labels.index], rtol=1e-4)


@pytest.mark.parametrize("damage", ["powers", "margins", "wins"])
def test_statistics_with_other_counts_than_of_probabilities_are_refused(tmp_path, damage):
    votes, given, _ = real_looking(100)
    decoder = LearnedVote()
    counts = decoder.count(Votes.from_dense(votes, RING, probabilities=given), decoder.start(RING))
    wider = np.concatenate([getattr(counts.probabilities, damage)] * 2, axis=-1)
    replace(counts, probabilities=counts.probabilities._replace(**{damage: wider})).save(tmp_path / "s.json")
    with pytest.raises(FileError, match="holds no statistics"):
        Statistics.load(tmp_path / "s.json")


def test_plain_votes_are_read_once():
    votes, _, _ = real_looking(200)
    decoder = LearnedVote()
    counts = decoder.count(Votes.from_dense(votes, RING), decoder.start(RING))
    assert decoder.learn(RING, counts, decoder.start(RING)).settled


def test_known_classes_are_believed():
    votes, given, truth = real_looking(200)
    whole = Votes.from_dense(votes, RING, probabilities=given)
    decoder, known = LearnedVote(), LearnedVote(gold=truth)
    nothing = known.start(RING)
    fit = known.count(whole, nothing)
    assert not same_counts(fit.probabilities, decoder.count(whole, nothing).probabilities)
    by_truth = tempered(given, np.eye(5)[truth])[1]
    assert by_truth == known.learn(RING, fit, nothing).curves.powers.tolist()
