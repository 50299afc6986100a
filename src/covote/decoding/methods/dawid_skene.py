"""Dawid-Skene: a full confusion table per expert, restricted to the answers it can give.

After A. P. Dawid and A. M. Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm". Right for crowds of people who know every class. On classifiers that know a part of the classes it
learns how they answer what they do not know, and goes astray (theory.md section 9): a warning says so.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding import halves, scoring, tie_score
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.linear import ONE, UNIT, Best
from covote.decoding.scoring import SCALE
from covote.decoding.shares import counters, forget, hear
from covote.decoding.statistics import Statistics, fits
from covote.errors import InputError, TooLargeError
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows, row_parts

Array = NDArray[Any]

OUTSIDE = 0.2
"""Warn when more than this share of the answers is about classes that the expert does not know."""


@dataclass(frozen=True, eq=False)
class Confusions:
    """The weight of every answer for every class (answers x classes), and of every class by itself."""

    statistics: Statistics
    table: NDArray[np.int64]
    base: NDArray[np.int64]
    settled: bool = False


@dataclass(frozen=True)
class DawidSkene:
    """Estimate a confusion table per expert by expectation maximisation.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        What was learned from earlier votes of the same panel, to go on from.
    smoothing
        Added to every count; with 0, an answer that was never given to a class rules it out (almost).
    iterations
        At most so many passes over the votes.
    tolerance
        Stop when no probability of an answer moves by more than this factor, as a logarithm.
    """

    gold: Gold | None = None
    past: Statistics | None = None
    smoothing: float = 0.01
    iterations: int = 50
    tolerance: float = 1e-3
    needs_probabilities: ClassVar[bool] = False
    only_for_ties: ClassVar[bool] = False
    has_proba: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.smoothing < 0 or self.iterations < 1:
            raise InputError(f"smoothing={self.smoothing} must be >= 0 and iterations={self.iterations} >= 1")

    @property
    def rounds(self) -> int:
        """At most `iterations` passes."""
        return self.iterations

    def start(self, panel: Panel) -> None:
        """Begin without weights: the first pass shares every item out by its votes."""
        if not fits(panel):
            raise TooLargeError(
                f"dawid-skene needs a table of {len(panel.layout.cells.label)} answers by "
                f"{len(panel.classes)} classes; use method 'em', which keeps one accuracy per expert, or "
                "'authority'"
            )

    def count(self, votes: Votes, weights: Confusions | None) -> Statistics:
        """Count every answer by the probability of each class."""
        panel = votes.panel
        known = panel.layout.known
        table = np.zeros((len(panel.layout.cells.label), len(panel.classes)), dtype=np.int64)
        share = np.zeros(len(panel.classes), dtype=np.int64)
        rows, truth = gold_rows(self.gold, votes)
        all_heard = votes.complete and len(panel.layout.heard) == len(panel.classes)
        items = 0
        for patterns, span in row_parts(votes):
            mine = (rows >= span.start) & (rows < span.stop)
            count = patterns.count_without(rows[mine] - span.start)
            items += int(count.sum())
            answers = (patterns.runs, patterns.cell, count, known)
            if weights is None:
                _share_counts(*answers, share, table)
            elif all_heard and _safe(weights, patterns.runs.indptr):
                chance, prior = np.exp(weights.table / UNIT), np.exp(weights.base / UNIT)
                if halves.pays(panel):
                    halves.shared_out(patterns, count, panel, chance, prior, share, table)
                else:
                    _product_counts(patterns.runs.indptr, patterns.cell, count, chance, prior, share, table)
            else:
                _model_counts(*answers, all_heard, weights.table, weights.base, share, table)
        found = Statistics.of_table(panel, "dawid-skene", items, share, table)
        if not len(rows):
            return found
        return found + tie_score.known_truth(votes, rows, truth, "dawid-skene")

    def learn(self, panel: Panel, counts: Statistics, weights: Confusions | None) -> Confusions:
        """Return better confusion tables."""
        if self.past is not None:
            counts = self.past + counts
        if weights is None:
            _warn_about_classifiers(counts)
        assert counts.table is not None  # `start` has checked the size
        layout = panel.layout.cells
        _, _, none = counts.inside()
        can = (layout.label < len(panel.classes)) | (none > 0)[layout.expert]
        amount = np.where(can[:, None], np.maximum(counts.table / ONE + self.smoothing, 1e-10), 0.0)
        total = np.add.reduceat(amount, layout.start[:-1], axis=0)[layout.expert]
        table = np.rint(np.log(np.where(can[:, None], amount / total, 1.0)) * UNIT).astype(np.int64)
        share = np.maximum(counts.share / ONE, 1e-10)
        base = np.rint(np.log(share / share.sum()) * UNIT).astype(np.int64)
        if weights is not None and np.abs(table - weights.table).max() <= self.tolerance * UNIT:
            return replace(weights, settled=True)
        return Confusions(counts, table, base)

    def score(self, votes: Votes, weights: Confusions, evidence: bool = True) -> Labels:
        """Return the labels; the confidence is the probability of the class under the model."""
        if votes.complete and halves.pays(votes.panel):

            def find(patterns: Rows, best: Best) -> Array:
                return halves.best(patterns, votes.panel, weights.table, weights.base, best)

            return scoring.label_rows(votes, find, evidence)
        columns = np.ascontiguousarray(weights.table.T)
        return scoring.apply(votes, lambda k: columns[k], weights.base, evidence=evidence)

    def proba(self, votes: Votes, weights: Confusions) -> NDArray[np.float64]:
        """Return how likely every class is under the model."""
        return scoring.chances(votes, lambda k: np.ascontiguousarray(weights.table[:, k]), weights.base)


def _safe(weights: Confusions, indptr: NDArray[np.int64]) -> bool:
    """Whether no product of the chances of one row can come near the smallest number."""
    longest = int(np.diff(indptr).max(initial=0))
    lowest = int(weights.table.min()) * longest + int(weights.base.min())
    return lowest > -600 * UNIT


def _warn_about_classifiers(counts: Statistics) -> None:
    """Warn when the experts seem to answer items whose class they do not know."""
    _, inside, _ = counts.inside()
    assert counts.table is not None
    answers = counts.table.sum() / ONE
    if answers > 0 and 1 - inside.sum() / answers > OUTSIDE:
        warnings.warn(
            f"{1 - inside.sum() / answers:.0%} of the answers seem to be about classes that their expert "
            "does not know; dawid-skene can be far off there, use 'authority' for models that err together, "
            "'anchored' for people who err on their own, and compare() where some classes are known",
            UserWarning,
            stacklevel=2,
        )


@helper(inline="always")
def _add(cell: Array, begin: int, end: int, part: Array, share: Array, table: Array) -> None:
    """Count one answer row for all classes."""
    classes = len(part)
    for k in range(classes):
        share[k] += part[k]
    for a in range(begin, end):
        row = table[cell[a]]
        for k in range(classes):
            row[k] += part[k]


@kernel
def _share_counts(runs: Ragged, cell: Array, times: Array, known: Lists, share: Array, table: Array) -> None:
    """Share every item out by N_k / d_k."""
    counts, part = counters(len(share)), np.zeros(len(share), np.int64)
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        number = hear(runs, n, known, counts)
        total = 0.0
        for c in range(number):
            k = counts.heard[c]
            total += counts.votes[k] / counts.asked[k]
        part[:] = 0
        for c in range(number):
            k = counts.heard[c]
            q = counts.votes[k] / counts.asked[k] / total if total > 0 else 1.0 / number
            part[k] = np.int64(np.rint(q * ONE)) * times[n]
        _add(cell, begin, end, part, share, table)
        forget(counts, number)


@kernel
def _model_counts(
    runs: Ragged, cell: Array, times: Array, known: Lists, all_heard: bool, weight: Array,
    base: Array, share: Array, table: Array,
) -> None:  # fmt: skip
    """Share every item out by the model: base + the weights of its answers."""
    classes = len(share)
    score, part = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    q, is_heard = np.empty(classes), np.ones(classes, np.bool_)
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        score[:] = base
        for a in range(begin, end):
            row = weight[cell[a]]
            for k in range(classes):
                score[k] += row[k]
        if not all_heard:
            is_heard[:] = False
            for a in range(begin, end):
                for x in range(known.start[runs.expert[a]], known.start[runs.expert[a] + 1]):
                    is_heard[known.members[x]] = True
        top, first = np.int64(0), True
        for k in range(classes):
            if is_heard[k] and (first or score[k] > top):
                top, first = score[k], False
        total = 0.0
        for k in range(classes):
            gap = (score[k] - top) * SCALE
            # Below one in 2^30 the share is 0 anyway.
            q[k] = math.exp(gap) if is_heard[k] and gap > -25 else 0.0
            total += q[k]
        for k in range(classes):
            part[k] = np.int64(np.rint(q[k] / total * ONE)) * times[n]
        _add(cell, begin, end, part, share, table)


@kernel
def _product_counts(
    indptr: Array, cell: Array, times: Array, chance: Array, prior: Array, share: Array, table: Array
) -> None:
    """Do what `_model_counts` does where every class was heard and no product of chances comes near zero.

    Multiplying chances spares an exponential for every class of every row.
    """
    classes = len(share)
    q, part = np.empty(classes), np.zeros(classes, np.int64)
    for n in range(len(times)):
        begin, end = indptr[n], indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        q[:] = prior
        for a in range(begin, end):
            row = chance[cell[a]]
            for k in range(classes):
                q[k] *= row[k]
        total = 0.0
        for k in range(classes):
            total += q[k]
        norm = ONE / total
        for k in range(classes):
            part[k] = np.int64(q[k] * norm + 0.5) * times[n]
        _add(cell, begin, end, part, share, table)
