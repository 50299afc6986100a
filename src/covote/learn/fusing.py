"""From votes and confidence to one answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decode import run
from covote.decode.authority import Authority
from covote.panel import Panel
from covote.votes import Votes

Array = NDArray[Any]


FEW_VOTES = 1 << 20
"""So few votes are counted sooner than compiled loops are loaded."""

AT_ONCE = 1 << 22
"""How many votes to count in one step, each of which needs eight bytes."""


def leading(columns: Array, panel: Panel) -> Array:
    """Return the class with the best share of its authorities, -1 where several have it. Paper: Eq. (4)."""
    if columns.size > FEW_VOTES:
        return run(Authority(ties="report"), Votes.trusted(panel, columns=columns, complete=True)).index
    # Equal fractions are equal floats, and different ones differ: they have small denominators.
    share = counted(columns, len(panel.classes)) / authorities(panel)
    index: Array = share.argmax(axis=1)
    index[(share == share.max(axis=1, keepdims=True)).sum(axis=1) > 1] = -1
    return index


def counted(columns: Array, classes: int) -> NDArray[np.float64]:
    """Return (items x classes) how many experts voted for each class."""
    items = columns.shape[1]
    count = np.zeros((items, classes))
    row = np.arange(items) * classes
    some = max(1, AT_ONCE // max(items, 1))
    for first in range(0, len(columns), some):
        cells = (columns[first : first + some] + row).ravel()
        count += np.bincount(cells, minlength=items * classes).reshape(items, classes)
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
    score = most * counted(columns, len(panel.classes)) / known
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
