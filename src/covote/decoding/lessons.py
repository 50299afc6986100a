"""The passes in which the default decoder learns (:mod:`covote.decoding.methods.learned`).

:class:`FromVote` learns how the experts answer from the labels of the vote. :class:`Rehearsal` learns as if
they made their mistakes independently, and :class:`Trial` tests whether they do. If so, :class:`Again` learns
again, from the posterior of all items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import answering, curves, fusion, linear
from covote.decoding.gold import Gold, gold_rows, pieces_without
from covote.decoding.gold import counted as gold_counted
from covote.decoding.linear import ONE, UNHEARD, UNIT, across
from covote.decoding.loop import Pass
from covote.decoding.shares import shares_of
from covote.decoding.statistics import Statistics
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import Rows, each_row

Array = NDArray[Any]

TRIAL = 1 << 22
"""Numbers (answers x classes) that are enough to test whether experts make mistakes independently."""

CLEAR = 5.0
"""How much higher the log-likelihood must be before answers count in full, so that a few items do not."""


@dataclass(frozen=True, eq=False)
class Lessons:
    """What has been learned so far.

    Attributes
    ----------
    statistics
        Answers by label of the vote, to which later votes can be added.
    model, curves
        How the experts answer, and how to interpret their probabilities.
    crowd, independent
        Whether everyone knows every class; whether the experts make their mistakes independently. In both
        cases all answers count in full: the label is the class with the best S.
    voted
        During a trial, the model that was learned from the vote.
    trust
        Shift and slope of the log-odds of the labels, fitted to gold items; None without gold items.
    """

    statistics: Statistics
    model: answering.AnswerModel
    curves: curves.Curves | None = None
    crowd: bool = False
    independent: bool = False
    voted: answering.AnswerModel | None = None
    trust: tuple[float, float] | None = None

    @property
    def outright(self) -> bool:
        """Whether the label is the class with the best S."""
        return self.crowd or self.independent

    @cached_property
    def authorities(self) -> float:
        """How many authorities of its label answered an item, on average; at least 1."""
        items = round(int(self.statistics.share.sum()) / ONE)  # items with at least one answer
        return max(float(self.statistics.inside().inside.sum()) / max(items, 1), 1.0)

    @property
    def temperature(self) -> float:
        """The divisor of scores: d authorities who make the same mistakes count for one.

        In a crowd, whose mistakes are less alike, they count for sqrt(d). Coupled probabilities count for d/2
        more.
        """
        if self.independent:
            return 1.0
        if self.crowd:
            return float(np.sqrt(self.authorities))
        return self.authorities * (1.5 if self.together else 1.0)

    @property
    def together(self) -> bool:
        """Whether all experts are calibrated alike, so that their coupled probabilities count as well."""
        return self.curves is not None and self.curves.alike

    @cached_property
    def unequal(self) -> float:
        """How unequal classes may be: two standard deviations of the log sizes that the vote gives them.

        With few items these are uncertain: the logarithm of a count of n has the error 1 / sqrt(n). In a
        crowd everyone knows both classes of a tie, so the answers already reflect their sizes.
        """
        if self.crowd:
            return 0.0
        known = self.statistics.panel.knows.any(axis=0)
        sizes = self.statistics.share[known] / ONE + 1
        return float(2 * max(np.log(sizes).std(), 1 / np.sqrt(sizes.mean()))) if known.any() else 0.0

    def scores(self, rows: Rows) -> NDArray[np.int64]:
        """Return S, the log-likelihood of all answers of a row under every class (rows x classes)."""
        if self.curves is None or not rows.votes.soft:
            return linear.scores(rows, self.model.table)
        found = linear.scores(rows, self.model.outside_table)
        more = curves.scores(rows.votes, self.curves)
        if self.together:
            q = fusion.coupled(rows.votes, fusion.POWER)
            half = np.log(q + 1e-9) * (self.authorities / (2 * fusion.POWER))
            more += np.rint(half * UNIT).astype(np.int64)
        heard = found > UNHEARD
        found[heard] += more[heard]
        return found

    def posterior(self, score: Array) -> NDArray[np.float64]:
        """Return softmax(S / T)."""
        return linear.posterior(score, self.temperature)

    @cached_property
    def _lots(self) -> tuple[float, NDArray[np.int64]]:
        """The share of the rows that is enough for a trial, and the number of every cell for drawing them."""
        given = np.asarray(self.statistics.counts.sum(axis=1)).reshape(-1)
        numbers = float(given.sum() / ONE) * len(self.statistics.share)
        return min(1.0, TRIAL / max(numbers, 1.0)), np.rint(given / ONE).astype(np.int64) * 2654435761 % 4093

    def sample(self, rows: Rows) -> Array:
        """Return which rows belong to the trial: the same ones in any order and in any part.

        They are drawn by how often each of their answers was given, which does not depend on any order.
        """
        share, lots = self._lots
        drawn = np.concatenate([[0], np.cumsum(lots[rows.cell])])[rows.runs.indptr]
        return np.flatnonzero(np.diff(drawn) % 4093 < share * 4093)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for a summary on how the labels were found."""
        if self.crowd:
            return ("everyone knows every class, so all answers count in full",)
        if self.independent:
            return ("the experts make their mistakes independently, so all answers count in full",)
        return ()


