"""Plain twins of the decoders: slow, obvious, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.panel import Panel

NOT_ASKED, NONE = -1, -2


def heard(panel: Panel, row: Any) -> dict[int, tuple[int, int]]:
    """Return {class: (votes for it, authorities that answered)} for the classes that were heard."""
    counts = {}
    for k in range(len(panel.classes)):
        answers = [int(v) for i, v in enumerate(row) if panel.knows[i, k] and v != NOT_ASKED]
        if answers:
            counts[k] = (sum(v == k for v in answers), len(answers))
    return counts


def authority(panel: Panel, row: Any) -> set[int]:
    """Return the classes that share the best score N_k / d_k."""
    score = {k: Fraction(n, d) for k, (n, d) in heard(panel, row).items()}
    return {k for k, s in score.items() if s == max(score.values())}


def majority(panel: Panel, row: Any) -> set[int]:
    """Return the classes with the most votes, among those that somebody who knows them was asked about."""
    votes = {k: n for k, (n, _) in heard(panel, row).items()}
    return {k for k, n in votes.items() if n == max(votes.values())}


def lookup(panel: Panel, row: Any) -> set[int]:
    """Return the classes whose output set has the answers: all who know the class name it (Paper: Thm 1)."""
    return {
        k
        for k, known in enumerate(panel.knows.T)
        if known.any() and all(v == k for v, knows in zip(row, known, strict=True) if knows)
    }


def violations(panel: Panel, row: Any) -> int:
    """Return the least number of wrong answers that explains the votes by a class that somebody knows."""
    counts = heard(panel, row)
    known = [k for k in range(len(panel.classes)) if panel.knows[:, k].any()]
    return min((d - n for n, d in (counts.get(k, (0, 0)) for k in known)), default=0)


def status(panel: Panel, row: Any, label: int, tied: bool) -> str:
    """Return what the answers prove about an item; `label` is -1 without one."""
    counts = heard(panel, row)
    unjudged = len(panel.classes) - len(counts)
    fitting = [k for k, (n, d) in counts.items() if n == d]
    named = {int(v) for v in row if v >= 0}
    answers = sum(v != NOT_ASKED for v in row)
    if label >= 0 and (unjudged or counts[label] == (1, 1)):
        return "incomplete"
    if label < 0 and len(named) + unjudged > answers:
        return "incomplete"
    if tied or len(fitting) > 1:
        return "tied"
    return "agreed" if fitting == [label] else "conflict"


def likelihood(
    panel: Panel, row: Any, accuracy: Any, prior: Any = None
) -> tuple[set[int], dict[int, Fraction]]:
    """Return (the most likely heard classes, the posterior of every class) under uniform noise, exactly."""
    weight = {}
    for k in range(len(panel.classes)):
        chance = Fraction(1) if prior is None else Fraction(prior[k])
        for i, v in enumerate(row):
            size = int(panel.sizes[i])
            if v == NOT_ASKED:
                continue
            if not panel.knows[i, k] or size == 1:
                chance *= Fraction(1, size)
            elif v == k:
                chance *= Fraction(accuracy[i])
            else:
                chance *= (1 - Fraction(accuracy[i])) / (size - 1)
        weight[k] = chance
    candidates = {k: weight[k] for k in heard(panel, row) if weight[k] > 0 or prior is None or prior[k]}
    total = sum(weight.values())
    best = {k for k, w in candidates.items() if w == max(candidates.values())}
    return best, {k: w / total if total else Fraction(0) for k, w in weight.items()}


def all_vectors(panel: Panel) -> NDArray[Any]:
    """Return every answer vector that the experts can give."""
    choices = [np.flatnonzero(known) for known in panel.knows]
    return np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(choices))


def violation_matrix(panel: Panel, vectors: NDArray[Any]) -> NDArray[Any]:
    """Return V_k = d_k - N_k for every vector and class."""
    classes = range(len(panel.classes))
    return np.stack([(vectors[:, panel.knows[:, k]] != k).sum(axis=1) for k in classes], axis=1)
