"""How likely a label is right, learned from the votes alone.

The tie score I + O (:mod:`covote.decoding.tie_score`) is the logarithm of how likely an item's answers are if
its class is k. Experts err together, so d authorities count as about sqrt(d) independent ones: the chance of
the label is a softmax of (I + O) / sqrt(d), d being the mean number of authorities of a class.

Probabilities say more than votes do, but not all experts mean the same by them: naive Bayes is certain of
everything. So each expert's probabilities are read by a curve of its own (:class:`Curves`), learned from the
authority labels. They are raised to the power that makes these labels most likely, a temperature per expert:
C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), "On calibration of modern neural networks". They then
take the place of I. And most experts are surer of items whose class they know than of others. An answer's
margin is the logarithm of the ratio of its two highest probabilities; how much more often its expert has such
a margin inside its expertise than outside counts, as a logarithm, for every class that the expert knows.

The softmax is still too sure, and the mean probability of the authorities not sure enough: the confidence is
halfway between the two.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding import fusion, shares, tie_score
from covote.decoding.fusion import Given, Rivals, gave, tempered
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.linear import ONE, UNIT
from covote.decoding.statistics import ProbabilityCounts
from covote.decoding.tuning import CURVE_PRIOR, LEAST, MARGINS, POWERS, RIVALS, SMOOTHING, TINY
from covote.labels import Ties
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows, each_row, row_parts

Array = NDArray[Any]


class Curves(NamedTuple):
    """How each expert's probabilities are to be read.

    Attributes
    ----------
    powers
        What each expert's probabilities are raised to.
    inside
        Logarithm of how much more often each expert has a margin if it knows the class (experts x margins).
    """

    powers: NDArray[np.float64]
    inside: NDArray[np.float64]


def as_given(experts: int) -> Curves:
    """Return the curves of experts about whom too little is known: their probabilities count as given."""
    return Curves(np.ones(experts), np.zeros((experts, len(MARGINS) + 1)))


def learn_curves(counts: ProbabilityCounts) -> Curves:
    """Return the curves of all experts; an expert that was not counted says by its margin nothing."""
    seen = counts.powers.any(axis=1)
    powers = np.where(seen, POWERS[counts.powers.argmax(axis=1)], 1.0)
    margins = counts.margins / ONE
    usual = margins.sum(axis=1) + 1e-9
    usual /= usual.sum(axis=1, keepdims=True)
    share = (margins + CURVE_PRIOR * usual[:, None]) / (margins.sum(axis=2, keepdims=True) + CURVE_PRIOR)
    return Curves(powers, np.log(share[:, 0] / share[:, 1]))


def of_rows(patterns: Rows, index: Array, weights: tie_score.Weights) -> NDArray[np.float64]:
    """Return how likely the labels of answer rows are right; NaN where there is none."""
    found = np.empty(len(patterns))
    for piece, rows in patterns.pieces():
        found[rows] = of_label(_by_answers(piece, weights), index[rows])
    return found


def _by_answers(patterns: Rows, weights: tie_score.Weights) -> Rivals:
    """Return the rivals of every answer row, and how likely each is."""
    panel = patterns.votes.panel
    rivals = shares.best_classes(patterns.runs, panel, RIVALS)
    score = tie_score.summed(
        patterns, rivals, tie_score.remembered(weights), np.ones(len(patterns), np.bool_)
    )
    return Rivals(rivals, _softmax(rivals, score * (1 / (UNIT * tie_score.temperature(panel)))))


def with_probabilities(piece: Votes, weights: tie_score.Weights, curves: Curves) -> Rivals:
    """Return the rivals of every item of a piece of the votes, and how likely each is."""
    panel, column, patterns = piece.panel, tie_score.remembered(weights), each_row(piece)
    rivals = shares.best_classes(patterns.runs, panel, RIVALS)
    outside = tie_score.summed(patterns, rivals, lambda k: column(k, 0.0), np.ones(len(patterns), np.bool_))
    score = outside / UNIT
    _add_probabilities(patterns.runs, fusion.given(piece), panel.layout.known, curves, rivals, score)
    return Rivals(rivals, _softmax(rivals, score / tie_score.temperature(panel)))


def table(votes: Votes, weights: tie_score.Weights, curves: Curves | None) -> NDArray[np.float64]:
    """Return how likely every class is (items x classes), from plain votes or with probabilities."""
    found = np.zeros((len(votes), len(votes.panel.classes)))
    if votes.soft and curves is not None:
        for piece, span in fusion.pieces(votes):
            _fill(found[span], with_probabilities(piece, weights, curves))
        return found
    for patterns, span in row_parts(votes):
        of_rows = np.zeros((len(patterns), found.shape[1]))
        for some, rows in patterns.pieces():
            _fill(of_rows[rows], _by_answers(some, weights))
        found[span] = patterns.spread_values(of_rows)
    return found


def _fill(table: Array, rivals: Rivals) -> None:
    """Write how likely the rivals of every row are into a table (rows x classes)."""
    owner = np.repeat(np.arange(len(table)), np.diff(rivals.ties.start))
    table[owner, rivals.ties.classes] = rivals.number


def of_label(rivals: Rivals, label: Array) -> NDArray[np.float64]:
    """Return how likely every row's label is; NaN without a label."""
    found, sizes = np.full(len(label), np.nan), np.diff(rivals.ties.start)
    own = rivals.ties.classes == np.repeat(label, sizes)
    found[np.repeat(np.arange(len(label)), sizes)[own]] = rivals.number[own]
    return found


