"""The default decoder, against its definition written out in plain numpy."""

import math
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest

from covote import Panel, Votes, decode, design, simulate
from covote.decoding import InMemory, Statistics, learn_weights, methods, who_answered
from covote.decoding.cross_validation import choose
from covote.decoding.fusion import coupled
from covote.decoding.linear import UNIT
from covote.decoding.methods.learned import LearnedVote, fit_calibration, log_likelihoods
from covote.decoding.sampling import DrawSample, sample_size
from covote.decoding.statistics import HeldOut
from covote.errors import CovoteError, FileError

RING = Panel.from_blocks(5, [[0, 1, 2], [2, 3, 4], [0, 3, 4], [1, 2, 4], [0, 1, 3]])
FANO = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]])
SOME_KNOW_ALL = Panel.from_blocks(7, [*FANO.blocks(), range(7)])


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


def answer_model(panel, votes, q, habits):
    """Return P_i(v|k) (experts x answers x classes), learned from labels q; everyone knows two classes."""
    knows, size, (experts, classes) = panel.knows, panel.sizes, panel.knows.shape
    n = np.array([[q[votes[:, i] == v].sum(0) for v in range(classes)] for i in range(experts)])
    inside = sum(n[i][:, knows[i]].sum() for i in range(experts))
    right = np.array([sum(n[i, k, k] for k in np.flatnonzero(knows[i])) for i in range(experts)])
    mean = (right.sum() + 9) / (inside + 10)
    total = np.array([n[i][:, knows[i]].sum() for i in range(experts)])
    a = np.clip((right + 20 * mean) / (total + 20), 1 / size + 0.02, 0.995)
    h = np.ones((classes, classes))
    if habits != "none":
        c = {"common": 20, "own": 1}[habits]
        for v in range(classes):
            for k in range(classes):
                seen = sum(n[i, v, k] for i in range(experts))
                asked = sum(n[i, :, k].sum() - n[i, k, k] for i in range(experts) if knows[i, v])
                h[v, k] = (seen + c / size.mean()) / (asked + c)
    found = np.zeros((experts, classes, classes))
    for i in range(experts):
        for k in range(classes):
            others = [v for v in np.flatnonzero(knows[i]) if v != k]
            habit = h[others, k] / h[others, k].sum()
            wrong = np.full(len(others), 1 / max(len(others), 1)) if habits == "own" else habit
            found[i, others, k] = (1 - a[i]) * wrong if knows[i, k] else habit
            found[i, k, k] = a[i] if knows[i, k] else 0
            if habits == "own" and (knows[i].all() or not knows[i, k]):
                found[i, :, k] = (n[i, :, k] + 20 * found[i, :, k]) / (n[i, :, k].sum() + 20)
    return found


def log_likelihood(panel, votes, q, habits, chances=None, vote_q=None, temperature=2.0):
    """Return S (items x classes) and the divisor of the posterior, for complete answers."""
    knows, size, (items, classes) = panel.knows, panel.sizes, q.shape
    answer = answer_model(panel, votes, q, habits)
    inside, outside = np.zeros((items, classes)), np.zeros((items, classes))
    curves, powers = (None, ()) if chances is None else by_own_curves(panel, chances, vote_q)
    for i in range(len(panel)):
        weight = np.log(size[i] * np.maximum(answer[i][votes[:, i]], 1e-12))
        outside += np.where(knows[i], 0, weight)
        share = 0 if curves is None else 0.5 if habits == "own" and knows[i].all() else 1
        inside += np.where(knows[i], (1 - share) * weight, 0)
        if curves is not None:
            inside += share * curves[i]
    d = knows.sum(0)
    depth = d.mean()
    alike = False
    if chances is not None:
        alike = np.std(np.log(powers)) < 0.2 and len(panel) >= 5  # all mean the same by their probabilities
    rho = 0.1 * min(temperature - 1, 1) if habits == "own" else 0
    scale = 1 + rho * (depth - 1)
    score = (inside / (1 + rho * (d - 1)) + outside / (1 + rho * (len(panel) - 1))) * scale
    if alike:
        together = coupled(Votes.from_dense(votes, panel, probabilities=chances), power=0.3)
        score += depth / 2 * np.log(together + 1e-9) / 0.3
    if habits == "none":
        return score, 1
    divisor = (
        depth**0.5 if knows.all() else temperature**1.5 * (1 + min(5 * classes / items, 1)) * (1 + alike)
    )
    return score, divisor


