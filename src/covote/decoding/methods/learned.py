"""covote's default: the paper's vote, and what its labels reveal about the experts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.cross_validation import choose
from covote.decoding.gold import Gold, answer_parts, gold_rows
from covote.decoding.learned_weights import FitToVote, LearnedWeights, Refit
from covote.decoding.linear import NO_EVIDENCE, UNIT
from covote.decoding.loop import Decoder, Pass
from covote.decoding.sampling import CountSample, DrawSample
from covote.decoding.scoring import label_pieces, table_of
from covote.decoding.shares import evidence_of, shares_of, ties_of
from covote.decoding.statistics import Statistics
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.arrays import smallest_int
from covote.votes.patterns import AnswerPatterns, each_row

Array = NDArray[Any]

FURTHER = 4
"""Rounds of learning after the third, if experts make independent mistakes by habits of their own."""

SHIFTS, SLOPES = np.arange(-4, 4.125, 0.125), 2.0 ** np.arange(-3, 3.25, 0.25)
"""Candidate shifts and slopes of the labels' log-odds, to fit gold items."""

SHIFT_SPREAD, SLOPE_SPREAD = 1.0, 0.5
"""Prior standard deviations of the shift and of the logarithm of the slope."""


@dataclass(frozen=True)
class LearnedVote(Decoder):
    """Start from the paper's vote, and learn how experts answer: a few rounds of expectation maximisation.

    The vote N_k / d_k labels the items; tied items are divided among their classes. From these labels the
    decoder learns how each expert answers (:mod:`covote.decoding.answer_model`): how often it is right about
    classes that it knows, and what its wrong answers are. S_k is the log-likelihood of all answers if the
    class is k. It learns again from softmax(S), twice, or six times if experts make independent mistakes by
    habits of their own, and the label is the class with the best S_k.

    Whether wrong answers follow no habits, habits common to all experts, or each expert's own is chosen by
    predicting held-out answers (:mod:`covote.decoding.cross_validation`); so is whether classes differ in
    size, and whether experts answer mostly what they know (:mod:`covote.decoding.who_answered`), which are
    then added to S. Experts with habits of their own may make the same mistakes, so the weights of d_k
    authorities are divided by 1 + rho (d_k - 1), and those of others by 1 + rho (answers - 1), where rho is
    (t - 1) / 10, at most 1/10, and t the temperature below.

    Probabilities replace the weights inside expertise (:mod:`covote.decoding.curves`), or half of them where
    an expert with habits of its own knows every class. If all experts are calibrated alike, d/2 log q is
    added, where q is coupled from them (:mod:`covote.decoding.fusion`).

    A class that has the votes of all its authorities, who together know all other classes, is the label
    whatever the other experts say (Paper: Corollary 1).

    The confidence is the posterior of the label, softmax(S / T). Without habits T is 1, and in a crowd, where
    everyone knows every class, sqrt(D) if D authorities answer an item. Otherwise T is the smaller of t^1.5
    and D^1.25, times 1 + 5 K / n for n items of K classes (at most 2), because habits that were learned from
    a few items fit these too well. Here t is the temperature at which held-out answers are predicted best, at
    least D^(1/3) if experts have habits of their own, D is below 2.5 and t = 1 is not clearly the best. If
    probabilities are coupled, T is twice as large. If there are gold items, each scored as if its class were
    unknown, the log-odds are shifted and stretched to fit them: J. Platt (1999), "Probabilistic outputs for
    support vector machines".

    Parameters
    ----------
    odds
        How many times as likely as each other class with the best vote a class must be to become the label,
        if several share it; 1 labels everything.
    gold
        Items whose class is known, to learn from and to calibrate the confidence on: ``{item: class}``.
    past
        Statistics of earlier votes of the same panel, to which these votes are added.
    """

    odds: float = 1.1
    gold: Gold | None = None
    past: Statistics | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.odds < math.inf:
            raise InputError(f"odds must be a number from 1 (label everything) upwards, not {self.odds}")

    @property
    def passes(self) -> tuple[Pass, ...]:
        """Learn from the vote, choose the habits on a sample, learn again, and calibrate."""
        again, further = Refit(self.gold, self.past), Refit(self.gold, self.past, further=True)
        sample = DrawSample(choose), CountSample(choose)
        return (
            FitToVote(self.gold, self.past), *sample, again, again, *(further,) * FURTHER, Calibration(self)
        )  # fmt: skip

    # Labels

    def score(self, votes: Votes, weights: LearnedWeights, evidence: bool = True) -> Labels:
        """Return the labels."""

        def label(rows: AnswerPatterns) -> Labels:
            return self.labels(rows, weights, weights.scores(rows, every_class=True), evidence)

        return label_pieces(votes, label, answer_parts)

    def labels(self, rows: AnswerPatterns, weights: LearnedWeights, score: Array, evidence: bool) -> Labels:
        """Return the labels of answer rows, given S."""
        panel, row = rows.votes.panel, np.arange(len(rows))
        vote = shares_of(rows)
        share, level = vote.share, vote.best
        many = level.sum(axis=1) > 1
        likely = weights.posterior(score)
        score = np.where(linear.has_evidence(rows), score, NO_EVIDENCE)
        top = score.max(axis=1)
        first = score == top[:, None]
        index = np.where(share.max(axis=1) >= 0, first.argmax(axis=1), -1)
        # Classes with the best share stay tied unless one leads by the odds; equal scores tie anyway.
        among = np.where(level, score, NO_EVIDENCE)
        leader = among.max(axis=1)
        among[row, among.argmax(axis=1)] = NO_EVIDENCE
        lead = leader - among.max(axis=1)
        undecided = (
            many
            & level[row, index]
            & (lead < max(round(math.log(self.odds) * weights.temperature * UNIT), 1))
        )
        undecided |= (first.sum(axis=1) > 1) & (index >= 0)
        tied = many | undecided
        listed = np.where(many[:, None], level, first)
        index[undecided] = -1
        guard(rows, share, level, index)
        index = index.astype(smallest_int(len(panel.classes)))
        ties = ties_of(listed[tied])
        if not evidence:
            return Labels(panel, index, tied, ties)
        chance = np.where(index >= 0, likely[row, index], np.where(listed, likely, 0).max(axis=1))
        behind = evidence_of(rows, vote, index, tied, calibrated(chance, weights.calibration), likely)
        return Labels(panel, index, tied, ties, behind)

    def proba(self, votes: Votes, weights: LearnedWeights) -> NDArray[np.float64]:
        """Return the probability of every class, given all answers."""
        return table_of(
            votes, lambda rows: weights.posterior(weights.scores(rows, every_class=True)), answer_parts
        )

    # Gold

    def apart(
        self, votes: Votes, weights: LearnedWeights
    ) -> Iterator[tuple[AnswerPatterns, Array, Array, Array]]:
        """Yield (gold items, where they are, their classes, scores learned without each of them)."""
        where, truth = gold_rows(self.gold, votes)
        for rows, span in each_row(votes.subset(where)).pieces():
            known = truth[span]
            score = weights.scores(rows, every_class=True)
            owner = linear.row_of_answer(rows)
            less = weights.model.apart(rows.cell, known[owner])
            np.subtract.at(score, (owner, known[owner]), less)
            yield rows, where[span], known, score

    def held_out(self, votes: Votes, weights: LearnedWeights) -> NDArray[np.int64]:
        """Return the labels of gold items (-1 for others), each as if its own class were not known."""
        found = np.full(len(votes), -1, np.int64)
        for rows, where, _, score in self.apart(votes, weights):
            found[where] = self.labels(rows, weights, score, evidence=False).index
        return found


