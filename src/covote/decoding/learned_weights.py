"""What the default learns: how experts answer, by the labels so far, and the passes in which it learns.

:class:`FitToVote` learns from the labels of the paper's vote, and :class:`Refit` again from the posterior.
Between them, :func:`covote.decoding.cross_validation.choose` decides on a sample whose habits experts follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import curves as probability_curves
from covote.decoding import fusion, linear, who_answered
from covote.decoding.answer_model import AnswerModel
from covote.decoding.gold import Gold
from covote.decoding.gold import counted as gold_counted
from covote.decoding.linear import NO_EVIDENCE, ONE, UNIT
from covote.decoding.loop import Pass
from covote.decoding.sampling import RowSample, sample_size
from covote.decoding.shares import shares_of
from covote.decoding.statistics import Statistics
from covote.decoding.tuning import Habits
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.patterns import AnswerPatterns

Array = NDArray[Any]

DEPENDENCE = 0.1
"""How much each further authority adds to the divisor of the weights, if experts have habits of their own."""

POWER = 1.5
"""The power of the temperature: experts share more mistakes than their answers to one item reveal."""

CAP = 1.25
"""The temperature is at most D to this power, if D authorities answer an item."""

FEW = 5.0
"""With so many items of each class, or fewer, the temperature is twice as high."""

FEWEST = 5
"""The fewest experts with probabilities of whom can be said that all are calibrated alike."""


@dataclass(frozen=True)
class Choice:
    """What was chosen by predicting held-out answers.

    Attributes
    ----------
    habits
        Whose habits wrong answers follow.
    sizes
        Whether classes differ in size.
    readiness
        How much more readily experts answer what they know, as the logarithm of odds (g).
    temperature
        The divisor of scores at which held-out answers are predicted best (t): 1 if mistakes are independent.
    independent
        Whether experts make independent mistakes by habits of their own; then it pays to learn on.
    authorities
        How many experts who know a class answered an item, on average, if any did (D).
    """

    habits: Habits = "none"
    sizes: bool = False
    readiness: float = 0.0
    temperature: float = 2.0
    independent: bool = False
    authorities: float = 1.0


@dataclass(frozen=True, eq=False)
class LearnedWeights:
    """What has been learned so far.

    Attributes
    ----------
    statistics
        Answers by label, to which later votes can be added.
    items
        How many items these votes have.
    choice
        What was chosen by predicting held-out answers.
    curves
        How to interpret the experts' probabilities; None if there are none.
    calibration
        Shift and slope of the log-odds of the labels, fitted to gold items; None without gold items.
    candidates
        Answer rows that may be in the sample, until they have been counted in all parts.
    """

    statistics: Statistics
    items: int
    choice: Choice = Choice()
    curves: probability_curves.Curves | None = None
    calibration: tuple[float, float] | None = None
    candidates: RowSample | None = None

    @cached_property
    def model(self) -> AnswerModel:
        """How the experts answer."""
        return AnswerModel(self.statistics, self.choice.habits)

    @cached_property
    def sample_share(self) -> float:
        """The share of the items that are in the sample."""
        seen, panel = self.statistics.expert_totals(), self.statistics.panel
        answers = round(
            float((seen.inside + seen.outside).sum()) * self.items / max(self.statistics.items, 1)
        )
        return sample_size(self.items, answers, len(panel.classes)) / max(self.items, 1)

    @property
    def dependence(self) -> float:
        """How much each further answer adds to the divisor of the weights (rho)."""
        return DEPENDENCE * min(self.choice.temperature - 1, 1.0) if self.choice.habits == "own" else 0.0

    @cached_property
    def couples(self) -> bool:
        """Whether all experts gave probabilities and are calibrated alike, so that coupling counts."""
        if self.curves is None or not self.curves.alike:
            return False
        seen = self.statistics.expert_totals()
        answered = (seen.inside + seen.outside > 0) & (self.statistics.panel.sizes > 1)
        return bool(self.curves.seen[answered].all() and answered.sum() >= FEWEST)

    @property
    def temperature(self) -> float:
        """The divisor of scores in the posterior: experts who make the same mistakes count for fewer.

        The fewer items a class has, the more the habits learned from them are those of these very items.
        """
        if self.choice.habits == "none":
            return 1.0
        if self.statistics.panel.knows.all():
            return float(np.sqrt(self.choice.authorities))
        share = self.statistics.share
        few = 1 + min(FEW * len(share) * ONE / max(int(share.sum()), 1), 1.0)
        found = min(self.choice.temperature**POWER, self.choice.authorities**CAP)
        return float(found * few) * (2.0 if self.couples else 1.0)

    @cached_property
    def base(self) -> NDArray[np.int64] | None:
        """The logarithm of the size of every class, in whole units; None if classes are alike."""
        if not self.choice.sizes:
            return None
        size = self.statistics.share / ONE + 1
        found: NDArray[np.int64] = np.rint(np.log(size / size.mean()) * UNIT).astype(np.int64)
        return found

    @cached_property
    def selects(self) -> NDArray[np.bool_]:
        """Which experts leave items out."""
        return who_answered.selective(self.statistics)

    def scores(self, rows: AnswerPatterns, every_class: bool = False) -> NDArray[np.int64]:
        """Return S, the log-likelihood of all answers of a row under every class (rows x classes).

        A class that no expert who answered knows cannot be the label, so it has `NO_EVIDENCE`; with
        `every_class` it has its likelihood, because the item may well be of that class.
        """
        model, soft = self.model, self.curves is not None and rows.votes.soft
        if not soft and not self.dependence:
            found = linear.totals(rows, model.table)
        else:
            inside = linear.totals(rows, model.inside_table)
            outside = linear.totals(rows, model.table) - inside
            if soft:
                assert self.curves is not None
                inside = self._soft(rows, self.curves)
            within, without, scale = self.tempering(rows)
            found = np.rint((inside / within + outside / without) * scale).astype(np.int64)
        if soft and self.couples:
            q = fusion.coupled(rows.votes, fusion.POWER)
            half = np.log(q + 1e-9) * (self.choice.authorities / (2 * fusion.POWER))
            found += np.rint(half * UNIT).astype(np.int64)
        found += self.evidence(rows)
        if every_class:
            nothing = np.diff(rows.ragged.indptr)[:, None] == 0
            there = ~nothing & self.statistics.panel.knows.any(axis=0)
        else:
            there = linear.has_evidence(rows)
        found[np.broadcast_to(~there, found.shape)] = NO_EVIDENCE
        return found

    def evidence(self, rows: AnswerPatterns) -> NDArray[np.int64] | int:
        """Return what class sizes and who answered say about every class, apart from the answers."""
        base = 0 if self.base is None else self.base
        if not self.choice.readiness:
            return base
        return who_answered.weights(rows, self.selects, self.choice.readiness) + base

    def tempering(self, rows: AnswerPatterns) -> tuple[Array, Array, float]:
        """Return the divisors of weights inside and outside expertise, and a factor for both.

        Experts with habits of their own make the same mistakes, so each further one counts for less.
        """
        rho = self.dependence
        others = (
            np.maximum(linear.authorities(rows) - 1, 0),
            np.maximum(np.diff(rows.ragged.indptr) - 1, 0)[:, None],
        )
        return 1 + rho * others[0], 1 + rho * others[1], 1 + rho * max(self.choice.authorities - 1, 0)

    def _soft(self, rows: AnswerPatterns, read: probability_curves.Curves) -> NDArray[np.int64]:
        """Return the weights of all answers inside expertise, by their probabilities where there are any.

        An expert who knows every class has habits of its own for all of them, so the class that it names
        counts for half, and its probabilities for half.
        """
        gave = fusion.given(rows.votes)
        half = np.asarray(self.statistics.panel.knows.all(axis=1) & (self.choice.habits == "own"))
        share = np.where(half[gave.expert], 0.5, 1.0)
        found = probability_curves.scores(rows.votes, read, gave, share)
        rest = np.ones(len(rows.cell))
        rest[gave.of] -= share
        some = np.flatnonzero(rest)
        if len(some):
            start = np.searchsorted(some, rows.ragged.indptr)
            used, column = np.unique(rows.cell[some], return_inverse=True)
            table = self.model.inside_table
            weights = (table(used) if callable(table) else table[used])[column] * rest[some][:, None]
            found += linear.sums(start, np.arange(len(some)), np.rint(weights).astype(np.int64))
        return found

    def posterior(self, score: Array) -> NDArray[np.float64]:
        """Return softmax(S / T)."""
        return linear.posterior(score, self.temperature)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for a summary on how the labels were found."""
        notes = []
        if self.statistics.panel.knows.all():
            notes.append("everyone knows every class")
        elif self.choice.habits == "none":
            notes.append("no sign that experts repeat each other's mistakes, so every answer counts fully")
        if self.choice.sizes:
            notes.append("classes differ in size, and that counts, too")
        if self.choice.readiness:
            notes.append("experts answer mostly what they know, so who answered counts, too")
        return tuple(notes)