def most_likely(rivals: Rivals) -> NDArray[np.int64]:
    """Return the most likely class of every row; -1 where there is none, or several."""
    sizes = np.diff(rivals.ties.start)
    found = np.full(len(sizes), -1, np.int64)
    first = rivals.ties.start[:-1][sizes > 0]
    if len(first):
        top = np.repeat(np.maximum.reduceat(rivals.number, first), sizes[sizes > 0])
        best = np.flatnonzero(rivals.number == top)
        owner = np.repeat(np.arange(len(sizes)), sizes)[best]
        found[owner] = np.where(np.bincount(owner)[owner] == 1, rivals.ties.classes[best], -1)
    return found


def _softmax(rivals: Ties, score: Array) -> NDArray[np.float64]:
    """Return a softmax of the scores of every row's rivals."""
    sizes = np.diff(rivals.start)
    first, number = rivals.start[:-1][sizes > 0], sizes[sizes > 0]
    if len(first) == 0:
        return np.empty(0)
    power = np.exp(score - np.repeat(np.maximum.reduceat(score, first), number))
    share: NDArray[np.float64] = power / np.repeat(np.add.reduceat(power, first), number)
    return share


def count(votes: Votes, gold: Gold | None = None) -> ProbabilityCounts:
    """Count what votes tell about their experts' probabilities, by the authority labels.

    Logarithms are in whole units of 1 / UNIT, so that those of parts add up exactly.
    """
    panel = votes.panel
    powers = np.zeros((len(panel), len(POWERS)), np.int64)
    margins = np.zeros((len(panel), 2, len(MARGINS) + 1), np.int64)
    truth = np.full(len(votes), -1, np.int64)
    rows, classes = gold_rows(gold, votes)
    truth[rows] = classes
    for piece, span in fusion.pieces(votes):
        ties = shares.best_classes(piece.ragged, panel)
        given, known = fusion.given(piece), panel.layout.known
        _count_probabilities(piece.ragged, given, known, ties, truth[span], powers, margins)
    return ProbabilityCounts(powers, margins, np.zeros(2, np.int64))


def count_wins(votes: Votes, weights: tie_score.Weights, curves: Curves) -> NDArray[np.int64]:
    """Count the clear authority labels that only the coupled q confirms, and that only the curves do."""
    wins = np.zeros(2, np.int64)
    for piece, _ in fusion.pieces(votes):
        best = fusion.fused(piece, fusion.COUPLED, fusion.POWER).best
        coupled = np.where(best.shared == 1, best.chosen, -1)
        read = most_likely(with_probabilities(piece, weights, curves))
        ties = shares.best_classes(piece.ragged, piece.panel)
        clear = np.diff(ties.start) == 1
        label = ties.classes[ties.start[:-1][clear]]
        by_q, by_curves = coupled[clear] == label, read[clear] == label
        wins += [(by_q & ~by_curves).sum(), (by_curves & ~by_q).sum()]
    return wins


