"""Tables of data: Parquet as it is, text turned into Parquet once so that any rows can be read at once."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covote import atomic
from covote.errors import FileError, InputError
from covote.files.data import DataPlace, Rows
from covote.files.vote_batches import Shallow, Source, format_of
from covote.panel.checks import did_you_mean, some_of
from covote.votes.names import item_ids, whole_ids

ID_COLUMNS = ("item", "task", "id")
_GROUP = 1 << 16  # rows of a group of the Parquet file made from text


class Columns(dict[str, NDArray[Any]]):
    """Some rows of a group: the columns by name, and all of them as one matrix if they are numbers."""

    def __init__(self, group: _Group, start: int, stop: int) -> None:
        super().__init__({name: column[start:stop] for name, column in group.columns.items()})
        self._group, self._rows = group, slice(start, stop)

    @property
    def block(self) -> NDArray[Any] | None:
        """The columns side by side; None if they are not plain numbers."""
        whole = self._group.block
        return None if whole is None else whole[self._rows]


@dataclass
class _Group:
    number: int
    columns: dict[str, NDArray[Any]]

    @cached_property
    def block(self) -> NDArray[Any] | None:
        # Made once for a group of rows: side by side is slow, one column after another.
        columns = list(self.columns.values())
        if any(column.ndim != 1 or column.dtype.kind not in "fiub" for column in columns):
            return None
        return np.stack(columns, axis=1, dtype=np.result_type(*columns), casting="unsafe")


class Table:
    """A Parquet file, read by groups of rows; the last group is kept."""

    def __init__(self, place: DataPlace) -> None:
        import pyarrow.parquet as pq

        self._path = place.path
        if place.size:
            raise InputError(f"{place.path} is a table; --size is for folders of images")
        self._source = Source(place.path)
        names = self._source.names
        refuse_missing(names, place)
        self._id = place.id
        self._columns = list(place.columns or [name for name in names if name != place.id])
        self._file = pq.ParquetFile(place.path)
        meta = self._file.metadata
        self._starts = np.cumsum(
            [0, *(meta.row_group(g).num_rows for g in range(meta.num_row_groups))]
        ).tolist()
        self._refuse_other_rows(self.items, meta.num_rows)
        self._group: _Group | None = None

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self._starts[-1])

    def ids(self) -> Any:
        """Return the names of the items, or their positions."""
        if self._id is None:
            return np.arange(self.items)
        with self._source.explained():
            column = self._file.read([self._id]).column(0).combine_chunks()
            column.validate(full=True)
        self._refuse_other_rows(len(column), self.items)
        return item_ids(column, f"{self._path}, ", 1)

    def read(self, start: int, stop: int) -> Rows:
        """Return the columns of the rows start:stop."""
        pieces = []
        group = bisect.bisect_right(self._starts, start) - 1
        while start < stop:
            first, last = self._starts[group], self._starts[group + 1]
            end = min(stop, last)
            pieces.append(Columns(self._read_group(group), start - first, end - first))
            start, group = end, group + 1
        if len(pieces) == 1:
            return pieces[0]
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in self._columns}

    def _refuse_other_rows(self, found: int, said: int) -> None:
        if found != said:
            raise FileError(
                f"{self._path} has {found} rows where its footer says {said}; check that it was written and "
                "copied to the end"
            )

    def files(self, start: int, stop: int) -> list[Path]:
        """Return the file."""
        return [self._path]

    def _read_group(self, group: int) -> _Group:
        last = self._group  # another thread may replace it
        if last is not None and last.number == group:
            return last
        with self._source.explained():
            table = self._file.read_row_group(group, columns=self._columns, use_threads=False)
            table.validate(full=True)
        self._refuse_other_rows(table.num_rows, self._starts[group + 1] - self._starts[group])
        columns = {name: _values(table.column(name), name, self._path) for name in self._columns}
        self._group = found = _Group(group, columns)
        return found


def _values(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[Any]:
    """Return a column as numpy has it: numbers (missing ones are NaN), text as objects, lists as a matrix."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.cast(kind.value_type)
        kind = array.type
    if pa.types.is_decimal(kind):
        array, kind = array.cast(pa.float64()), pa.float64()
    if pa.types.is_boolean(kind) and array.null_count:
        array = array.cast(pa.uint8())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = pc.unique(pc.list_value_length(array)).to_pylist()
        if len(lengths) > 1 or lengths == [None]:
            raise InputError(
                f"{path}: the lists of column {name!r} have unequal lengths, so they are no matrix"
            )
        flat: NDArray[Any] = array.flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(array), -1)
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def id_column(names: list[str], wanted: str | None) -> str | None:
    """Return which column names the items: the one asked for, else one called item, task or id."""
    return wanted or next((name for name in ID_COLUMNS if name in names), None)


