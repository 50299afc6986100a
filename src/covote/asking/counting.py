"""Rules that count contradictions: :class:`Elimination`, :class:`Repair` and :class:`Vote`.

A class is contradicted by each expert that knows it and named another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.asking import counting_kernels as kernels
from covote.asking.counting_kernels import Lists, Terms
from covote.asking.judging import Verdict
from covote.asking.state import Log
from covote.panel import Panel
from covote.panel.layout import Layout

Array = NDArray[Any]


@dataclass(frozen=True)
class Elimination:
    """Ask the expert that tells most alive classes apart; stop when one class is left.

    A class is alive while no authority that was asked contradicted it. No model of anybody: with experts that
    are right about what they know, the result is never wrong, whatever they answer about the rest. Where
    somebody must have erred, the classes with the fewest contradictions are the ones alive.

    theory: section 6. At most ``bounds.elimination_bound(K, m)`` answers on a panel that covers every pair.
    """

    name: ClassVar[str] = "elimination"
    times: ClassVar[int] = 1

    def judge(self, panel: Panel) -> Counting:
        """Return the rule at work on a panel."""
        return Counting(panel, self.name)

    def saved(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the options and arrays from which the rule can be made again."""
        return {}, {}


@dataclass(frozen=True)
class Repair:
    """Drop a class when more authorities contradicted it than may be wrong; stop when one class is left.

    With at most `wrong` wrong answers about an item from experts that know its class, the result is never
    wrong. It needs a panel on which 2 wrong + 1 experts know each pair of classes: of those that know the
    truth and a rival, at least wrong + 1 answer right, and each of them contradicts the rival.

    theory: sections 3 and 6.

    Parameters
    ----------
    wrong
        How many answers about an item may be wrong, at most.
    """

    wrong: int = 1
    name: ClassVar[str] = "repair"

    def __post_init__(self) -> None:
        check_count(self.wrong, "wrong", 0)

    @property
    def times(self) -> int:
        """Every pair of classes needs 2 wrong + 1 common experts."""
        return 2 * self.wrong + 1

    def judge(self, panel: Panel) -> Counting:
        """Return the rule at work on a panel."""
        return Counting(panel, self.name, self.wrong)

    def saved(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the options and arrays from which the rule can be made again."""
        return {"wrong": self.wrong}, {}


@dataclass(frozen=True)
class Vote:
    """Stop when no answer still to come can change the authority vote of all experts.

    The label is the one that ``decode`` would give if everybody had been asked, whoever errs: the share
    of its authorities that a class has already is above the share that any other can still reach. It asks
    the authorities of the class that leads first. Items on which the full vote ties are asked of everybody.

    Counting that ends when the result is certain is curtailed sampling (Wald, 1947, Sequential Analysis).
    """

    name: ClassVar[str] = "vote"
    times: ClassVar[int] = 0  # the vote exists on every panel

    def judge(self, panel: Panel) -> Counting:
        """Return the rule at work on a panel."""
        return Counting(panel, self.name)

    def saved(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the options and arrays from which the rule can be made again."""
        return {}, {}


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
