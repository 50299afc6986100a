"""Tables that are read, by the command line's reader, and written: CSV, Parquet and JSON lines.

Cells of a CSV file that a spreadsheet would run as a formula are marked when the file is written, and the
mark is removed when it is read back.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from covote.errors import CovoteError, InputError
from covote.tables import FORMULA, TableFile
from covote_studio.rules import Refusal, sentence

ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", ".pq", ".jsonl", ".ndjson")
"""Endings of the tables that are read."""


LARGEST = 100 * 1024 * 1024
"""Bytes of the largest table that is sent; larger ones are brought in at the command line."""
LARGEST_SHEET = 40 * 1024 * 1024
"""Bytes of the largest spreadsheet when it is unpacked: reading it takes some ten times that."""
MOST_ROWS = 1_000_000
MOST_BYTES = 256 * 1024 * 1024
"""Rows and bytes of the largest table once it is read."""


def check_size(name: str, size: int) -> None:
    """Reject a table that is too large to be sent."""
    if size > LARGEST:
        raise Refusal(
            f"“{name}” has {size / 1e6:,.0f} MB; a table that is sent has at most {LARGEST / 1e6:.0f} MB. "
            "Whoever runs the studio can add it with: covote studio PROJECT --items FILE.",
            413,
        )


def read_table(name: str, content: bytes | Path, *, exports: bool = False) -> tuple[pa.Table, list[str]]:
    """Read a table with every column as text; also return notes on how it was read.

    The reader is the command line's: .csv and .tsv of any dialect, .jsonl, .parquet, .xlsx. With `exports`,
    it recognises votes in files of other labelling tools, some of which end in .json. What was sent, and is
    not a path of this machine, is not read before its size is known.
    """
    if Path(name).suffix.lower() not in (*ENDINGS, *([".json"] if exports else [])):
        raise Refusal(
            f"“{name}” has an unknown file type; send a .csv, .xlsx, .parquet or .jsonl file, pictures, "
            "sounds, or a .zip of pictures.",
            415,
        )
    if isinstance(content, Path):
        return _read(content, exports)
    check_size(name, len(content))
    with tempfile.TemporaryDirectory(prefix="covote-") as folder:
        place = Path(folder) / f"table{Path(name).suffix.lower()}"
        place.write_bytes(content)
        try:
            _check_unpacked(name, place)
            if place.suffix in (".parquet", ".pq"):
                return _as_text(_read_parquet(name, place)), []
            return _read(place, exports, MOST_ROWS)
        except CovoteError as error:
            if isinstance(error, Refusal):
                raise
            raise Refusal(sentence(str(error).replace(str(place), f"“{name}”")), 422) from error


def _check_unpacked(name: str, place: Path) -> None:
    """Reject a spreadsheet that is much larger than its file; what its directory says is not believed."""
    if place.suffix != ".xlsx":
        return
    total = 0
    try:
        with zipfile.ZipFile(place) as archive:
            for entry in archive.infolist():
                with archive.open(entry) as opened:
                    while part := opened.read(1 << 20):
                        total += len(part)
                        if total > LARGEST_SHEET:
                            raise Refusal(
                                f"“{name}” has more than {LARGEST_SHEET / 1e6:.0f} MB when it is unpacked; "
                                "send it as .csv or .parquet, or in parts.",
                                413,
                            )
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError) as error:
        raise Refusal(f"“{name}” is damaged or not a spreadsheet; save it again.", 422) from error


def _read_parquet(name: str, place: Path) -> pa.Table:
    """Read a Parquet file that is not too large; texts that are stored once are not repeated before that."""
    try:
        with pq.ParquetFile(place) as file:
            about = file.metadata
            texts = [one.path for one in file.schema if one.physical_type == "BYTE_ARRAY"]
        groups = [about.row_group(n) for n in range(about.num_row_groups)]
        packed = sum(one.column(k).total_uncompressed_size for one in groups for k in range(one.num_columns))
        _check_read(name, about.num_rows, packed)
        table = pq.read_table(place, read_dictionary=texts, use_threads=False)
        _check_read(name, table.num_rows, sum(_bytes_of(one) for one in table.columns))
        return table
    except Refusal:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Refusal(f"“{name}” is damaged or not a Parquet file; save it again.", 422) from error


def _bytes_of(column: pa.ChunkedArray) -> int:
    """Return how large a column is when every text is repeated."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    return sum(
        pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0 for chunk in column.chunks
    )


def _check_read(name: str, rows: int, size: int) -> None:
    if rows > MOST_ROWS:
        raise Refusal(
            f"“{name}” has {rows:,} rows; a table that is sent has at most {MOST_ROWS:,}. Send it in parts.",
            413,
        )
    if size > MOST_BYTES:
        raise Refusal(
            f"“{name}” has {size / 1e6:,.0f} MB when it is unpacked, more than {MOST_BYTES / 1e6:.0f}; send "
            "it in parts.",
            413,
        )


def _read(place: Path, exports: bool, most: int | None = None) -> tuple[pa.Table, list[str]]:
    _refuse_open_quotes(place)
    source = TableFile(place, exports=exports)
    batches, rows = [], 0
    for batch in source.batches(source.names, tuple(source.names)):
        rows += batch.num_rows
        if most is not None and rows > most:
            raise InputError(f"{place} has more than {most:,} rows; send it in parts")
        batches.append(batch)
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


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as .parquet or .csv."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    for n, name in enumerate(table.column_names):
        if pa.types.is_string(table.schema.field(n).type):
            values = [safe_text(value) for value in table.column(n).to_pylist()]
            table = table.set_column(n, name, pa.array(values, pa.string()))
    arrow_csv.write_csv(table, path)