@dataclass(frozen=True)
class Calibration(Pass):
    """Find the shift and the slope of the log-odds that fit the labels of gold items best.

    Both have normal priors, around 0 and around a slope of 1, because a few items say little.
    """

    decoder: LearnedVote

    def needed(self, weights: LearnedWeights) -> bool:
        """Whether there are gold items."""
        return self.decoder.gold is not None

    def count(self, votes: Votes, weights: LearnedWeights) -> NDArray[np.int64]:
        """Return the log-likelihood of the gold items' labels (shifts x slopes), in whole units."""
        found = np.zeros((len(SHIFTS), len(SLOPES)), np.int64)
        for rows, _, truth, score in self.decoder.apart(votes, weights):
            index = self.decoder.labels(rows, weights, score, evidence=False).index
            at = np.flatnonzero(index >= 0)
            found += log_likelihoods(weights.posterior(score)[at, index[at]], index[at] == truth[at])
        return found

    def learn(self, panel: Panel, counts: NDArray[np.int64], weights: LearnedWeights) -> LearnedWeights:
        """Return the same weights with the best shift and slope."""
        return replace(weights, calibration=fit_calibration(counts))


def log_likelihoods(chance: Array, right: Array) -> NDArray[np.int64]:
    """Return the log-likelihood of right and wrong labels for each shift and slope, in whole units."""
    found = np.zeros((len(SHIFTS), len(SLOPES)), np.int64)
    for place, shift in enumerate(SHIFTS):
        says = calibrated(chance[:, None], (shift, SLOPES))
        likely = np.log(np.where(right[:, None], says, 1 - says))
        found[place] = np.rint(likely * UNIT).astype(np.int64).sum(axis=0)
    return found


def fit_calibration(fit: NDArray[np.int64]) -> tuple[float, float]:
    """Return the best shift and slope."""
    penalty = (SHIFTS[:, None] / SHIFT_SPREAD) ** 2 + (np.log(SLOPES) / SLOPE_SPREAD) ** 2
    shift, slope = np.divmod(int((fit / UNIT - penalty / 2).argmax()), len(SLOPES))
    return float(SHIFTS[shift]), float(SLOPES[slope])


def calibrated(chance: Array, calibration: tuple[Any, Any] | None) -> NDArray[np.float64]:
    """Return the calibrated probability that labels are right: their log-odds, shifted and stretched."""
    if calibration is None:
        return chance
    clipped = np.clip(chance, 1e-6, 1 - 1e-6)
    odds = calibration[0] + calibration[1] * np.log(clipped / (1 - clipped))
    found: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(odds, -14, 14)))
    return found


def guard(rows: AnswerPatterns, share: Array, level: Array, index: Array) -> None:
    """Label items with the class that all its authorities name, if these together know all other classes.

    If experts are right about what they know, no other class is possible: one of these authorities would have
    named it. Paper: Corollary 1.
    """
    sole = (share.max(axis=1) == 1) & (level.sum(axis=1) == 1)
    clean = level.argmax(axis=1)
    where = np.flatnonzero(sole & (index != clean))
    if not len(where):
        return
    ragged = each_row(rows.votes.subset(where).to_ragged()).ragged
    owner = np.repeat(np.arange(len(where)), np.diff(ragged.indptr))
    says = ragged.label == clean[where][owner]
    owner, knows = owner[says], rows.votes.panel.knows[ragged.expert[says]]
    begin = np.searchsorted(owner, np.arange(len(where)))
    safe = np.logical_or.reduceat(knows, begin, axis=0).all(axis=1)
    index[where[safe]] = clean[where[safe]]
