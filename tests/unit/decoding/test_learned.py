"""The default decoder, against its definition written out in plain numpy."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from covote import Panel, Votes, decode, design, simulate
from covote.decoding import InMemory, Statistics, learned
from covote.decoding.fusion import coupled
from covote.decoding.methods.learned import LearnedVote, log_likelihoods, trust_of
from covote.errors import CovoteError, FileError

RING = Panel.from_blocks(5, [[0, 1, 2], [2, 3, 4], [0, 3, 4], [1, 2, 4], [0, 1, 3]])
FANO = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]])


def real_looking(items=300, seed=0, noise=(0.6, 0.8, 1.0, 1.2, 1.4), panel=RING, certain=1):
    """Return votes, probabilities and truth: experts see the same picture, one is certain of everything."""
    rng = np.random.default_rng(seed)
    classes = len(panel.classes)
    truth = rng.integers(0, classes, items)
    near = np.exp(-np.abs(np.arange(classes)[:, None] - np.arange(classes)))
    picture = 3 * near[truth] + rng.normal(0, 0.8, (items, classes))
    votes, given = np.empty((items, len(panel)), int), []
    for i, row in enumerate(panel.knows):
        known = np.flatnonzero(row)
        score = picture[:, known] + rng.normal(0, noise[i % len(noise)] / 2, (items, len(known)))
        p = np.exp(score * (20 if i == certain else 1))
        given.append(p / p.sum(1, keepdims=True))
        votes[:, i] = known[score.argmax(1)]
    return votes, np.hstack(given).astype(np.float32), truth


def softmax(score):
    e = np.exp(score - score.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def vote(panel, votes):
    """Return N_k / d_k and which classes have the best one."""
    classes = len(panel.classes)
    share = np.stack([(votes == k).sum(1) for k in range(classes)], axis=1) / panel.knows.sum(0)
    return share, np.isclose(share, share.max(1, keepdims=True), atol=1e-12)


def log_likelihood(panel, votes, q, chances=None):
    """Return S (items x classes), learned from labels q."""
    items, classes = q.shape
    knows, size = panel.knows, panel.sizes
    n = np.array([[[q[votes[:, i] == v, k].sum() for v in range(classes)] for k in range(classes)]
                  for i in range(len(panel))])  # fmt: skip
    right = np.array([n[i][knows[i]][:, knows[i]].trace() for i in range(len(panel))])
    total = np.array([n[i][knows[i]].sum() for i in range(len(panel))])
    common = (right.sum() + 9) / (total.sum() + 10)
    p = np.clip((right + 20 * common) / (total + 20), 1 / size + 0.02, 0.995)
    score = np.zeros((items, classes))
    for i in range(len(panel)):
        for k in range(classes):
            if knows[i, k]:
                if chances is None:
                    right_or_not = np.where(votes[:, i] == k, p[i], (1 - p[i]) / (size[i] - 1))
                    score[:, k] += np.log(size[i] * right_or_not)
                continue
            habit = np.zeros(classes)
            for v in np.flatnonzero(knows[i]):
                others = [j for j in range(len(panel)) if knows[j, v] and not knows[j, k]]
                habit[v] = (sum(n[j, k, v] for j in others) + 0.02) / (sum(n[j, k].sum() for j in others) + 2)
            chance = (n[i, k] + 20 * habit / habit.sum()) / (n[i, k].sum() + 20)
            score[:, k] += np.log(size[i] * chance[votes[:, i]])
    d = total.sum() / items
    if chances is not None:
        read, powers = by_own_curves(panel, chances, q)
        score += read
        if np.std(np.log(powers)) < 0.2:  # all mean the same by their probabilities
            together = coupled(Votes.from_dense(votes, panel, probabilities=chances), power=0.3)
            score += max(d, 1) / 2 * np.log(together + 1e-9) / 0.3
            return score, 1.5 * d
    return score, d


def by_own_curves(panel, given, q):
    """Return what probabilities say about the classes that their experts know, and to which powers."""
    chosen = []
    powers = [.02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .8, .9, 1, 1.2, 1.5, 2]  # fmt: skip
    edges, at, score = [.1, .25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20], 0, np.zeros(q.shape)  # fmt: skip
    for row in panel.knows:
        raw = given[:, at : at + row.sum()].astype(float)
        p = (raw / raw.sum(1, keepdims=True) + 1e-3 / row.sum()) / (1 + 1e-3)
        tried = [np.log(np.maximum(p**b / (p**b).sum(1, keepdims=True), 1e-6)) for b in powers]
        fit = [(q[:, row] * log_p).sum() for log_p in tried]
        best = tried[int(np.argmax(fit))]
        chosen.append(powers[int(np.argmax(fit))])
        score[:, row] += np.log(row.sum()) + best
        raw = np.sort(raw, axis=1)
        margin = np.log(np.maximum(raw[:, -1], 1e-12) / np.maximum(raw[:, -2], 1e-12))
        sure = np.array([sum(m > e for e in edges) for m in margin])
        inside, share = q[:, row].sum(1), []
        for weight in (inside, 1 - inside):
            seen = np.array([weight[sure == b].sum() for b in range(14)])
            usual = np.array([(sure == b).mean() for b in range(14)])
            share.append((seen + 10 * usual) / (weight.sum() + 10))
        with np.errstate(invalid="ignore", divide="ignore"):  # margins that nobody had
            score[:, row] += np.log(share[0] / share[1])[sure][:, None]
        at += row.sum()
    return score, chosen


def plain(panel, votes, given=None):
    """Return (labels, posterior) of the rule, for experts who make their mistakes together."""
    share, best = vote(panel, votes)
    q = best.astype(float)
    if given is not None:
        tied = best.sum(1) > 1
        together = coupled(Votes.from_dense(votes[tied], panel, probabilities=given[tied]), power=1)
        q[tied] *= together + 1e-12
    q /= q.sum(1, keepdims=True)
    score, d = log_likelihood(panel, votes, q, given)
    posterior = softmax(score / max(d, 1))
    total = share + 0.3 * posterior
    labels = total.argmax(1)
    sizes = q.sum(0) + 1
    odds = math.exp(2 * max(np.log(sizes).std(), sizes.mean() ** -0.5))
    for n in np.flatnonzero(best.sum(1) > 1):
        among = np.sort(score[n, best[n]])
        if best[n, labels[n]] and among[-1] - among[-2] < math.log(odds):
            labels[n] = -1
    return labels, posterior


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("gone", [(), ("expert-1",), ("expert-1", "expert-4")])
def test_labels_and_confidence_are_those_of_the_rule(soft, gone):
    panel = FANO.without(*gone)
    votes, given, _ = real_looking(400, panel=panel)
    given = given if soft else None
    labels = decode(Votes.from_dense(votes, panel, probabilities=given), proba=True)
    expected, posterior = plain(panel, votes, given)
    np.testing.assert_array_equal(labels.index, expected)
    np.testing.assert_allclose(labels.proba, posterior, atol=1e-5)
    has = expected >= 0
    np.testing.assert_allclose(labels.confidence[has], posterior[has, expected[has]], atol=1e-5)
    assert np.isfinite(labels.confidence).all()


def test_experts_who_mean_the_same_by_their_probabilities_are_heard_together():
    panel = FANO.without("expert-1", "expert-4")
    votes, given, _ = real_looking(400, panel=panel, noise=(1.0,), certain=None)
    whole = Votes.from_dense(votes, panel, probabilities=given)
    assert learned(InMemory(whole), LearnedVote()).curves.alike
    labels = decode(whole, proba=True)
    expected, posterior = plain(panel, votes, given)
    np.testing.assert_array_equal(labels.index, expected)
    np.testing.assert_allclose(labels.proba, posterior, atol=1e-4)


def test_an_open_item_has_the_confidence_of_its_best_class():
    votes, _, _ = real_looking(400, panel=FANO.without("expert-1", "expert-4"))
    labels = decode(Votes.from_dense(votes, FANO.without("expert-1", "expert-4")), proba=True, odds=20)
    for n in np.flatnonzero(labels.index < 0):
        best = max(labels.proba[n, k] for k in labels.tied_classes(n))
        assert labels.confidence[n] == pytest.approx(best, abs=1e-6)
    assert (labels.index < 0).any()


@pytest.mark.parametrize("soft", [False, True])
def test_the_more_unequal_classes_may_be_the_more_items_stay_open(soft):
    panel = FANO.without("expert-1", "expert-4")
    votes, given, _ = real_looking(600, panel=panel)
    whole = Votes.from_dense(votes, panel, probabilities=given if soft else None)
    weights = learned(InMemory(whole), LearnedVote())
    as_unequal = decode(whole, odds=math.exp(weights.unequal))
    assert decode(whole).index.tobytes() == as_unequal.index.tobytes()
    found = [decode(whole, odds=odds) for odds in (1, 2, 5, 100)]
    open_ = [(labels.index < 0).sum() for labels in found]
    assert open_ == sorted(open_)
    assert open_[0] == 0 < open_[-1]
    for more, fewer in pairwise(found):
        both = (more.index >= 0) & (fewer.index >= 0)
        assert (more.index == fewer.index)[both].all()
    with pytest.raises(CovoteError, match=r"odds must be a number from 1 .* not 0.5"):
        decode(whole, odds=0.5)


@pytest.mark.parametrize("soft", [False, True])
def test_parts_threads_and_ragged_votes_give_the_same_bytes(soft):
    votes, given, truth = real_looking(500)
    whole = Votes.from_dense(votes, RING, probabilities=given if soft else None)
    gold = np.where(np.arange(500) < 60, truth, -1)
    for options in ({}, {"gold": gold}):
        expected = decode(whole, **options)
        for other in (decode(whole, workers=3, **options), decode(whole.to_ragged(), **options)):
            assert other.confidence.tobytes() == expected.confidence.tobytes()
            assert other.index.tobytes() == expected.index.tobytes()
        bare = decode(whole, evidence=False, **options)
        np.testing.assert_array_equal(bare.index, expected.index)


def test_what_probabilities_tell_adds_up_and_is_saved(tmp_path):
    votes, given, _ = real_looking(200)
    whole = Votes.from_dense(votes, RING, probabilities=given)
    vote = LearnedVote().passes[0]
    counts = vote.count(whole, None)
    halves = [vote.count(part, None) for part in whole.parts(100)]
    added = halves[0] + halves[1]
    for name in ("powers", "margins"):
        assert (getattr(added.probabilities, name) == getattr(counts.probabilities, name)).all()
    for name in ("known.json", "known.npz"):
        counts.save(tmp_path / name)
        again = Statistics.load(tmp_path / name)
        assert (again.probabilities.powers == counts.probabilities.powers).all()
        halfway = decode(whole, past=again)
        assert (halfway.index == decode(whole, past=counts).index).all()


@pytest.mark.parametrize("damage", ["powers", "margins", "trial"])
def test_statistics_of_other_shapes_are_refused(tmp_path, damage):
    votes, given, _ = real_looking(100)
    counts = LearnedVote().passes[0].count(Votes.from_dense(votes, RING, probabilities=given), None)
    if damage == "trial":
        broken = replace(counts, trial=np.zeros(3, np.int64))
    else:
        wider = np.concatenate([getattr(counts.probabilities, damage)] * 2, axis=-1)
        broken = replace(counts, probabilities=counts.probabilities._replace(**{damage: wider}))
    broken.save(tmp_path / "s.json")
    with pytest.raises(FileError, match="holds no statistics"):
        Statistics.load(tmp_path / "s.json")


# Corollary 1 of the paper


def outvoted():
    """Return the one item of K = 10, R = 2: nine authorities say 0 with .51, all others 1 with .9999."""
    pairs = [(a, b) for a in range(10) for b in range(a + 1, 10)]
    panel = Panel.from_blocks(10, [list(pair) for pair in pairs])
    votes = [0 if a == 0 else 1 if a == 1 else a for a, b in pairs]
    sure = [0.51 if a == 0 else 0.9999 for a, b in pairs]
    return panel, np.array([votes]), np.array([sure])


@pytest.mark.parametrize("times", [1, 40])
def test_confident_nonsense_does_not_overrule_all_authorities(times):
    panel, votes, sure = outvoted()
    whole = Votes.from_dense(votes.repeat(times, axis=0), panel, probabilities=sure.repeat(times, axis=0))
    for some in (whole, whole.to_ragged()):
        labels = decode(some, proba=True)
        assert (labels.index == 0).all()
        # Who is not the most probable class is not agreed upon, whatever the votes say.
        doubted = labels.proba.argmax(axis=1) != 0
        assert (labels.status[doubted] == "conflict").all()


def test_a_label_that_is_not_the_most_probable_class_is_in_conflict():
    panel, votes, sure = outvoted()
    extra = np.tile(votes, (60, 1))
    labels = decode(Votes.from_dense(extra, panel, probabilities=np.tile(sure, (60, 1))), proba=True)
    for n in range(60):
        agreed = labels.proba[n].argmax() == labels.index[n]
        assert labels.status[n] == ("agreed" if agreed else "conflict")


# Independent experts


def test_people_who_make_their_own_mistakes_are_told_from_models_that_share_them():
    panel = design(10, 4, effort="fast")
    truth = np.random.default_rng(0).integers(0, 10, 1000)
    people = simulate(panel, truth, noise="similar", accuracy=0.8, seed=1)
    found = learned(InMemory(people), LearnedVote())
    assert found.independent
    assert "independently" in found.notes[0]
    votes, _, _ = real_looking(1000, panel=FANO)
    assert not learned(InMemory(Votes.from_dense(votes, FANO)), LearnedVote()).independent
    better = decode(people).chances(truth).mean()
    assert better > decode(people, method="authority").chances(truth).mean() + 0.05


def test_a_crowd_counts_in_full():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 600)
    right = rng.random((600, 7)) < [0.95, 0.9, 0.8, 0.6, 0.4, 0.3, 0.3]
    votes = Votes.from_dense(
        np.where(right, truth[:, None], rng.integers(0, 4, (600, 7))), Panel(4, np.ones((7, 4)))
    )
    found = learned(InMemory(votes), LearnedVote())
    assert found.crowd
    assert found.notes == ("everyone knows every class, so all answers count in full",)
    majority = decode(votes, method="authority").chances(truth).mean()
    assert decode(votes).chances(truth).mean() > majority + 0.01


# Gold


def test_gold_items_are_scored_as_if_they_were_not_known():
    # One expert who answers at random about five classes: nothing can be right more than by chance.
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 150)
    panel = Panel.from_blocks(5, [[0, 1, 2, 3, 4]] * 3)
    votes = Votes.from_dense(rng.integers(0, 5, (150, 3)), panel)
    labels = decode(votes, gold=truth)
    assert (labels.index == truth).all()  # known items keep their class
    assert labels.gold.right < 0.45 * 150
    assert not labels.gold.learned


@pytest.mark.parametrize("soft", [False, True])
def test_gold_makes_the_confidence_honest(soft):
    # Five experts who always say the same, and are right in seven of ten cases, seem to be sure.
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 1500)
    said = np.where(rng.random(1500) < 0.7, truth, rng.integers(0, 4, 1500))
    panel = Panel(4, np.ones((5, 4), dtype=bool))
    given = np.full((1500, 5), 0.99) if soft else None
    votes = Votes.from_dense(np.repeat(said[:, None], 5, axis=1), panel, probabilities=given)
    gold = np.where(np.arange(1500) < 80, truth, -1)
    rest = gold < 0
    gap = []
    for options in ({}, {"gold": gold}):
        labels = decode(votes, **options)
        gap.append(abs(labels.confidence[rest].mean() - (labels.index == truth)[rest].mean()))
    assert gap[1] < 0.06
    assert gap[1] < gap[0] + 0.01
    chances = decode(votes, gold=gold, proba=True)
    np.testing.assert_allclose(chances.proba.sum(axis=1), 1)
    stated = chances.proba[np.arange(1500), chances.index]
    np.testing.assert_allclose(stated[rest], chances.confidence[rest], atol=1e-6)


@pytest.mark.parametrize(("items", "wanted", "close"), [(0, (0, 1), 0), (20_000, (-1.0, 2**-0.75), 0.13)])
def test_log_odds_are_shifted_and_stretched_as_gold_items_say(items, wanted, close):
    rng = np.random.default_rng(0)
    stated = rng.uniform(0.05, 0.95, items)
    odds = wanted[0] + wanted[1] * np.log(stated / (1 - stated))
    right = rng.random(items) < 1 / (1 + np.exp(-odds))
    assert trust_of(log_likelihoods(stated, right)) == pytest.approx(wanted, abs=close)
    halves = log_likelihoods(stated[: items // 2], right[: items // 2]) + log_likelihoods(
        stated[items // 2 :], right[items // 2 :]
    )
    assert (halves == log_likelihoods(stated, right)).all()


# Why ties are lost


def test_two_worlds_with_the_same_votes():
    """Classes 0 and 1 have no common expert: any split of the items that tie explains the same votes.

    docs/theory.md: the likelihood of the votes is the same for every share x of the tied items that are 0.
    """
    panel = Panel.from_blocks(3, [[0, 2], [1, 2]])
    clear_0, clear_1, tied = 30, 60, 40
    rows = np.array([[0, 2]] * clear_0 + [[2, 1]] * clear_1 + [[0, 1]] * tied)

    def likelihood(x):
        """The best likelihood of the votes if a share x of the tied items are of class 0."""
        sizes = np.array([clear_0 + x * tied, clear_1 + (1 - x) * tied]) / len(rows)
        answers_0 = {(0, 2): clear_0 / (clear_0 + x * tied), (0, 1): x * tied / (clear_0 + x * tied)}
        rest = clear_1 + (1 - x) * tied
        answers_1 = {(2, 1): clear_1 / rest, (0, 1): (1 - x) * tied / rest}
        return sum(
            math.log(sizes[0] * answers_0.get(tuple(row), 0) + sizes[1] * answers_1.get(tuple(row), 0))
            for row in rows.tolist()
        )

    worlds = [likelihood(x) for x in (0.1, 0.25, 0.5, 0.9)]
    assert max(worlds) - min(worlds) < 1e-9
    labels = decode(Votes.from_dense(rows, panel))
    assert (labels.index[-tied:] == -1).all()
    assert labels.tied_classes(len(rows) - 1) == (0, 1)
    # Who says that classes are equally frequent gets the class with fewer clear items.
    assert (decode(Votes.from_dense(rows, panel), odds=1).index[-tied:] == 0).all()
