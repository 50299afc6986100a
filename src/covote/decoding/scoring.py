"""Applying weights: score[k] = base[k] + the sum of the weights of all answers for k; then the best class.

This is the same for every decoder that has learned what each answer says about each class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.evidence import evidence
from covote.decoding.rows import pattern_parts
from covote.labels import Evidence, Labels
from covote.votes import Votes
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]

UNIT = 1 << 24
"""One unit of log-likelihood in scores: scores are whole numbers, so no order depends on rounding."""

Column = Callable[[int], NDArray[np.int64]]
"""From a class to the weight of every possible answer (see `patterns.cells`) for it."""


@dataclass(frozen=True)
class Scored:
    """The best class of every item; what stands behind it is spread over the items when it is asked for."""

    index: Array
    tied: NDArray[np.bool_]
    pieces: list[tuple[slice, Callable[[Array], Array], tuple[Array, ...]]]

    @classmethod
    def empty(cls, part: Votes) -> Scored:
        """Make room for a part of the votes."""
        kind = smallest_int(len(part.panel.classes))
        return cls(np.full(len(part), -1, dtype=kind), np.zeros(len(part), dtype=np.bool_), [])

    def put(self, span: slice, spread: Callable[[Array], Array], values: tuple[Array, ...]) -> None:
        """Take (best, shared, confidence, margin, runner-up) of patterns, to be spread over their items."""
        best, shared, confidence, margin, runner_up = values
        tied = shared > 1
        self.index[span] = spread(np.where(tied, -1, best).astype(self.index.dtype))
        self.tied[span] = spread(tied)
        behind = (
            confidence.astype(np.float32),
            margin.astype(np.float32),
            np.where(tied, -1, runner_up).astype(self.index.dtype),
        )
        self.pieces.append((span, spread, behind))

    def labels(self, part: Votes, tied_classes: Callable[[Array], list[Array]]) -> Labels:
        """Return the labels, with what the votes prove about them."""

        def behind() -> Evidence:
            found = (
                np.zeros(len(part), dtype=np.float32),
                np.full(len(part), np.nan, dtype=np.float32),
                np.full_like(self.index, -1),
            )
            for span, spread, values in self.pieces:
                for target, value in zip(found, values, strict=True):
                    target[span] = spread(value)
            return evidence(part, self.index, self.tied, *found)

        return Labels(part.panel, self.index, self.tied, behind, tied_classes, part._ids, part.start)


def apply(part: Votes, column: Column, base: Array | None = None, temperature: float = 1.0) -> Labels:
    """Label a part of the votes; the confidence is a softmax of score / temperature.

    A class that nobody who knows it was asked about cannot win.
    """
    from covote.decoding import scoring_kernels

    scored = Scored.empty(part)
    panel = part.panel
    start = np.zeros(len(panel.classes), dtype=np.int64) if base is None else base
    for patterns, span in pattern_parts(part):
        state = scoring_kernels.fresh(len(patterns))
        for k in np.flatnonzero(panel.knows.any(axis=0)):
            scoring_kernels.absorb(
                k, column(int(k)), start[k], panel.knows[:, k], patterns.indptr, patterns.expert,
                patterns.cell, 1 / (UNIT * temperature), *state,
            )  # fmt: skip
        best, second, chosen, runner_up, shared, mass = state
        alone = second == scoring_kernels.UNHEARD
        gap = np.where(alone, np.nan, (best - np.where(alone, best, second)) / UNIT)
        confidence = np.where(chosen >= 0, 1 / np.maximum(mass, 1), 0)
        scored.put(span, patterns.spread, (chosen, shared, confidence, gap, runner_up))
    return scored.labels(part, lambda rows: equal_best(part, rows, column, start))


def scores(part: Votes, column: Column, base: Array | None = None) -> NDArray[np.float64]:
    """Return the scores of all classes (items x classes); -inf for a class that was not heard."""
    from covote.decoding import scoring_kernels

    panel = part.panel
    found = np.full((len(part), len(panel.classes)), -np.inf)
    for patterns, span in pattern_parts(part):
        for k in np.flatnonzero(panel.knows.any(axis=0)):
            score = scoring_kernels.one_class(
                column(int(k)), 0 if base is None else base[k], panel.knows[:, k],
                patterns.indptr, patterns.expert, patterns.cell,
            )  # fmt: skip
            value = np.where(score == scoring_kernels.UNHEARD, -np.inf, score / UNIT)
            found[span, k] = patterns.spread(value)
    return found


def equal_best(part: Votes, rows: Array, column: Column, base: Array) -> list[Array]:
    """Return the classes that share the best score, for some items."""
    table = scores(part.subset(rows), column, base)
    best = table.max(axis=1, initial=-np.inf)
    return [np.flatnonzero((row == b) & np.isfinite(row)) for row, b in zip(table, best, strict=True)]