@dataclass(frozen=True)
class FitToVote(Pass):
    """Learn from the labels of the vote, and from the known classes of gold items."""

    gold: Gold | None
    past: Statistics | None

    def count(self, votes: Votes, weights: None) -> Statistics:
        """Count answers by label of the vote."""
        return counted(votes, self.gold, vote_posterior, probabilities=votes.soft)

    def learn(self, panel: Panel, counts: Statistics, weights: None) -> LearnedWeights:
        """Return how the experts answer."""
        whole = counts if self.past is None else self.past + counts
        read = None if whole.probabilities is None else probability_curves.learn(whole.probabilities)
        return LearnedWeights(whole, counts.items, curves=read)


@dataclass(frozen=True)
class Refit(Pass):
    """Learn again, from the posterior of all items; `further` rounds only if mistakes are independent."""

    gold: Gold | None
    past: Statistics | None
    further: bool = False

    def needed(self, weights: LearnedWeights) -> bool:
        """Whether this round is learned."""
        return weights.choice.independent or not self.further

    def count(self, votes: Votes, weights: LearnedWeights) -> Statistics:
        """Count answers by posterior."""
        return counted(votes, self.gold, lambda rows: linear.posterior(weights.scores(rows)))

    def learn(self, panel: Panel, counts: Statistics, weights: LearnedWeights) -> LearnedWeights:
        """Return how the experts answer."""
        whole, before = counts if self.past is None else self.past + counts, weights.statistics
        whole = replace(whole, probabilities=before.probabilities, held_out=before.held_out)
        return replace(weights, statistics=whole)


def counted(
    votes: Votes, gold: Gold | None, posterior: Callable[[AnswerPatterns], Array], probabilities: bool = False
) -> Statistics:
    """Count answers by class: the known class of gold items, else the probabilities from `posterior`."""
    return gold_counted(votes, "learned", gold, posterior, probabilities=probabilities, soft=votes.soft)


def vote_posterior(rows: AnswerPatterns) -> NDArray[np.float64]:
    """Return the probability of every class by the vote alone; tied classes share it by probabilities."""
    q = shares_of(rows).proba
    if rows.votes.soft:
        tied = np.flatnonzero(q.max(axis=1) < 1)
        q[tied] *= fusion.coupled(rows.votes.subset(tied), power=1) + 1e-12
        q /= np.maximum(q.sum(axis=1), 1e-300)[:, None]
    return q
