"""Loops that apply weights, one class at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.votes import Ragged

Array = NDArray[Any]

UNHEARD = np.iinfo(np.int64).min
"""The score of a class that nobody who knows it was asked about."""


class State(NamedTuple):
    """The classes so far, for every answer row.

    Best and second score, best class and next (-1 if several), how many share the best score, and the sum of
    exp(scale * (score - best score)).
    """

    best: Array
    second: Array
    chosen: Array
    runner_up: Array
    shared: Array
    mass: Array


def fresh(size: int) -> State:
    """Return the state before any class."""
    return State(
        np.full(size, UNHEARD, dtype=np.int64),
        np.full(size, UNHEARD, dtype=np.int64),
        np.full(size, -1, dtype=np.int64),
        np.full(size, -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.float64),
    )


@helper(inline="always")
def _score(column: Array, base: int, knows: Array, runs: Ragged, cell: Array, p: int) -> int:
    """Return the score of one class for one answer row."""
    s, heard = base, False
    for a in range(runs.indptr[p], runs.indptr[p + 1]):
        s += column[cell[a]]
        heard |= knows[runs.expert[a]]
    return s if heard else UNHEARD


@kernel
def absorb(
    k: int, column: Array, base: int, knows: Array, runs: Ragged, cell: Array, scale: float, state: State
) -> None:
    """Let class k compete for every answer row."""
    best, second, chosen, runner_up, shared, mass = state
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
def one_class(column: Array, base: int, knows: Array, runs: Ragged, cell: Array, rows: Array) -> Array:
    """Return the score of one class for some answer rows."""
    found = np.empty(len(rows), np.int64)
    for r in range(len(rows)):
        found[r] = _score(column, base, knows, runs, cell, rows[r])
    return found
