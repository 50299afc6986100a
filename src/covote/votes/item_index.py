"""The items of a table that is read in batches: each row as the position of its item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.tables.arrow_names import arrow_array

if TYPE_CHECKING:
    import pyarrow as pa

MERGED = 1 << 20
"""Rows whose items are looked up together: hashing them all again for every batch would take too long."""


class ItemIndex:
    """Numbers items in the order in which they first appear.

    The ids of rows are given batch by batch, and kept only until they have been looked up, so that a row
    takes four bytes however long its id is.

    >>> import pyarrow as pa
    >>> index = ItemIndex()
    >>> index.add(pa.array(["b", "b", "a"]))
    >>> index.add(pa.array(["b"]))
    >>> [found.tolist() for found in index.positions()], index.ids.to_pylist()
    ([[0, 0, 1], [0]], ['b', 'a'])
    """

    def __init__(self) -> None:
        self._known: list[pa.Array] = []  # the different ids, in several pieces
        self._size = 0
        self._merged = 0  # rows that have been looked up
        self._ascending = True
        self._positions: list[NDArray[np.int32]] = []
        self._waiting: list[tuple[pa.Array, NDArray[np.int32]]] = []  # heads of runs, and the run of each row
        self._room = MERGED
        self._none: pa.Array | None = None  # ids of this kind, but none

    @property
    def nbytes(self) -> int:
        """How many bytes ids and positions take."""
        waiting = sum(heads.nbytes + run.nbytes for heads, run in self._waiting)
        return int(4 * self._merged + waiting + sum(ids.nbytes for ids in self._known))

    def add(self, ids: pa.Array) -> None:
        """Add the ids of a batch of rows; none is missing."""
        self._none = ids[:0] if self._none is None else self._none
        begins = _begins(ids)
        run = np.cumsum(begins, dtype=np.int32)
        run -= 1
        heads = ids if begins.all() else ids.take(arrow_array(np.flatnonzero(begins)))
        self._waiting.append((heads, run))
        self._room -= len(heads)
        if self._room < 0:
            self._merge()

    def positions(self) -> list[NDArray[np.int32]]:
        """Return the positions of the items of all rows, batch by batch."""
        self._merge()
        return self._positions

    @property
    def ids(self) -> pa.Array:
        """The different ids, in the order in which they first appear."""
        self._merge()
        return self._joined()

    def _joined(self) -> pa.Array:
        import pyarrow as pa

        if len(self._known) > 1:
            self._known = [_concatenated(self._known)]
        none = pa.array([], pa.string()) if self._none is None else self._none
        return self._known[0] if self._known else none

    def _merge(self) -> None:
        """Look up the ids that wait."""
        if not self._waiting:
            return
        several = _concatenated([heads for heads, _ in self._waiting])
        place: NDArray[Any] | None = self._ascending_places(several)
        if place is None:
            self._ascending = False
            known = self._joined() if self._known else several[:0]
            found = _concatenated([known, several]).dictionary_encode()
            self._known = [found.dictionary]
            place = np.asarray(np.from_dlpack(found.indices))[len(known) :]
        self._size = sum(map(len, self._known))
        start = 0
        for heads, run in self._waiting:
            self._positions.append(place[start : start + len(heads)].take(run).astype(np.int32, copy=False))
            start += len(heads)
            self._merged += len(run)
        self._waiting.clear()
        self._room = max(MERGED, self._size)

    def _ascending_places(self, ids: pa.Array) -> NDArray[np.int64] | None:
        """Return the positions of more ids if all ascend, which needs no lookup; None if they do not."""
        if not self._ascending:
            return None
        last = self._known[-1][-1:] if self._size else ids[:0]
        edge = _concatenated([last, ids])
        begins = _begins(edge)
        new = edge.take(arrow_array(np.flatnonzero(begins)))
        try:
            if not _compared(new, "greater").all():
                return None
        except NotImplementedError:  # a type without an order
            return None
        if len(new) > len(last):
            self._known.append(new[len(last) :])
        return self._size - 1 + np.cumsum(begins[len(last) :])


def _begins(ids: pa.Array) -> NDArray[np.bool_]:
    """Return, for every id, whether it differs from the one before."""
    if len(ids) < 2:
        return np.ones(len(ids), np.bool_)
    try:
        return np.append(True, _compared(ids, "not_equal"))
    except NotImplementedError as error:  # as Arrow calls it
        raise InputError(
            f"items of type {ids.type} cannot be compared; name them by whole numbers or text"
        ) from error


def _compared(ids: pa.Array, how: Literal["not_equal", "greater"]) -> NDArray[np.bool_]:
    """Return, for every id but the first, how it compares with the one before."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(ids.type):
        values = np.from_dlpack(ids)
        return np.asarray(getattr(np, how)(values[1:], values[:-1]))
    found = np.zeros(max(0, len(ids) - 1), dtype=np.bool_)
    found[np.from_dlpack(pc.indices_nonzero(getattr(pc, how)(ids[1:], ids[:-1])))] = True
    return found


def _concatenated(arrays: list[pa.Array]) -> pa.Array:
    """Return arrays as one; text of more than two gigabytes needs wider offsets."""
    import pyarrow as pa

    if len(arrays) == 1:
        return arrays[0]
    if pa.types.is_string(arrays[-1].type) and sum(array.nbytes for array in arrays) > 1 << 31:
        arrays = [array.cast(pa.large_string()) for array in arrays]
    if len({array.type for array in arrays}) > 1:  # some of it had wide offsets before
        arrays = [array.cast(pa.large_string()) for array in arrays]
    return pa.concat_arrays(arrays)
