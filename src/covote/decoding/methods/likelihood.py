"""Maximum likelihood under uniform noise.

Paper: the ML decoder of the statistical model. Theory: section 8 for experts who may say "none of mine".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_tables, class_weights
from covote.decoding import linear
from covote.decoding.linear import NO_EVIDENCE, UNIT, Weights
from covote.decoding.loop import Decoder
from covote.decoding.methods.em import one_coin_weights
from covote.decoding.scoring import label_pieces, labels_of_rows, table_of
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Name, Panel
from covote.votes import Votes
from covote.votes.patterns import AnswerPatterns

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class LogWeights:
    """Log-likelihood ratios in whole numbers of 1 / scale, so that their sums do not depend on the order.

    `weights` are the weights of answers, `prior` is the base of every class. `certain` stands for an infinite
    ratio: it outweighs all finite ones. `absolute` weights are likelihoods instead of ratios, which are
    informative even about a class that was not heard.
    """

    weights: Weights
    prior: NDArray[np.int64]
    possible: NDArray[np.bool_]
    certain: int
    scale: float
    absolute: bool = False

    def scores(self, rows: AnswerPatterns) -> NDArray[np.int64]:
        """Return the scores (rows x classes); `NO_EVIDENCE` for classes that are impossible or unjudged."""
        found = linear.scores(rows, self.weights, self.prior)
        found[:, ~self.possible] = NO_EVIDENCE
        return found

    def class_probabilities(self, rows: AnswerPatterns) -> NDArray[np.float64]:
        """Return the probabilities (rows x classes)."""
        if self.absolute:
            return self.posterior(linear.totals(rows, self.weights, self.prior))
        return self.posterior(self.scores(rows))

    def posterior(self, scores: Array) -> NDArray[np.float64]:
        """Return the probabilities (rows x classes); a class that was not heard keeps its prior.

        A gap of more than half of `certain` counts as infinite.
        """
        log = np.where(scores == NO_EVIDENCE, self.prior, scores) / self.scale
        log[:, ~self.possible] = -np.inf
        log[log.max(axis=1, keepdims=True) - log > self.certain / self.scale / 2] = -np.inf
        return linear.softmax(log)


@dataclass(frozen=True)
class Likelihood(Decoder):
    """The most likely class if experts answer uniformly at random outside what they know.

    Parameters
    ----------
    accuracy
        How often an expert who knows the class names it: one number, one per expert, or a mapping by name.
        At 1, the paper's model, the class with the fewest violations wins, and likelihood breaks ties.
    prior
        The frequencies of the classes: one weight per class, or a mapping by name (default: equal).
    false_none
        How often an expert who knows the class still says "none of mine" (alpha).
    false_alarm
        How often an expert who does not know the class still names one (beta); 1 is forced choice.
    tables
        Instead of accuracies and uniform noise: one confusion table per expert, the probability of each
        answer for each true class (classes x classes, or classes x the classes that the expert knows).
        Answers that a class makes impossible are counted first; "none of mine" says nothing.

    The confidence is the posterior probability of the label.
    """

    accuracy: float | ArrayLike | Mapping[Name, float] = 1.0
    prior: ArrayLike | Mapping[Name, float] | None = None
    false_none: float = 0.0
    false_alarm: float = 1.0
    tables: Sequence[ArrayLike] | None = None

    def start(self, panel: Panel) -> LogWeights:
        """Return the log-likelihood ratios of every expert's answers."""
        accuracy = check_accuracy(self.accuracy, panel)
        prior = class_weights(self.prior, panel)
        if not 0 <= self.false_none < 1:
            raise InputError(f"false_none={self.false_none} must be at least 0 and below 1")
        if not 0 < self.false_alarm <= 1:
            raise InputError(f"false_alarm={self.false_alarm} must be above 0 and at most 1")
        if self.tables is not None:
            if (accuracy != 1).any() or (self.false_none, self.false_alarm) != (0.0, 1.0):
                raise InputError("confusion tables already say how experts answer; leave out the other rates")
            return table_weights(panel, check_tables(self.tables, panel), prior)
        return log_weights(panel, accuracy, prior, self.false_none, self.false_alarm)

    def score(self, votes: Votes, weights: LogWeights, evidence: bool = True) -> Labels:
        """Return the labels."""

        def label(rows: AnswerPatterns) -> Labels:
            score = weights.scores(rows)
            slack = np.diff(rows.ragged.indptr) + 1  # each addend is rounded to a whole number
            chances = weights.class_probabilities(rows) if weights.absolute else weights.posterior(score)
            best, tied = linear.best(score, chances, slack)
            gap = best.margin * (UNIT / weights.scale)
            infinite = gap * weights.scale * 2 > weights.certain
            best = best._replace(margin=np.where(infinite, np.inf, gap))
            return labels_of_rows(rows, best, tied, evidence)

        return label_pieces(votes, label)

    def proba(self, votes: Votes, weights: LogWeights) -> NDArray[np.float64]:
        """Return the posterior probability of every class; one that was not heard keeps its prior."""
        return table_of(votes, weights.class_probabilities)


