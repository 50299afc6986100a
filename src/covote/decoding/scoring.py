"""From scores to labels: the best class of every answer row, then the labels of the items.

Several methods score a class by base[k] + the sum of the weights of all answers for k; :func:`apply` does so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding import scoring_kernels, shares
from covote.errors import InputError
from covote.labels import NO_TIES, Evidence, Labels, Ties, joined
from covote.panel import Panel
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows, row_parts
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]

UNIT = 1 << 24
"""One unit of log-likelihood in scores: scores are whole numbers, so no order depends on rounding."""

Column = Callable[[int], NDArray[np.int64]]
"""From a class to the weight of every possible answer (see `Layout.cells`) for it."""


class Best(NamedTuple):
    """The best class of every answer row, how many share its place, its chance, its lead, and the next class.

    The best class is -1 if nobody was heard, the next one if there is none or if there are several.
    """

    chosen: NDArray[np.int64]
    shared: NDArray[np.int64]
    confidence: NDArray[np.float64]
    margin: NDArray[np.float64]
    runner_up: NDArray[np.int64]

    @classmethod
    def empty(cls, size: int) -> Best:
        """Make room for the rows that a loop goes through."""
        return cls(
            np.full(size, -1, np.int64), np.zeros(size, np.int64), np.zeros(size), np.full(size, np.nan),
            np.full(size, -1, np.int64),
        )  # fmt: skip

    def ties(self, classes: Array) -> Ties:
        """Return the ties, given the classes of all tied rows one after another."""
        return Ties(np.concatenate([[0], np.cumsum(self.shared[self.shared > 1])]), classes)


def labels_of_rows(
    runs: Ragged, panel: Panel, best: Best, ties: Ties, evidence: bool, tied: NDArray[np.bool_] | None = None
) -> Labels:
    """Return the labels of answer rows; where several classes share the best score there is none.

    `tied` says which rows `ties` are of, if not those.
    """
    undecided = best.shared > 1
    tied = undecided if tied is None else tied
    index = np.where(undecided, -1, best.chosen).astype(smallest_int(len(panel.classes)))
    if not evidence:
        return Labels(panel, index, tied, ties)
    found = shares.examined(runs, panel, index)
    behind = Evidence(
        best.confidence.astype(np.float32),
        best.margin.astype(np.float32),
        np.where(undecided, -1, best.runner_up).astype(index.dtype),
        found.fewest,
        shares.status(index, tied, found),
    )
    return Labels(panel, index, tied, ties, behind)


def labels_from_scores(votes: Votes, scores: Array, evidence: bool = True) -> Labels:
    """Return the labels with the highest scores (items x classes), for decoders of one's own.

    -inf is for a class that cannot be; equal scores tie. The confidence is NaN: scores are no probabilities.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.shape != (len(votes), len(votes.panel.classes)) or np.isnan(table).any():
        raise InputError(
            f"scores have shape {table.shape} or hold NaN; give one number per item and class, "
            f"{(len(votes), len(votes.panel.classes))}"
        )
    order = np.argsort(-table, axis=1, kind="stable")
    rows = np.arange(len(table))
    best, shared = table[rows, order[:, 0]], np.zeros(len(table), dtype=np.int64)
    top = (table == best[:, None]) & np.isfinite(best)[:, None]
    shared = top.sum(axis=1)
    found = Best.empty(len(table))
    found.chosen[:], found.shared[:] = np.where(shared > 0, order[:, 0], -1), shared
    found.confidence[:] = np.nan
    if table.shape[1] > 1:
        second = table[rows, order[:, 1]]
        alone = (table == second[:, None]).sum(axis=1) == 1
        heard = np.isfinite(second) & (shared > 0)
        found.margin[heard] = (best - second)[heard]
        found.runner_up[:] = np.where(heard & alone, order[:, 1], -1)
    ties = found.ties(np.nonzero(top[shared > 1])[1])
    return gathered(votes, [labels_of_rows(votes.ragged, votes.panel, found, ties, evidence)])


