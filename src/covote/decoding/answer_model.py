"""Learn from labels how experts answer: what each answer says about each class.

An expert i who knows class k is right with probability a_i, one number per expert. Its wrong answers, and its
answers to classes that it does not know, follow habits: none (all its answers are equally likely), habits
common to all experts, or its own, which are shrunk towards the common ones:

    a_i      = (right answers + PRIOR a) / (answers + PRIOR),  a the share over all experts
    h(v|k)   ~ 1, or (n[v, k] + c / R) / (n[k] + c)            n[k]: wrong answers to k of those who know v
    P_i(v|k) = a_i if v = k; (1 - a_i) e_i(v|k) if i knows k, else h_i(v|k)
    own      : (n_i[v, k] + PRIOR P_i(v|k)) / (n_i[., k] + PRIOR), for classes that i does not know,
               and for all classes if i knows every class

h_i is h among the answers that i can give, R their mean number, and c = 20, or 1 with own habits. Wrong
answers about classes that i knows, e_i, follow h_i as well; with own habits they are all equally likely.
"None of mine" has two rates, of experts who know the class and who do not; other answers share the rest.

The weight of an answer for a class is the logarithm of its probability divided by what it would be if the
answer said nothing, so an uninformative answer weighs 0. Theory: section 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.linear import ONE, UNIT
from covote.decoding.statistics import Statistics
from covote.decoding.tuning import Habits

Array = NDArray[Any]

PRIOR = 20.0
"""How many answers the common accuracy, and the common habit, count for; 5 to 80 work equally well."""

COMMON = {"common": 20.0, "own": 1.0}
"""How many answers the uniform distribution counts for in the common habits."""


class Rates(NamedTuple):
    """How often experts say "none of mine": to classes that they know, to others, and to all."""

    inside: float
    outside: float
    all: float


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """What each answer of each expert says about each class, from counts of the answers by class."""

    statistics: Statistics
    habits: Habits

    @cached_property
    def table(self) -> linear.Weights:
        """The weights of all answers for all classes, in whole units."""
        return linear.precomputed(self.statistics.panel, self.weights)

    @cached_property
    def inside_table(self) -> linear.Weights:
        """The same weights, but 0 for classes that the expert does not know."""
        return linear.precomputed(self.statistics.panel, self._inside)

    def _inside(self, cells: Array) -> NDArray[np.int64]:
        weights = self.weights(cells) if callable(self.table) else self.table[cells]
        return np.where(self.statistics.panel.knows[self._expert(cells)], weights, 0)

    def weights(self, cells: Array) -> NDArray[np.int64]:
        """Return the weights of some answers (cells x classes), in whole units."""
        named, says = self._label(cells) < len(self.statistics.panel.classes), self._none[0]
        weights = np.log(self.probability(cells) / self.usual(cells)[:, None])
        return _whole(np.where((named | says[self._expert(cells)])[:, None], weights, 0.0))

    def usual(self, cells: Array) -> NDArray[np.float64]:
        """Return the probability of some answers if they say nothing about the class."""
        panel, expert, (says, rate) = self.statistics.panel, self._expert(cells), self._none
        found = np.where(says, 1 - rate.all, 1.0)[expert] / np.maximum(panel.sizes, 1)[expert]
        return np.where(self._label(cells) < len(panel.classes), found, rate.all)

    def apart(self, cells: Array, truth: Array) -> NDArray[np.int64]:
        """Return by how much the weights for the true class shrink if the answer's own item is left out."""
        if self.habits != "own":
            return np.zeros(len(cells), np.int64)
        at = np.arange(len(cells)), truth
        with_it, without = (np.log(self.probability(cells, (at, less))[at]) for less in (0, 1))
        return _whole(with_it - without)

    @cached_property
    def accuracy(self) -> NDArray[np.float64]:
        """How often each expert is right about the classes that it knows, if it names a class."""
        seen, size = self.statistics.expert_totals(), self.statistics.panel.sizes
        answers = seen.inside - seen.none_inside
        mean = (seen.right.sum() + 9) / (answers.sum() + 10)
        low = np.minimum(1 / np.maximum(size, 1) + 0.02, 0.995)
        found: NDArray[np.float64] = np.clip((seen.right + PRIOR * mean) / (answers + PRIOR), low, 0.995)
        return found

    @cached_property
    def _none(self) -> tuple[NDArray[np.bool_], Rates]:
        """Which experts ever say "none of mine", and how often they do."""
        seen = self.statistics.expert_totals()
        says = seen.none > 0
        parts = ((seen.none_inside, seen.inside), (seen.none_outside, seen.outside))
        rates = [(some.sum() + 0.5) / (total[says].sum() + 1) for some, total in parts]
        every = (seen.none.sum() + 0.5) / ((seen.inside + seen.outside)[says].sum() + 1)
        return says, Rates(*map(float, (*rates, every)))

    def probability(self, cells: Array, without: Any = None) -> NDArray[np.float64]:
        """Return P_i(v|k); with `without` (where, how much), the counts are lowered first."""
        panel, (says, rate) = self.statistics.panel, self._none
        expert, label = self._expert(cells), self._label(cells)
        knows, own = panel.knows[expert], label[:, None] == np.arange(len(panel.classes))
        single, right = (panel.sizes < 2)[expert], self.accuracy[expert][:, None]
        wrong = self._habit(cells)
        even = 1 / np.maximum(panel.sizes[expert] - 1, 1)[:, None]
        inside = even if self.habits == "own" else wrong
        found = np.where(knows, np.where(own, right, (1 - right) * inside), wrong)
        found[single] = 1.0  # the only class that an expert can name
        none = np.where(knows, rate.inside, rate.outside) * says[expert][:, None]
        found = np.where((label < len(panel.classes))[:, None], found * (1 - none), none)
        if self.habits == "own":
            counts, experts = self.statistics, np.unique(expert)
            count, total = counts.block(cells), counts.totals(experts)[np.searchsorted(experts, expert)]
            if without is not None:
                at, less = without
                count[at], total[at] = np.maximum(count[at] - less, 0), np.maximum(total[at] - less, 0)
            learned = (count + PRIOR * found) / (total + PRIOR)
            everything = panel.sizes[expert] == len(panel.classes)
            found = np.where(knows & ~everything[:, None], found, learned)
        return np.maximum(found, 1e-12)

    def _habit(self, cells: Array) -> NDArray[np.float64]:
        """Return h_i(v|k) of some answers (cells x classes); that of "none of mine" has no meaning."""
        panel = self.statistics.panel
        experts, which = np.unique(self._expert(cells), return_inverse=True)
        label = np.minimum(self._label(cells), len(panel.classes) - 1)
        if self.habits == "none":
            own = panel.knows[experts]
            return 1 / np.maximum(panel.sizes[experts][:, None] - own, 1)[which]
        base, excess = self._common
        known = panel.layout.known
        start = np.concatenate([[0], np.cumsum(panel.sizes[experts])])
        member = known.members[
            np.arange(start[-1]) + np.repeat(known.start[experts] - start[:-1], np.diff(start))
        ]
        if isinstance(excess, np.ndarray):
            rows, total = excess[label], linear.sums(start, member, excess)
        else:
            can = type(excess)(
                (np.ones(len(member)), member, start), shape=(len(experts), len(panel.classes))
            )
            rows, total = excess[label].toarray(), (can @ excess).toarray()
        total = total + base * panel.sizes[experts][:, None]
        found: NDArray[np.float64] = (base + rows) / np.maximum(total, 1e-12)[which]
        return found

    @cached_property
    def _common(self) -> tuple[float, Any]:
        """The common habit of every class (answers x classes): a number, and what is to be added to it.

        What is to be added is a sparse matrix where there are many classes. No answer is a wrong one about
        the class that it names.
        """
        counts, panel, c = self.statistics, self.statistics.panel, COMMON[self.habits]
        cells, classes, (keys, values) = panel.layout.cells, len(panel.classes), counts.listed()
        base = 1 / max(float(panel.sizes.mean()), 1.0)
        cell, k = keys // classes, keys % classes
        wrong = (cells.label[cell] != k) & (cells.label[cell] < classes)
        cell, k, value = cell[wrong], k[wrong], values[wrong] / ONE
        expert, label = cells.expert[cell], cells.label[cell]
        if classes * max(classes, len(panel)) <= linear.TABLE:
            of_expert = np.bincount(expert * classes + k, value, panel.knows.size).reshape(panel.knows.shape)
            whole = panel.knows.T.astype(np.float64) @ of_expert
            seen = np.bincount(label * classes + k, value, classes * classes).reshape(classes, classes)
            found: Array = (seen - base * whole) / (whole + c)
            np.fill_diagonal(found, -base)
            return base, found
        from scipy.sparse import coo_array, csr_array, dia_array

        known = panel.layout.known
        can = csr_array((np.ones(len(known.members)), known.members, known.start), shape=panel.knows.shape)
        asked = (can.T @ coo_array((value, (expert, k)), shape=panel.knows.shape).tocsr()).tocsr()
        beyond = coo_array((value, (label, k)), shape=(classes, classes)).tocsr() - base * asked
        asked.data = 1 / (asked.data + c)
        excess = beyond.multiply(asked).tocsr()
        excess -= dia_array((base + excess.diagonal()[None], [0]), shape=excess.shape)
        return base, excess.tocsr()

    def _expert(self, cells: Array) -> NDArray[np.int64]:
        return self.statistics.panel.layout.cells.expert[cells]

    def _label(self, cells: Array) -> NDArray[np.int64]:
        return self.statistics.panel.layout.cells.label[cells]


def _whole(weights: Array) -> NDArray[np.int64]:
    """Return weights in whole units."""
    found: NDArray[np.int64] = np.rint(weights * UNIT).astype(np.int64)
    return found
