"""Compiled loops that apply weights, one class at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Array = NDArray[Any]

UNHEARD = np.iinfo(np.int64).min
"""The score of a class that nobody who knows it was asked about."""


def fresh(size: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return (best score, second score, best class, second class, how many share the best, sum of exp)."""
    return (
        np.full(size, UNHEARD, dtype=np.int64),
        np.full(size, UNHEARD, dtype=np.int64),
        np.full(size, -1, dtype=np.int64),
        np.full(size, -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.float64),
    )


@helper(inline="always")
def _score(column: Array, base: int, knows: Array, expert: Array, cell: Array, begin: int, end: int) -> int:
    """Return the score of one class for one answer row."""
    s, heard = base, False
    for a in range(begin, end):
        s += column[cell[a]]
        heard |= knows[expert[a]]
    return s if heard else UNHEARD


@kernel
def absorb(
    k: int, column: Array, base: int, knows: Array, indptr: Array, expert: Array, cell: Array, scale: float,
    best: Array, second: Array, chosen: Array, runner_up: Array, shared: Array, mass: Array,
) -> None:  # fmt: skip
    """Let class k compete for every answer row.

    `mass` is the sum of exp(scale * (score - best score)) over the classes so far.
    """
    for p in range(len(best)):
        s = _score(column, base, knows, expert, cell, indptr[p], indptr[p + 1])
        if s == UNHEARD:
            continue
        if chosen[p] < 0:
            best[p], chosen[p], shared[p], mass[p] = s, k, 1, 1.0
        elif s > best[p]:
            mass[p] = mass[p] * np.exp(scale * (best[p] - s)) + 1
            # A place shared by several classes names none of them.
            runner_up[p] = chosen[p] if shared[p] == 1 else -1
            second[p] = best[p]
            best[p], chosen[p], shared[p] = s, k, 1
        else:
            mass[p] += np.exp(scale * (s - best[p]))
            if s == best[p]:
                shared[p] += 1
                second[p] = s
            elif s > second[p] or second[p] == UNHEARD:
                second[p], runner_up[p] = s, k
            elif s == second[p]:
                runner_up[p] = -1


@kernel
def one_class(column: Array, base: int, knows: Array, indptr: Array, expert: Array, cell: Array) -> Array:
    """Return the score of one class for every answer row."""
    found = np.empty(len(indptr) - 1, np.int64)
    for p in range(len(found)):
        found[p] = _score(column, base, knows, expert, cell, indptr[p], indptr[p + 1])
    return found
