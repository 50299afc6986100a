"""Learn from labels how experts answer: what each answer says about each class.

An expert i who knows class k is right with probability a_i, one number per expert; all its wrong answers are
equally likely. Each expert also has a table of its answers to classes that it does not know, shrunk towards
the common habit: what experts who know v, but not k, call the items of k. In a crowd, where everyone knows
every class, each expert has a table for all classes, shrunk towards a_i.

    a_i        = (right answers + PRIOR a) / (answers + PRIOR),  a the share over all experts
    habit_k(v) ~ (n[v, k] + .02) / (n[., k] + 2),                sums over the experts who know v but not k
    out_i(v|k) = (n_i[v, k] + PRIOR habit_k(v)) / (n_i[., k] + PRIOR)
    in_i(v|k)  = a_i if v = k, else (1 - a_i) / (R_i - 1)

The weight of an answer for a class is the logarithm of its probability times the number R_i of answers that
the expert can give, so an uninformative answer weighs 0. Theory: section 9.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.linear import ONE, UNIT
from covote.decoding.statistics import Statistics
from covote.panel.layout import Cells

Array = NDArray[Any]

PRIOR = 20.0
"""How many answers the common habit counts for; anything from 5 to 80 works equally well."""

UNUSUAL = 0.02 / 2
"""The habit of an answer that could not be observed."""

Without = tuple[tuple[Array, Array], int]
"""Counts (which cell, which class) to lower, and by how much: the counts without some items."""


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """What each answer of each expert says about each class.

    Attributes
    ----------
    statistics
        The counts that the model was learned from.
    accuracy
        How often each expert is right about the classes that it knows.
    answers
        How many answers each expert can give: its classes, and "none of mine" if it ever said so.
    habits
        What experts call the classes that they do not know; None in a crowd, where everyone knows all
        classes.
    crowd
        Whether experts also have a table for the classes that they know.
    """

    statistics: Statistics
    accuracy: NDArray[np.float64]
    answers: NDArray[np.int64]
    habits: Habits | None = None
    crowd: bool = False

    @cached_property
    def table(self) -> linear.Weights:
        """The weights of all answers for all classes, in whole units."""
        return linear.whole(self.statistics.panel, self.block)

    @cached_property
    def outside_table(self) -> linear.Weights:
        """The same weights, but 0 for classes that the expert knows."""
        return linear.whole(self.statistics.panel, self.outside_block)

    def block(self, cells: Array, outside: float = 1.0) -> NDArray[np.int64]:
        """Return the weights of some answers (cells x classes); those outside expertise times `outside`."""
        found = self._inside(cells)
        if self.habits is not None:
            found = np.where(self._knows(cells), found, outside * self.habits.outside(cells))
        return _whole(np.where(self._can(cells)[:, None], found, 0.0))

    def outside_block(self, cells: Array) -> NDArray[np.int64]:
        """Return the weights of some answers for classes that their experts do not know, else 0."""
        if self.habits is None:
            return np.zeros((len(cells), len(self.statistics.panel.classes)), np.int64)
        usable = self._can(cells)[:, None] & ~self._knows(cells)
        return _whole(np.where(usable, self.habits.outside(cells), 0.0))

    def apart(self, cells: Array, truth: Array) -> NDArray[np.int64]:
        """Return by how much the weights for the true class shrink if the answer's own item is left out."""
        at = np.arange(len(cells)), truth
        if self.crowd:
            with_it, without = (self._inside(cells, (at, less)) for less in (0, 1))
            return _whole((with_it - without)[at])
        assert self.habits is not None
        with_it, without = (self.habits.outside(cells, (at, less)) for less in (0, 1))
        return _whole(np.where(self._knows(cells)[at] | ~self._can(cells), 0.0, (with_it - without)[at]))

    def _knows(self, cells: Array) -> NDArray[np.bool_]:
        panel = self.statistics.panel
        return panel.knows[panel.layout.cells.expert[cells]]

    def _can(self, cells: Array) -> NDArray[np.bool_]:
        """Return which answers are possible: "none of mine" only for experts who ever gave it."""
        panel = self.statistics.panel
        expert = panel.layout.cells.expert[cells]
        return (panel.layout.cells.label[cells] < len(panel.classes)) | (
            self.answers[expert] > panel.sizes[expert]
        )

    def _inside(self, cells: Array, without: Without | None = None) -> NDArray[np.float64]:
        panel = self.statistics.panel
        expert, label = panel.layout.cells.expert[cells], panel.layout.cells.label[cells]
        many, right = self.answers[expert], self.accuracy[expert]
        wrong = (1 - right) / np.maximum(many - 1, 1)
        # The answer of an expert who can give only one says nothing.
        says, own = many > 1, label[:, None] == np.arange(len(panel.classes))
        if self.crowd:
            chance = _shrunk(self.statistics, cells, np.where(own, right[:, None], wrong[:, None]), without)
            return np.where(says[:, None], np.log(chance * many[:, None]), 0.0)
        log_right, log_wrong = (np.where(says, np.log(p * many), 0.0)[:, None] for p in (right, wrong))
        return np.where(own, log_right, log_wrong)


