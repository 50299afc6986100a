"""Plain twins of the decoders that estimate and of those for probabilities: slow and obvious, in floats."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from covote.panel import Panel
from tests.plain_decoders import NONE, NOT_ASKED, authority, heard

Shares = list[dict[int, float]]


def authority_shares(panel: Panel, rows: Any) -> Shares:
    """Share every item equally among its best classes."""
    best = [authority(panel, row) for row in rows]
    return [{k: 1 / len(classes) for k in classes} for classes in best]


def vote_shares(panel: Panel, rows: Any) -> Shares:
    """Share every item out by N_k / d_k."""
    found = []
    for row in rows:
        score = {k: n / d for k, (n, d) in heard(panel, row).items()}
        total = sum(score.values())
        found.append({k: s / total if total else 1 / len(score) for k, s in score.items()})
    return found


def counts(panel: Panel, rows: Any, shares: Shares) -> dict[tuple[int, int, int], float]:
    """Return n_i[k, v]: {(expert, class, answer): items}."""
    found: dict[tuple[int, int, int], float] = defaultdict(float)
    for row, share in zip(rows, shares, strict=True):
        for i, v in enumerate(row):
            if v != NOT_ASKED:
                for k, q in share.items():
                    found[i, k, int(v)] += q
    return found


def answers_of(panel: Panel, i: int, n: Any) -> list[int]:
    """Return the answers that expert i can give; "none of mine" if it ever did."""
    known = [k for k in range(len(panel.classes)) if panel.knows[i, k]]
    abstains = any(e == i and v == NONE and q > 0 for (e, _, v), q in n.items())
    return known + [NONE] * abstains


def accuracies(panel: Panel, n: Any, prior: float) -> list[tuple[float, float]]:
    """Return (right answers, answers) inside expertise of each expert."""
    return [
        (
            sum(q for (e, k, v), q in n.items() if e == i and k == v),
            sum(q for (e, k, v), q in n.items() if e == i and panel.knows[i, k]),
        )
        for i in range(len(panel))
    ]


def answer_scores(panel: Panel, rows: Any, n: Any, habits: str) -> list[dict[int, float]]:
    """Return {class: score} of the heard classes of every item, as `covote.decoding.answer_model` has it."""
    experts, classes = range(len(panel)), range(len(panel.classes))
    known = [[k for k in classes if panel.knows[i, k]] for i in experts]
    says = [any(e == i and v == NONE and q > 0 for (e, _, v), q in n.items()) for i in experts]
    mean_size = max(sum(map(len, known)) / len(panel), 1)

    def total(i: int, k: int) -> float:
        return sum(n[i, k, v] for v in [*known[i], NONE])

    named = {(i, k): total(i, k) - n[i, k, NONE] for i in experts for k in classes}
    right = [sum(n[i, k, k] for k in known[i]) for i in experts]
    inside = [sum(named[i, k] for k in known[i]) for i in experts]
    mean = (sum(right) + 9) / (sum(inside) + 10)
    accuracy = []
    for i in experts:
        low = min(1 / max(len(known[i]), 1) + 0.02, 0.995)
        accuracy.append(min(max((right[i] + 20 * mean) / (inside[i] + 20), low), 0.995))

    def rate(pairs: list[tuple[int, int]]) -> float:
        return (sum(n[i, k, NONE] for i, k in pairs) + 0.5) / (sum(total(i, k) for i, k in pairs) + 1)

    who = [(i, k) for i in experts if says[i] for k in classes]
    rates = {True: rate([(i, k) for i, k in who if k in known[i]]),
             False: rate([(i, k) for i, k in who if k not in known[i]])}  # fmt: skip

    def habit(v: int, k: int) -> float:
        if habits == "none":
            return 1.0
        c = {"common": 20, "own": 1}[habits]
        asked = sum(named[i, k] - n[i, k, k] for i in experts if v in known[i])
        return (sum(n[i, k, v] for i in experts) + c / mean_size) / (asked + c)

    def probability(i: int, v: int, k: int) -> float:
        none = rates[k in known[i]] if says[i] else 0.0
        if v == NONE:
            found = none
        elif len(known[i]) == 1:
            found = 1 - none
        else:
            share = 0.0 if v == k else habit(v, k) / sum(habit(u, k) for u in known[i] if u != k)
            if habits == "own" and k in known[i] and v != k:
                share = 1 / (len(known[i]) - 1)
            one = accuracy[i] if v == k else (1 - accuracy[i]) * share
            found = (one if k in known[i] else share) * (1 - none)
        if habits == "own" and (k not in known[i] or len(known[i]) == len(classes)):
            found = (n[i, k, v] + 20 * found) / (total(i, k) + 20)
        return max(found, 1e-12)

    found = []
    for row in rows:
        scores = {}
        for k in heard(panel, row):
            score = 0.0
            for i, v in enumerate(int(v) for v in row):
                if v == NOT_ASKED or (v == NONE and not says[i]):
                    continue
                usual = rate(who) if v == NONE else (1 - rate(who) if says[i] else 1) / len(known[i])
                score += math.log(probability(i, v, k) / usual)
            scores[k] = score
        found.append(scores)
    return found


def softmax(score: dict[int, float]) -> dict[int, float]:
    """Return probabilities."""
    top = max(score.values(), default=0)
    e = {k: math.exp(s - top) for k, s in score.items()}
    return {k: x / sum(e.values()) for k, x in e.items()}


def one_coin(panel: Panel, rows: Any, rounds: int, shrinkage: float) -> tuple[list[float], Shares]:
    """Return (accuracies, posteriors) after so many rounds of EM from vote shares."""
    shares = vote_shares(panel, rows)
    accuracy: list[float] = []
    for _ in range(rounds):
        n = counts(panel, rows, shares)
        inside = accuracies(panel, n, shrinkage)
        common = (sum(c for c, _ in inside) + 9) / (sum(t for _, t in inside) + 10)
        accuracy = []
        for (c, t), size in zip(inside, panel.sizes, strict=True):
            accuracy.append(
                min(max((c + shrinkage * common) / (t + shrinkage), min(0.02, 0.5 / size)), 0.995)
            )
        shares = []
        for row in rows:
            score = dict.fromkeys(heard(panel, row), 0.0)
            for i, v in enumerate(row):
                size, p = int(panel.sizes[i]), accuracy[i]
                for k in score:
                    if v != NOT_ASKED and panel.knows[i, k] and size > 1:
                        score[k] += math.log(size * (p if v == k else (1 - p) / (size - 1)))
            shares.append(softmax(score))
    return accuracy, shares


def dawid_skene(panel: Panel, rows: Any, rounds: int, smoothing: float) -> Shares:
    """Return the posteriors after so many rounds of EM from vote shares."""
    shares = vote_shares(panel, rows)
    for _ in range(rounds):
        n = counts(panel, rows, shares)
        can = [answers_of(panel, i, n) for i in range(len(panel))]
        size = [max(sum(s.get(k, 0) for s in shares), 1e-10) for k in range(len(panel.classes))]
        found = []
        for row in rows:
            score = {k: math.log(size[k] / sum(size)) for k in heard(panel, row)}
            for i, v in enumerate(row):
                for k in score:
                    if v != NOT_ASKED:
                        amount = {u: max(n[i, k, u] + smoothing, 1e-10) for u in can[i]}
                        score[k] += math.log(amount[int(v)] / sum(amount.values()))
            found.append(softmax(score))
        shares = found
    return shares


def coupled(panel: Panel, row: Any, given: Any, power: float, rounds: int = 60) -> dict[int, float]:
    """Return q of the heard classes; given[i] = {class: probability} for each expert that answered."""
    tempered = {}
    for i, chances in given.items():
        e = {k: p**power if p > 0 else 0.0 for k, p in chances.items()}
        factor = sum(chances.values()) / sum(e.values()) if sum(e.values()) else 1
        tempered[i] = {k: x * factor for k, x in e.items()}
    classes = [k for k in heard(panel, row) if any(panel.knows[i, k] for i in tempered)]
    q = {k: 1 / len(classes) for k in classes}
    for _ in range(rounds):
        new = {}
        for k in classes:
            experts = [i for i in tempered if panel.knows[i, k]]
            need = sum(1 / max(sum(q[j] for j in tempered[i]), 1e-12) for i in experts)
            new[k] = sum(tempered[i][k] for i in experts) / need
        if sum(new.values()) <= 0:
            return {k: 1 / len(classes) for k in classes}
        q = {k: x / sum(new.values()) for k, x in new.items()}
    return q
