"""Tables in files as a stream of Arrow batches: Parquet, CSV of any dialect, JSON lines, spreadsheets."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.arguments import no_file, some_of
from covote.errors import FileError, InputError
from covote.tables import formats
from covote.tables.column_roles import HEAD
from covote.tables.dialect import (
    Row,
    body_row,
    column_names,
    encoding_of,
    first_rows,
    foot_note,
    foot_row,
    heading_row,
    is_spaced,
    refuse_folders,
    refuse_pipes,
    separator,
    text_rows,
    titles_note,
    workbook_and_sheet,
)
from covote.tables.json_lines import DepthLimitedStream, keep_text, refuse_rounded, times_as_text
from covote.tables.sheets import Choice, Sheet, read_sheet
from covote.tables.stored_answers import read_votes, votes_schema

ROWS = 1 << 17
"""Rows per batch: large enough that the loop over batches costs nothing, small enough to save memory."""
_BLOCK = 1 << 23  # bytes of text per batch
_FIRST = 1 << 20  # of a CSV file, bytes in which the first rows are looked for
_ENDINGS = {
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "tsv": "tsv",
    "txt": "csv",
    "jsonl": "json",
    "ndjson": "json",
    "xlsx": "xlsx",
    "sqlite": "sqlite",
}
_EDGE = 1 << 16  # bytes at the beginning and at the end of a text: separators, heading, foot
_CHUNK = 1 << 20


def format_of(path: str | os.PathLike[str]) -> str:
    """Return "parquet", "csv", "tsv", "json", "xlsx" or "sqlite" by the ending; ``.gz`` may follow text.

    >>> format_of("answers.csv.gz"), format_of("answers.pq")
    ('csv', 'parquet')
    """
    name = Path(workbook_and_sheet(path)[0]).name.lower()
    stem = name.removesuffix(".gz")
    kind = _ENDINGS.get(stem.rpartition(".")[2])
    if kind is None or "." not in stem or (kind in ("parquet", "xlsx", "sqlite") and stem != name):
        raise InputError(
            f"{path}: a table ends in .parquet, .csv, .tsv, .jsonl (text also with .gz), .xlsx or .sqlite "
            f"(answers of `covote label`), an export of other tools in .json, not in {Path(path).suffix!r}"
        )
    return kind


class TableFile:
    """A table in a file that can be read again and again, batch by batch.

    With `exports`, files of other labelling tools are also recognised; see `covote.tables.formats`. `choose`
    says which sheet of a workbook to read, if the path names none (``study.xlsx#Answers``). With `repeats`,
    columns of a text or a sheet may have the same name, unless they are read (:meth:`refuse_repeated`).

    Attributes
    ----------
    path, kind
        The file and its format; "export" if another tool wrote it.
    schema
        Its columns.
    done, total
        How many of its rows (Parquet) or bytes (text) have been read, for progress.
    mark, encoding
        The separator and the encoding of a CSV file.
    notes
        What is unusual about the file, in sentences.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        exports: bool = False,
        repeats: bool = False,
        choose: Choice | None = None,
    ) -> None:
        self.path = Path(path)
        self._choose = choose
        refuse_pipes(path)
        may_be_export = exports and (self.path.is_dir() or "json" in self.path.suffix.lower())
        export = formats.from_file(path) if may_be_export else None
        if export is None:
            refuse_folders(path)
        self._place = Path(os.path.abspath(path))  # the same wherever it is read
        self.kind = format_of(path) if export is None else "export"
        self._zipped = self.path.suffix.lower() == ".gz"
        self.done = 0
        self.mark, self.encoding = "\t" if self.kind == "tsv" else ",", "utf8"
        self.notes: list[str] = []
        self._head_lines = 0  # lines of text up to the names of the columns
        self._end: int | None = None  # bytes of text up to the foot
        self._spaced = False  # whether only Python's reader understands the quotes
        self.schema: pa.Schema
        self._rows: pa.Table | None = None  # of a spreadsheet or an export
        self._numbers: NDArray[np.int64] | None = None  # of a spreadsheet's rows
        with self.errors_as_messages():
            if export is not None:
                self._take(export)
            else:
                {"parquet": self._open_parquet, "sqlite": self._open_answers, "xlsx": self._open_sheet}.get(
                    self.kind, self._open_text
                )()
            names = self.names  # decoded only now, which may fail
            self._set_apart(names)
            if not (repeats and self.untyped):
                self.refuse_repeated(self.names)
            if exports and self.untyped:
                export = formats.from_table(self.path, names, self.table)
            elif exports and self.kind == "parquet" and formats.DATASET in (self.schema.metadata or {}):
                export = formats.from_parquet(self._place, self.schema)
            if export is not None and self.kind != "export":
                self._take(export)

    def _set_apart(self, names: list[str]) -> None:
        """Give a number to columns that have the name of another: "sure", "sure (2)"."""
        apart: dict[str, str] = {}  # what a column is called, and the name that the file has
        for name in names:
            numbered = (f"{name} ({n})" for n in count(2))
            apart[name if name not in apart else next(n for n in numbered if n not in (*names, *apart))] = (
                name
            )
        self._repeated = {new: name for new, name in apart.items() if names.count(name) > 1}
        if self._repeated:
            self.schema = pa.schema([*zip(apart, self.schema.types, strict=True)])
            self._rows = None if self._rows is None else self._rows.rename_columns([*apart])

    def refuse_repeated(self, read: Iterable[str]) -> None:
        """Reject columns whose name another column has, too."""
        repeated = next((self._repeated[name] for name in read if name in self._repeated), None)
        if repeated is not None:
            raise InputError(
                f"{self.path} has two columns {repeated!r}; rename one, or add a first row with the names of "
                "the columns (a column of answers has the name of its expert)"
            )

    def _take(self, export: formats.Export) -> None:
        """Use the answers of an export as the rows of this file."""
        self.kind, self._rows, self._numbers = "export", export.table, None
        self.schema, self.total = export.table.schema, len(export.table)
        self.notes += export.notes

    def _open_parquet(self) -> None:
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._place) as file:
            self.schema = file.schema_arrow
            self.total = file.metadata.num_rows

    def _open_answers(self) -> None:
        self.schema, self.total = votes_schema(self._place)

    def _open_sheet(self) -> None:
        self._rows, self._numbers = self._sheet_table(read_sheet(self._place, self._choose))
        self.schema, self.total = self._rows.schema, len(self._rows)

    # What there is

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self.schema.names)

    @property
    def untyped(self) -> bool:
        """Whether everything in it is text."""
        return self.kind in ("csv", "tsv", "xlsx")

    def row_numbers(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the numbers of some rows, for messages; the first row of the table is row 0 here.

        Rows of a text and of a sheet are numbered as a spreadsheet program shows them, with the heading.
        """
        if self._numbers is not None:
            return self._numbers[first : first + count]
        start = first + self._head_lines + 1
        return np.arange(start, start + count)

    def head(self) -> pa.Table:
        """Return the first rows."""
        batch = next(iter(self.batches(self.names, few=True)), None)
        empty = pa.table({name: pa.nulls(0, pa.string()) for name in self.names})
        return empty if batch is None else pa.Table.from_batches([batch.slice(0, HEAD)])

    def table(self) -> pa.Table:
        """Return all rows."""
        batches = list(self.batches(self.names))
        if not batches:
            raise InputError(f"{self.path} has no answers: it has no rows")
        return pa.Table.from_batches(batches)

    def no_items(self) -> InputError:
        """Return the error for a table in which no column names the items."""
        if not len(self.head()):
            return InputError(f"{self.path} has no answers: it has no rows")
        return InputError(
            f"{self.path} has no column 'item' (it has: {some_of(self.names)}); say which column names the "
            "item that a row is about, with item='...' (--item ...)"
        )

    def refuse_nested(self, columns: Iterable[str]) -> None:
        """Reject lists and the like where names are needed."""
        for name in columns:
            kind = self.schema.field(name).type
            if pa.types.is_nested(kind):
                raise InputError(
                    f"{self.path}: column {name!r} holds {kind}; items, experts and labels are text or "
                    "numbers (lists of classes are for items with several labels: covote.multilabel, covote "
                    "multilabel decode)"
                )

    # The dialect of text, and the table in a sheet

    def _open_text(self) -> None:
        self.total = self._place.stat().st_size
        if self.total == 0:
            raise InputError(f"{self.path} is empty: it has no rows")
        with pa.OSFile(str(self._place)) as file, ExitStack() as stack:
            stream = stack.enter_context(pa.CompressedInputStream(file, "gzip")) if self._zipped else file
            head = stream.read(_EDGE)
            # Of compressed text, only the beginning is looked at.
            rest = () if self._zipped else iter(lambda: stream.read(_CHUNK), b"")
            complete = not self._zipped or len(head) < _EDGE
            encoding = encoding_of(chain([head], () if self.kind == "json" else rest), complete=complete)
        if self.kind == "json":
            if encoding == "utf-16":
                raise FileError(f"{self.path} is text in UTF-16; save it as UTF-8")
            with self._json_reader() as (reader, _):
                self.schema = times_as_text(reader.schema)
            return
        self.encoding = encoding.replace("utf-8-sig", "utf8")
        if encoding == "cp1252":
            self.notes.append("the file is not in UTF-8, so it is read as Windows-1252")
        text = head.decode(encoding, errors="replace")
        if len(head) == _EDGE:
            text = text.rpartition("\n")[0] or text  # without the last line, which may be cut
        self.mark, self._spaced = separator(text, self.mark), is_spaced(text)
        rows = first_rows(text, self.mark)
        place = heading_row(rows)
        self.notes += titles_note(place)
        names = column_names(rows[place] if rows else [""])
        self._head_lines = rows[body_row(rows, place) - 1].line if rows else 0
        self.schema = pa.schema([(name, pa.string()) for name in names])
        if len(head) == _EDGE:
            place = 0
            text = "" if self._zipped or encoding == "utf-16" else self._last_lines(encoding)
        self._find_foot(text, len(head) if self._zipped else self.total, place, encoding)

    def _last_lines(self, encoding: str) -> str:
        """Return the last lines of a text."""
        with self._place.open("rb") as file:
            file.seek(self.total - _EDGE)
            return file.read().partition(b"\n")[2].decode(encoding, errors="replace")

    def _find_foot(self, text: str, size: int, head: int, encoding: str) -> None:
        """Find where the table ends, given the end of a text of `size` bytes, and the row of its heading."""
        try:
            rows = list(text_rows(io.StringIO(text, newline=""), self.mark))
        except csv.Error:  # reported when the whole file is read
            return
        end = foot_row(rows, head)
        if end < len(rows):
            lines = io.StringIO(text, newline="").readlines()
            foot = "".join(lines[rows[end - 1].line :])
            without_mark = {"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(encoding, encoding)
            self._end = size - len(foot.encode(without_mark))
            below = [",".join(filter(None, row)) for row in rows[end:]]
            self.notes.append(f"notes or sums below the table are ignored: {some_of(below)}")

    def _sheet_table(self, sheet: Sheet) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return the cells of a sheet as columns of text, and the numbers of the rows.

        Titles above the heading, and notes and sums at the foot, are ignored.
        """
        rows = sheet.rows
        head = heading_row(rows)
        last = foot_row(rows, head)
        self.notes += [*sheet.notes, *titles_note(head), *foot_note(rows[last:])]
        names = column_names(rows[head])
        body = rows[body_row(rows, head) : last]
        used = [c for c in range(len(names)) if rows[head][c] or any(row[c] for row in body)]
        columns = [pa.array([row[c] or None for row in body], pa.string()) for c in used]
        schema = pa.schema([(names[c], pa.string()) for c in used])
        return pa.table(columns, schema=schema), np.array([row.number for row in body], dtype=np.int64)

    # Batches

    def batches(
        self, columns: list[str], plain: tuple[str, ...] = (), *, few: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns batch by batch; text in Parquet comes as dictionaries unless it is `plain`.

        With `few`, the first batch of a text file is small.
        """
        self.done = 0
        with self.errors_as_messages():
            for batch in self._read(columns, plain, few):
                if batch.num_rows:
                    batch = batch.select(columns)
                    # Readers let damage through: indices beyond a dictionary, invalid text.
                    batch.validate(full=True)
                    if self.kind == "json":
                        refuse_rounded(batch, self.path)
                    yield batch
        if self.kind == "parquet" and self.done != self.total:
            raise FileError(
                f"{self.path} has {self.done} rows, but its footer says {self.total}; check that it was "
                "written and copied completely"
            )
        self.done = self.total

    def _read(self, columns: list[str], plain: tuple[str, ...], few: bool) -> Iterator[pa.RecordBatch]:
        if self._rows is not None:
            yield from self._rows.select(columns).to_batches(ROWS)
        elif self.kind == "parquet":
            yield from self._read_parquet(columns, plain)
        elif self.kind == "sqlite":
            yield from read_votes(self._place)
        elif self._spaced:
            yield from self._read_spaced()
        else:
            opened = self._json_reader(self.schema) if self.kind == "json" else self._csv_reader(columns, few)
            with opened as (reader, file):
                for batch in reader:
                    self.done = min(self.total, file.tell())
                    yield batch

    def _read_parquet(self, columns: list[str], plain: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        encoded = [
            name
            for name in columns
            if name not in plain
            and (
                pa.types.is_string(self.schema.field(name).type)
                or pa.types.is_large_string(self.schema.field(name).type)
            )
        ]
        with pq.ParquetFile(self._place, read_dictionary=encoded, pre_buffer=False) as file:
            for batch in file.iter_batches(ROWS, columns=columns, use_threads=False):
                self.done += batch.num_rows
                yield batch

    @contextmanager
    def _stream(self) -> Iterator[tuple[Any, Any]]:
        """Yield the bytes of a text up to its foot, and the file."""
        # Only its last holder closes the file: Arrow reads ahead in its own thread, which would continue with
        # whatever file is opened next under the same number.
        file = pa.OSFile(str(self._place))
        stream: Any = pa.CompressedInputStream(file, "gzip") if self._zipped else file
        if self._end is not None:
            stream = pa.PythonFile(io.BufferedReader(_FirstBytes(stream, self._end), _CHUNK), "r")
        yield stream, file

    @contextmanager
    def _json_reader(self, schema: pa.Schema | None = None) -> Iterator[tuple[Any, Any]]:
        import pyarrow.json as pj

        options = pj.ReadOptions(block_size=_BLOCK, use_threads=False)
        with self._stream() as (stream, file):
            limited = pa.PythonFile(DepthLimitedStream(stream, self.path), "r")
            with pj.open_json(limited, options, None if schema is None else keep_text(schema)) as reader:
                yield reader, file

    @contextmanager
    def _csv_reader(self, columns: list[str], few: bool) -> Iterator[tuple[Any, Any]]:
        """Yield a reader of a CSV file, all of whose columns are text."""
        from pyarrow import csv as arrow_csv

        options = arrow_csv.ReadOptions(
            encoding=self.encoding, column_names=self.names, skip_rows=self._head_lines,
            block_size=_FIRST if few else _BLOCK, use_threads=False,
        )  # fmt: skip
        parse = arrow_csv.ParseOptions(delimiter=self.mark, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=columns,
            null_values=[""],
            strings_can_be_null=True,
        )
        with self._stream() as (stream, file):
            try:
                opened = arrow_csv.open_csv(stream, options, parse, convert)
            except pa.ArrowInvalid as error:
                if "Empty CSV file" not in str(error):
                    raise
                yield [], file
                return
            with opened as reader:
                yield reader, file

    def _read_spaced(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a CSV file with blanks between separators and quotes."""
        with self._place.open("rb") as file:
            stream = gzip.GzipFile(fileobj=file) if self._zipped else file
            limited = _FirstBytes(stream, sys.maxsize if self._end is None else self._end)
            encoding = self.encoding.replace("utf8", "utf-8-sig")
            lines = io.TextIOWrapper(io.BufferedReader(limited), encoding, newline="")
            rows = _equally_long(text_rows(islice(lines, self._head_lines, None), self.mark), len(self.names))
            while batch := list(islice(rows, ROWS)):
                self.done = min(self.total, file.tell())
                columns = [[cell or None for cell in column] for column in zip(*batch, strict=True)]
                arrays = [pa.array(column, pa.string()) for column in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @contextmanager
    def errors_as_messages(self) -> Iterator[None]:
        """Turn readers' errors into one clear message."""
        try:
            yield
        except FileNotFoundError as error:
            raise no_file(self.path) from error
        except (pa.ArrowException, OSError, UnicodeError, csv.Error) as error:
            if isinstance(error, FileError):
                raise
            what = {"parquet": "a complete Parquet", "csv": "a proper CSV", "tsv": "a proper TSV"}
            reason = " ".join(str(error).split()).rstrip(".")
            remedy = "check that it was written and copied completely"
            if "UTF8" in reason or isinstance(error, UnicodeError):
                remedy = "save it as UTF-8"
            elif self.kind == "json" and "changed from" in reason:
                remedy = "every line is one object, and a field has the same type in all lines"
            raise FileError(
                f"{self.path} cannot be read as {what.get(self.kind, 'a proper JSON-lines')} file: {reason}; "
                f"{remedy}"
            ) from error


class _FirstBytes(io.RawIOBase):
    """The first bytes of a stream."""

    def __init__(self, stream: Any, size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _equally_long(rows: Iterator[Row], width: int) -> Iterator[Row]:
    """Yield rows that have as many cells as there are columns."""
    for row in rows:
        if len(row) != width:
            raise csv.Error(f"expected {width} columns, got {len(row)}: {','.join(row)[:80]}")
        yield row
