"""Files of rows, written batch by batch: Parquet, CSV, JSON lines, spreadsheets; complete or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covote import atomic
from covote.errors import InputError
from covote.tables.arrow_names import text_array
from covote.tables.sheets import write_sheet
from covote.tables.words import FORMULA

ROWS = 1 << 19
"""Rows in a row group."""
_TYPES = {
    "parquet": "parquet", "pq": "parquet", "csv": "csv", "jsonl": "json", "ndjson": "json", "xlsx": "xlsx"
}  # fmt: skip
_SHEET = 1_048_575
"""Rows that fit into a spreadsheet, below the heading."""
_FORMULA, _NUMBER = f"^[{re.escape(''.join(FORMULA))}]", r"^-[0-9.]"
_QUOTED = r'[",\r\n]'


def csv_bytes(batch: pa.RecordBatch) -> bytes:
    """Return rows as lines of CSV, without a heading; only what needs quotes has them, and NaN is empty.

    >>> rows = pa.record_batch({"item": ["a", "b, c"], "share": [float("nan"), 0.5]})
    >>> csv_bytes(rows).decode().splitlines()
    ['a,', '"b, c",0.5']
    """
    if not batch.num_rows:
        return b""
    *first, last = [_text(column) for column in batch.columns]
    end = pc.binary_join_element_wise(
        pc.fill_null(last, _scalar("", last.type)), _scalar("\n", last.type), _scalar("", last.type)
    )
    lines = end
    if first:
        lines = pc.binary_join_element_wise(
            *first, end, _scalar(",", last.type), null_handling="replace", null_replacement=""
        )
    _, offsets, values = lines.buffers()
    ends = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return bytes(memoryview(values)[ends[0] : ends[-1]])


def _text(column: pa.Array) -> pa.Array:
    """Return a column as the text of its cells."""
    if pa.types.is_dictionary(column.type):
        return _text(column.dictionary).take(column.indices)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.nulls(1, column.type)[0], column)
    text = column.cast(pa.large_string())
    if pa.types.is_primitive(column.type) and not pa.types.is_temporal(column.type):
        return text
    special = pc.match_substring_regex(text, _QUOTED)
    # Empty text is not the same as no text.
    quoted = pc.or_(special, pc.equal(text, _scalar("", text.type)))
    if not pc.any(quoted).as_py():
        return text
    inner, mark = pc.replace_substring(text, '"', '""'), _scalar('"', text.type)
    return pc.if_else(quoted, pc.binary_join_element_wise(mark, inner, mark, _scalar("", text.type)), text)


def _scalar(text: str, kind: pa.DataType) -> pa.Scalar:
    """Return text as a scalar; ``pa.scalar`` would import pandas, which takes longer than all the rest."""
    return text_array([text]).cast(kind)[0]


def output_format(path: str | os.PathLike[str], what: str = "table") -> str:
    """Return "parquet", "csv", "json" (lines) or "xlsx" by the ending of the file's name."""
    kind = _TYPES.get(Path(path).suffix.lower().removeprefix("."))
    if kind is None:
        raise InputError(
            f"{path}: a {what} ends in .parquet, .csv, .jsonl or .xlsx, not in {Path(path).suffix!r}"
        )
    return kind