def fit(counts: Statistics, crowd: bool = False) -> AnswerModel:
    """Fit the model to counts of the experts' answers by class."""
    panel, seen = counts.panel, counts.inside()
    common = (seen.right.sum() + 9) / (seen.inside.sum() + 10)
    answers = panel.sizes + (seen.none > 0)
    low = np.minimum(1 / answers + 0.02, 0.995)
    accuracy = np.clip((seen.right + PRIOR * common) / (seen.inside + PRIOR), low, 0.995)
    model = AnswerModel(counts, accuracy, answers, crowd=crowd)
    return model if crowd else replace(model, habits=Habits.of(counts, answers))


@dataclass(frozen=True, eq=False)
class Habits:
    """What experts call the classes that they do not know.

    `table` has the habits (labels x classes, the last label is "none of mine"), up to a factor per expert and
    class: (how often experts who do not know the class gave its items this label + 0.02) / (how often such
    experts who could give this label answered them + 2). A large table is stored as a sparse matrix of its
    excess over 0.02 / 2. `answers` is how many answers each expert can give.
    """

    counts: Statistics
    answers: NDArray[np.int64]
    table: Any

    @classmethod
    def of(cls, counts: Statistics, answers: NDArray[np.int64]) -> Habits:
        """Add up the answers of all experts to classes that they do not know."""
        panel, cells = counts.panel, counts.panel.layout.cells
        classes, (keys, values) = len(panel.classes), counts.listed()
        cell, k = keys // classes, keys % classes
        strange = ~panel.knows[cells.expert[cell], k]
        cell, k, value = cell[strange], k[strange], values[strange] / ONE
        expert, label, shape = cells.expert[cell], cells.label[cell], (classes + 1, classes)
        possible = (cells.label < classes) | (answers > panel.sizes)[cells.expert]
        # An answer to a class counts for every answer that its expert could have given.
        if shape[0] * shape[1] <= linear.TABLE:
            total = np.bincount(expert * classes + k, value, len(panel) * classes).reshape(-1, classes)
            order = np.flatnonzero(possible)[np.argsort(cells.label[possible], kind="stable")]
            start = np.searchsorted(cells.label[order], np.arange(classes + 2))
            asked = linear.sums(start, cells.expert[order], total)
            seen = np.bincount(label * classes + k, value, shape[0] * shape[1]).reshape(shape)
            return cls(counts, answers, (seen + 0.02) / (asked + 2))
        from scipy.sparse import coo_array

        can = coo_array((possible * 1.0, (cells.label, cells.expert)), shape=(classes + 1, len(panel)))
        asked = can.tocsr() @ coo_array((value, (expert, k)), shape=(len(panel), classes)).tocsr()
        beyond = coo_array((value, (label, k)), shape=shape).tocsr() - UNUSUAL * asked
        asked.data = 1 / (asked.data + 2)  # (seen + 0.02) / (asked + 2) - 0.02 / 2
        return cls(counts, answers, beyond.multiply(asked).tocsr())

    def outside(self, some: Array, without: Without | None = None) -> NDArray[np.float64]:
        """Return log R_i P_i(v | k) of some cells (cells x classes)."""
        cells = self.counts.panel.layout.cells
        experts, which = np.unique(cells.expert[some], return_inverse=True)
        share = self._of_labels(cells.label[some]) / self._of_experts(experts)[which]
        chance = _shrunk(self.counts, some, share, without)
        return np.log(self.answers[cells.expert[some]][:, None] * chance)

    def _of_labels(self, labels: Array) -> NDArray[np.float64]:
        """Return the habits of some labels (labels x classes)."""
        rows = self.table[labels]
        return rows if isinstance(rows, np.ndarray) else UNUSUAL + rows.toarray()

    def _of_experts(self, experts: Array) -> NDArray[np.float64]:
        """Return the sum over all answers that some experts can give (experts x classes)."""
        start, label = _possible(self.counts.panel.layout.cells, self.answers, experts)
        if isinstance(self.table, np.ndarray):
            return linear.sums(start, label, self.table)
        can = type(self.table)((np.ones(len(label)), label, start), shape=(len(experts), self.table.shape[0]))
        return np.asarray(UNUSUAL * self.answers[experts][:, None] + (can @ self.table).toarray())


def _possible(cells: Cells, answers: Array, experts: Array) -> tuple[Array, Array]:
    """Return the labels that some experts can give: where each expert's labels begin, and all labels."""
    # "None of mine" is the last cell of an expert; it counts only for those who ever said it.
    start = np.concatenate([[0], np.cumsum(answers[experts])])
    at = np.arange(start[-1]) + np.repeat(cells.start[experts] - start[:-1], answers[experts])
    return start, cells.label[at]


def _shrunk(
    counts: Statistics, cells: Array, share: NDArray[np.float64], without: Without | None
) -> NDArray[np.float64]:
    """Return (n_i[v, k] + PRIOR share) / (n_i[., k] + PRIOR) of some answers (cells x classes)."""
    experts, which = np.unique(counts.panel.layout.cells.expert[cells], return_inverse=True)
    count, total = counts.block(cells), counts.totals(experts)[which]
    if without is not None:
        at, less = without
        count[at], total[at] = np.maximum(count[at] - less, 0), np.maximum(total[at] - less, 0)
    found: NDArray[np.float64] = (count + PRIOR * share) / (total + PRIOR)
    return found


def _whole(weights: Array) -> NDArray[np.int64]:
    """Return weights in whole units."""
    found: NDArray[np.int64] = np.rint(weights * UNIT).astype(np.int64)
    return found
