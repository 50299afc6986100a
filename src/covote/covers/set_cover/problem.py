"""Selecting from a pool as a weighted set cover: rows are pairs of classes, columns are experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import TooLargeError

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

ENTRIES = 150_000_000
"""The most entries (pairs known, summed over the experts) to hold in memory."""


class PoolCover(NamedTuple):
    """Rows with a demand, columns with a cost; column j has the rows at ``column_start[j]`` and following."""

    column_start: Longs
    column_rows: Ints
    demand: Ints
    cost: NDArray[np.float64]

    def matrix(self) -> csc_array:
        """Return which columns have which rows as a sparse matrix (rows x columns) of ones."""
        from scipy.sparse import csc_array

        shape = len(self.demand), len(self.cost)
        return csc_array((np.ones(len(self.column_rows)), self.column_rows, self.column_start), shape=shape)

    def by_row(self) -> tuple[Longs, Ints]:
        """Return the columns of each row, in the same form."""
        owners = np.repeat(np.arange(len(self.cost), dtype=np.int32), np.diff(self.column_start))
        order = np.argsort(self.column_rows, kind="stable")
        sizes = np.bincount(self.column_rows, minlength=len(self.demand))
        return np.concatenate([[0], np.cumsum(sizes)]), owners[order]


def pool_cover(knows: NDArray[np.bool_], need: NDArray[np.int32], cost: NDArray[np.float64]) -> PoolCover:
    """Return the problem of filling `need` (classes x classes, symmetric) with rows of `knows`.

    Pairs that are not needed have no row.
    """
    sizes = knows.sum(axis=1).astype(np.int64)
    entries = int((sizes * (sizes - 1) // 2).sum())
    if entries > ENTRIES:
        raise TooLargeError(
            f"the pool knows {entries:,} pairs in all, more than the {ENTRIES:,} that fit in memory; "
            "choose from a part of the pool"
        )
    needed = np.triu(need > 0, 1)
    number = np.full(need.shape, -1, dtype=np.int32)
    number[needed] = np.arange(np.count_nonzero(needed), dtype=np.int32)
    columns = []
    for row in knows:
        known = np.flatnonzero(row)
        pairs = number[np.ix_(known, known)]
        columns.append(pairs[pairs >= 0])
    start = np.concatenate([[0], np.cumsum([len(column) for column in columns])]).astype(np.int64)
    rows = np.concatenate([*columns, np.empty(0, dtype=np.int32)])
    return PoolCover(start, rows, need[needed].astype(np.int32), np.array(cost, dtype=np.float64))
