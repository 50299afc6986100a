"""Scores that are sums: the score of a class is its base plus the weights of the item's answers.

Answer rows are a sparse matrix A (rows x cells; a cell is an expert and an answer that it can give), weights
a table W (cells x classes). Then

    scores    = base + A W                     whole numbers: sums do not depend on order, ties are exact
    posterior = softmax(scores / temperature)
    counts    = A' (rounded posterior)         whole numbers again: counts of parts add up exactly
    best      = the class with the best score, the classes that share it, and the next class

A method that scores like this consists of its weights. All functions take one piece of the rows at a time
(:meth:`covote.votes.patterns.AnswerPatterns.pieces`), so the tables (rows x classes) stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.labels import Ties
from covote.panel import Panel
from covote.votes.patterns import WHOLE, AnswerPatterns

Array = NDArray[Any]

UNIT = 1 << 24
"""One unit of log-likelihood in scores."""

ONE = 1 << 30
"""One item in counts."""

NO_EVIDENCE = -(1 << 62)
"""The score of a class that no expert who answered knows: below all others, and no sum overflows."""

SMALL = 1 << 17
"""Up to this many numbers, adding them is not worth loading scipy.sparse, which takes 0.1 s."""

TABLE = 1 << 20
"""Larger tables (cells x classes) are counted as sparse matrices, since most of their counts are 0."""

Weights = NDArray[np.int64] | Callable[[Array], Array]
"""What answers weigh for classes: (cells x classes), or a function that returns the rows of some cells."""

Counts = Any
"""Items by answer and class (cells x classes): an array, or a sparse matrix of scipy where that is large."""


class Best(NamedTuple):
    """The best class of every answer row, how many share its score, its probability, its lead, the runner-up.

    The best class is -1 if no one answered; the runner-up is -1 if there is none or if there are several.
    """

    chosen: NDArray[np.int64]
    shared: NDArray[np.int64]
    confidence: NDArray[np.float64]
    margin: NDArray[np.float64]
    runner_up: NDArray[np.int64]

    def ties(self, classes: Array) -> Ties:
        """Return the ties, given the classes of all tied rows one after another."""
        return Ties.of(self.shared[self.shared > 1], classes)


def precomputed(panel: Panel, weights: Callable[[Array], Array]) -> Weights:
    """Return the weights of all cells if they fit into memory, else the function itself.

    The cells of a panel of a million experts do not fit, but few of them occur in a piece of the votes.
    """
    cells = len(panel.layout.cells.label)
    return weights(np.arange(cells)) if cells * len(panel.classes) <= WHOLE else weights


def scores(rows: AnswerPatterns, weights: Weights, base: Array | None = None) -> NDArray[np.int64]:
    """Return base + the weights of all answers (rows x classes); `NO_EVIDENCE` where nobody judged a class.

    >>> panel = Panel(3, [[1, 1, 0], [0, 1, 1]])  # cells: 0, 1, none of mine; 1, 2, none of mine
    >>> from covote.votes import Votes
    >>> rows = Votes.from_dense([[0, 1], [1, 1], [0, -1]], panel).rows
    >>> weights = np.array([[5, 1, 0], [1, 5, 0], [0, 0, 0], [0, 7, 1], [0, 1, 7], [0, 0, 0]])
    >>> scores(rows, weights) // (1 << 50)  # the last row has not heard class 2
    array([[    0,     0,     0],
           [    0,     0,     0],
           [    0,     0, -4096]])
    >>> scores(rows, weights)[:2]
    array([[ 5,  8,  1],
           [ 1, 12,  1]])
    """
    found = totals(rows, weights, base)
    unknown = ~has_evidence(rows)
    if unknown.any():
        found[np.broadcast_to(unknown, found.shape)] = NO_EVIDENCE
    return found


def totals(rows: AnswerPatterns, weights: Weights, base: Array | None = None) -> NDArray[np.int64]:
    """Return base + the weights of all answers (rows x classes), even for classes that were not heard."""
    found = _summed(rows, rows.cell, weights)
    return found if base is None else found + base


def has_evidence(rows: AnswerPatterns) -> NDArray[np.bool_]:
    """Return which classes an answering expert knows (rows x classes; one row where everyone answered)."""
    panel = rows.votes.panel
    if len(rows.ragged.expert) == len(rows) * len(panel):
        return np.asarray(panel.knows.any(axis=0, keepdims=True))
    return authorities(rows) > 0


def authorities(rows: AnswerPatterns) -> NDArray[np.int64]:
    """Return d_k, the number of answering experts who know each class (rows x classes)."""
    panel, expert = rows.votes.panel, rows.ragged.expert
    if len(expert) == len(rows) * len(panel):
        return np.broadcast_to(panel.knows.sum(axis=0), (len(rows), len(panel.classes)))
    knows: Weights = panel.knows.__getitem__ if panel.knows.size > TABLE else panel.knows.astype(np.int64)
    return _summed(rows, expert, knows)


def votes_for(rows: AnswerPatterns) -> NDArray[np.int64]:
    """Return N_k, the number of experts who named each class (rows x classes)."""
    classes, label = len(rows.votes.panel.classes), rows.ragged.label
    said = label >= 0
    place = row_of_answer(rows)[said] * classes + label[said]
    return np.bincount(place, minlength=len(rows) * classes).reshape(-1, classes)


def posterior(scores: Array, temperature: float = 1.0) -> NDArray[np.float64]:
    """Return the probability of every class (rows x classes), 0 for all where no one was heard."""
    top = scores.max(axis=1)
    q = (scores - top[:, None]) * (1 / (UNIT * temperature))
    if top.min(initial=0) == NO_EVIDENCE:
        q[top == NO_EVIDENCE] = -np.inf
    return _normalised(q)


def softmax(score: Array) -> NDArray[np.float64]:
    """Return probabilities; a class with score -inf gets 0, even if all classes of the row do.

    >>> softmax(np.array([[0.0, 0.0, -np.inf], [-np.inf, -np.inf, -np.inf]]))
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    top = score.max(axis=1)
    return _normalised(score - np.where(np.isfinite(top), top, 0)[:, None])


