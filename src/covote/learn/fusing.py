"""From votes and confidence to one answer."""

from __future__ import annotations

from functools import lru_cache
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import decode
from covote.panel import Panel
from covote.votes import Votes

Array = NDArray[Any]


FEW_VOTES = 1 << 22
"""So few votes are counted sooner than compiled loops are loaded."""


def leading(columns: Array, panel: Panel) -> Array:
    """Return the class with the best share of its authorities, -1 where several have it. Paper: Eq. (4)."""
    if columns.size > FEW_VOTES:
        votes = Votes.trusted(panel, columns=columns, complete=True)
        return decode(votes, ties="report", evidence=False).index
    share = counted(columns, panel)
    known = authorities(panel)
    common = lcm(*known.tolist())  # of Python's integers: with many different numbers it is huge
    if common < 1 << 16:
        if (known != known[0]).any():
            share = share * (common // known).astype(np.uint16)[:, None]
    else:
        # Equal fractions are equal floats, and different ones differ: they have small denominators.
        share = share / known[:, None]
    best = (share == share.max(axis=0)).view(np.uint8)
    kind = np.min_scalar_type(len(known))
    # Where one class is the best, the sum of the best is that class.
    marked = best * np.arange(len(known), dtype=kind)[:, None]
    index: Array = np.add.reduce(marked, axis=0, dtype=kind).astype(np.intp)
    index[np.add.reduce(best, axis=0, dtype=kind) > 1] = -1
    return index


def counted(columns: Array, panel: Panel) -> Array:
    """Return (classes x items) how many experts voted for each class.

    Small integers are compared many at a time, once for each class and all who know it; where the votes are
    few, it is quicker to look at each of them.
    """
    items, classes = columns.shape[1], len(panel.classes)
    kind = np.min_scalar_type(authorities(panel).max())
    if columns.size * 3 < classes * 7000 + panel.knows.sum() * items / 8:  # nanoseconds, about
        cells = columns.astype(np.intp) * items + np.arange(items)
        return np.bincount(cells.ravel(), minlength=items * classes).reshape(classes, items).astype(kind)
    count = np.empty((classes, items), dtype=kind)
    for k in range(classes):
        mine = columns[panel.knows[:, k]] == k
        np.add.reduce(mine.view(np.uint8), axis=0, dtype=kind, out=count[k])
    return count


def authorities(panel: Panel) -> Array:
    """Return how many experts know each class, at least 1: nobody votes for a class that no expert knows."""
    return np.asarray(np.maximum(panel.knows.sum(axis=0), 1))


def decision(columns: Array, confidence: Array, panel: Panel) -> NDArray[np.float64]:
    """Return (items x classes) the authority score in votes, and confidence where that ties.

    The score of a class is N_k / d_k, times the most authorities that a class has: with equally many for all
    it is the number of votes. The mean confidence of its authorities adds less than half of the least
    difference between two scores, so it decides ties and nothing else. With one expert for every pair of
    classes, this is the decision function of scikit-learn's OneVsOneClassifier.
    """
    known = authorities(panel)
    most = int(known.max())
    sure = most * confidence / known
    score = counted(columns, panel).T.astype(np.float64) * most / known
    score += least_step(panel) * sure / (3 * (np.abs(sure) + 1))
    score[:, ~panel.knows.any(axis=0)] = -1
    return score


def least_step(panel: Panel) -> float:
    """Return the least difference between two authority scores, in votes."""
    return _least_step(tuple(sorted(set(authorities(panel).tolist()))))


@lru_cache
def _least_step(known: tuple[int, ...]) -> float:
    shares = np.unique(np.concatenate([np.arange(d + 1) / d for d in known]))
    return float(np.diff(shares).min() * known[-1])


def on_top(table: Array, index: Array) -> Array:
    """Return the table with the labels' entries the largest of their rows, exchanged with those that were."""
    table = table.copy()
    rows = np.arange(len(table))
    best = table.argmax(axis=1)
    table[rows, index], table[rows, best] = table[rows, best], table[rows, index]
    equal = np.flatnonzero(table.argmax(axis=1) != index)  # another class, earlier in order, is as good
    table[equal, index[equal]] = np.nextafter(table[equal, index[equal]], np.inf)
    return table
