"""From votes and confidence to one answer."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decode import run
from covote.decode.authority import Authority
from covote.panel import Panel
from covote.votes import Votes

Array = NDArray[Any]


FEW_VOTES = 1 << 22
"""So few votes are counted sooner than compiled loops are loaded, unless they are there already."""


def leading(columns: Array, panel: Panel) -> Array:
    """Return the class with the best share of its authorities, -1 where several have it. Paper: Eq. (4)."""
    if columns.size > FEW_VOTES or "covote.decode.kernels" in sys.modules:
        return run(Authority(ties="report"), Votes.trusted(panel, columns=columns, complete=True)).index
    share = counted(columns, panel)
    if len(set(authorities(panel).tolist())) > 1:
        # Equal fractions are equal floats, and different ones differ: they have small denominators.
        share = share / authorities(panel)[:, None]
    best, index = share.max(axis=0), np.zeros(columns.shape[1], dtype=np.intp)
    several = np.zeros(columns.shape[1], dtype=np.uint16)
    for k, mine in enumerate(share == best):
        np.copyto(index, k, where=mine)
        several += mine.view(np.uint8)
    index[several > 1] = -1
    return index


def counted(columns: Array, panel: Panel) -> Array:
    """Return (classes x items) how many experts voted for each class.

    Small integers are compared many at a time, once for each expert and class that it knows; where these are
    many and the items few, it is quicker to look at each vote.
    """
    items, classes = columns.shape[1], len(panel.classes)
    expert, known = np.nonzero(panel.knows)
    if columns.size * 5 < len(known) * (2500 + items / 5):  # nanoseconds, about
        cells = (columns + np.arange(items) * classes).ravel()
        return np.bincount(cells, minlength=items * classes).reshape(items, classes).T
    count = np.zeros((classes, items), dtype=np.min_scalar_type(len(columns)))
    same = np.empty(items, dtype=bool)
    for i, k in zip(expert.tolist(), known.tolist(), strict=True):
        np.equal(columns[i], k, out=same)
        count[k] += same.view(np.uint8)
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
    score = most * counted(columns, panel).T / known
    score += least_step(panel) * sure / (3 * (np.abs(sure) + 1))
    score[:, ~panel.knows.any(axis=0)] = -1
    return score


def least_step(panel: Panel) -> float:
    """Return the least difference between two authority scores, in votes."""
    known = np.unique(authorities(panel))
    shares = np.unique(np.concatenate([np.arange(d + 1) / d for d in known]))
    return float(np.diff(shares).min() * known.max())


def on_top(table: Array, index: Array) -> Array:
    """Return the table with the labels' entries the largest of their rows, exchanged with those that were."""
    table = table.copy()
    rows = np.arange(len(table))
    best = table.argmax(axis=1)
    table[rows, index], table[rows, best] = table[rows, best], table[rows, index]
    equal = np.flatnonzero(table.argmax(axis=1) != index)  # another class, earlier in order, is as good
    table[equal, index[equal]] = np.nextafter(table[equal, index[equal]], np.inf)
    return table