def by_own_curves(panel, given, q):
    """Return what each expert's probabilities say about the classes that it knows, and their powers."""
    chosen = []
    powers = [.02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .8, .9, 1, 1.2, 1.5, 2]  # fmt: skip
    edges, at, scores = [.1, .25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20], 0, []  # fmt: skip
    for row in panel.knows:
        score = np.zeros(q.shape)
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
        scores.append(score)
    return scores, chosen


def plain(panel, votes, habits, given=None, temperature=2.0, independent=False):
    """Return (labels, posterior) of the rule, for classes of equal size and experts who answer everything."""
    _, best = vote(panel, votes)
    q = best.astype(float)
    if given is not None:
        tied = best.sum(1) > 1
        together = coupled(Votes.from_dense(votes[tied], panel, probabilities=given[tied]), power=1)
        q[tied] *= together + 1e-12
    q /= q.sum(1, keepdims=True)
    first = q
    for _ in range(7 if independent else 3):
        score, divisor = log_likelihood(panel, votes, q, habits, given, first, temperature)
        q = softmax(score)
    return score.argmax(1), softmax(score / divisor)


def chosen(votes):
    return learn_weights(InMemory(votes), LearnedVote()).choice


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("gone", [(), ("expert-1",), ("expert-1", "expert-4"), "all"])
@pytest.mark.parametrize("habits", ["none", "common", "own"])
def test_labels_and_confidence_are_those_of_the_rule(soft, gone, habits, monkeypatch):
    panel = SOME_KNOW_ALL if gone == "all" else FANO.without(*gone)
    votes, given, _ = real_looking(400, panel=panel)
    given = given if soft else None
    whole = Votes.from_dense(votes, panel, probabilities=given)
    right = learn_weights(InMemory(whole), LearnedVote())
    monkeypatch.setattr(methods.learned, "choose", partial(with_habits, habits=habits, like=right.choice))
    labels = decode(whole, proba=True, odds=1)
    expected, posterior = plain(
        panel, votes, habits, given, right.choice.temperature, right.choice.independent
    )
    np.testing.assert_allclose(labels.proba, posterior, atol=1e-5)
    clear = np.sort(posterior, axis=1)[:, -1] - np.sort(posterior, axis=1)[:, -2] > 1e-4
    safe = labels.proba.argmax(axis=1) == labels.index  # Corollary 1 may name another class
    assert (clear & safe).mean() > 0.9
    np.testing.assert_array_equal(labels.index[clear & safe], expected[clear & safe])
    has = safe & clear
    np.testing.assert_allclose(labels.confidence[has], posterior[has, expected[has]], atol=1e-5)
    assert np.isfinite(labels.confidence).all()


def with_habits(weights, sample, habits, like):
    return replace(weights, choice=replace(like, habits=habits, sizes=False, readiness=0.0))


def test_experts_who_mean_the_same_by_their_probabilities_are_coupled():
    panel = FANO.without("expert-1", "expert-4")
    votes, given, _ = real_looking(400, panel=panel, noise=(1.0,), certain=None)
    whole = Votes.from_dense(votes, panel, probabilities=given)
    found = learn_weights(InMemory(whole), LearnedVote())
    assert found.couples
    _, posterior = plain(
        panel, votes, found.choice.habits, given, found.choice.temperature, found.choice.independent
    )
    np.testing.assert_allclose(decode(whole, proba=True).proba, posterior, atol=1e-4)
    # Of four experts nobody can say whether they are calibrated alike.
    few = panel.without("expert-2")
    cut = np.concatenate(
        [np.full(int(n), name != "expert-2") for name, n in zip(panel.names, panel.sizes, strict=True)]
    )
    rest = Votes.from_dense(
        np.delete(votes, panel.names.index("expert-2"), 1), few, probabilities=given[:, cut]
    )
    assert not learn_weights(InMemory(rest), LearnedVote()).couples


