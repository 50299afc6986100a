"""Items in tables: their ids, which may be of any type that has an equality and an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.votes.names import flat

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"


def item_ids(column: pa.ChunkedArray | pa.Array, where: str, first_row: int) -> pa.Array:
    """Return the ids in a column, as :func:`plain_items`; every row must have one.

    `where` and `first_row` name the table and its first row in messages.
    """
    ids = plain_items(column, where)
    if ids.null_count:
        row = first_row + ids.is_null().index(True).as_py()
        raise InputError(f"{where}row {row}: no item; give every row an item")
    return ids


def plain_items(column: pa.ChunkedArray | pa.Array, where: str) -> pa.Array:
    """Return the ids in a column, equal where they look equal: no dictionary, no -0.0; NaN is null.

    >>> import pyarrow as pa
    >>> plain_items(pa.array([-0.0, 2.5]), "").to_pylist()
    [0.0, 2.5]
    """
    import pyarrow as pa

    ids = flat(column)
    if pa.types.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)
    elif pa.types.is_nested(ids.type):
        raise InputError(
            f"{where}items of type {ids.type} cannot be compared; name them by numbers, text or dates"
        )
    if pa.types.is_float32(ids.type) or pa.types.is_float64(ids.type):
        import pyarrow.compute as pc

        ids = pc.add(pc.if_else(pc.is_nan(ids), pa.scalar(None, ids.type), ids), pa.scalar(0.0, ids.type))
    return ids


def whole_ids(ids: pa.Array) -> pa.Array | None:
    """Return ids that are text as integers; None if some are not written as such.

    "007" and "+7" are no integers here: as such they would not come back as they were.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
        return None
    return ids.cast(pa.int64())


def with_blanks(ids: pa.Array) -> bool:
    """Whether some of the ids, which are text, begin or end with a blank."""
    import pyarrow.compute as pc

    return any(pc.any(test(ids, " ")).as_py() for test in (pc.starts_with, pc.ends_with))


def changes(ids: pa.Array) -> NDArray[np.bool_]:
    """Return, for every id but the first, whether it differs from the one before."""
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        values = np.from_dlpack(ids)
        differ: NDArray[np.bool_] = values[1:] != values[:-1]
        return differ
    import pyarrow.compute as pc

    different = np.zeros(max(0, len(ids) - 1), dtype=np.bool_)
    different[np.from_dlpack(pc.indices_nonzero(pc.not_equal(ids[1:], ids[:-1])))] = True
    return different


def in_order(ids: pa.Array, *, strictly: bool) -> bool:
    """Whether no id is less than the one before, or whether all are greater."""
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        values = np.from_dlpack(ids)
        return bool((values[1:] > values[:-1] if strictly else values[1:] >= values[:-1]).all())
    import pyarrow.compute as pc

    compare = pc.greater if strictly else pc.greater_equal
    return len(ids) < 2 or bool(pc.all(compare(ids[1:], ids[:-1])).as_py())


def refuse_repeated(ids: pa.Array, where: str, rows: NDArray[np.int64]) -> None:
    """Refuse ids of a wide table of which one appears again; `rows` are the numbers of their rows."""
    import pyarrow.compute as pc

    if not len(ids) or pc.count_distinct(ids).as_py() == len(ids):
        return
    seen: dict[Any, int] = {}
    for row, value in zip(rows.tolist(), ids.to_pylist(), strict=True):
        before = seen.setdefault(value, row)
        if before != row:
            raise repeated_item(value, before, row, where)


def repeated_item(item: Any, before: int, row: int, where: str) -> InputError:
    """Say that an item of a wide table has two rows."""
    return InputError(
        f"{where}row {row}: item {item!r} is in row {before} already; a wide table has one row per item: "
        "keep one of them"
    )


def id_array(ids: Any, start: int, stop: int) -> pa.Array:
    """Return the item ids as an Arrow array of their own type."""
    import pyarrow as pa

    if ids is None:
        return pa.array(np.arange(start, stop))
    part = ids[start:stop]
    if isinstance(part, np.ndarray) and part.dtype == object and len({type(v) for v in part}) > 1:
        part = [str(value) for value in part]  # Arrow columns have one type
    return part if isinstance(part, pa.Array) else pa.array(part)
