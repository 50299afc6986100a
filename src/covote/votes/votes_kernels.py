"""Compiled loops over votes: checking, grouping by item, changing the layout.

Imported only where votes are built, so that ``import covote`` does not load the compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel

Array = NDArray[Any]

NOT_ASKED = -1
NONE_OF_MINE = -2


@kernel
def first_unknown(columns: Array, knows: Array) -> tuple[int, int]:
    """Return (item, expert) of the first vote outside the expert's classes, or (-1, -1)."""
    experts, items = columns.shape
    item, expert = items, -1
    for i in range(experts):
        for n in range(item):
            v = columns[i, n]
            if v < NONE_OF_MINE or v >= knows.shape[1] or (v >= 0 and not knows[i, v]):
                item, expert = n, i
                break
    return (item, expert) if expert >= 0 else (-1, -1)


@kernel
def drop_unknown(columns: Array, knows: Array) -> None:
    """Turn votes outside the expert's classes into "not asked", in place."""
    experts, items = columns.shape
    for i in range(experts):
        for n in range(items):
            v = columns[i, n]
            if v < NONE_OF_MINE or v >= knows.shape[1] or (v >= 0 and not knows[i, v]):
                columns[i, n] = NOT_ASKED


@kernel
def group(item: Array, items: int) -> tuple[Array, Array]:
    """Return (indptr, order): a stable counting sort of the votes by item."""
    indptr = np.zeros(items + 1, np.int64)
    for n in item:
        indptr[n + 1] += 1
    for n in range(items):
        indptr[n + 1] += indptr[n]
    place = indptr[:-1].copy()
    order = np.empty(len(item), np.int64)
    for p in range(len(item)):
        order[place[item[p]]] = p
        place[item[p]] += 1
    return indptr, order


@kernel
def repeated(
    indptr: Array, expert: Array, label: Array, experts: int, keep_last: bool
) -> tuple[Array, int, int]:
    """Find where an expert answers an item again.

    Returns (keep, first, other): which votes stay, and the positions of the first two different answers of
    one expert to one item (-1, -1 if there are none). Votes of one item must be in the order of the table.
    """
    keep = np.ones(len(expert), np.bool_)
    seen = np.full(experts, -1, np.int64)
    first, other = -1, -1
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            before = seen[expert[p]]
            if before >= indptr[n]:
                if label[before] != label[p] and first < 0:
                    first, other = before, p
                keep[before if keep_last else p] = False
                if not keep_last:
                    continue
            seen[expert[p]] = p
    return keep, first, other


@kernel
def kept_indptr(indptr: Array, keep: Array) -> Array:
    """Return the item boundaries after dropping votes."""
    out = np.zeros_like(indptr)
    for n in range(len(indptr) - 1):
        total = 0
        for p in range(indptr[n], indptr[n + 1]):
            total += keep[p]
        out[n + 1] = out[n] + total
    return out


@kernel
def to_columns(indptr: Array, expert: Array, label: Array, columns: Array) -> None:
    """Write ragged votes into an (experts x items) array that is full of "not asked"."""
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            columns[expert[p], n] = label[p]


@kernel
def count_answers(columns: Array, start: int, stop: int) -> Array:
    """Return the item boundaries that the dense votes start:stop have when ragged."""
    indptr = np.zeros(stop - start + 1, np.int64)
    for i in range(columns.shape[0]):
        for n in range(start, stop):
            indptr[n - start + 1] += columns[i, n] != NOT_ASKED
    for n in range(stop - start):
        indptr[n + 1] += indptr[n]
    return indptr


@kernel
def to_ragged(columns: Array, start: int, stop: int, indptr: Array, expert: Array, label: Array) -> None:
    """Write the dense votes start:stop item after item, experts in order."""
    place = indptr[:-1].copy()
    for i in range(columns.shape[0]):
        for n in range(start, stop):
            v = columns[i, n]
            if v != NOT_ASKED:
                p = place[n - start]
                expert[p] = i
                label[p] = v
                place[n - start] = p + 1
