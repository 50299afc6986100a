"""What rules that count contradictions share: from the answers about an item to its next question."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.asking import counting_kernels as kernels
from covote.asking.counting_kernels import Lists, Terms
from covote.asking.judging import Verdict
from covote.asking.state import Log
from covote.panel import Panel
from covote.panel.layout import Layout

Array = NDArray[Any]


def lists_of(panel: Panel) -> Lists:
    """Return who knows what, as flat lists."""
    group, place = _groups(panel)
    sizes = np.bincount(group, minlength=1)
    full, largest = int((sizes == sizes.max()).sum()), int(sizes.max())
    return Lists(
        *panel.layout.known, *Layout(panel.knows.T).known, group, place, len(sizes), full, max(1, largest)
    )


def _groups(panel: Panel) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put each expert into the first group with whose members it has no class in common.

    Returns the group of each expert and its place in it. What :func:`covote.design` builds from parallel
    classes stands in their order, and so they are found again.
    """
    taken = np.zeros((1, len(panel.classes)), dtype=np.bool_)
    sizes: list[int] = []
    group, place = np.empty(len(panel), dtype=np.int64), np.empty(len(panel), dtype=np.int64)
    for i, row in enumerate(panel.knows):
        known = np.flatnonzero(row)
        g = int(np.argmin(taken[:, known].any(axis=1)))  # the last row is free
        if g == len(sizes):
            sizes.append(0)
            taken = np.concatenate([taken, np.zeros_like(taken)]) if g + 1 == len(taken) else taken
        taken[g, known] = True
        group[i], place[i] = g, sizes[g]
        sizes[g] += 1
    return group, place


class Counting:
    """A rule at work: counts votes and contradictions of every class, anew from the answers each time.

    `wrong` is how many answers about an item may be wrong; only the rule ``repair`` looks at it.
    """

    def __init__(self, panel: Panel, rule: str, wrong: int = 0) -> None:
        self._lists = lists_of(panel)
        self._space = kernels.scratch(self._lists)
        self._rule = (kernels.MODES[rule], wrong)

    def settle(self, log: Log, terms: Terms, rows: Array, status: Array) -> None:
        """Mark the items whose class is settled."""
        kernels.settle(log, self._lists, terms, *self._rule, rows, self._space, status)

    def choose(self, log: Log, terms: Terms, rows: Array, spent: Array, chosen: Array) -> None:
        """Choose the next questions about each item, one per column; -1 where there are no more."""
        kernels.choose(log, self._lists, terms, *self._rule, rows, self._space, spent, chosen)

    def verdict(self, log: Log, terms: Terms, rows: Array) -> Verdict:
        """Return what the answers say about some items."""
        index, against = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int32)
        shared = np.empty(len(rows), dtype=np.bool_)
        kernels.judge(log, self._lists, terms, *self._rule, rows, self._space, index, shared, against)
        return Verdict(index, shared, against, np.full(len(rows), np.nan, dtype=np.float32))

    def possible(self, log: Log, terms: Terms, rows: Array) -> NDArray[np.bool_]:
        """Return (items x classes): the classes that are not ruled out."""
        found = np.empty((len(rows), len(self._lists.first) - 1), dtype=np.bool_)
        kernels.alive(log, self._lists, terms, *self._rule, rows, self._space, found)
        return found
