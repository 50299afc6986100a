"""A panel as flat arrays, in the shapes that loops over votes need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MANY = 2_000
"""Number of classes above which it pays to group the classes that the same experts know."""


class Lists(NamedTuple):
    """Lists of indices, one after another: the n-th is ``members[start[n]:start[n + 1]]``."""

    start: NDArray[np.int64]
    members: NDArray[np.int64]


class Cells(NamedTuple):
    """Every answer that an expert can give, numbered expert by expert: its classes, then "none of mine".

    `start[i]` is the first cell of expert i; `expert` and `label` are the expert and the answer of each cell.
    The label of "none of mine" is the number of classes.
    """

    start: NDArray[np.int64]
    expert: NDArray[np.int64]
    label: NDArray[np.int64]


class Groups(NamedTuple):
    """One class of each group of classes that the same experts know, and the sizes of the groups."""

    layout: Layout
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """Flat arrays of who knows what, each computed on first use.

    >>> layout = Layout(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 1]], dtype=bool))
    >>> layout.known.start.tolist(), layout.known.members.tolist()
    ([0, 2, 4, 6], [0, 1, 1, 2, 1, 2])
    >>> layout.cells.label.tolist()
    [0, 1, 3, 1, 2, 3, 1, 2, 3]
    """

    knows: NDArray[np.bool_]

    @cached_property
    def known(self) -> Lists:
        """The classes that each expert knows."""
        return _lists(self.knows)

    @cached_property
    def known_classes(self) -> NDArray[np.int64]:
        """The classes that at least one expert knows."""
        return np.flatnonzero(self.knows.any(axis=0))

    @cached_property
    def groups(self) -> Groups:
        """The classes, grouped by the experts who know them if there are many classes.

        >>> knows = np.zeros((1, 3000), dtype=bool)
        >>> knows[0, :7] = True
        >>> Layout(knows).groups.layout.knows.shape, Layout(knows).groups.sizes.tolist()
        ((1, 2), [2993, 7])
        """
        experts, classes = self.knows.shape
        if experts and classes > MANY:
            words = np.ascontiguousarray(self.bits)
            rows = words.view(np.dtype((np.void, words.itemsize * words.shape[1]))).ravel()
            _, first, sizes = np.unique(rows, return_index=True, return_counts=True)
            if len(first) <= classes // 2:
                return Groups(Layout(self.knows[:, first]), sizes.astype(np.int64))
        return Groups(self, np.ones(classes, dtype=np.int64))

    @cached_property
    def cells(self) -> Cells:
        """The answers that experts can give."""
        first, known = self.known
        experts, classes = self.knows.shape
        sizes = np.diff(first) + 1
        label = np.full(len(known) + experts, classes, dtype=np.int64)
        label[np.arange(len(known)) + np.repeat(np.arange(experts), sizes - 1)] = known
        return Cells(
            np.concatenate([[0], np.cumsum(sizes)]),
            np.repeat(np.arange(experts, dtype=np.int64), sizes),
            label,
        )

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """Bit i of row k tells whether expert i knows class k (classes x words of 64 bits)."""
        experts, classes = self.knows.shape
        padded = np.zeros((classes, -(-experts // 64) * 64), dtype=bool)
        padded[:, :experts] = self.knows.T
        return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _lists(matrix: NDArray[np.bool_]) -> Lists:
    row, column = np.divmod(np.flatnonzero(matrix), matrix.shape[1])  # five times as fast as np.nonzero
    return Lists(np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int64), column.astype(np.int64))
