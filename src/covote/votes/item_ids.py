"""Items in tables: their ids, which may be of any type that has an equality and an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.votes.names import flat

if TYPE_CHECKING:
    import pyarrow as pa


def comparable(ids: pa.Array) -> pa.Array:
    """Return ids that are equal where they look equal: no dictionary, no -0.0, NaN as missing.

    >>> import pyarrow as pa
    >>> comparable(pa.array([-0.0, float("nan")])).to_pylist()
    [0.0, None]
    """
    import pyarrow as pa

    kind = ids.type
    if pa.types.is_dictionary(kind):
        ids = ids.cast(kind.value_type)
    elif pa.types.is_nested(kind):
        raise InputError(f"items of type {kind} cannot be compared; name them by numbers, text or dates")
    if pa.types.is_float32(ids.type) or pa.types.is_float64(ids.type):
        import pyarrow.compute as pc

        ids = pc.add(pc.if_else(pc.is_nan(ids), pa.scalar(None, ids.type), ids), pa.scalar(0.0, ids.type))
    return ids


def first_missing(ids: pa.Array) -> int:
    """Return the first position without an id, -1 if there is none."""
    return int(ids.is_null().index(True).as_py()) if ids.null_count else -1


def _checked(column: pa.ChunkedArray, first_row: int) -> pa.Array:
    ids = comparable(flat(column))
    missing = first_missing(ids)
    if missing >= 0:
        raise InputError(f"row {first_row + missing} has no item; give every row an item")
    return ids


def item_codes(column: pa.ChunkedArray, first_row: int) -> tuple[pa.Array, NDArray[Any]]:
    """Return (distinct ids in order of appearance, the position of each row's id among them)."""
    encoded = _checked(column, first_row).dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def unique_ids(column: pa.ChunkedArray, first_row: int) -> pa.Array:
    """Return the ids of a wide table; every id may appear once."""
    import pyarrow.compute as pc

    ids = _checked(column, first_row)
    if len(ids) and pc.count_distinct(ids).as_py() != len(ids):
        seen: set[Any] = set()
        for row, value in enumerate(ids.to_pylist()):
            if value in seen:
                raise InputError(
                    f"row {first_row + row}: item {value!r} appears again; a wide table has one row per item"
                )
            seen.add(value)
    return ids


def id_array(ids: Any, start: int, stop: int) -> pa.Array:
    """Return the item ids as an Arrow array of their own type."""
    import pyarrow as pa

    if ids is None:
        return pa.array(np.arange(start, stop))
    part = ids[start:stop]
    if isinstance(part, np.ndarray) and part.dtype == object and len({type(v) for v in part}) > 1:
        part = [str(value) for value in part]  # Arrow columns have one type
    return part if isinstance(part, pa.Array) else pa.array(part)
