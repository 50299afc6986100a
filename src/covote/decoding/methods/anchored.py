"""Anchored: what the answers say inside and outside expertise, learned once from the authority labels.

The authority vote shares every item out among its best classes, Q = B / |B|. The counts n_i(v, k) of expert
i's answers v to items of class k then say how the expert answers:

    I   log R_i p_i for the class that it names, log R_i (1 - p_i) / (R_i - 1) for the others that it knows,
        p_i being the share of right answers to classes that it knows, shrunk towards the common one
    O   log R_i P_i(v | k) for a class k that it does not know, where
        P_i(v | k) = (n_i(v, k) + PRIOR habit_k(v)) / (n_i(., k) + PRIOR)
        habit_k(v) ~ (sum over experts of n(v, k) + 0.02) / (their answers to k, if they can say v, + 2)

An item's label is the class with the best sum I + O, learned once: a second round does harm (theory.md
section 9). This replaces the authority score, so it is less safe on intact covers than the default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear, scoring
from covote.decoding.gold import Gold, shared_items
from covote.decoding.linear import ONE, UNIT, Weights
from covote.decoding.methods.em import vote_shares
from covote.decoding.statistics import Statistics
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.layout import Cells
from covote.votes import Votes
from covote.votes.rows import Rows, item_counts

Array = NDArray[Any]

PRIOR = 20.0
"""How many answers the prior knowledge about an expert counts for; any number from 5 to 80 will do."""

UNUSUAL = 0.02 / 2
"""The habit of an answer that could not be observed."""


@dataclass(frozen=True, eq=False)
class AnswerWeights:
    """What every answer says about every class, and the counts behind it."""

    statistics: Statistics
    weights: Weights
    temperature: float
    settled: ClassVar[bool] = True

    def scores(self, rows: Rows) -> NDArray[np.int64]:
        """Return I + O (rows x classes)."""
        return linear.scores(rows, self.weights)


@dataclass(frozen=True)
class Anchored:
    """Learn from authority labels how experts answer, then let every answer speak about every class.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        What was learned from earlier votes of the same panel, to continue from.
    """

    gold: Gold | None = None
    past: Statistics | None = None
    rounds: ClassVar[int] = 1
    needs_probabilities: ClassVar[bool] = False
    only_for_ties: ClassVar[bool] = False
    has_proba: ClassVar[bool] = True

    def start(self, panel: Panel) -> None:
        """Begin without weights: the only pass uses authority labels."""

    def count(self, votes: Votes, weights: None) -> Statistics:
        """Count answers by authority label."""
        return count_by_authority(votes, self.gold)

    def learn(self, panel: Panel, counts: Statistics, weights: None) -> AnswerWeights:
        """Return what each answer says about each class."""
        counts = counts if self.past is None else self.past + counts
        return AnswerWeights(counts, linear.whole(panel, answer_weights(counts)), temperature(panel))

    def score(self, votes: Votes, weights: AnswerWeights, evidence: bool = True) -> Labels:
        """Return the labels; the confidence is tempered by the number of authorities."""
        return scoring.label_by(votes, weights.scores, evidence, weights.temperature)

    def proba(self, votes: Votes, weights: AnswerWeights) -> NDArray[np.float64]:
        """Return how likely every class is, tempered like the confidence."""
        return scoring.chances_by(votes, weights.scores, weights.temperature)


def temperature(panel: Panel) -> float:
    """Return sqrt(mean d): experts make mistakes together, so d answers are worth about sqrt(d) others."""
    known = panel.knows.sum(axis=0)
    return float(np.sqrt(known[known > 0].mean())) if known.any() else 1.0


def count_by_authority(votes: Votes, gold: Gold | None = None, method: str = "authority") -> Statistics:
    """Count answers by authority label; an item with several best classes counts for each in part."""
    share = np.zeros(len(votes.panel.classes), np.int64)

    def counted() -> Any:
        for rows, part in shared_items(votes, gold, lambda rows: vote_shares(rows, best_only=True)):
            np.add(share, part.sum(axis=0), out=share)
            yield linear.counts(rows, part)

    counts = linear.added_up(counted())
    return Statistics(votes.panel, method, int(item_counts(votes).sum()), share, counts)


def answer_weights(
    counts: Statistics, inside: float = 1.0, outside: float = 1.0
) -> Callable[[Array], NDArray[np.int64]]:
    """Return the weights inside x I + outside x O of some answers (cells x classes), in whole units."""
    panel, cells = counts.panel, counts.panel.layout.cells
    classes, seen = len(panel.classes), counts.inside()
    answers = panel.sizes + (seen.none > 0)  # what the expert can say; "none of mine" if it ever said so
    common = (seen.right.sum() + 9) / (seen.inside.sum() + 10)
    accuracy = (seen.right + PRIOR * common) / (seen.inside + PRIOR)
    accuracy = np.clip(accuracy, np.minimum(1 / answers + 0.02, 0.995), 0.995)
    says = answers > 1  # an expert with one possible answer says nothing by giving it
    right = np.log(np.where(says, answers * accuracy, 1.0))
    wrong = np.log(np.where(says, answers * (1 - accuracy) / np.maximum(answers - 1, 1), 1.0))
    can = (cells.label < classes) | (answers > panel.sizes)[cells.expert]
    habits = Habits.of(counts, answers) if outside else None

    def block(some: Array) -> NDArray[np.int64]:
        expert, label = cells.expert[some], cells.label[some]
        own = label[:, None] == np.arange(classes)
        found = inside * np.where(own, right[expert][:, None], wrong[expert][:, None])
        strange = ~panel.knows[expert]
        found[strange] = 0.0 if habits is None else outside * habits.outside(some)[strange]
        found[~can[some]] = 0.0
        return np.rint(found * UNIT).astype(np.int64)

    return block


@dataclass(frozen=True, eq=False)
class Habits:
    """What experts call the classes that they do not know.

    `table` has the habits (labels x classes, the last label is "none of mine"), up to a factor per expert and
    class: (how often items of a class were called so by experts who do not know it + 0.02) / (how often such
    experts who can say so answered them + 2). A large one is a sparse matrix of what it has beyond 0.02 / 2.
    `answers` is how many answers each expert can give.
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
        pairs, which = np.unique(cells.expert[cell] * classes + k, return_inverse=True)
        total = np.bincount(which, weights=value, minlength=len(pairs))
        # An answer to a class counts for every answer that its expert could have given.
        start, label = _possible(cells, answers, pairs // classes)
        often = np.diff(start)
        places, at = np.unique(label * classes + np.repeat(pairs % classes, often), return_inverse=True)
        asked = np.bincount(at, weights=np.repeat(total, often), minlength=len(places))
        here = np.searchsorted(places, cells.label[cell] * classes + k)
        seen = np.bincount(here, weights=value, minlength=len(places))
        habit = (seen + 0.02) / (asked + 2)
        if (classes + 1) * classes <= linear.TABLE:
            table = np.full((classes + 1, classes), UNUSUAL)
            table.reshape(-1)[places] = habit
            return cls(counts, answers, table)
        from scipy.sparse import coo_array

        beyond = coo_array((habit - UNUSUAL, np.divmod(places, classes)), shape=(classes + 1, classes))
        return cls(counts, answers, beyond.tocsr())

    def outside(self, some: Array) -> NDArray[np.float64]:
        """Return log R_i P_i(v | k) of some cells (cells x classes)."""
        cells = self.counts.panel.layout.cells
        experts, which = np.unique(cells.expert[some], return_inverse=True)
        share = self._of_labels(cells.label[some]) / self._of_experts(experts)[which]
        chance = self.counts.block(some) + PRIOR * share
        chance /= self.counts.totals(experts)[which] + PRIOR
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
    """Return the labels that some experts can give: where those of each begin, and all of them."""
    start = np.concatenate([[0], np.cumsum(answers[experts])])
    at = np.arange(start[-1]) + np.repeat(cells.start[experts] - start[:-1], answers[experts])
    return start, cells.label[at]
