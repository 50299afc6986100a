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


def inside_and_outside(panel: Panel, rows: Any, n: Any) -> list[dict[int, tuple[float, float]]]:
    """Return {class: (I, O)} of the heard classes of every item (theory.md section 9)."""
    experts, classes = range(len(panel)), range(len(panel.classes))
    can = [answers_of(panel, i, n) for i in experts]
    inside = accuracies(panel, n, 20)
    common = (sum(c for c, _ in inside) + 9) / (sum(t for _, t in inside) + 10)
    p = []
    for i, (c, t) in enumerate(inside):
        low = min(1 / len(can[i]) + 0.02, 0.995)
        p.append(min(max((c + 20 * common) / (t + 20), low), 0.995))
    total = {(i, k): sum(n[i, k, v] for v in can[i]) for i in experts for k in classes}

    def similarity(k: int, v: int) -> float:
        who = [i for i in experts if v in can[i] and not panel.knows[i, k]]
        return (sum(n[i, k, v] for i in who) + 0.02) / (sum(total[i, k] for i in who) + 2)

    found = []
    for row in rows:
        scores = {}
        for k in heard(panel, row):
            own, other = 0.0, 0.0
            for i, v in enumerate(int(v) for v in row):
                size = len(can[i])
                if v == NOT_ASKED:
                    continue
                if panel.knows[i, k]:
                    if size > 1:
                        own += math.log(size * (p[i] if v == k else (1 - p[i]) / (size - 1)))
                else:
                    share = similarity(k, v) / sum(similarity(k, u) for u in can[i])
                    other += math.log(size * (n[i, k, v] + 20 * share) / (total[i, k] + 20))
            scores[k] = (own, other)
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
    classes = list(heard(panel, row))
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
