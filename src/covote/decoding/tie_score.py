"""The confirmed tie score: among classes with equal authority, the one that the answers fit best.

theory.md section 9. The authority labels of all items, taken as they are, tell how often each
expert is right inside its expertise (I) and what it answers to classes it does not know (O). Ties are decided
by 0.7 I + O: the authority vote has already used what I says, and counting it in full again made the worst
panels worse (benchmarks/accuracy.py, chosen on one half of the data sets, confirmed on the other).

What is known of a class that nearly always ties with the same other one was learned from those ties: half of
it is about the other class. A small lead then means nothing, yet it would decide all these items alike. So a
lead must be clear (:meth:`Weights.doubt`); a class that is not clearly behind counts as level. Level classes
are decided by their number of authorities, unless that would settle a large share of all items at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.decoding import shares
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.linear import ONE, UNIT
from covote.decoding.statistics import Statistics, fits
from covote.decoding.tuning import FEW, INSIDE, LARGE, PRIOR
from covote.labels import Ties
from covote.panel import Panel
from covote.panel.layout import Cells
from covote.votes import Votes
from covote.votes.rows import Rows, row_parts
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Weights:
    """What each answer says about each class, learned from statistics.

    `right` and `wrong` are the weights, per expert, of a right and of a wrong answer to a class that it
    knows; what its answers say about other classes is worked out class by class in :meth:`outside`.
    """

    statistics: Statistics
    accuracy: NDArray[np.float64]
    right: NDArray[np.float64]
    wrong: NDArray[np.float64]
    answers: NDArray[np.int64]
    settled: ClassVar[bool] = True

    @property
    def _panel(self) -> tuple[Panel, Cells]:
        return self.statistics.panel, self.statistics.panel.layout.cells

    def inside(self, k: int) -> NDArray[np.float64]:
        """Return what every answer says about class k if its expert knows k, else 0: the I of theory.md."""
        panel, layout = self._panel
        knows = panel.knows[layout.expert, k]
        weight = np.where(layout.label == k, self.right[layout.expert], self.wrong[layout.expert])
        return np.where(knows & self._can(layout.label), weight, 0.0)

    def outside(self, k: int) -> NDArray[np.float64]:
        """Return what every answer says about class k if its expert does not know k, else 0: the O."""
        panel, layout = self._panel
        count = self.statistics.column(k)
        count[panel.knows[layout.expert, k]] = 0
        size, classes = len(panel), len(panel.classes)
        total = np.bincount(layout.expert, weights=count, minlength=size)
        can = self._can(layout.label)
        seen = np.bincount(layout.label, weights=count, minlength=classes + 1)
        asked = np.bincount(
            layout.label, weights=np.where(can, total[layout.expert], 0), minlength=classes + 1
        )
        similar = np.where(can, ((seen + 0.02) / (asked + 2))[layout.label], 0.0)
        share = similar / np.bincount(layout.expert, weights=similar, minlength=size)[layout.expert]
        chance = (count + PRIOR * share) / (total + PRIOR)[layout.expert]
        use = can & ~panel.knows[layout.expert, k]
        return np.log(np.where(use, self.answers[layout.expert] * chance, 1.0))

    def mistaken(self, k: int) -> NDArray[np.float64]:
        """Return how often the items of k got each class from its authorities, among those who do not know k.

        1 for class j means: whatever is said to be k, the authorities of j call j, so the two always tie.
        """
        panel, layout = self._panel
        count = self.statistics.column(k)
        total = np.bincount(layout.expert, weights=count, minlength=len(panel))[layout.expert]
        strange = ~panel.knows[layout.expert, k]
        share = np.where(strange, count / np.maximum(total, 1e-9), 0.0)
        size = len(panel.classes) + 1
        experts = np.bincount(layout.label, weights=strange, minlength=size)
        found = np.bincount(layout.label, weights=share, minlength=size) / np.maximum(experts, 1)
        return found[:-1]

    def doubt(self, leader: Array, other: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return by how much a class must lead another to win, 0 to 4 units, and whether the tie is large.

        What is known of a class is the less worth, the more of its items the authorities of the other one
        claim as well; many items make up for it.
        """
        both, items = np.zeros(len(leader)), np.zeros(len(leader))
        size = self.statistics.share / ONE
        for one, two in ((leader, other), (other, leader)):
            for k in np.unique(one):
                pairs = np.flatnonzero(one == k)
                share = self.mistaken(int(k))[two[pairs]]
                both[pairs] += share
                items[pairs] += share * size[k]
        all_items = max(self.statistics.items, 1)
        large = items >= LARGE * all_items
        needed = 2 * both * np.where(large, 1.0, min(1.0, (FEW / all_items) ** 2))
        return np.rint(needed * UNIT).astype(np.int64), large

    def _can(self, label: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which answers are possible: "none of mine" only for experts that ever gave it."""
        panel, layout = self._panel
        abstains = self.answers > panel.sizes
        return (label < len(panel.classes)) | abstains[layout.expert]

    def column(self, k: int, inside: float = 1.0, outside: float = 1.0) -> NDArray[np.int64]:
        """Return the weight of every answer for class k as whole numbers."""
        weight = inside * self.inside(k) + outside * self.outside(k) if outside else inside * self.inside(k)
        return np.rint(weight * UNIT).astype(np.int64)


def statistics(part: Votes, gold: Gold | None = None) -> Statistics:
    """Count answers by authority label; an item with several best classes counts for each in part."""
    rows, truth = gold_rows(gold, part)
    found = known_truth(part, rows, truth, "learned")
    for patterns, span in row_parts(part):
        mine = (rows >= span.start) & (rows < span.stop)
        count = patterns.count_without(rows[mine] - span.start)
        for some, those in patterns.pieces():
            found += _shared(some, count[those])
    return found


def _shared(patterns: Rows, count: Array) -> Statistics:
    """Share the items of every answer row equally among its best classes, and count their answers so."""
    panel, indptr = patterns.votes.panel, patterns.runs.indptr
    ties = shares.best_classes(patterns.runs, panel)
    sizes = np.diff(ties.start)
    row = np.repeat(np.arange(len(patterns)), sizes)
    amount = (count * (ONE // np.maximum(sizes, 1)))[row]
    row, best, amount = row[amount > 0], ties.classes[amount > 0], amount[amount > 0]
    share = np.zeros(len(panel.classes), np.int64)
    np.add.at(share, best, amount)
    # Every best class of a row with every answer of the row.
    at, _ = _answers_of(indptr, row)
    answers = np.diff(indptr)[row]
    keys = patterns.cell[at].astype(np.int64) * len(panel.classes) + np.repeat(best, answers)
    return Statistics.of(panel, "learned", int(count.sum()), share, keys, np.repeat(amount, answers))


def known_truth(part: Votes, rows: Array, truth: Array, method: str) -> Statistics:
    """Count the answers to items whose class is known."""
    classes = len(part.panel.classes)
    keys = [np.empty(0, dtype=np.int64)]
    for patterns, span in row_parts(part.subset(rows)):
        row = patterns.spread_values(np.arange(len(patterns)))
        at, _ = _answers_of(patterns.runs.indptr, row)
        cell = patterns.cell[at].astype(np.int64)
        keys.append(cell * classes + np.repeat(truth[span], np.diff(patterns.runs.indptr)[row]))
    flat = np.concatenate(keys)
    share = np.bincount(truth, minlength=classes).astype(np.int64) * ONE
    return Statistics.of(part.panel, method, len(rows), share, flat, np.full(len(flat), ONE, dtype=np.int64))


def learn(counts: Statistics) -> Weights:
    """Estimate accuracies inside expertise, shrunk towards the common one (theory.md section 9)."""
    seen = counts.inside()
    right, total = seen.right, seen.inside
    common = (right.sum() + 9) / (total.sum() + 10)
    answers = counts.panel.sizes + (seen.none > 0)
    low = np.minimum(1 / answers + 0.02, 0.995)
    accuracy = np.clip((right + PRIOR * common) / (total + PRIOR), low, 0.995)
    # An expert with one possible answer says nothing by giving it.
    says = answers > 1
    log_right = np.log(np.where(says, answers * accuracy, 1.0))
    log_wrong = np.log(np.where(says, answers * (1 - accuracy) / np.maximum(answers - 1, 1), 1.0))
    return Weights(counts, accuracy, log_right, log_wrong, answers)


def temperature(panel: Panel) -> float:
    """Return sqrt(mean d): experts err together, so d answers are worth about sqrt(d) independent ones."""
    known = panel.knows.sum(axis=0)
    return float(np.sqrt(known[known > 0].mean())) if known.any() else 1.0


@lru_cache(maxsize=4)
def remembered(weights: Weights) -> Callable[..., Array]:
    """Return the columns of the weights, each worked out once where they all fit into memory."""
    if not fits(weights.statistics.panel):
        return weights.column
    return lru_cache(maxsize=None)(weights.column)


def decided(patterns: Rows, ties: Ties, weights: Weights | None) -> NDArray[np.int64]:
    """Decide ties: by a clear lead, else by the number of authorities, else -1.

    Without weights all tied classes are level.
    """
    level, large = np.ones(len(ties.classes), dtype=np.bool_), np.zeros(len(ties.classes), dtype=np.bool_)
    if weights is not None:
        ahead, level, large = compared(patterns, ties, weights)
        level |= ahead == 0
    return _clear_best(patterns, ties, level, large)


def _clear_best(
    patterns: Rows, ties: Ties, level: NDArray[np.bool_], large: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the one class of every tied row that is `level` with the best; -1 if there are more.

    Of several the one with most authorities is taken, if that is one and none of the ties is `large`.
    """
    sizes, first = np.diff(ties.start), ties.start[:-1]
    row = np.repeat(np.arange(len(sizes)), sizes)
    at, start = _answers_of(patterns.runs.indptr, row)
    knows = patterns.votes.panel.knows
    asked = knows[patterns.runs.expert[at], np.repeat(ties.classes, np.diff(np.append(start, len(at))))]
    authorities = np.where(level, np.add.reduceat(asked, start, dtype=np.int64), -1)
    winner = level & (authorities == np.maximum.reduceat(authorities, first)[row])
    several = np.add.reduceat(level, first, dtype=np.int64) > 1
    clear = np.add.reduceat(winner, first, dtype=np.int64) == 1
    clear &= ~(several & np.logical_or.reduceat(level & large, first))
    chosen = np.maximum.reduceat(np.where(winner, ties.classes, -1), first)
    return np.where(clear, chosen, -1)


def compared(
    patterns: Rows, ties: Ties, weights: Weights
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return how far each tied class is behind the best, whether that is in doubt, and matters much."""
    leader, ahead = _leads(ties, tied_scores(patterns, ties, weights))
    level, large = np.zeros(len(leader), dtype=np.bool_), np.zeros(len(leader), dtype=np.bool_)
    close = np.flatnonzero((ties.classes != leader) & (ahead <= 4 * UNIT))  # no wider lead can be in doubt
    needed, much = weights.doubt(leader[close], ties.classes[close])
    level[close] = ahead[close] <= needed
    large[close] = level[close] & much
    return ahead, level, large


def _leads(ties: Ties, score: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for every class of every tied row, the first class with the highest score, and its lead."""
    sizes = np.diff(ties.start)
    first, sizes = ties.start[:-1][sizes > 0], sizes[sizes > 0]  # an item without answers has no classes
    if len(first) == 0:
        return ties.classes, score
    top = np.repeat(np.maximum.reduceat(score, first), sizes)
    place = np.where(score == top, np.arange(len(score)), len(score))
    return ties.classes[np.repeat(np.minimum.reduceat(place, first), sizes)], top - score


def tied_scores(patterns: Rows, ties: Ties, weights: Weights) -> NDArray[np.int64]:
    """Return 0.7 I + O of the classes that share the best score; 0 where one class has it alone."""
    return summed(patterns, ties, lambda k: weights.column(k, inside=INSIDE), np.diff(ties.start) > 1)


def summed(
    patterns: Rows, ties: Ties, column: Callable[[int], Array], rows: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the sum of the weights of all answers, for each listed class of some rows; 0 for other rows."""
    sizes = np.diff(ties.start)
    owner = np.repeat(np.arange(len(patterns)), sizes)
    score = np.zeros(len(ties.classes), dtype=np.int64)
    # Small integers are sorted by their digits, many times as fast.
    by_class = np.argsort(ties.classes.astype(smallest_int(len(patterns.votes.panel.classes))), kind="stable")
    by_class = by_class[rows[owner[by_class]]]
    bounds = np.searchsorted(ties.classes[by_class], np.arange(int(ties.classes.max(initial=0)) + 2))
    for k in np.unique(ties.classes[by_class]):
        pairs = by_class[bounds[k] : bounds[k + 1]]
        _sums(patterns.runs.indptr, patterns.cell, column(int(k)), owner[pairs], pairs, score)
    return score


def _answers_of(indptr: Array, rows: Array) -> tuple[Array, Array]:
    """Return where the answers of some rows are, one row after another, and where each row begins there."""
    lengths = indptr[rows + 1] - indptr[rows]
    start = np.cumsum(lengths) - lengths
    return np.repeat(indptr[rows] - start, lengths) + np.arange(int(lengths.sum())), start


def _at_once(indptr: Array, cell: Array, column: Array, owner: Array, place: Array, score: Array) -> None:
    """Do as :func:`_sums` does, all rows at once."""
    at, start = _answers_of(indptr, owner)
    total = np.concatenate([[0], np.cumsum(column[cell[at]])])  # a row may have no answers
    score[place] = total[np.append(start[1:], len(at))[: len(start)]] - total[start]


@kernel(
    steps=lambda indptr, cell, column, owner, *_: 20 + len(owner) * (2 + len(cell) // len(indptr)) / 15,
    plain=_at_once,
)
def _sums(indptr: Array, cell: Array, column: Array, owner: Array, place: Array, score: Array) -> None:
    """Add up the weights of all answers of the owners: one class, many answer rows."""
    for j in range(len(owner)):
        s = 0
        for a in range(indptr[owner[j]], indptr[owner[j] + 1]):
            s += column[cell[a]]
        score[place[j]] = s
