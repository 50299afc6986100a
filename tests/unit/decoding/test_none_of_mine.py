"""'None of mine' is an answer whose rates are learned."""

import numpy as np
import pytest

from covote import Panel, Votes, compiled, decode, design, simulate
from covote.decoding import InMemory, learn_weights, make
from covote.decoding.statistics import Statistics


def plain_em(votes, panel, rounds, prior=10.0):
    """EM with one accuracy per expert and common rates of "none of mine", line by line."""
    knows, size = panel.knows, panel.sizes
    q, p, alpha, nothing = None, size * 0.0, 0.0, 0.0
    for _ in range(rounds + 1):
        scores = []
        for row in votes:
            asked = [i for i, v in enumerate(row) if v != -1]
            heard = knows[asked].any(axis=0)
            if q is None:
                share = [sum(row[i] == k for i in asked) / max(1, sum(knows[i, k] for i in asked))
                         for k in range(knows.shape[1])]  # fmt: skip
                share = np.array(share) * heard
                scores.append(share / share.sum() if share.any() else heard / heard.sum())
                continue
            log = np.zeros(knows.shape[1])
            for i in asked:
                for k in np.flatnonzero(knows[i]):
                    if row[i] == -2:
                        log[k] += np.log(alpha / nothing)
                    else:
                        hit = p[i] if row[i] == k else (1 - p[i]) / (size[i] - 1)
                        log[k] += np.log((1 - alpha) * hit * size[i] / (1 - nothing))
            weight = np.where(heard, np.exp(log - log[heard].max()), 0)
            scores.append(weight / weight.sum())
        q = np.array(scores)
        right, voted = np.zeros(len(size)), np.zeros(len(size))
        none_in = none_out = out = 0.0
        for row, share in zip(votes, q, strict=True):
            for i, v in enumerate(row):
                inside = share[knows[i]].sum()
                if v == -2:
                    none_in, none_out = none_in + inside, none_out + 1 - inside
                elif v >= 0:
                    right[i] += share[v]
                    voted[i] += inside
                    out += 1 - inside
        common = (right.sum() + 9) / (voted.sum() + 10)
        p = np.clip((right + prior * common) / (voted + prior), np.minimum(0.02, 0.5 / size), 0.995)
        alpha = (none_in + 0.5) / (none_in + voted.sum() + 1)
        nothing = (none_out + 0.5) / (none_out + out + 1)
    return q


@pytest.mark.parametrize("how", ["plain", "compiled"])
def test_em_agrees_with_the_plain_algorithm(how):
    panel = Panel.from_blocks(list("abcde"), ["abc", "cde", "abd", "bce", "ade"])
    truth = np.random.default_rng(1).integers(0, 5, 60)
    votes = simulate(panel, truth, accuracy=0.8, none_rate=(0.1, 0.7), missing=0.2, seed=2)
    with compiled.kernel_mode(how):
        found = decode(votes, method="em", iterations=3, tolerance=0.0, proba=True)
    expected = plain_em(votes.dense.tolist(), panel, 3)
    heard = (votes.dense != -1).any(axis=1)
    assert np.abs(found.proba - expected)[heard].max() < 2e-3


def test_people_who_decline_what_they_do_not_know_are_not_taken_for_careless():
    """As mistakes, "none of mine" made experts look so bad that em labelled next to nothing right."""
    rng = np.random.default_rng(0)
    knows = rng.random((36, 10)) < 0.3
    knows[np.arange(36), rng.integers(0, 10, 36)] = True
    panel = Panel(10, knows)
    truth = rng.integers(0, 10, 1000)
    votes = simulate(panel, truth, accuracy=0.9, none_rate=(0.03, 0.8), missing=0.9, seed=1)
    right = {m: decode(votes, method=m).expected_score(truth).mean() for m in ("em", "majority", "authority")}
    assert right["em"] > max(right["majority"], right["authority"])


def statistics(votes, gold, **options):
    """What is learned with rates of "none of mine"."""
    decoder = make("em", options, gold)
    return learn_weights(InMemory(votes, 1), decoder).statistics


def test_statistics_with_rates_are_kept_and_continued(tmp_path):
    panel = design(10, 4, effort="fast")
    truth = np.arange(400) % 10
    votes = simulate(panel, truth, accuracy=0.9, none_rate=(0.05, 0.8), seed=1)
    found = statistics(votes, None)
    found.save(tmp_path / "stats.json")
    past = Statistics.load(tmp_path / "stats.json")
    assert (past.counts == found.counts).all()
    assert statistics(votes, None, past=past).items == 800


def test_gold_items_teach_the_rates():
    panel = Panel.from_blocks(list("abc"), ["ab", "bc", "ac"])
    votes = Votes.from_dense([[0, -2, 0]] * 30 + [[1, 1, -2]] * 30 + [[-2, 2, 2]] * 30, panel)
    gold = np.repeat([0, 1, 2], 30)
    seen = statistics(votes, gold).expert_totals()
    assert (seen.right == seen.inside).all()
    assert seen.inside.sum() == 180
    assert seen.none_inside.sum() == 0
    assert seen.outside.sum() == seen.none_outside.sum() == 90
