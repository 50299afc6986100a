"""Tables that are read, by the command line's reader, and written: CSV, Parquet and JSON lines.

Cells of a CSV file that a spreadsheet would run as a formula are marked when the file is written, and the
mark is removed when it is read back.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from covote.errors import CovoteError, InputError
from covote.tables.table_file import TableFile
from covote.tables.words import FORMULA
from covote_studio.rules import Refused, sentence

FORMATS = ("parquet", "csv", "jsonl")
"""Endings of the tables that are written."""
ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", ".pq", ".jsonl", ".ndjson")
"""Endings of the tables that are read."""


def read_table(name: str, content: bytes | Path, *, exports: bool = False) -> tuple[pa.Table, list[str]]:
    """Read a table with every column as text; also return notes on how it was read.

    The reader is the command line's: .csv and .tsv of any dialect, .jsonl, .parquet, .xlsx. With `exports`,
    it recognises votes in files of other labelling tools, some of which end in .json.
    """
    if Path(name).suffix.lower() not in (*ENDINGS, *([".json"] if exports else [])):
        raise Refused(
            f"“{name}” has an unknown file type; send a .csv, .xlsx, .parquet or .jsonl file, pictures, "
            "sounds, or a .zip of pictures.",
            415,
        )
    if isinstance(content, Path):
        return _read(content, exports)
    with tempfile.TemporaryDirectory(prefix="covote-") as folder:
        place = Path(folder) / f"table{Path(name).suffix.lower()}"
        place.write_bytes(content)
        try:
            return _read(place, exports)
        except CovoteError as error:
            raise Refused(sentence(str(error).replace(str(place), f"“{name}”")), 422) from error


def _read(place: Path, exports: bool) -> tuple[pa.Table, list[str]]:
    _refuse_open_quotes(place)
    source = TableFile(place, exports=exports)
    batches = list(source.batches(source.names, tuple(source.names)))
    empty = pa.table({name: pa.array([], pa.string()) for name in source.names})
    table = pa.Table.from_batches(batches) if batches else empty
    return _as_text(table), [*map(sentence, source.notes)]


def _refuse_open_quotes(place: Path) -> None:
    """Reject a CSV file whose last quotation mark is never closed: the rest would be one cell."""
    if place.suffix.lower() not in (".csv", ".tsv"):
        return
    with place.open("rb") as file:
        marks = sum(part.count(b'"') for part in iter(lambda: file.read(1 << 20), b""))
    if marks % 2:
        raise InputError(
            f"{place} has a quotation mark that is never closed; close it, or double it if it belongs "
            "to the text"
        )


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _as_text(table: pa.Table) -> pa.Table:
    columns = {}
    for name in table.column_names:
        try:
            columns[name] = table[name].cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            columns[name] = pa.array([_plain(value) for value in table[name].to_pylist()], pa.string())
    return pa.table(columns)


def safe_text(value: Any) -> Any:
    """Mark a cell that a spreadsheet would run as a formula.

    >>> safe_text("=HYPERLINK(0)")
    "'=HYPERLINK(0)"
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def without_mark(value: Any) -> Any:
    """Return a cell without the mark of :func:`safe_text`."""
    marked = isinstance(value, str) and value.startswith("'") and value[1:].startswith(FORMULA)
    return value[1:] if marked else value


def without_formula_marks(table: pa.Table) -> pa.Table:
    """Remove the marks that :func:`write_table` puts before formulas."""
    return _each_text(table, without_mark)


def change_cells(path: Path, change: Callable[[Any], Any]) -> None:
    """Change every cell of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [[change(cell) for cell in row] for row in csv.reader(file)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def _each_text(table: pa.Table, change: Callable[[Any], Any]) -> pa.Table:
    """Return a table in which every text is changed."""
    for n, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(kind):
            values = [change(value) for value in table.column(n).to_pylist()]
            table = table.set_column(n, field.name, pa.array(values, pa.string()))
    return table


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format of the file's ending, one of `FORMATS`."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        arrow_csv.write_csv(_each_text(table, safe_text), path)
    else:
        with path.open("w", encoding="utf-8") as lines:
            for batch in table.to_batches(max_chunksize=10_000):
                lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
