"""Dawid-Skene: a full confusion table per expert, restricted to the answers it can give.

After A. P. Dawid and A. M. Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm". Right for crowds of people who know every class. On classifiers that know a part of the classes it
learns how they answer what they do not know, and goes astray (theory.md section 9): a warning says so.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import halves, scoring, tie_score
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.methods import dawid_skene_kernels as kernels
from covote.decoding.scoring import UNIT, Best
from covote.decoding.statistics import ONE, Statistics, fits
from covote.errors import InputError, TooLargeError
from covote.labels import Labels, Ties
from covote.panel import Panel
from covote.votes import Votes
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
                kernels.share_counts(*answers, ONE, share, table)
            elif all_heard and _safe(weights, patterns.runs.indptr):
                chance, prior = np.exp(weights.table / UNIT), np.exp(weights.base / UNIT)
                if halves.pays(panel):
                    halves.shared_out(patterns, count, panel, chance, prior, share, table)
                else:
                    kernels.product_counts(
                        patterns.runs.indptr, patterns.cell, count, chance, prior, ONE, share, table
                    )
            else:
                model = kernels.Model(weights.table, weights.base, 1 / UNIT)
                kernels.model_counts(*answers, all_heard, model, ONE, share, table)
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

            def find(patterns: Rows) -> tuple[Best, Ties]:
                return halves.best(patterns, votes.panel, weights.table, weights.base)

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