def test_the_test_on_held_out_answers_is_that_of_the_formula():
    votes, _, _ = real_looking(300, panel=FANO)
    whole = Votes.from_dense(votes, FANO)
    found = learn_weights(InMemory(whole), LearnedVote()).statistics.held_out
    sample = next(iter([DrawSample(choose).count(whole, learn_weights(InMemory(whole), LearnedVote()))]))
    halves = [half.votes(FANO) for half in sample.distinct().drawn(1.0).halves()]
    assert sum(int(half.multiplicity.sum()) for half in halves) == 300
    dense = [half.to_dense().dense.repeat(half.multiplicity, axis=0) for half in halves]
    assert found.answers == 300 * 7
    cooler = np.zeros(7)
    for row, habits in enumerate(["none", "common", "own"]):
        total = 0.0
        for learn, test in (dense, dense[::-1]):
            _, best = vote(FANO, learn)
            q = best / best.sum(1, keepdims=True)
            for _ in range(2):
                q = softmax(log_likelihood(FANO, learn, q, habits)[0])
            answer = answer_model(FANO, learn, q, habits)
            total += held_out(FANO, test, answer, 0)
            if row == found.habits.argmax():
                cooler += [
                    held_out(FANO, test, answer, 0.1 * (habits == "own"), 2 ** (n / 2)) for n in range(7)
                ]
        np.testing.assert_allclose(found.habits[row] / UNIT, total, rtol=1e-6)
    np.testing.assert_allclose(found.temperatures[found.habits.argmax()] / UNIT, cooler, rtol=1e-6)


def held_out(panel, votes, answer, rho, temperature=1.0):
    """Return the log-likelihood of each answer given the other answers of its item."""
    knows, size, d = panel.knows, panel.sizes, panel.knows.sum(0)
    scale, total = 1 + rho * (d.mean() - 1), 0.0
    for item in votes:
        weights = np.array([np.log(size[i] * np.maximum(answer[i, v], 1e-12)) for i, v in enumerate(item)])
        weights *= np.where(knows, scale / (1 + rho * (d - 1)), scale / (1 + rho * (len(panel) - 1)))
        for i, v in enumerate(item):
            q = softmax((weights.sum(0) - weights[i])[None] / temperature)[0]
            total += np.log(q @ np.maximum(answer[i, v], 1e-12))
    return total


def test_an_open_item_has_the_confidence_of_its_best_class():
    votes, _, _ = real_looking(400, panel=FANO.without("expert-1", "expert-4"))
    labels = decode(Votes.from_dense(votes, FANO.without("expert-1", "expert-4")), proba=True, odds=20)
    for n in np.flatnonzero(labels.index < 0):
        best = max(labels.proba[n, k] for k in labels.tied_classes(n))
        assert labels.confidence[n] == pytest.approx(best, abs=1e-6)
    assert (labels.index < 0).any()


@pytest.mark.parametrize("soft", [False, True])
def test_the_larger_the_odds_the_more_items_stay_open(soft):
    panel = FANO.without("expert-1", "expert-4")
    votes, given, _ = real_looking(600, panel=panel)
    whole = Votes.from_dense(votes, panel, probabilities=given if soft else None)
    found = [decode(whole, odds=odds) for odds in (1, 2, 5, 100)]
    open_ = [(labels.index < 0).sum() for labels in found]
    assert open_ == sorted(open_)
    assert open_[0] == 0 < open_[-1]
    assert decode(whole).index.tobytes() == decode(whole, odds=1.1).index.tobytes()
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
    counts.save(tmp_path / "known.json")
    again = Statistics.load(tmp_path / "known.json")
    assert (again.probabilities.powers == counts.probabilities.powers).all()
    halfway = decode(whole, past=again)
    assert (halfway.index == decode(whole, past=counts).index).all()


