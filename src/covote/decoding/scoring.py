"""From scores to labels: the best class of every answer row, then the labels of the items.

Several methods score a class by base[k] + the sum of the weights of all answers for k; :func:`apply` does so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding import shares
from covote.decoding.linear import UNIT, Best, softmax
from covote.decoding.shares import grown, insert
from covote.errors import InputError
from covote.labels import Labels, Ties, joined
from covote.panel import Panel
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows, row_parts
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]

SCALE = 1 / UNIT
"""A score times this is a log-likelihood."""

UNHEARD = np.iinfo(np.int64).min
"""The score of a class that nobody who knows it was asked about."""

Column = Callable[[int], NDArray[np.int64]]
"""From a class to the weight of every possible answer (see `Layout.cells`) for it."""


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
    behind = shares.evidence(runs, panel, index, tied, best.confidence)._replace(
        margin=best.margin.astype(np.float32),
        runner_up=np.where(undecided, -1, best.runner_up).astype(index.dtype),
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
    best = table[rows, order[:, 0]]
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
    return joined([labels_of_rows(votes.ragged, votes.panel, found, ties, evidence)], votes._ids, votes.start)


def label_rows(votes: Votes, find: Callable[[Rows, Best], Array], evidence: bool) -> Labels:
    """Return the labels of votes; `find` fills in the best classes of rows and returns those of tied rows."""

    def labelled(rows: Rows) -> Labels:
        best = Best.empty(len(rows))
        ties = best.ties(find(rows, best))
        return rows.spread(labels_of_rows(rows.runs, votes.panel, best, ties, evidence))

    return joined([labelled(rows) for rows, _ in row_parts(votes)], votes._ids, votes.start)


def apply(
    votes: Votes, column: Column, base: Array | None = None, temperature: float = 1.0, evidence: bool = True
) -> Labels:
    """Label votes by base + weights; the confidence is a softmax of score / temperature.

    A class that nobody who knows it was asked about cannot win.
    """
    panel = votes.panel
    start = np.zeros(len(panel.classes), dtype=np.int64) if base is None else base

    def find(patterns: Rows, best: Best) -> Array:
        score = np.full((2, len(patterns)), UNHEARD, dtype=np.int64)
        for k in panel.layout.heard:
            _absorb(
                k, column(int(k)), start[k], panel.knows[:, k], patterns.runs, patterns.cell,
                1 / (UNIT * temperature), score, best,
            )  # fmt: skip
        top, second = score
        alone = second == UNHEARD
        best.margin[:] = np.where(alone, np.nan, (top - np.where(alone, top, second)) / UNIT)
        best.confidence[:] = np.where(best.chosen >= 0, 1 / np.maximum(best.confidence, 1), 0)
        return _equal(patterns, top, best, column, start)

    return label_rows(votes, find, evidence)


def _equal(patterns: Rows, top: Array, best: Best, column: Column, base: Array) -> Array:
    """Return the classes that share the best score, one tied row after another."""
    panel, rows = patterns.votes.panel, np.flatnonzero(best.shared > 1)
    row, tied_class = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for k in panel.layout.heard if len(rows) else ():
        score = _one_class(column(int(k)), base[k], panel.knows[:, k], patterns.runs, patterns.cell, rows)
        row.append(rows[score == top[rows]])
        tied_class.append(np.full(len(row[-1]), k))
    order = np.argsort(np.concatenate(row), kind="stable")
    found: Array = np.concatenate(tied_class)[order]
    return found


def chances(
    votes: Votes, column: Column, base: Array | None = None, temperature: float = 1.0
) -> NDArray[np.float64]:
    """Return how likely every class is (items x classes): a softmax of what :func:`apply` scores by."""
    start = 0.0 if base is None else base / UNIT
    return softmax((scores(votes, column) + start) / temperature)


def scores(votes: Votes, column: Column) -> NDArray[np.float64]:
    """Return the scores of all classes (items x classes); -inf for a class that was not heard."""
    panel = votes.panel
    found = np.full((len(votes), len(panel.classes)), -np.inf)
    for patterns, span in row_parts(votes):
        rows = np.arange(len(patterns))
        for k in panel.layout.heard:
            score = _one_class(column(int(k)), 0, panel.knows[:, k], patterns.runs, patterns.cell, rows)
            value = np.where(score == UNHEARD, -np.inf, score / UNIT)
            found[span, k] = patterns.spread_values(value)
    return found


@helper(inline="always")
def _score(column: Array, base: int, knows: Array, runs: Ragged, cell: Array, p: int) -> int:
    """Return the score of one class for one answer row."""
    s, heard = base, False
    for a in range(runs.indptr[p], runs.indptr[p + 1]):
        s += column[cell[a]]
        heard |= knows[runs.expert[a]]
    return s if heard else UNHEARD


@kernel
def _absorb(
    k: int, column: Array, base: int, knows: Array, runs: Ragged, cell: Array, scale: float, score: Array,
    found: Best,
) -> None:  # fmt: skip
    """Let class k compete for every answer row.

    `score` has the best and the second score so far, `found.confidence` the sum of exp(scale * (score - best
    score)).
    """
    best, second = score[0], score[1]
    chosen, shared, mass, runner_up = found.chosen, found.shared, found.confidence, found.runner_up
    for p in range(len(best)):
        s = _score(column, base, knows, runs, cell, p)
        if s == UNHEARD:
            continue
        if chosen[p] < 0:
            best[p], chosen[p], shared[p], mass[p] = s, k, 1, 1.0
        elif s > best[p]:
            mass[p] = mass[p] * math.exp(scale * (best[p] - s)) + 1
            # A place shared by several classes names none of them.
            runner_up[p] = chosen[p] if shared[p] == 1 else -1
            second[p] = best[p]
            best[p], chosen[p], shared[p] = s, k, 1
        else:
            mass[p] += math.exp(scale * (s - best[p]))
            if s == best[p]:
                shared[p] += 1
                second[p] = s
            elif s > second[p] or second[p] == UNHEARD:
                second[p], runner_up[p] = s, k
            elif s == second[p]:
                runner_up[p] = -1


@kernel
def _one_class(column: Array, base: int, knows: Array, runs: Ragged, cell: Array, rows: Array) -> Array:
    """Return the score of one class for some answer rows."""
    found = np.empty(len(rows), np.int64)
    for r in range(len(rows)):
        found[r] = _score(column, base, knows, runs, cell, rows[r])
    return found


@helper(inline="always")
def decide(listed: Array, score: Array) -> tuple[int, int, int, Any, Any]:
    """Find the best of some classes by whole scores.

    Returns the class, how many share its score, the next class (-1 if there are several), and the two best
    scores, which are equal in a tie. It takes no :class:`Best`: numba would count references to its arrays.
    """
    best, runner_up, shared, several = -1, -1, 0, False
    top, second = np.int64(0), np.int64(0)
    for c in range(len(listed)):
        k = listed[c]
        s = score[k]
        if best < 0 or s > top:
            several = shared > 1
            second, runner_up = top, best
            top, best, shared = s, k, 1
        elif s == top:
            shared += 1
            second = s
        elif runner_up < 0 or s > second:
            second, runner_up, several = s, k, False
        elif s == second:
            several = True
    return best, shared, -1 if several else runner_up, top, top if shared > 1 else second


@helper(inline="always")
def chance_of_best(listed: Array, score: Array, top: int) -> float:
    """Return the chance of the best class: a softmax of the scores."""
    total = 0.0
    for c in range(len(listed)):
        total += math.exp((score[listed[c]] - top) * SCALE)
    return 1 / total if len(listed) else 0.0


@helper
def list_equal(listed: Array, score: Array, top: int, ties: Array, at: int) -> tuple[Array, int]:
    """Write the listed classes with the best score into `ties` from `at` on; return it and the new end."""
    ties, begin = grown(ties, at + len(listed)), at
    for c in range(len(listed)):
        if score[listed[c]] == top:
            at = insert(ties, begin, at, listed[c])
    return ties, at
