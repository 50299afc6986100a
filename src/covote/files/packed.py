"""Votes with every item's row of answers written as one number, where that fits into 64 bits.

To a decoder, items with the same answers are the same: what there is to know about millions of items is the
different rows and how often each occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.decoding.rows import with_counts
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.item_ids import id_array
from covote.votes.vote_checks import NOT_ASKED, frozen, smallest_int

MOST = 1 << 20
"""Different rows that are remembered; where there are more, items are handled one by one."""


@dataclass(frozen=True, eq=False)
class Packed:
    """Some items and their answers.

    Attributes
    ----------
    panel
        Who could answer what.
    keys
        Every item's answers as one number, a digit per expert in base classes + 2: "none of mine" is 0, "not
        asked" 1, class k is k + 2.
    ids
        The items.
    """

    panel: Panel
    keys: NDArray[np.int64]
    ids: pa.Array

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.keys.nbytes + self.ids.nbytes)

    def votes(self, rows: NDArray[np.int64] | slice | None = None) -> Votes:
        """Return the votes, or those of some items."""
        if rows is None:
            return unpacked(self.panel, self.keys, self.ids)
        ids = self.ids[rows] if isinstance(rows, slice) else self.ids.take(pa.array(rows))
        return unpacked(self.panel, self.keys[rows], ids)


def base(panel: Panel) -> int:
    """Return the base of the numbers."""
    return len(panel.classes) + 2


def fits(panel: Panel) -> bool:
    """Whether a row of answers fits into 64 bits.

    >>> fits(Panel(10, [[True] * 10] * 9)), fits(Panel(10, [[True] * 10] * 90))
    (True, False)
    """
    return bool(base(panel) ** len(panel) < 2**63)


def powers(panel: Panel) -> NDArray[np.int64]:
    """Return what one in each expert's digit is worth."""
    return np.array([base(panel) ** i for i in range(len(panel) - 1, -1, -1)], dtype=np.int64)


def packed(part: Votes) -> Packed | Votes:
    """Return votes packed, if they can be."""
    if part.soft or not fits(part.panel):
        return part
    from covote.files import packed_kernels

    dense = part.to_dense()
    assert dense.columns is not None
    keys = packed_kernels.of_columns(dense.columns, dense.start, dense.stop, base(part.panel))
    return Packed(part.panel, keys, id_array(part._ids, part.start, part.stop))


def unpacked(panel: Panel, keys: NDArray[np.int64], ids: Any = None) -> Votes:
    """Return rows of answers as dense votes."""
    from covote.files import packed_kernels

    columns = np.empty((len(panel), len(keys)), dtype=smallest_int(len(panel.classes)))
    packed_kernels.to_columns(keys, base(panel), columns)
    complete = not bool((columns == NOT_ASKED).any())
    return Votes(panel, frozen(columns), None, 0, len(keys), complete, _ids=ids)


def together(pieces: Sequence[Packed]) -> Packed:
    """Return consecutive pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    ids = pa.concat_arrays([piece.ids for piece in pieces])
    return Packed(pieces[0].panel, np.concatenate([piece.keys for piece in pieces]), ids)


class Rows:
    """The different rows of answers among many items, numbered in the order in which they first come."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.keys = np.empty(1 << 10, np.int64)
        self.count = np.zeros(0, np.int64)
        self._table = np.full(1 << 11, -1, np.int32)
        self._numbers: WeakKeyDictionary[Packed, NDArray[np.int32]] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_numbers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _numbers=WeakKeyDictionary())

    def __len__(self) -> int:
        return len(self.count)

    def numbers(self, piece: Packed) -> NDArray[np.int32]:
        """Return the number of every item's row, worked out once for as long as the piece is there."""
        which = self._numbers.get(piece)
        if which is None:
            which = self._numbers[piece] = self.number(piece.keys)
        return which

    def number(self, keys: NDArray[np.int64], count: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
        """Return the number of every row, new ones the next; each counts once, or `count` times."""
        from covote.files import packed_kernels

        which = np.empty(len(keys), np.int32)
        self._table, self.keys, found = packed_kernels.number(
            keys, self._table, self.keys, len(self.count), which
        )
        more = np.bincount(which, weights=count, minlength=found).astype(np.int64)
        more[: len(self.count)] += self.count
        self.count = more
        return which

    def remember(self, piece: Packed, which: NDArray[np.int32]) -> None:
        """Take the numbers of a piece as they were worked out elsewhere."""
        self._numbers[piece] = which

    @property
    def full(self) -> bool:
        """Whether there are so many that remembering them does not pay."""
        return len(self) > MOST

    def votes(self) -> Votes:
        """Return every different row once; statistics count it as often as it came."""
        return with_counts(unpacked(self.panel, self.keys[: len(self)]), self.count)
