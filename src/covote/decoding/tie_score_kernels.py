"""Loops over the classes that share the best authority score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.labels import Ties
from covote.votes import Ragged

Array = NDArray[Any]


@kernel(steps=lambda indptr, cell, column, owner, *_: 2 * len(owner) * (2 + len(cell) // len(indptr)))
def summed(indptr: Array, cell: Array, column: Array, owner: Array, place: Array, score: Array) -> None:
    """Add up the weights of all answers of the owners: one class, many answer rows."""
    for j in range(len(owner)):
        s = 0
        for a in range(indptr[owner[j]], indptr[owner[j] + 1]):
            s += column[cell[a]]
        score[place[j]] = s


@kernel(steps=lambda ties, score: 4 * len(score))
def leads(ties: Ties, score: Array) -> tuple[Array, Array]:
    """Return, for every class of every answer row, the class with the highest score and its lead."""
    first, best = ties.start, ties.classes
    leader, ahead = np.empty_like(best), np.empty_like(score)
    for p in range(len(first) - 1):
        top = first[p]
        for b in range(first[p] + 1, first[p + 1]):
            if score[b] > score[top]:
                top = b
        for b in range(first[p], first[p + 1]):
            leader[b], ahead[b] = best[top], score[top] - score[b]
    return leader, ahead


@kernel(steps=lambda runs, knows, ties, *_: 2 * len(runs.expert) * (1 + len(ties.classes) // len(ties.start)))
def clear_best(runs: Ragged, knows: Array, ties: Ties, level: Array, large: Array) -> Array:
    """Return the one class of every answer row that is `level` with the best; -1 if there are more.

    Of several the one with most authorities is taken, if that is one and none of the ties is `large`.
    """
    first, best = ties.start, ties.classes
    chosen = np.full(len(first) - 1, -1, np.int64)
    for p in range(len(chosen)):
        many, most, open_ = 0, -1, False
        for b in range(first[p], first[p + 1]):
            if not level[b]:
                continue
            many += 1
            open_ |= large[b]
            authorities = 0
            for a in range(runs.indptr[p], runs.indptr[p + 1]):
                authorities += knows[runs.expert[a], best[b]]
            if authorities > most:
                most, chosen[p] = authorities, best[b]
            elif authorities == most:
                chosen[p] = -1
        if many > 1 and open_:
            chosen[p] = -1
    return chosen