def label_rows(votes: Votes, find: Callable[[Rows], tuple[Best, Ties]], evidence: bool) -> Labels:
    """Return the labels of votes, from what is found for their different answer rows."""
    return gathered(
        votes,
        (
            patterns.spread(labels_of_rows(patterns.runs, votes.panel, *find(patterns), evidence))
            for patterns, _ in row_parts(votes)
        ),
    )


def gathered(votes: Votes, pieces: Iterable[Labels]) -> Labels:
    """Return the labels of votes, from those of consecutive pieces of them."""
    found = list(pieces)
    if not found:
        nothing = Ragged(np.zeros(1, np.int64), np.empty(0, np.int8), np.empty(0, np.int8))
        found = [labels_of_rows(nothing, votes.panel, Best.empty(0), NO_TIES, evidence=True)]
    return joined(found, votes._ids, votes.start)


def apply(
    votes: Votes, column: Column, base: Array | None = None, temperature: float = 1.0, evidence: bool = True
) -> Labels:
    """Label votes by base + weights; the confidence is a softmax of score / temperature.

    A class that nobody who knows it was asked about cannot win.
    """
    panel = votes.panel
    start = np.zeros(len(panel.classes), dtype=np.int64) if base is None else base

    def find(patterns: Rows) -> tuple[Best, Ties]:
        state = scoring_kernels.fresh(len(patterns))
        for k in panel.layout.heard:
            scoring_kernels.absorb(
                k, column(int(k)), start[k], panel.knows[:, k], patterns.runs, patterns.cell,
                1 / (UNIT * temperature), state,
            )  # fmt: skip
        alone = state.second == scoring_kernels.UNHEARD
        margin = np.where(alone, np.nan, (state.best - np.where(alone, state.best, state.second)) / UNIT)
        confidence = np.where(state.chosen >= 0, 1 / np.maximum(state.mass, 1), 0)
        best = Best(state.chosen, state.shared, confidence, margin, state.runner_up)
        return best, _equal(patterns, state, column, start, panel)

    return label_rows(votes, find, evidence)


def _equal(patterns: Rows, state: scoring_kernels.State, column: Column, base: Array, panel: Panel) -> Ties:
    """Return the classes that share the best score."""
    rows = np.flatnonzero(state.shared > 1)
    row, tied_class = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for k in panel.layout.heard if len(rows) else ():
        score = scoring_kernels.one_class(
            column(int(k)), base[k], panel.knows[:, k], patterns.runs, patterns.cell, rows
        )
        row.append(rows[score == state.best[rows]])
        tied_class.append(np.full(len(row[-1]), k))
    order = np.argsort(np.concatenate(row), kind="stable")
    sizes = state.shared[rows]
    return Ties(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(tied_class)[order])


def chances(
    votes: Votes, column: Column, base: Array | None = None, temperature: float = 1.0
) -> NDArray[np.float64]:
    """Return how likely every class is (items x classes): a softmax of what :func:`apply` scores by."""
    start = 0.0 if base is None else base / UNIT
    return softmax((scores(votes, column) + start) / temperature)


def softmax(score: Array) -> NDArray[np.float64]:
    """Return probabilities; a class with score -inf gets 0, a row of them nothing at all."""
    top = score.max(axis=1, keepdims=True, initial=-np.inf)
    e = np.exp(score - np.where(np.isfinite(top), top, 0))
    found: NDArray[np.float64] = e / np.maximum(e.sum(axis=1, keepdims=True), 1e-300)
    return found


def scores(votes: Votes, column: Column) -> NDArray[np.float64]:
    """Return the scores of all classes (items x classes); -inf for a class that was not heard."""
    panel = votes.panel
    found = np.full((len(votes), len(panel.classes)), -np.inf)
    for patterns, span in row_parts(votes):
        rows = np.arange(len(patterns))
        for k in panel.layout.heard:
            score = scoring_kernels.one_class(
                column(int(k)), 0, panel.knows[:, k], patterns.runs, patterns.cell, rows
            )
            value = np.where(score == scoring_kernels.UNHEARD, -np.inf, score / UNIT)
            found[span, k] = patterns.spread_values(value)
    return found
