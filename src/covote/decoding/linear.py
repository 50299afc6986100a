"""Scores that are sums: a class has its base and the weights of all answers of the item.

Answer rows are a sparse matrix A (rows x cells; a cell is an expert and an answer that it can give), weights
a table W (cells x classes). Then

    scores    = base + A W                     whole numbers: sums do not depend on an order, ties are exact
    posterior = softmax(scores / temperature)
    counts    = A' (rounded posterior)         whole numbers again: counts of parts add up exactly
    best      = the class with the best score, those that share it, and the next

A method that scores like this is its weights and nothing else. All functions take one piece of the rows at a
time (:meth:`covote.votes.rows.Rows.pieces`), so the tables (rows x classes) stay small.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.labels import Ties
from covote.panel import Panel
from covote.votes.rows import WHOLE, Rows

Array = NDArray[Any]

UNIT = 1 << 24
"""One unit of log-likelihood in scores."""

ONE = 1 << 30
"""One item in counts."""

UNHEARD = -(1 << 62)
"""The score of a class that nobody who knows it was asked about: below all others, and no sum overflows."""

SMALL = 1 << 17
"""Numbers to add up that are not worth loading scipy.sparse, which takes 0.1 s."""

FEW = 32
"""Columns that are gone through one by one: numpy is slow along short rows."""

Weights = NDArray[np.int64] | Callable[[Array], Array]
"""What answers weigh for classes: (cells x classes), or a function that returns the rows of some cells."""


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


def whole(panel: Panel, weights: Callable[[Array], Array]) -> Weights:
    """Return the weights of all cells where they fit into memory, else the function as it is.

    A panel of a million experts has more cells than fit, but few of them occur in a piece of the votes.
    """
    cells = len(panel.layout.cells.label)
    return weights(np.arange(cells)) if cells * len(panel.classes) <= WHOLE else weights


def scores(rows: Rows, weights: Weights, base: Array | None = None) -> NDArray[np.int64]:
    """Return base + the weights of all answers (rows x classes); `UNHEARD` for a class that was not heard.

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
    found = _summed(rows, rows.cell, weights)
    if base is not None:
        found += base
    found[np.broadcast_to(~heard(rows), found.shape)] = UNHEARD
    return found


def heard(rows: Rows) -> NDArray[np.bool_]:
    """Return which classes an answering expert knows (rows x classes; one row where everybody answered)."""
    panel = rows.votes.panel
    if len(rows.runs.expert) == len(rows) * len(panel):
        return np.asarray(panel.knows.any(axis=0, keepdims=True))
    return asked(rows) > 0


def asked(rows: Rows) -> NDArray[np.int64]:
    """Return d_k, how many answering experts know each class (rows x classes)."""
    panel, expert = rows.votes.panel, rows.runs.expert
    if len(expert) == len(rows) * len(panel):
        return np.broadcast_to(panel.knows.sum(axis=0), (len(rows), len(panel.classes)))
    return _summed(rows, expert, lambda some: panel.knows[some])


def named(rows: Rows) -> NDArray[np.int64]:
    """Return N_k, how many experts named each class (rows x classes)."""
    classes, label = len(rows.votes.panel.classes), rows.runs.label
    said = label >= 0
    place = _owner(rows)[said] * classes + label[said]
    return np.bincount(place, minlength=len(rows) * classes).reshape(-1, classes)


def posterior(scores: Array, temperature: float = 1.0) -> NDArray[np.float64]:
    """Return the probability of every class (rows x classes), 0 for all where nobody was heard."""
    top = across(np.maximum, scores)
    q = softmax((scores - top[:, None]) * (1 / (UNIT * temperature)))
    q[top == UNHEARD] = 0
    return q


def softmax(score: Array) -> NDArray[np.float64]:
    """Return probabilities; a class with score -inf gets 0, a row of them nothing at all.

    >>> softmax(np.array([[0.0, 0.0, -np.inf], [-np.inf, -np.inf, -np.inf]]))
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    top = across(np.maximum, score)[:, None]
    e: NDArray[np.float64] = np.exp(score - np.where(np.isfinite(top), top, 0))
    e /= np.maximum(across(np.add, e), 1e-300)[:, None]
    return e


def shared_out(posterior: Array, count: Array) -> NDArray[np.int64]:
    """Return how much of the items of every row each class gets, in whole units of 1 / ONE items."""
    found: NDArray[np.int64] = np.rint(posterior * ONE).astype(np.int64)
    found *= count[:, None]
    return found


def counts(rows: Rows, part: Array) -> Any:
    """Return how often each answer was given to each class (cells x classes), by :func:`shared_out`.

    An array where that fits into memory (see :func:`whole`), else a sparse matrix of scipy; both add up.
    """
    panel = rows.votes.panel
    cells, classes = len(panel.layout.cells.label), len(panel.classes)
    if cells * classes > WHOLE:
        from scipy.sparse import csr_array

        return (rows.matrix.T @ csr_array(part)).tocsr()
    if len(rows.cell) * classes <= SMALL:
        found = np.zeros((cells, classes), np.int64)
        np.add.at(found, rows.cell, part[_owner(rows)])
        return found
    return rows.matrix.T @ part


def best(scores: Array, temperature: float = 1.0) -> tuple[Best, Array]:
    """Find the best class of every row; return it and the classes that share the best score in tied rows.

    >>> found, tied = best(np.array([[5, 8, 1], [4, 4, UNHEARD]]) * UNIT)
    >>> found.chosen, found.shared, found.margin, tied
    (array([1, 0]), array([1, 2]), array([3., 0.]), array([0, 1]))
    """
    row, top = np.arange(len(scores)), across(np.maximum, scores)
    level = scores == top[:, None]
    there = top > UNHEARD
    shared = np.where(there, across(np.add, level.astype(np.int64)), 0)
    chosen = level.argmax(axis=1)
    chance = posterior(scores, temperature)[row, chosen]
    rest = scores.copy()
    rest[row, chosen] = UNHEARD
    second = across(np.maximum, rest)
    level_second = rest == second[:, None]
    alone = (across(np.add, level_second.astype(np.int64)) == 1) & (second > UNHEARD)
    margin = np.where(second > UNHEARD, (top - second) / UNIT, np.nan)
    runner_up = np.where(alone, level_second.argmax(axis=1), -1)
    found = Best(np.where(there, chosen, -1), shared, np.where(there, chance, 0.0), margin, runner_up)
    return found, np.nonzero(level[shared > 1])[1]


def across(operation: np.ufunc, table: Array) -> Array:
    """Return the maximum or the sum of every row.

    >>> across(np.maximum, np.array([[1, 3], [2, 0]]))
    array([3, 2])
    """
    if 0 < table.shape[1] <= FEW:
        return np.asarray(reduce(operation, table.T))
    return np.asarray(operation.reduce(table, axis=1))


def _owner(rows: Rows) -> Array:
    """Return the row of every answer."""
    return np.repeat(np.arange(len(rows)), np.diff(rows.runs.indptr))


def _summed(rows: Rows, column: Array, weights: Weights) -> NDArray[np.int64]:
    """Return the sums of the weights of each row's answers; `column` says which weights an answer has."""
    if callable(weights):  # only those that occur
        used, column = np.unique(column, return_inverse=True)
        weights = np.asarray(weights(used), np.int64)
    if len(column) * weights.shape[1] <= SMALL:
        found = np.zeros((len(rows), weights.shape[1]), np.int64)
        np.add.at(found, _owner(rows), weights[column])
        return found
    matrix = rows.matrix if column is rows.cell else rows.sparse(column, len(weights))
    return np.asarray(matrix @ weights)
