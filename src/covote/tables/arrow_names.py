"""Names and ids in Arrow arrays: to codes and back, equal where they look equal, in order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import Name
from covote.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

NOT_ASKED = -1
NONE_OF_MINE = -2
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"


def arrow_table(table: Any, what: str = "votes", *, index: bool = False) -> pa.Table:
    """Convert any object with an Arrow interface to an Arrow table; messages say `what` it holds.

    The index of a data frame is left out unless `index`.
    """
    import pyarrow as pa

    if isinstance(table, str | os.PathLike):
        raise InputError(
            f"cannot read {what} from the name of a file; load it: Votes.load({str(table)!r}), or "
            "Panel.load for a panel"
        )
    try:
        if isinstance(table, pa.RecordBatchReader):
            found = table.read_all()
        elif isinstance(table, pa.RecordBatch):
            found = pa.Table.from_batches([table])
        else:
            found = pa.table(table)
    except (TypeError, ValueError, pa.ArrowInvalid) as error:
        raise InputError(
            f"cannot read {what} from a {type(table).__name__}; give a table: pandas, polars, pyarrow, "
            f"duckdb or a dict of columns ({error})"
        ) from error
    names = found.column_names
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"cannot read {what} from a table with two columns {repeated!r}; rename one")
    try:
        found.validate(full=True)  # Arrow does not check indices into dictionaries
    except pa.ArrowInvalid as error:
        raise InputError(f"cannot read {what} from a damaged table: {error}; make it again") from error
    hidden = [] if index else [name for name in names if name.startswith("__index_level_")]
    return found.drop_columns(hidden) if hidden else found


def as_dictionary(values: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    """Return names as a dictionary of different entries; not all of them need occur."""
    import pyarrow as pa

    found = flat(values)
    if pa.types.is_nested(found.type) or isinstance(found.type, pa.BaseExtensionType):
        raise InputError(f"names are text or integers, not of type {found.type}")
    if pa.types.is_dictionary(found.type):
        return found
    return found.dictionary_encode()


def entry_rows(values: pa.DictionaryArray) -> NDArray[Any]:
    """Return which entry each row has; null is the one after the last."""
    size = len(values.dictionary)
    indices = values.indices.fill_null(size) if values.null_count else values.indices
    # to_numpy would import pandas wherever it is installed.
    return np.from_dlpack(indices)


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column as one array; polars' views of text become plain text."""
    import pyarrow as pa

    if isinstance(column, pa.Array):
        return _without_views(column)
    chunks = [_without_views(chunk) for chunk in column.chunks]
    if len(chunks) == 1:
        return chunks[0]
    return pa.chunked_array(chunks, None if chunks else column.type).combine_chunks()


def _without_views(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if pa.types.is_dictionary(array.type) and array.type.value_type in plain:
        return pa.DictionaryArray.from_arrays(array.indices, _without_views(array.dictionary))
    return array.cast(plain[array.type]) if array.type in plain else array


def name_array(names: tuple[Name, ...]) -> pa.Array:
    """Return names as an Arrow array: integers of 64 bits if all are, else text."""
    if all(isinstance(name, int) and -(2**63) <= name < 2**63 for name in names):
        return arrow_array(np.array(names, dtype=np.int64))
    known: dict[str, Name] = {}
    for name in names:
        other = known.setdefault(str(name), name)
        if other != name:
            raise InputError(f"{other!r} and {name!r} are the same text in a table; rename one of them")
    return text_array(known)


def arrow_array(values: NDArray[Any]) -> pa.Array:
    """Return numbers as an Arrow array over the same memory.

    ``pa.array`` and ``to_numpy`` would do, but import pandas wherever it is installed, which takes longer
    than a million votes.
    """
    import pyarrow as pa

    flat = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [None, pa.py_buffer(flat)])


def text_array(names: Iterable[str]) -> pa.Array:
    """Return text as an Arrow array, without ``pa.array`` for the same reason."""
    import pyarrow as pa

    builder = pa.lib.StringBuilder()
    for name in names:
        builder.append(name)
    return builder.finish()


def names_at(index: NDArray[Any], names: pa.Array, none: str | None = None) -> pa.Array:
    """Return the names at the indices; -1 becomes null, -2 the word for "none of mine"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = index == NOT_ASKED
    if none is not None and (index == NONE_OF_MINE).any():
        names = pa.concat_arrays([names.cast(pa.string()), pa.array([none])])
        index = np.where(index == NONE_OF_MINE, len(names) - 1, index)
    return pc.take(names, pa.array(np.where(missing, 0, index), mask=missing))


def dictionary_of(index: NDArray[Any], names: pa.Array) -> pa.DictionaryArray:
    """Return the names at the indices as a dictionary of codes; null where the index is -1."""
    import pyarrow as pa

    valid = None
    if (index < 0).any():
        valid = pa.py_buffer(np.packbits(index >= 0, bitorder="little"))
        index = np.maximum(index, 0)
    codes = np.ascontiguousarray(index)
    kind = pa.from_numpy_dtype(codes.dtype)
    indices = pa.Array.from_buffers(kind, len(codes), [valid, pa.py_buffer(codes)])
    return pa.DictionaryArray.from_arrays(indices, names)


def item_ids(column: pa.ChunkedArray | pa.Array, where: str) -> pa.Array:
    """Return the ids in a column, as :func:`plain_items`; every row must have one."""
    ids = plain_items(column, where)
    if ids.null_count:
        row = 1 + ids.is_null().index(True).as_py()
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

    "007" and "+7" are not integers here: they would not come back as they were.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
        return None
    return ids.cast(pa.int64())


def without_blanks(ids: pa.Array) -> pa.Array:
    """Return ids without blanks around them, the same array if there are none; blanks alone are not an id.

    >>> import pyarrow as pa
    >>> without_blanks(pa.array(["a ", "b", " "])).to_pylist()
    ['a', 'b', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        return ids
    some = ids.take(arrow_array(_odd_edges(ids)))
    if pc.sum(pc.binary_length(pc.utf8_trim_whitespace(some))) == pc.sum(pc.binary_length(some)):
        return ids
    found = pc.utf8_trim_whitespace(ids)
    return pc.if_else(pc.equal(found, ""), None, found)


def _odd_edges(ids: pa.Array) -> NDArray[np.int64]:
    """Return the texts whose first or last byte may belong to a blank: a space, or not ASCII.

    Nearly all names have none, and checking two bytes of each takes a tenth of the time of trimming.
    """
    import pyarrow as pa

    _, offsets, data = ids.buffers()
    kind: Any = np.int64 if pa.types.is_large_string(ids.type) else np.int32
    bounds = np.frombuffer(offsets, kind)[ids.offset : ids.offset + len(ids) + 1]
    if bounds[0] == bounds[-1]:
        return np.empty(0, np.int64)
    letters = np.frombuffer(data, np.int8)  # those beyond ASCII are below 0
    first, last = letters.take(bounds[:-1], mode="clip"), letters.take(bounds[1:] - 1, mode="clip")
    return np.flatnonzero(np.minimum(first, last) <= ord(" "))


def id_array(ids: Any, start: int, stop: int) -> pa.Array:
    """Return the item ids as an Arrow array of their own type."""
    import pyarrow as pa

    if ids is None:
        return pa.array(np.arange(start, stop))
    part = ids[start:stop]
    if isinstance(part, np.ndarray) and part.dtype == object and len({type(v) for v in part}) > 1:
        part = [str(value) for value in part]  # Arrow columns have one type
    return part if isinstance(part, pa.Array) else pa.array(part)
