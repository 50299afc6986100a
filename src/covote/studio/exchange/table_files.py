"""Tables that come in and go out: CSV, Parquet and JSON-lines.

Cells of a CSV file that a spreadsheet would run as a formula get a mark on their way out, which is taken away
when the file comes back.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from covote.studio.rules import Refused

FORMATS = ("parquet", "csv", "jsonl")
"""Endings of the tables that are written."""
ENDINGS = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson")
"""Endings of the tables that are read."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings at which a spreadsheet takes a text for a formula."""


def read_table(name: str, content: bytes | Path) -> pa.Table:
    """Read a table of items with every column as text, whatever its format."""
    ending = Path(name).suffix.lower()
    try:
        if ending in (".parquet", ".pq"):
            source = pa.BufferReader(content) if isinstance(content, bytes) else content
            return _as_text(pq.read_table(source))
        data = content if isinstance(content, bytes) else content.read_bytes()
        if ending in (".jsonl", ".ndjson", ".json"):
            return _from_json_lines(name, data)
        if ending in (".csv", ".tsv", ".txt"):
            return _from_csv(name, data)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise Refused(f"“{name}” cannot be read: {reason}. Check the file and send it again.", 422) from error
    raise Refused(
        f"“{name}” is of no known kind; give a .csv, .parquet or .jsonl file, pictures, sounds, or a .zip of "
        "pictures.",
        415,
    )


def _decoded(name: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            f"“{name}” is not in UTF-8 (byte {error.start + 1:,}); save it as “CSV UTF-8” or in UTF-8.", 422
        ) from error
    if "\0" in text:
        raise Refused(f"“{name}” is no text file (it holds NUL characters); save it as UTF-8 text.", 422)
    return text


def _from_csv(name: str, data: bytes) -> pa.Table:
    text = _decoded(name, data[: 1 << 16].rpartition(b"\n")[0] or data[: 1 << 16])
    first = text.splitlines()[0] if text.strip() else ""
    if not first:
        raise Refused(f"“{name}” is empty; its first line names the columns, for example: id,text", 422)
    comma = max((",", ";", "\t"), key=first.count)
    header = next(csv.reader([first], delimiter=comma))
    names = [column.strip() for column in header]
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise Refused(f"“{name}” has two columns named {twice!r}; give them different names.", 422)
    _decoded(name, data)
    body = data.removeprefix(b"\xef\xbb\xbf")
    return arrow_csv.read_csv(
        io.BytesIO(body),
        read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1),
        parse_options=arrow_csv.ParseOptions(delimiter=comma, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )


def _from_json_lines(name: str, data: bytes) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(_decoded(name, data).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Refused(f"“{name}”, line {number}: this is no JSON ({error}).", 422) from error
        if not isinstance(row, dict):
            raise Refused(
                f'“{name}”, line {number}: every line is an object such as {{"id": "1", "text": "..."}}.', 422
            )
        rows.append(row)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return pa.table(
        {column: pa.array([_plain(row.get(column)) for row in rows], pa.string()) for column in columns}
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
    """Return a cell that no spreadsheet runs as a formula.

    >>> safe_text("=HYPERLINK(0)")
    "'=HYPERLINK(0)"
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _without_mark(value: Any) -> Any:
    marked = isinstance(value, str) and value.startswith("'") and value[1:].startswith(_FORMULA)
    return value[1:] if marked else value


def without_formula_marks(table: pa.Table) -> pa.Table:
    """Take away the marks that :func:`write_table` puts before what a spreadsheet would run as a formula."""
    return _each_text(table, _without_mark)


def _each_text(table: pa.Table, change: Callable[[Any], Any]) -> pa.Table:
    """Return a table in which every text is changed."""
    for n, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(kind):
            values = [change(value) for value in table.column(n).to_pylist()]
            table = table.set_column(n, field.name, pa.array(values, pa.string()))
    return table


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as its file's ending, one of `FORMATS`, says."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        arrow_csv.write_csv(_each_text(table, safe_text), path)
    else:
        with path.open("w", encoding="utf-8") as lines:
            for batch in table.to_batches(max_chunksize=10_000):
                lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