@dataclass(frozen=True)
class FromVote(Pass):
    """Learn from the labels of the vote, and from the known classes of gold items."""

    gold: Gold | None
    past: Statistics | None

    def count(self, votes: Votes, weights: None) -> Statistics:
        """Count answers by label of the vote."""
        return counted(votes, self.gold, voted)

    def learn(self, panel: Panel, counts: Statistics, weights: None) -> Lessons:
        """Return how the experts answer."""
        counts = counts if self.past is None else self.past + counts
        read = None if counts.probabilities is None else curves.learn(counts.probabilities)
        everyone = bool(panel.knows.all())
        model = answering.fit(counts, crowd=everyone)
        return Lessons(counts, model, read, crowd=everyone and read is None)


@dataclass(frozen=True)
class Again(Pass):
    """Learn again from the posterior, if experts make their mistakes independently."""

    gold: Gold | None
    past: Statistics | None

    def needed(self, weights: Lessons) -> bool:
        """Whether experts are independent: only then does the posterior teach more than the vote."""
        return weights.independent

    def count(self, votes: Votes, weights: Lessons) -> Statistics:
        """Count answers by posterior."""
        return counted(votes, self.gold, lambda rows: linear.posterior(weights.scores(rows)))

    def learn(self, panel: Panel, counts: Statistics, weights: Lessons) -> Lessons:
        """Return how the experts answer; the statistics for later votes stay unchanged."""
        return replace(weights, model=answering.fit(counts if self.past is None else self.past + counts))


@dataclass(frozen=True)
class Rehearsal(Again):
    """Learn from a sample as if experts made their mistakes independently, to prepare the trial."""

    def needed(self, weights: Lessons) -> bool:
        """Whether there is a trial: not with probabilities, and not in a crowd, which counts in full."""
        return weights.curves is None and not weights.crowd

    def count(self, votes: Votes, weights: Lessons) -> Statistics:
        """Count answers of a sample by posterior."""

        def sampled(rows: Rows) -> NDArray[np.float64]:
            q = np.zeros((len(rows), len(votes.panel.classes)))
            kept = weights.sample(rows)
            q[kept] = linear.posterior(weights.scores(each_row(rows.votes.subset(kept).to_ragged())))
            return q

        return counted(votes, self.gold, sampled)

    def learn(self, panel: Panel, counts: Statistics, weights: Lessons) -> Lessons:
        """Return how the experts answer if independent, and keep how they answer by the vote."""
        return replace(super().learn(panel, counts, weights), voted=weights.model)


@dataclass(frozen=True)
class Trial(Pass):
    """Test whether all other answers predict each answer better if they count in full (T = 1).

    They do if experts make their mistakes independently; otherwise T = d^1/4 predicts better.
    """

    gold: Gold | None

    def needed(self, weights: Lessons) -> bool:
        """Whether there was a rehearsal."""
        return weights.voted is not None

    def count(self, votes: Votes, weights: Lessons) -> NDArray[np.int64]:
        """Return the log-likelihood of the answers given all others, which count in full or do not."""
        found = np.zeros(2, np.int64)
        for rows, number in pieces_without(votes, gold_rows(self.gold, votes)[0]):
            kept = weights.sample(rows)
            kept = kept[number[kept] > 0]
            sample = each_row(rows.votes.subset(kept).to_ragged())
            owner = linear.owner(sample)
            # A sample has few of all possible answers, so a table of all is not worth its time.
            cells, which = np.unique(sample.cell, return_inverse=True)
            table = weights.model.block(cells)[which]
            chance = np.exp(table / UNIT) / weights.model.answers[sample.runs.expert][:, None]
            rest = linear.scores(sample, weights.model.block)[owner]
            rest -= np.where(rest > UNHEARD, table, 0)
            for place, temperature in enumerate((1.0, weights.authorities**0.25)):
                likely = np.log((linear.posterior(rest, temperature) * chance).sum(axis=1))
                found[place] += int((np.rint(likely * UNIT).astype(np.int64) * number[kept][owner]).sum())
        return found

    def learn(self, panel: Panel, counts: NDArray[np.int64], weights: Lessons) -> Lessons:
        """Return whether the experts make their mistakes independently, and how they answer by the vote."""
        assert weights.voted is not None
        before = weights.statistics
        trial = counts if before.trial is None else counts + before.trial
        statistics = replace(before, trial=trial)
        independent = bool(trial[0] - trial[1] > CLEAR * UNIT)
        return replace(
            weights, statistics=statistics, model=weights.voted, voted=None, independent=independent
        )


def counted(votes: Votes, gold: Gold | None, shared: Callable[[Rows], Array]) -> Statistics:
    """Count answers by class: the known class of gold items, else the probabilities from `shared`."""
    return gold_counted(votes, "learned", gold, shared, probabilities=votes.soft)


def voted(rows: Rows) -> NDArray[np.float64]:
    """Return the probability of every class by the vote alone; tied classes share it by probabilities."""
    q = shares_of(rows).winners
    if rows.votes.soft:
        tied = np.flatnonzero(across(np.maximum, q) < 1)
        q[tied] *= fusion.coupled(rows.votes.subset(tied), power=1) + 1e-12
        q /= np.maximum(across(np.add, q), 1e-300)[:, None]
    return q
