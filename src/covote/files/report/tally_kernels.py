"""Compiled loops that compare votes with labels."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.votes.vote_checks import NOT_ASKED

Array = NDArray[Any]


@kernel(steps=lambda columns, start, index, *_: 4 * len(columns) * len(index))
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


@kernel(steps=lambda indptr, expert, *_: 4 * len(expert))
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
