"""Choose the next question: the expert whose answer is worth most, under costs and budgets."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from covote.asking.answers import Flags, Ints, ItemAnswers
from covote.panel import Panel

Array = NDArray[Any]
_PRIME = 2147483647
FREE = 1e-12
"""The cost that is assumed for a free answer, to divide by it."""
_EVEN = 1e-9
"""Experts whose values differ by less than this share count as equally good."""


class Decision(NamedTuple):
    """What the answers imply about some items.

    Attributes
    ----------
    label
        The leading class; -1 if several lead.
    tied
        Whether other classes are still possible.
    confidence
        The probability of the leading class; NaN if the rule has no probabilities.
    """

    label: Ints
    tied: Flags
    confidence: NDArray[np.float32]


class PanelRule(Protocol):
    """A rule for one panel: a pure function of the answers.

    A `state` is the rule's view of the answers about some items; `may_answer` flags the experts who may
    still answer.
    """

    def state(self, answers: ItemAnswers, may_answer: Flags) -> Any:
        """Summarise the answers in a few arrays with one row per item."""

    def settled(self, state: Any) -> Flags:
        """Return which items are settled."""

    def doubt(self, state: Any) -> NDArray[np.float64]:
        """Return the most that any answer about each item can be worth."""

    def value(self, state: Any, wanted: Flags) -> NDArray[np.float64]:
        """Return the value of each `wanted` answer (items x experts); 0 if it does not help."""

    def decision(self, state: Any) -> Decision:
        """Return the labels."""

    def possible(self, state: Any) -> Flags:
        """Return which classes are not ruled out (items x classes)."""


class Rule(Protocol):
    """A rule that decides whom to ask next and when to stop: a frozen dataclass whose fields are saved."""

    @property
    def name(self) -> str:
        """The name of the rule."""

    @property
    def redundancy(self) -> int:
        """How many common experts every pair of classes needs for the rule's guarantee; 0: none."""

    def for_panel(self, panel: Panel) -> PanelRule:
        """Return the rule for a panel."""


class TieOrder:
    """The order among equally good experts: group by group, and within a group one after another.

    Experts in one group have no class in common, so asking one of them leaves the others as good as before.
    Items start in different ones of the largest groups, at different places.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    @cached_property
    def _groups(self) -> tuple[Ints, Ints, Ints]:
        """Put each expert into the first group without a common class: (group, place, sizes of the groups).

        This finds the parallel classes of panels that :func:`covote.design` builds from them, in order.
        """
        knows = self._panel.knows
        taken = np.zeros((1, knows.shape[1]), dtype=np.bool_)
        sizes: list[int] = []
        group, place = np.empty((2, len(knows)), dtype=np.int64)
        for i, row in enumerate(knows):
            known = np.flatnonzero(row)
            g = int(np.argmin(taken[:, known].any(axis=1)))  # the last row is free
            if g == len(sizes):
                sizes.append(0)
                taken = np.concatenate([taken, np.zeros_like(taken)]) if g + 1 == len(taken) else taken
            taken[g, known] = True
            group[i], place[i] = g, sizes[g]
            sizes[g] += 1
        return group, place, np.array(sizes or [1])

    def of(self, items: Ints, seed: int) -> Ints:
        """Return the turn of each expert (items x experts), which depends on the seed and the item."""
        group, place, sizes = self._groups
        largest = int(sizes.max())
        full = int((sizes == largest).sum())
        drawn = _mixed(seed, items)
        which, row = np.unique(drawn % (full * largest), return_inverse=True)
        first, shift = which[:, None] % full, which[:, None] // full
        order = (group - first) % len(sizes) * len(group) + (place + shift) % largest
        return order[row]


def _mixed(seed: int, items: Ints) -> Ints:
    """Return a pseudo-random number for each item."""
    x = (seed % _PRIME * 16807 + items % _PRIME * 69621 + 1) % _PRIME
    for shift, factor in ((13, 48271), (15, 69621), (13, 16807)):
        x = (x ^ (x >> shift)) * factor % _PRIME
    return x


def choose(panel_rule: PanelRule, state: Any, free: Flags, cost: Array, money: Array, order: Ints) -> Ints:
    """Choose the next expert to ask about each item; -1 if there is no one left to ask.

    Parameters
    ----------
    panel_rule, state
        The rule, and its view of the answers.
    free
        Who can be asked (items x experts).
    cost
        The cost of an answer from each expert.
    money
        The money left for each item.
    order
        The order among equally good experts (items x experts).
    """
    wanted = free & (cost <= money[:, None])
    value = np.where(wanted, panel_rule.value(state, wanted), 0.0) / np.maximum(cost, FREE)
    most = value.max(axis=1, initial=0.0, keepdims=True)
    late = np.iinfo(order.dtype).max
    best = np.where(value >= most * (1 - _EVEN), order, late).argmin(axis=1)
    return np.where(most[:, 0] > 0, best, -1)


def spread_evenly(value: Array, order: Ints, count: int) -> tuple[Ints, Ints]:
    """Choose at most `count` questions, one per item, by their value; return their items and experts.

    `value` (items x experts) is 0 where a question is of no use. Each expert gets the same share, and those
    who can help get more only if questions are left. Of equal values, `order` decides.

    >>> value = np.array([[3.0, 1.0], [2.0, 1.0], [1.0, 0.0]])
    >>> spread_evenly(value, np.zeros((3, 2), dtype=int), 2)
    (array([0, 1]), array([0, 1]))
    """
    open_: Flags = np.asarray(value.any(axis=1))
    chosen: dict[int, int] = {}
    share = -(-count // max(1, int(value.any(axis=0).sum())))
    while len(chosen) < count and open_.any():
        left = np.full(value.shape[1], share).tolist()
        rows, experts = np.nonzero(np.where(open_[:, None], value, 0.0))
        ranked = np.lexsort((order[rows, experts], -value[rows, experts]))
        for n, i in zip(rows[ranked].tolist(), experts[ranked].tolist(), strict=True):
            if len(chosen) < count and left[i] and n not in chosen:
                chosen[n] = i
                left[i] -= 1
        open_[list(chosen)] = False
    return np.array(list(chosen), dtype=np.int64), np.array(list(chosen.values()), dtype=np.int64)
