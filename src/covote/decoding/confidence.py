"""How likely a label is right, learned from the votes alone.

The tie score I + O (:mod:`covote.decoding.tie_score`) is the logarithm of how likely an item's answers are if
its class is k. Experts err together, so d authorities count as about sqrt(d) independent ones: the chance of
the label is a softmax of (I + O) / sqrt(d), d being the mean number of authorities of a class.

Probabilities say more than votes do, but not all experts mean the same by them: naive Bayes is certain of
everything. So each expert's probabilities are first raised to the power that makes the authority labels most
likely, a temperature per expert: C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), "On calibration of
modern neural networks". They then take the place of I. The softmax is still too sure, and the mean
probability of the authorities not sure enough: the confidence is halfway between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import confidence_kernels as kernels
from covote.decoding import fusion, shares, tie_score
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.scoring import UNIT, softmax
from covote.labels import Ties
from covote.votes import Votes
from covote.votes.rows import Rows, each_row, row_parts

Array = NDArray[Any]

POWERS = np.array([.02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .8, .9, 1, 1.2, 1.5, 2])  # fmt: skip
"""The powers that an expert's probabilities may be raised to."""

RIVALS = 32
"""Classes that compete with a label, those with the best N_k / d_k; the others have next to no chance."""


def of_rows(patterns: Rows, index: Array, weights: tie_score.Weights) -> NDArray[np.float64]:
    """Return how likely the labels of answer rows are right; NaN where there is none."""
    panel, column = patterns.votes.panel, tie_score.remembered(weights)
    scale = 1 / (UNIT * tie_score.temperature(panel))
    found = np.empty(len(patterns))
    for piece, rows in patterns.pieces():
        rivals = shares.best_classes(piece.runs, panel, RIVALS)
        score = tie_score.summed(piece, rivals, column, np.ones(len(piece), np.bool_))
        found[rows] = _chances(rivals, score * scale, index[rows])
    return found


def with_probabilities(
    votes: Votes, index: Array, weights: tie_score.Weights, powers: Array
) -> NDArray[np.float64]:
    """Return how likely labels are right by the tempered probabilities; NaN where there is no label."""
    scale = 1 / tie_score.temperature(votes.panel)
    found = np.empty(len(votes))
    for piece, span in fusion.pieces(votes):
        rivals, score = _scores_with_probabilities(piece, weights, powers)
        found[span] = _chances(rivals, score * scale, index[span])
    return found


def table(votes: Votes, weights: tie_score.Weights, powers: Array | None) -> NDArray[np.float64]:
    """Return how likely every class is (items x classes), from plain votes or with tempered probabilities."""
    panel, scale = votes.panel, 1 / tie_score.temperature(votes.panel)
    found = np.zeros((len(votes), len(panel.classes)))
    if votes.soft and powers is not None:
        for piece, span in fusion.pieces(votes):
            rivals, score = _scores_with_probabilities(piece, weights, powers)
            found[span] = _shares(rivals, score * scale, len(panel.classes))
        return found
    column = tie_score.remembered(weights)
    for patterns, span in row_parts(votes):
        of_rows = np.zeros((len(patterns), len(panel.classes)))
        for some, rows in patterns.pieces():
            rivals = shares.best_classes(some.runs, panel, RIVALS)
            whole = tie_score.summed(some, rivals, column, np.ones(len(some), np.bool_))
            of_rows[rows] = _shares(rivals, whole * (scale / UNIT), len(panel.classes))
        found[span] = patterns.spread_values(of_rows)
    return found


def _scores_with_probabilities(
    piece: Votes, weights: tie_score.Weights, powers: Array
) -> tuple[Ties, NDArray[np.float64]]:
    """Return the rivals of every item, and their I + O with tempered probabilities in place of I."""
    panel, column, patterns = piece.panel, tie_score.remembered(weights), each_row(piece)
    rivals = shares.best_classes(patterns.runs, panel, RIVALS)
    outside = tie_score.summed(patterns, rivals, lambda k: column(k, 0.0), np.ones(len(patterns), np.bool_))
    score = outside / UNIT
    kernels.add_probabilities(patterns.runs, fusion.given(piece), panel.layout.known, powers, rivals, score)
    return rivals, score


def _chances(rivals: Ties, score: Array, label: Array) -> NDArray[np.float64]:
    """Return the softmax share of every row's label among its rivals; NaN without a label."""
    found, sizes = np.full(len(label), np.nan), np.diff(rivals.start)
    first, number = rivals.start[:-1][sizes > 0], sizes[sizes > 0]
    power = np.exp(score - np.repeat(np.maximum.reduceat(score, first), number))
    share = power / np.repeat(np.add.reduceat(power, first), number)
    own = rivals.classes == np.repeat(label, sizes)
    found[np.repeat(np.arange(len(label)), sizes)[own]] = share[own]
    return found


def _shares(rivals: Ties, score: Array, classes: int) -> NDArray[np.float64]:
    """Return a softmax of the rivals' scores, and 0 for all other classes."""
    size = len(rivals.start) - 1
    full = np.full((size, classes), -np.inf)
    full[np.repeat(np.arange(size), np.diff(rivals.start)), rivals.classes] = score
    return softmax(full)


def power_fit(votes: Votes, gold: Gold | None = None) -> NDArray[np.int64]:
    """Return how likely each expert's probabilities make the authority labels, by power (experts x powers).

    Logarithms in whole units of 1 / UNIT, so that those of parts add up exactly.
    """
    panel = votes.panel
    total = np.zeros((len(panel), len(POWERS)), np.int64)
    truth = np.full(len(votes), -1, np.int64)
    rows, known = gold_rows(gold, votes)
    truth[rows] = known
    for piece, span in fusion.pieces(votes):
        runs = piece.ragged
        ties = shares.best_classes(runs, panel)
        kernels.likelihoods(
            runs, fusion.given(piece), panel.layout.known, POWERS, ties, truth[span], float(UNIT), total
        )
    return total


def fitted_powers(fit: NDArray[np.int64] | None, experts: int) -> NDArray[np.float64]:
    """Return the most likely power of each expert; 1 where nothing was counted."""
    if fit is None:
        return np.ones(experts)
    return np.where(fit.any(axis=1), POWERS[fit.argmax(axis=1)], 1.0)