def refuse_missing(names: list[str], place: DataPlace) -> None:
    """Refuse columns that a table does not have, and a table that has none for the experts."""
    if names == [place.id]:
        raise InputError(f"{place.path} has no column for the experts besides the items' names")
    for name in (*(place.columns or ()), *([place.id] if place.id else [])):
        if name not in names:
            raise InputError(
                f"{place.path} has no column {name!r}{did_you_mean(name, names)}; it has: {some_of(names)}"
            )


def staged(path: Path, target: Path, id: str | None) -> Path:
    """Return a Parquet file with the content of a table: itself, or one made from text at `target`."""
    if format_of(path) == "parquet":
        return path
    source = Source(path)
    with source.explained():
        table = _text_table(source, id)
    import pyarrow.parquet as pq

    if id is not None and id in table.column_names:
        place = table.column_names.index(id)
        table = table.set_column(place, id, _whole_if_possible(table.column(id), path))
    with atomic.replacing(target) as beside:
        pq.write_table(table, beside, row_group_size=_GROUP)
    return target


def _text_table(source: Source, id: str | None) -> pa.Table:
    if source.kind == "json":
        import pyarrow.json as pj

        with pa.input_stream(str(source.path)) as file:
            table = pj.read_json(pa.PythonFile(Shallow(file, source.path), "r"), None, source.json_types())
        if id is not None and id in table.column_names:
            source.refuse_rounded(table.select([id]))
        return table
    from pyarrow import csv

    # Names of items stay as they are written: 007 is not 7.
    types = {id: pa.string()} if id is not None else {}
    place: Any = str(source.path)
    if source.kind == "xlsx":
        cells = pa.BufferOutputStream()
        csv.write_csv(pa.Table.from_batches(source.batches(source.names)), cells)
        place = pa.BufferReader(cells.getvalue())
    return csv.read_csv(
        place,
        read_options=csv.ReadOptions(encoding=source.encoding),
        parse_options=csv.ParseOptions(delimiter=source.mark, newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=types),
    )


def _whole_if_possible(column: pa.ChunkedArray, path: Path) -> pa.Array:
    """Return names of items as integers if all of them are written as such."""
    array = column.combine_chunks()
    if not pa.types.is_string(array.type):
        return array
    empty = pc.index(array, "").as_py()
    if empty >= 0:
        raise InputError(
            f"{path}, row {empty + 1}: no item; give every row one, or choose another column with --id"
        )
    ids = item_ids(array, f"{path}, ", 1)
    whole = whole_ids(ids)
    return ids if whole is None else whole


def refuse_repeated(ids: Any, place: DataPlace) -> None:
    """Refuse items that have the same name."""
    if place.id is None:
        return
    counts = pc.value_counts(ids)
    often = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(often):
        name = often[0]["values"].as_py()
        row = pc.index(ids, often[0]["values"]).as_py() + 1
        again = pc.index(ids[row:], often[0]["values"]).as_py() + row + 1
        raise FileError(
            f"{place.path}: item {name!r} of column {place.id!r} is in row {row} and again in row {again}; "
            "items need different names: choose another column with --id"
        )
