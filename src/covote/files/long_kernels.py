"""Compiled loops from rows of a table to votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.votes.names import NULL, STRANGE
from covote.votes.vote_checks import NOT_ASKED

Array = NDArray[Any]


@kernel
def encode(
    expert_row: Array,
    expert_code: Array,
    label_row: Array,
    label_code: Array,
    knows: Array,
    drop: bool,
    who: Array,
    what: Array,
) -> int:
    """Turn positions in two dictionaries into expert and class indices; `who` is -1 where there is no vote.

    Returns the first row that is no vote of this panel, or -1 (always, if `drop`).
    """
    for p in range(len(expert_row)):
        i = expert_code[expert_row[p]]
        v = label_code[label_row[p]]
        who[p] = -1
        what[p] = NOT_ASKED
        if i == NULL or v == NULL:
            continue
        if i < 0 or v == STRANGE or (v >= 0 and not knows[i, v]):
            if not drop:
                return p
            continue
        who[p] = i
        what[p] = v
    return -1


@kernel
def fill(indptr: Array, who: Array, what: Array, last: bool, strict: bool, columns: Array) -> tuple[int, int]:
    """Put rows that are grouped by item into `columns` (experts x items, all "not asked" before).

    Returns (how many cells were filled, the first row with a second, different answer or -1).
    """
    filled = 0
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            i = who[p]
            if i < 0:
                continue
            before = columns[i, n]
            if before == NOT_ASKED:
                filled += 1
                columns[i, n] = what[p]
            elif before != what[p]:
                if strict:
                    return filled, p
                if last:
                    columns[i, n] = what[p]
    return filled, -1


@kernel
def gather(
    indptr: Array, who: Array, what: Array, experts: int, last: bool, strict: bool
) -> tuple[Array, Array, int]:
    """Choose the rows that stay where an expert answers an item again.

    Returns (the new boundaries, the rows in order, the first row with a second, different answer or -1).
    """
    seen = np.full(experts, -1, np.int64)
    place = np.empty(experts, np.int64)
    kept = np.empty(indptr[-1], np.int64)
    bounds = np.zeros(len(indptr), np.int64)
    count = 0
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            i = who[p]
            if i < 0:
                continue
            if seen[i] == n:
                if what[kept[place[i]]] != what[p] and strict:
                    return bounds, kept[:count], p
                if last:
                    kept[place[i]] = p
                continue
            seen[i] = n
            place[i] = count
            kept[count] = p
            count += 1
        bounds[n + 1] = count
    return bounds, kept[:count], -1


@kernel
def tally_columns(
    columns: Array, start: int, index: Array, times: Array, knows: Array, none: int,
    right: Array, asked: Array, outside: Array, nones: Array, wrong: Array,
) -> int:  # fmt: skip
    """Add up how dense votes compare with the labels, each item `times`; return how many votes there are."""
    votes = 0
    for i in range(len(columns)):
        for n in range(len(index)):
            v = columns[i, start + n]
            if v != NOT_ASKED:
                votes += times[n]
                _count(i, v, index[n], times[n], knows, none, right, asked, outside, nones, wrong)
    return votes


@kernel
def tally_runs(
    indptr: Array, expert: Array, label: Array, index: Array, times: Array, knows: Array, none: int,
    right: Array, asked: Array, outside: Array, nones: Array, wrong: Array,
) -> int:  # fmt: skip
    """Add up how ragged votes compare with the labels, each item `times`; return how many votes there are."""
    votes = 0
    for n in range(len(index)):
        for p in range(indptr[n], indptr[n + 1]):
            votes += times[n]
            _count(expert[p], label[p], index[n], times[n], knows, none, right, asked, outside, nones, wrong)
    return votes


@helper
def _count(
    i: int, v: int, k: int, times: int, knows: Array, none: int,
    right: Array, asked: Array, outside: Array, nones: Array, wrong: Array,
) -> None:  # fmt: skip
    if v == none:
        nones[i] += times
    if k < 0:
        return
    if not knows[i, k]:
        outside[i] += times
        return
    asked[i, k] += times
    if v == k:
        right[i, k] += times
    elif v >= 0 and wrong.size:
        wrong[k, v] += times