class TableWriter:
    """Writes rows to a file, one batch after another; see :func:`open_writer`.

    The same batches give the same file byte for byte (a spreadsheet has the time in it).
    """

    def __init__(
        self, path: Path, kind: str, repeating: Sequence[str], choices: Mapping[str, Sequence[str]]
    ) -> None:
        self._path = path
        self._choices = choices
        self._kind = kind
        self._repeating = repeating
        self._writer: Any = None

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append rows; all batches have the same columns, which a file without rows has, too."""
        # Parquet keeps time zones only in Arrow's schema, which would make coded names categories.
        if self._kind != "parquet" or pa.types.is_temporal(batch.schema.field(0).type):
            batch = _dense(batch)
        if self._kind == "csv":
            _warn_of_formulas(batch)
        self._writer = self._writer or self._open(batch.schema)
        try:
            for start in range(0, batch.num_rows, ROWS):
                self._writer.write_batch(batch.slice(start, ROWS))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"these columns cannot be written as CSV ({error}); write them to a .parquet file"
            ) from error

    def _open(self, schema: pa.Schema) -> Any:
        if self._kind == "json":
            return _Lines(self._path)
        if self._kind == "xlsx":
            return _Sheet(self._path, schema.names, self._choices)
        if self._kind == "csv":
            return _Csv(self._path, schema.names)
        import pyarrow.parquet as pq

        # Integer ids are stored as differences, which are small if items are in order.
        integer_ids = pa.types.is_integer(schema.field(0).type)  # the items
        return pq.ParquetWriter(
            str(self._path),
            schema,
            use_dictionary=[name for name in schema.names if name in self._repeating],
            column_encoding={"item": "DELTA_BINARY_PACKED"} if integer_ids else None,
            write_statistics=["item"],
            store_schema=not any(map(pa.types.is_dictionary, schema.types)),
        )

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


class _Csv:
    """Writes lines of CSV under a heading."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self._file = path.open("wb")
        self._file.write(
            csv_bytes(pa.RecordBatch.from_arrays([text_array([name]) for name in names], names=names))
        )

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._file.write(csv_bytes(batch))

    def close(self) -> None:
        self._file.close()


class _Lines:
    """Writes one JSON object per row; what is not a number is null."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def write_batch(self, batch: pa.RecordBatch) -> None:
        narrow = {field.name: pa.types.is_float32(field.type) for field in batch.schema}
        for row in batch.to_pylist():
            plain = {name: _json_value(value, narrow[name]) for name, value in row.items()}
            self._file.write(json.dumps(plain, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()


def _json_value(value: Any, narrow: bool) -> Any:
    """Return a value as JSON has it; those of a `narrow` column have the digits of 32 bits."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float):
        return (float(str(np.float32(value))) if narrow else value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | list) else str(value)


class _Sheet:
    """Writes the rows of a spreadsheet."""

    def __init__(self, path: Path, names: list[str], choices: Mapping[str, Sequence[str]]) -> None:
        self._path = path
        self._choices = choices
        self._rows: list[list[Any]] = [names]

    def write_batch(self, batch: pa.RecordBatch) -> None:
        if len(self._rows) + batch.num_rows > _SHEET + 1:
            raise InputError(f"a spreadsheet has room for {_SHEET:,} rows; write them to a .parquet file")
        columns = [
            [_json_value(value, pa.types.is_float32(column.type)) for value in column.to_pylist()]
            for column in batch.columns
        ]
        self._rows += [list(row) for row in zip(*columns, strict=True)]

    def close(self) -> None:
        write_sheet(self._path, self._rows, self._choices)


@contextmanager
def open_writer(
    path: str | os.PathLike[str],
    what: str = "table",
    repeating: Sequence[str] = (),
    choices: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Iterator[TableWriter]:
    """Yield a writer; the file appears if the block succeeds, and not at all otherwise.

    `repeating` are columns with few different values, which Parquet stores by code. In a spreadsheet, cells
    of the columns in `choices` offer a list to choose from.
    """
    kind = output_format(path, what)
    with atomic.replacing(path) as temporary:
        writer = TableWriter(temporary, kind, repeating, choices)
        try:
            yield writer
        finally:
            writer.close()


def write_table(
    path: str | os.PathLike[str],
    table: pa.Table | pa.RecordBatch,
    what: str = "table",
    repeating: Sequence[str] = (),
    choices: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Write a whole table to a file, as :func:`open_writer`."""
    batches = [table] if isinstance(table, pa.RecordBatch) else table.combine_chunks().to_batches()
    with open_writer(path, what, repeating, choices) as writer:
        for batch in batches or [pa.RecordBatch.from_pylist([], table.schema)]:
            writer.write_batch(batch)


def _warn_of_formulas(batch: pa.RecordBatch) -> None:
    """Warn about names that a spreadsheet would run as formulas; they stay, because names must not change."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        formula, number = (pc.match_substring_regex(column, pattern) for pattern in (_FORMULA, _NUMBER))
        found = column.filter(pc.and_not(formula, number))
        if len(found):
            warnings.warn(
                f"a spreadsheet would take {found[0].as_py()[:60]!r} in column {name!r} for a formula: "
                "import this column as text",
                stacklevel=2,
            )


def _dense(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