@helper(inline="always")
def _tempered(given: Given, p: int, label: int, members: Array, power: float, out: Array) -> None:
    """Write what one expert gave to its classes, never quite 0, raised to a power."""
    size = len(members)
    gave(given, p, label, members, out)
    for c in range(size):
        out[c] = (out[c] + SMOOTHING / size) / (1 + SMOOTHING)
    tempered(out, size, power)


@helper(inline="always")
def _sureness(given: Given, p: int, label: int, members: Array, out: Array) -> int:
    """Return between which of MARGINS the margin of an answer is; -1 if the answer has none."""
    if label < 0 or len(members) < 2:
        return -1
    gave(given, p, label, members, out)
    first, second = 0.0, 0.0
    for c in range(len(members)):
        first, second = max(first, out[c]), max(second, min(first, out[c]))
    margin = math.log(max(first, TINY) / max(second, TINY))
    at = 0
    while at < len(MARGINS) and margin > MARGINS[at]:
        at += 1
    return at


@kernel
def _add_probabilities(
    runs: Ragged, given: Given, known: Lists, curves: Curves, ties: Ties, score: Array
) -> None:
    """Add to the score of every item's classes what their authorities gave to them, as logarithms."""
    classes = 0
    for k in known.members:
        classes = max(classes, k + 1)
    place = np.full(classes, -1, np.int64)
    room = np.empty(len(known.members))
    for n in range(len(ties.start) - 1):
        low, high = ties.start[n], ties.start[n + 1]
        for b in range(low, high):
            place[ties.classes[b]] = b
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            i = runs.expert[p]
            members = known.members[known.start[i] : known.start[i + 1]]
            size = len(members)
            out = room[:size]
            sure = _sureness(given, p, runs.label[p], members, out)
            inside = curves.inside[i, sure] if sure >= 0 else 0.0
            _tempered(given, p, runs.label[p], members, curves.powers[i], out)
            for c in range(size):
                if place[members[c]] >= 0:
                    score[place[members[c]]] += math.log(size * max(out[c], LEAST)) + inside
        for b in range(low, high):
            place[ties.classes[b]] = -1


def _steps(runs: Ragged, given: Given, known: Lists, *_: Any) -> int:
    widest = int(np.diff(known.start).max(initial=1))
    return len(runs.expert) * len(POWERS) * widest


@kernel(steps=_steps)
def _count_probabilities(
    runs: Ragged, given: Given, known: Lists, ties: Ties, truth: Array, powers: Array, margins: Array
) -> None:
    """Add what the answers tell about their experts' probabilities; see :class:`ProbabilityCounts`.

    The class of an item is `truth`, or where that is -1 any of its best classes alike.
    """
    room = np.empty(len(known.members))
    for n in range(len(truth)):
        best = ties.classes[ties.start[n] : ties.start[n + 1]]
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            i = runs.expert[p]
            members = known.members[known.start[i] : known.start[i + 1]]
            out, inside = room[: len(members)], 0.0
            for c in range(len(members)):
                inside += _weight(members[c], best, truth[n])
            sure = _sureness(given, p, runs.label[p], members, out)
            if sure >= 0:
                amount = np.int64(np.rint(inside * ONE))
                margins[i, 0, sure] += amount
                margins[i, 1, sure] += ONE - amount
            for g in range(len(POWERS) if inside > 0 else 0):
                _tempered(given, p, runs.label[p], members, POWERS[g], out)
                gain = 0.0
                for c in range(len(members)):
                    weight = _weight(members[c], best, truth[n])
                    if weight > 0:
                        gain += weight * math.log(max(out[c], LEAST))
                powers[i, g] += np.int64(np.rint(gain * UNIT))


@helper(inline="always")
def _weight(k: int, best: Array, truth: int) -> float:
    """Return how likely class k is: by the truth if it is known, else equally by the best classes."""
    if truth >= 0:
        return 1.0 if k == truth else 0.0
    for b in range(len(best)):
        if best[b] == k:
            return 1.0 / len(best)
    return 0.0