@pytest.mark.parametrize("damage", ["powers", "margins", "held_out"])
def test_statistics_of_other_shapes_are_refused(tmp_path, damage):
    votes, given, _ = real_looking(100)
    counts = LearnedVote().passes[0].count(Votes.from_dense(votes, RING, probabilities=given), None)
    if damage == "held_out":
        broken = replace(counts, held_out=HeldOut.empty()._replace(sizes=np.zeros(2, np.int64)))
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


# What is chosen by held-out answers


def some_people(guess="uniform", seed=0, items=1500, classes=12, experts=25, answers=4, **more):
    """Return votes and truth: people who know a third of the classes and answer a few items each."""
    rng = np.random.default_rng(seed)
    size = more.get("size", np.ones(classes))
    truth = rng.choice(classes, items, p=size / size.sum())
    knows = rng.random((experts, classes)) < 0.4
    knows[np.arange(experts)[:, None], rng.integers(0, classes, (experts, 2))] = True
    weight = rng.dirichlet(np.full(classes, 0.1), (experts, classes)) + 1e-9
    weight = {"uniform": weight * 0 + 1, "common": weight[:1].repeat(experts, 0), "own": weight}[guess]
    lots = rng.gumbel(size=(items, experts)) + more.get("readiness", 0.0) * knows[:, truth].T
    votes = np.full((items, experts), -1)
    for n in range(items):
        for i in np.argsort(-lots[n])[:answers]:
            p = weight[i, truth[n]] * knows[i]
            p[truth[n]] = 0
            sure = knows[i, truth[n]] and rng.random() < 0.9
            votes[n, i] = truth[n] if sure else rng.choice(classes, p=p / p.sum())
    return Votes.from_dense(votes, Panel(classes, knows)), truth


@pytest.mark.parametrize("guess", ["uniform", "common", "own"])
def test_the_habits_of_people_are_recognised(guess):
    votes, truth = some_people(guess)
    assert chosen(votes).habits in {"uniform": ["none"], "common": ["common", "own"], "own": ["own"]}[guess]
    majority = decode(votes, method="majority").expected_score(truth).mean()
    labels = decode(votes)
    assert labels.expected_score(truth).mean() > majority + 0.02
    wrong = (labels.index != truth).sum()
    # Where few authorities answer, nothing shows that mistakes by habits of their own are independent.
    assert 0.7 < (1 - labels.confidence).sum() / wrong < (2 if guess == "own" else 1.4)


def test_people_who_make_their_own_mistakes_are_told_from_models_that_share_them():
    people, _ = some_people("own")
    models, _, _ = real_looking(1000, panel=FANO)
    together = chosen(Votes.from_dense(models, FANO))
    assert together.habits == chosen(people).habits == "own"
    assert chosen(people).temperature < 1.1 < 1.3 < together.temperature


def test_four_people_who_answer_everything_can_show_that_their_mistakes_are_independent():
    panel = design(8, 4, effort="fast", seed=41).without("expert-1", "expert-2")
    truth = np.random.default_rng(0).integers(0, 8, 1000)
    people = simulate(panel, truth, noise="similar", accuracy=0.85, seed=1)
    assert chosen(people).independent
    models, _, _ = real_looking(1000, panel=FANO.without("expert-1", "expert-2", "expert-3"))
    assert not chosen(Votes.from_dense(models, FANO.without("expert-1", "expert-2", "expert-3"))).independent


