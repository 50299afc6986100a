"""Names in tables: to indices and back, in the types that Arrow has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .panel import Name
from .vote_checks import NONE_OF_MINE, NOT_ASKED

if TYPE_CHECKING:
    import pyarrow as pa

STRANGE = -3
"""The code of a name that the panel does not have."""
NULL = -4
"""The code of a missing name."""


def arrow_table(table: Any) -> pa.Table:
    """Return anything that speaks Arrow as an Arrow table."""
    import pyarrow as pa

    try:
        if isinstance(table, pa.RecordBatchReader):
            found = table.read_all()
        elif isinstance(table, pa.RecordBatch):
            found = pa.Table.from_batches([table])
        else:
            found = pa.table(table)
    except (TypeError, ValueError, pa.ArrowInvalid) as error:
        raise InputError(
            f"cannot read votes from a {type(table).__name__}; give a table: pandas, polars, pyarrow, duckdb "
            f"or a dict of columns ({error})"
        ) from error
    index = [name for name in found.column_names if name.startswith("__index_level_")]
    return found.drop_columns(index) if index else found


def name_codes(
    values: pa.ChunkedArray | pa.Array, names: tuple[Name, ...]
) -> tuple[NDArray[np.int64], list[Any], Any]:
    """Return (code of each distinct entry, the entries, which entry each row has).

    Codes are indices into `names`, -3 for a strange entry, -4 for null. A name matches exactly, or else
    by its text if that is unambiguous: CSV files have no types.
    """
    flat = encoded(values)
    entries = flat.dictionary.to_pylist()
    exact: dict[Any, int] = {name: k for k, name in enumerate(names)}
    texts: dict[str, int] = {}
    for k, name in enumerate(names):
        texts[str(name)] = -1 if str(name) in texts else k
    codes = np.full(len(entries) + 1, NULL, dtype=np.int64)
    for e, entry in enumerate(entries):
        codes[e] = _code(entry, exact, texts)
    return codes, entries, entry_rows(flat)


def encoded(values: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    """Return names as a dictionary of different entries."""
    import pyarrow as pa

    flat = _flat(values)
    return flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()


def entry_rows(values: pa.DictionaryArray) -> NDArray[Any]:
    """Return which entry each row has; null is the one after the last."""
    size = len(values.dictionary)
    indices = values.indices.fill_null(size) if values.null_count else values.indices
    # to_numpy would import pandas wherever it is installed.
    return np.from_dlpack(indices)


def _code(entry: Any, exact: dict[Any, int], texts: dict[str, int]) -> int:
    if entry is None or (isinstance(entry, float) and entry != entry):
        return NULL
    if isinstance(entry, float) and entry.is_integer():
        entry = int(entry)  # pandas turns integers with gaps into floats
    if isinstance(entry, str | int) and not isinstance(entry, bool) and entry in exact:
        return exact[entry]
    k = texts.get(str(entry), -1)
    return k if k >= 0 else STRANGE


def _flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
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


def item_codes(column: pa.ChunkedArray, first_row: int) -> tuple[pa.Array, NDArray[Any]]:
    """Return (distinct ids in order of appearance, the position of each row's id among them)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = _flat(column)
    _refuse_null(flat, first_row)
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    encoded = pc.dictionary_encode(flat)
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def unique_ids(column: pa.ChunkedArray, first_row: int) -> pa.Array:
    """Return the ids of a wide table; every id may appear once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = _flat(column)
    _refuse_null(flat, first_row)
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    if len(flat) and pc.count_distinct(flat).as_py() != len(flat):
        seen: set[Any] = set()
        for row, value in enumerate(flat.to_pylist()):
            if value in seen:
                raise InputError(
                    f"row {first_row + row}: item {value!r} appears again; a wide table has one row per item"
                )
            seen.add(value)
    return flat


def _refuse_null(ids: pa.Array, first_row: int) -> None:
    if ids.null_count:
        row = first_row + int(np.argmax(ids.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"row {row} has no item; give every row an item")


def name_array(names: tuple[Name, ...]) -> pa.Array:
    """Return names as an Arrow array: integers if all are, else text."""
    import pyarrow as pa

    if all(isinstance(name, int) for name in names):
        return pa.array(list(names), pa.int64())
    return pa.array([str(name) for name in names], pa.string())


def named(index: NDArray[Any], names: pa.Array, none: str | None = None) -> pa.Array:
    """Return the names at the indices; -1 becomes null, -2 the word for "none of mine"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = index == NOT_ASKED
    if none is not None and (index == NONE_OF_MINE).any():
        names = pa.concat_arrays([names.cast(pa.string()), pa.array([none])])
        index = np.where(index == NONE_OF_MINE, len(names) - 1, index)
    return pc.take(names, pa.array(np.where(missing, 0, index), mask=missing))


def coded(index: NDArray[Any], names: pa.Array) -> pa.Array:
    """Return the names at the indices, -1 as null; text stays a dictionary of codes."""
    import pyarrow as pa

    if pa.types.is_integer(names.type):
        return named(index, names)
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=index == NOT_ASKED), names)


def id_array(ids: Any, start: int, stop: int) -> pa.Array:
    """Return the item ids as an Arrow array of their own type."""
    import pyarrow as pa

    if ids is None:
        return pa.array(np.arange(start, stop))
    part = ids[start:stop]
    if isinstance(part, np.ndarray) and part.dtype == object and len({type(v) for v in part}) > 1:
        part = [str(value) for value in part]  # Arrow columns have one type
    return part if isinstance(part, pa.Array) else pa.array(part)
