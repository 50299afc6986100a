"""Compiled loops for the classes with the best authority score, and for scores among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.decoding.evidence_kernels import forget, heard

Array = NDArray[Any]


@kernel
def best_classes(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int
) -> tuple[Array, Array]:
    """List the classes with the best N_k / d_k of every answer row, in ascending order."""
    size = len(indptr) - 1
    hits, asked, touched = (
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.empty(classes, np.int64),
    )
    first = np.zeros(size + 1, np.int64)
    best = np.empty(max(size, 16), np.int64)
    at = 0
    for n in range(size):
        count = heard(expert, label, indptr[n], indptr[n + 1], start, known, hits, asked, touched)
        top_n, top_d = -1, 1
        for c in range(count):
            k = touched[c]
            if hits[k] * top_d > top_n * asked[k]:
                top_n, top_d = hits[k], asked[k]
        if at + count > len(best):
            best = np.concatenate((best, np.empty(len(best) + count, np.int64)))
        begin = at
        for c in range(count):
            k = touched[c]
            if hits[k] * top_d == top_n * asked[k]:
                best[at] = k
                at += 1
        best[begin:at].sort()
        first[n + 1] = at
        forget(touched, count, hits, asked)
    return first, best[:at].copy()


@kernel
def shared_counts(
    indptr: Array, cell: Array, count: Array, first: Array, best: Array, classes: int, one: int
) -> tuple[Array, Array, Array]:
    """Share every item equally among its best classes.

    Returns the amount of each class, and the counts as a list: (answer x classes + class, amount).
    """
    total = 0
    for p in range(len(count)):
        if count[p] > 0:
            total += (indptr[p + 1] - indptr[p]) * (first[p + 1] - first[p])
    share = np.zeros(classes, np.int64)
    keys, values = np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for p in range(len(count)):
        if count[p] == 0 or first[p] == first[p + 1]:
            continue
        amount = count[p] * (one // (first[p + 1] - first[p]))
        for b in range(first[p], first[p + 1]):
            share[best[b]] += amount
        for a in range(indptr[p], indptr[p + 1]):
            for b in range(first[p], first[p + 1]):
                keys[at] = cell[a] * classes + best[b]
                values[at] = amount
                at += 1
    return share, keys, values


@kernel
def summed(indptr: Array, cell: Array, column: Array, owner: Array, place: Array, score: Array) -> None:
    """Add up the weights of all answers of the owners: one class, many answer rows."""
    for j in range(len(owner)):
        s = 0
        for a in range(indptr[owner[j]], indptr[owner[j] + 1]):
            s += column[cell[a]]
        score[place[j]] = s


@kernel
def leads(first: Array, best: Array, score: Array) -> tuple[Array, Array]:
    """Return, for every class of every answer row, the class with the highest score and its lead."""
    leader, ahead = np.empty_like(best), np.empty_like(score)
    for p in range(len(first) - 1):
        top = first[p]
        for b in range(first[p] + 1, first[p + 1]):
            if score[b] > score[top]:
                top = b
        for b in range(first[p], first[p + 1]):
            leader[b], ahead[b] = best[top], score[top] - score[b]
    return leader, ahead


@kernel
def clear_best(
    indptr: Array, expert: Array, knows: Array, first: Array, best: Array, level: Array, large: Array
) -> Array:
    """Return the one class of every answer row that is `level` with the best; -1 if there are more.

    Of several the one with most authorities is taken, if that is one and none of the ties is `large`.
    """
    chosen = np.full(len(first) - 1, -1, np.int64)
    for p in range(len(chosen)):
        many, most, open_ = 0, -1, False
        for b in range(first[p], first[p + 1]):
            if not level[b]:
                continue
            many += 1
            open_ |= large[b]
            authorities = 0
            for a in range(indptr[p], indptr[p + 1]):
                authorities += knows[expert[a], best[b]]
            if authorities > most:
                most, chosen[p] = authorities, best[b]
            elif authorities == most:
                chosen[p] = -1
        if many > 1 and open_:
            chosen[p] = -1
    return chosen