def _normalised(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn logarithms, of which the largest is 0, into probabilities, in place."""
    np.exp(q, out=q)
    q /= np.maximum(q.sum(axis=1), 1e-300)[:, None]
    return q


def fractional_counts(posterior: Array, count: Array) -> NDArray[np.int64]:
    """Return the share of every row's items that each class gets, in whole units of 1 / ONE items."""
    part = posterior * ONE
    found: NDArray[np.int64] = np.rint(part, out=part).astype(np.int64)
    found *= count[:, None]
    return found


def counts(rows: AnswerPatterns, part: Array) -> Counts:
    """Return how often each answer was given to each class (cells x classes).

    `part` has the share of each class in every row, from :func:`fractional_counts`.
    """
    panel = rows.votes.panel
    cells, classes = len(panel.layout.cells.label), len(panel.classes)
    if cells * classes > TABLE:
        from scipy.sparse import csr_array

        return (rows.matrix.T @ csr_array(part)).tocsr()
    if len(rows.cell) * classes <= SMALL:
        found = np.zeros((cells, classes), np.int64)
        np.add.at(found, rows.cell, part[row_of_answer(rows)])
        return found
    return rows.matrix.T @ part


def sum_counts(parts: Iterable[Counts]) -> Counts:
    """Return the sum of the counts of some pieces; sparse ones are added once they outgrow the sum."""
    total: Counts = 0
    waiting: list[Counts] = []
    for part in parts:
        waiting.append(part)
        if isinstance(part, np.ndarray) or sum(w.nnz for w in waiting) > getattr(total, "nnz", 0):
            total = sum(waiting, total)
            waiting.clear()
    return sum(waiting, total)


def best(scores: Array, chance: Array, slack: Array | None = None) -> tuple[Best, Array]:
    """Find the best class of every row; return it and the classes that share the best score in tied rows.

    `chance` has the probability of every class (rows x classes). Scores that differ by at most the `slack` of
    their row count as equal (default: 0).

    >>> scores = np.array([[5, 8, 1], [4, 4, NO_EVIDENCE]]) * UNIT
    >>> found, tied = best(scores, posterior(scores))
    >>> found.chosen, found.shared, found.margin, tied
    (array([1, 0]), array([1, 2]), array([3., 0.]), array([0, 1]))
    """
    row, top = np.arange(len(scores)), scores.max(axis=1)
    there = top > NO_EVIDENCE
    level = _level(scores, top, slack)
    chosen = scores.argmax(axis=1)
    shared = np.where(there, level.sum(axis=1), 0)
    rest = scores.copy()
    rest[row, chosen] = NO_EVIDENCE
    second = rest.max(axis=1)
    another = second > NO_EVIDENCE
    next_level = _level(rest, second, slack)
    alone = another & (next_level.sum(axis=1) == 1)
    margin = np.where(another, np.where(shared > 1, 0, top - second) / UNIT, np.nan)
    confidence = np.where(there, chance[row, chosen], 0.0)
    runner_up = np.where(alone, next_level.argmax(axis=1), -1)
    found = Best(np.where(there, chosen, -1), shared, confidence, margin, runner_up)
    return found, np.nonzero(level[shared > 1])[1]


def _level(scores: Array, top: Array, slack: Array | None) -> NDArray[np.bool_]:
    """Return which scores equal the best one of their row."""
    found: NDArray[np.bool_] = scores >= (top if slack is None else top - slack)[:, None]
    return found


def row_of_answer(rows: AnswerPatterns) -> Array:
    """Return the row of every answer."""
    return np.repeat(np.arange(len(rows)), np.diff(rows.ragged.indptr))


def _summed(rows: AnswerPatterns, column: Array, weights: Weights) -> NDArray[np.int64]:
    """Return the sums of the weights of each row's answers; `column` is the row of weights of an answer."""
    if callable(weights):  # compute only the weights that occur
        used, column = np.unique(column, return_inverse=True)
        weights = np.asarray(weights(used), np.int64)
    elif column is rows.cell and len(column) * weights.shape[1] > SMALL:
        return np.asarray(rows.matrix @ weights)
    return sums(rows.ragged.indptr, column, weights)


def sums(indptr: Array, column: Array, table: Array) -> Array:
    """Return the sum of ``table[column[indptr[n]:indptr[n + 1]]]`` for every n, added in this order.

    >>> sums(np.array([0, 2, 2]), np.array([1, 1]), np.array([[1, 2], [3, 4]]))
    array([[6, 8],
           [0, 0]])
    """
    size = len(indptr) - 1
    if len(column) * table.shape[1] <= SMALL:
        found = np.zeros((size, table.shape[1]), table.dtype)
        some = np.flatnonzero(np.diff(indptr))
        if len(some):
            found[some] = np.add.reduceat(table[column], indptr[some], axis=0)
        return found
    from scipy.sparse import csr_array

    ones = np.ones(len(column), table.dtype)
    return np.asarray(csr_array((ones, column, indptr), shape=(size, len(table))) @ table)