def test_many_classes_of_few_items_lower_the_confidence():
    """Habits that were learned from twelve items of each class fit these twelve too well."""
    rng, panel = np.random.default_rng(0), design(60, 20, effort="fast")
    place, truth = rng.normal(size=(60, 4)), rng.integers(0, 60, 700)
    picture = place[truth] + rng.normal(0, 0.45, (700, 4))
    votes = np.empty((700, len(panel)), int)
    for i, row in enumerate(panel.knows):  # models that see the same picture
        known = np.flatnonzero(row)
        learned = place[known] + rng.normal(0, 0.15, (len(known), 4))
        votes[:, i] = known[((picture[:, None] - learned) ** 2).sum(2).argmin(1)]
    votes = np.where(rng.random(votes.shape) < 5 / len(panel), votes, -1)
    labels = decode(Votes.from_dense(votes, panel))
    assert 0.6 < (1 - labels.confidence).sum() / (labels.index != truth).sum() < 1.2


def test_expected_errors_of_people_with_habits_of_their_own_are_real():
    panel, truth = design(10, 4, effort="fast"), np.random.default_rng(1).integers(0, 10, 20_000)
    votes = simulate(panel, truth, accuracy=0.85, noise="similar", seed=3)
    labels = decode(votes, odds=1)
    assert 0.75 < (1 - labels.confidence).sum() / (labels.index != truth).sum() < 1.3


def test_a_class_that_nobody_who_answered_knows_lowers_the_confidence():
    panel = design(10, 4, effort="fast")
    truth = np.random.default_rng(0).integers(0, 10, 4000)
    votes = simulate(panel, truth, accuracy=0.9, missing=0.6, noise="uniform", seed=1)
    labels, single = decode(votes), (votes.dense >= 0).sum(axis=1) == 1
    # One expert of four classes was asked: most items are of the other six.
    right = (labels.index == truth)[single].mean()
    assert right < 0.5
    assert labels.confidence[single].mean() == pytest.approx(right, abs=0.08)


def test_class_sizes_count_where_held_out_answers_say_so():
    equal, _ = some_people()
    unequal, truth = some_people(size=1.0 / np.arange(1, 13) ** 1.5)
    assert not chosen(equal).sizes
    assert chosen(unequal).sizes
    assert (
        decode(unequal).expected_score(truth).mean()
        > decode(unequal, method="em").expected_score(truth).mean()
    )


def test_who_answered_counts_where_people_answer_what_they_know():
    everything, _ = some_people()
    known, truth = some_people(readiness=4.0)
    assert chosen(everything).readiness == 0
    assert chosen(known).readiness >= 2
    assert decode(known).expected_score(truth).mean() > 0.95
    # Whoever answers everything says nothing by answering.
    panel = Panel(12, np.vstack([known.panel.knows, np.ones((1, 12), bool)]))
    always = Votes.from_dense(np.column_stack([known.dense, truth]), panel)
    weights = learn_weights(InMemory(always), LearnedVote())
    assert weights.selects.tolist() == [True] * 25 + [False]


def test_who_answered_counts_where_classes_are_many_and_answers_few():
    votes, truth = some_people("common", classes=100, experts=21, answers=2, readiness=8.0)
    assert chosen(votes).habits == "common"
    majority = decode(votes, method="majority").expected_score(truth).mean()
    assert decode(votes).expected_score(truth).mean() > majority + 0.05


@pytest.mark.parametrize("g", [0.0, 1.5])
def test_who_answered_is_weighed_by_counting_all_choices(g):
    votes, _ = some_people(items=6, experts=6, classes=4, answers=3)
    selects = np.array([True] * 5 + [False])
    found = who_answered.weights(votes.rows, selects, g)[votes.rows.inverse] / UNIT
    knows = votes.panel.knows
    for n, row in enumerate(votes.dense):
        answered = [i for i in range(5) if row[i] != -1]
        for k in range(4):
            every = [
                math.exp(g * knows[list(some), k].sum()) for some in combinations(range(5), len(answered))
            ]
            expected = g * knows[answered, k].sum() - math.log(np.mean(every))
            assert found[n, k] == pytest.approx(expected, abs=1e-6)