def log_weights(
    panel: Panel, accuracy: NDArray[Any], prior: NDArray[Any], false_none: float, false_alarm: float
) -> LogWeights:
    """Return the ratios P(answer | k known) / P(answer | k not known), theory: section 8."""
    size = panel.sizes.astype(float)
    answers = math.log((1 - false_none) / false_alarm)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = answers + np.log(np.where(size > 1, accuracy, 1) * size)
        # For a perfect expert's wrong answer, keep the finite part of log(error) + ... as error -> 0.
        wrong = np.where(accuracy < 1, 1 - accuracy, 1) * size / np.maximum(size - 1, 1)
        miss = answers + np.log(wrong)
    none = math.log(false_none / (1 - false_alarm)) if false_none > 0 and false_alarm < 1 else 0.0
    impossible_none = false_none == 0
    log_prior = np.log(np.where(prior > 0, prior, 1))
    finite = np.abs(hit) + np.abs(miss) + abs(none)
    most = float((panel.knows * finite[:, None]).sum(axis=0).max()) + float(np.abs(log_prior).max())
    certain = 2 * most + 1
    authorities = int(panel.knows.sum(axis=0).max())
    scale = 2.0 ** math.floor(math.log2(2.0**61 / (certain * (authorities + 1))))
    scale = min(scale, 2.0**40)
    miss = miss - np.where((accuracy >= 1) & (size > 1), certain, 0)
    nones = np.full(len(panel), none - (certain if impossible_none else 0))

    def whole(values: NDArray[Any]) -> NDArray[np.int64]:
        return np.rint(values * scale).astype(np.int64)

    weights = linear.precomputed(panel, one_coin_weights(panel, whole(hit), whole(miss), whole(nones)))
    return LogWeights(weights, whole(log_prior), prior > 0, round(certain * scale), scale)


def table_weights(panel: Panel, tables: list[NDArray[np.float64]], prior: NDArray[Any]) -> LogWeights:
    """Return log P(answer | class) for given confusion tables."""
    # The cells of each expert are its classes and then "none of mine", which says nothing.
    ends = [part for table in tables for part in (table.T, np.ones((1, len(prior))))]
    chance = np.concatenate([np.ones((0, len(prior))), *ends])
    log, log_prior = (np.log(np.where(values > 0, values, 1)) for values in (chance, prior))
    starts = panel.layout.cells.start[:-1]
    most = float(np.maximum.reduceat(np.abs(log), starts).sum(axis=0).max()) if len(starts) else 0.0
    certain = 2 * (most + float(np.abs(log_prior).max())) + 1
    scale = min(2.0 ** math.floor(math.log2(2.0**61 / (certain * (len(tables) + 1)))), 2.0**40)
    weights = np.rint((log - np.where(chance > 0, 0, certain)) * scale).astype(np.int64)
    whole_prior = np.rint(log_prior * scale).astype(np.int64)
    return LogWeights(weights, whole_prior, prior > 0, round(certain * scale), scale, absolute=True)