def test_the_sample_has_the_same_rows_in_any_parts_and_any_order():
    """Many items, few experts: rows repeat, and the parts differ in what they hold."""
    panel = Panel.from_blocks(4, [[0, 1, 2], [1, 2, 3], [0, 3, 1]], names=["ann", "bob", "eve"])
    truth = np.sort(np.random.default_rng(0).integers(0, 4, 30_000))
    votes = simulate(panel, truth, accuracy=0.7, seed=1)
    expected = decode(votes)
    rng = np.random.default_rng(2)
    order = rng.permutation(len(truth))
    shuffled = decode(votes.subset(order), workers=3)
    assert shuffled.index.tobytes() == expected.index[order].tobytes()
    assert shuffled.confidence.tobytes() == expected.confidence[order].tobytes()
    turned = rng.permutation(3)
    moved = Panel(4, panel.knows[turned], [panel.names[i] for i in turned])
    other = decode(Votes.from_dense(votes.dense[:, turned], moved), workers=2)
    assert other.index.tobytes() == expected.index.tobytes()


def test_the_sample_does_not_depend_on_names():
    votes, _ = some_people("own", items=3000)  # half of them are in the sample
    named, panel = np.random.default_rng(2).permutation(12), votes.panel
    dense = np.where(votes.dense >= 0, named[votes.dense], votes.dense)
    renamed = Panel(12, panel.knows[:, np.argsort(named)], [f"another {n}" for n in panel.names])
    found, again = decode(votes), decode(Votes.from_dense(dense, renamed))
    np.testing.assert_array_equal(again.index, np.append(named, -1)[found.index])
    np.testing.assert_allclose(again.confidence, found.confidence, atol=1e-6)


def test_the_number_of_items_does_not_change_the_verdict():
    for guess in ("uniform", "own"):
        few, many = (some_people(guess, items=items)[0] for items in (1500, 6000))
        assert chosen(many).habits == chosen(few).habits
    assert sample_size(len(many), many.answers, 12) == 1536


def test_an_answer_without_a_probability_counts_as_a_plain_one():
    votes, given, _ = real_looking(200)
    nothing = np.full_like(given, np.nan)
    plainly = decode(Votes.from_dense(votes, RING))
    for empty in (nothing, np.zeros_like(given)):
        labels = decode(Votes.from_dense(votes, RING, probabilities=empty))
        np.testing.assert_array_equal(labels.index, plainly.index)
        np.testing.assert_allclose(labels.confidence, plainly.confidence, atol=1e-6)
    half = given.copy()
    half[:, :6] = np.nan  # experts 0 and 1 are people
    mixed = Votes.from_dense(votes, RING, probabilities=half)
    weights = learn_weights(InMemory(mixed), LearnedVote())
    assert weights.curves.seen.tolist() == [False, False, True, True, True]
    assert not weights.couples


def test_a_crowd_learns_who_is_right():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 600)
    right = rng.random((600, 7)) < [0.95, 0.9, 0.8, 0.6, 0.4, 0.3, 0.3]
    votes = Votes.from_dense(
        np.where(right, truth[:, None], rng.integers(0, 4, (600, 7))), Panel(4, np.ones((7, 4)))
    )
    found = learn_weights(InMemory(votes), LearnedVote())
    assert found.notes == ("everyone knows every class",)
    majority = decode(votes, method="authority").expected_score(truth).mean()
    assert decode(votes).expected_score(truth).mean() > majority + 0.01


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
    assert fit_calibration(log_likelihoods(stated, right)) == pytest.approx(wanted, abs=close)
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
    labels = decode(Votes.from_dense(rows, panel), odds=100)
    assert (labels.index[-tied:] == -1).all()
    assert labels.tied_classes(len(rows) - 1) == (0, 1)
    # The default names a class, and says that it is hardly more probable than the other.
    assert (decode(Votes.from_dense(rows, panel)).confidence[-tied:] < 0.9).all()
