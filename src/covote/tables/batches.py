"""Tables in files as a stream of Arrow batches: Parquet, CSV of any dialect, JSON lines, spreadsheets."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from csv import Error as CSVError
from csv import reader as csv_rows
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covote.arguments import no_file, some_of
from covote.errors import FileError, InputError
from covote.tables import formats
from covote.tables.cells import LOOKED, heading_row, refuse_folders, refuse_pipes, separator
from covote.tables.columns import LOOK, UNNAMED
from covote.tables.sheets import Row, Sheet, read_sheet
from covote.tables.stored_answers import read_votes, votes_schema
from covote.tables.words import is_total

ROWS = 1 << 17
"""Rows per batch: large enough that the loop over batches costs nothing, small enough to save memory."""
_BLOCK = 1 << 23  # bytes of text per batch
_FIRST = 1 << 20  # of a CSV file, bytes in which the names of columns and the first rows are looked for
DEEPEST = 100
"""Levels of values in a line of JSON; votes have two."""
_ENDINGS = {
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "tsv": "tsv",
    "jsonl": "json",
    "ndjson": "json",
    "xlsx": "xlsx",
    "sqlite": "sqlite",
}
_HEAD = 1 << 16  # bytes of text in which separators are looked for
_CHUNK = 1 << 20
_SMALL = 1 << 26  # bytes of a file of text that is read once and kept


def format_of(path: str | os.PathLike[str]) -> str:
    """Return "parquet", "csv", "tsv", "json", "xlsx" or "sqlite" by the ending; ``.gz`` may follow text.

    >>> format_of("votes.csv.gz"), format_of("votes.pq")
    ('csv', 'parquet')
    """
    name = Path(path).name.lower()
    stem = name.removesuffix(".gz")
    kind = _ENDINGS.get(stem.rpartition(".")[2])
    if kind is None or "." not in stem or (kind in ("parquet", "xlsx", "sqlite") and stem != name):
        raise InputError(
            f"{path}: a table ends in .parquet, .csv, .tsv, .jsonl (text also with .gz), .xlsx or .sqlite "
            f"(answers of `covote label`), an export of other tools in .json, not in {Path(path).suffix!r}"
        )
    return kind


def _repeated_column(path: Path, name: str) -> InputError:
    return InputError(
        f"{path} has two columns {name!r}; rename one, or add a first row with the names of the columns"
    )


class Source:
    """A file of votes that can be read again and again, batch by batch.

    With `exports`, files of other labelling tools are also recognised; see `covote.tables.formats`.

    Attributes
    ----------
    path, kind
        The file and its format; "export" if another tool wrote it.
    total
        Its rows (Parquet) or bytes (text), for progress.
    mark, encoding
        The separator and the encoding of a CSV file.
    notes
        What is unusual about the file, in sentences.
    numbers
        The numbers of a spreadsheet's rows; None where they are 1, 2, 3, ... below the heading.
    """

    def __init__(self, path: str | os.PathLike[str], *, exports: bool = False) -> None:
        self.path = Path(path)
        refuse_pipes(path)
        export = formats.from_file(path) if exports else None
        if export is None:
            refuse_folders(path)
        self._place = Path(os.path.abspath(path))  # the same wherever it is read
        self.kind = format_of(path) if export is None else "export"
        self._zipped = self.path.suffix.lower() == ".gz"
        self.done = 0
        self.mark, self.encoding = "\t" if self.kind == "tsv" else ",", "utf8"
        self.notes: list[str] = []
        self.numbers: NDArray[np.int64] | None = None
        self._named: list[str] | None = None
        self._above = 0  # lines of text above the names of the columns
        self._kept: pa.Table | None = None  # a spreadsheet, or a small file of text
        with self.explained():
            if export is not None:
                self._take(export)
            elif self.kind == "parquet":
                import pyarrow.parquet as pq

                with pq.ParquetFile(self._place) as file:
                    self.schema = file.schema_arrow
                    self.total = file.metadata.num_rows
                    self._texts = [
                        field.name
                        for field in file.schema_arrow
                        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
                    ]
            elif self.kind == "sqlite":
                self.schema, self.total = votes_schema(self._place)
            elif self.kind == "xlsx":
                self._kept, self.numbers = self._sheet_table(read_sheet(self._place))
                self.schema, self.total = self._kept.schema, len(self._kept)
            else:
                self.total = self._place.stat().st_size
                if self.total == 0:
                    raise InputError(f"{self.path} is empty: it has no rows")
                self._look_at_text()
                with self._text_reader(None) as (reader, _):
                    self.schema = _with_text(reader.schema) if self.kind == "json" else reader.schema
                if self.untyped and self._named is None and not all(map(str.strip, self.names)):
                    self._named = unnamed(self.names)
                    fields = zip(self.schema, self._named, strict=True)
                    self.schema = pa.schema([field.with_name(name) for field, name in fields])
            names = self.names  # decoded only now, which may fail
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise _repeated_column(self.path, twice[0])
            if exports and self.untyped:
                export = formats.from_table(self.path, names, self.table)
            elif exports and self.kind == "parquet":
                export = formats.from_parquet(self._place, self.schema)
            if export is not None and self.kind != "export":
                self._take(export)

    def _take(self, export: formats.Export) -> None:
        """Use the answers of an export as the rows of this file."""
        self.kind, self._kept, self.numbers = "export", export.table, None
        self.schema, self.total = export.table.schema, len(export.table)
        self.notes += export.notes

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self.schema.names)

    @property
    def untyped(self) -> bool:
        """Whether everything in it is text."""
        return self.kind in ("csv", "tsv", "xlsx")

    def row_numbers(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the numbers of some rows, for messages; the first row of the table is row 0 here."""
        if self.numbers is not None:
            return self.numbers[first : first + count]
        return np.arange(first + 1, first + count + 1)

    def look(self) -> pa.Table:
        """Return the first rows."""
        batch = next(iter(self.batches(self.names, few=True)), None)
        empty = pa.table({name: pa.array([], pa.string()) for name in self.names})
        return empty if batch is None else pa.Table.from_batches([batch.slice(0, LOOK)])

    def table(self) -> pa.Table:
        """Return all rows."""
        batches = list(self.batches(self.names))
        if not batches:
            raise InputError(f"{self.path} has no votes: it has no rows")
        return pa.Table.from_batches(batches)

    def count_filled(self, columns: list[str]) -> dict[str, int]:
        """Return how many cells of some columns are not empty."""
        counts = dict.fromkeys(columns, 0)
        for batch in self.batches(columns) if columns else ():
            for name in columns:
                counts[name] += len(batch) - batch.column(name).null_count
        return counts

    def no_items(self) -> InputError:
        """Return the error for a table in which no column names the items."""
        if not len(self.look()):
            return InputError(f"{self.path} has no votes: it has no rows")
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

    def _look_at_text(self) -> None:
        """Detect the encoding of the text and the separator of its columns."""
        with pa.OSFile(str(self._place)) as file, ExitStack() as stack:
            stream = stack.enter_context(pa.CompressedInputStream(file, "gzip")) if self._zipped else file
            head = stream.read(_HEAD)
            if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
                if self.kind == "json":
                    raise FileError(f"{self.path} is text in UTF-16; save it as UTF-8")
                self.encoding = "utf-16"
            elif self.kind != "json" and not _is_utf8(head, None if self._zipped else stream):
                self.encoding = "cp1252"
                self.notes.append("the file is not in UTF-8, so it is read as Windows-1252")
        if self.kind != "json":
            text = head.decode(self.encoding, errors="replace").removeprefix("\ufeff")
            whole = (
                text.rpartition("\n")[0] if len(head) == _HEAD else ""
            )  # without the last line, which may be cut
            self.mark = separator(whole or text, self.mark)
            self._skip_titles(whole or text)

    def _skip_titles(self, text: str) -> None:
        """Find the line that names the columns, if it is not the first one."""
        rows, ends = [], []
        reader = csv_rows(io.StringIO(text, newline=""), delimiter=self.mark)
        with suppress(CSVError):  # reported when the whole file is read
            for row in islice(reader, LOOKED):
                rows.append([cell.strip() for cell in row])
                ends.append(reader.line_num)
        place = heading_row(rows)
        if place:
            self._above, self._named = ends[place] - 1, unnamed(rows[place])
            self._note_titles(place - sum(not any(row) for row in rows[:place]))

    def _note_titles(self, count: int) -> None:
        if count:
            many = "a row above the heading is" if count == 1 else f"{count} rows above the heading are"
            self.notes.append(f"{many} ignored")

    def _sheet_table(self, sheet: Sheet) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return the cells of a sheet as columns of text, and the numbers of the rows.

        Titles above the heading, and notes and sums at the foot, are ignored.
        """
        rows = sheet.rows
        self.notes += sheet.notes
        head = heading_row(rows)
        self._note_titles(head)
        last = _foot(rows, head)
        if last < len(rows):
            foot = ", ".join(str(row.number) for row in rows[last : last + 3])
            foot += ", ..." if len(rows) > last + 3 else ""
            self.notes.append(f"notes or sums below the table are ignored (row {foot})")
        names = unnamed(rows[head])
        body = rows[head + 1 : last]
        used = [c for c in range(len(names)) if rows[head][c] or any(row[c] for row in body)]
        chosen = [names[c] for c in used]
        if len(set(chosen)) < len(chosen):
            twice = next(name for name in chosen if chosen.count(name) > 1)
            raise _repeated_column(self.path, twice)
        columns = [pa.array([row[c] or None for row in body], pa.string()) for c in used]
        return pa.table(columns, names=chosen), np.array([row.number for row in body], dtype=np.int64)

    def group_starts(self) -> list[int]:
        """Return the position of the first row of every row group of a Parquet file, and of the end."""
        import pyarrow.parquet as pq

        with self.explained():
            data = pq.read_metadata(self._place)
        return [0, *accumulate(data.row_group(g).num_rows for g in range(data.num_row_groups))]

    def batches(
        self,
        columns: list[str],
        plain: tuple[str, ...] = (),
        rows: range | None = None,
        *,
        few: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns batch by batch; text in Parquet comes as dictionaries unless it is `plain`.

        `rows` limits a Parquet file to some of its rows, `few` a text file to its first ones.
        """
        self.done = 0
        with self.explained():
            parquet = self.kind == "parquet"
            read = self._parquet(columns, plain, rows) if parquet else self._text(columns, few)
            if self.kind == "sqlite":
                read = read_votes(self._place)
            for batch in read:
                if batch.num_rows:
                    batch = batch.select(columns)
                    # Readers let damage through: indices beyond a dictionary, invalid text.
                    batch.validate(full=True)
                    if self.kind == "json":
                        self.refuse_rounded(batch)
                    yield batch
        if parquet and rows is None and self.done != self.total:
            raise FileError(
                f"{self.path} has {self.done} rows, but its footer says {self.total}; check that it was "
                "written and copied completely"
            )
        self.done = self.total

    def _parquet(
        self, columns: list[str], plain: tuple[str, ...], rows: range | None
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        encoded = [name for name in self._texts if name in columns and name not in plain]
        with pq.ParquetFile(self._place, read_dictionary=encoded, pre_buffer=False) as file:
            groups, first = None, 0
            if rows is not None:
                starts = self.group_starts()
                wanted = [g for g, (a, b) in enumerate(pairwise(starts)) if a < rows.stop and rows.start < b]
                groups, first = wanted, starts[wanted[0]] if wanted else 0
            for batch in file.iter_batches(ROWS, row_groups=groups, columns=columns, use_threads=False):
                size = batch.num_rows
                self.done += size
                if rows is not None:
                    low = max(0, rows.start - first)
                    batch = batch.slice(low, max(0, min(size, rows.stop - first) - low))
                yield batch
                first += size

    def _text(self, columns: list[str], few: bool) -> Iterator[pa.RecordBatch]:
        if self._kept is None and not few and self.total <= _SMALL and not self._zipped:
            with self._text_reader(self.names, _BLOCK) as (reader, _):
                self._kept = reader.read_all()
        if self._kept is not None:
            yield from self._kept.select(columns).to_batches(ROWS)
            return
        with self._text_reader(columns, _FIRST if few else _BLOCK) as (reader, file):
            for batch in reader:
                self.done = min(self.total, file.tell())
                yield batch

    @contextmanager
    def _text_reader(self, columns: list[str] | None, block: int = _FIRST) -> Iterator[tuple[Any, Any]]:
        """Yield a reader of a CSV or JSON-lines file, and the file; CSV columns stay text."""
        # Only its last holder closes the file: Arrow reads ahead in its own thread, which would continue with
        # whatever file is opened next under the same number.
        file = pa.OSFile(str(self._place))
        stream: Any = file
        if self._zipped:
            stream = pa.CompressedInputStream(file, "gzip")
        if self.kind == "json":
            import pyarrow.json as pj

            options = pj.ReadOptions(block_size=_BLOCK, use_threads=False)
            types = None if columns is None else self.json_types()
            with pj.open_json(pa.PythonFile(Shallow(stream, self.path), "r"), options, types) as reader:
                yield reader, file
            return
        from pyarrow import csv

        options, parse = self.csv_options()
        options.block_size, options.use_threads = block, False
        if columns is None:
            convert = csv.ConvertOptions()
        else:
            convert = csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
            )
        with csv.open_csv(stream, options, parse, convert) as reader:
            yield reader, file

    def csv_options(self) -> tuple[Any, Any]:
        """Return the options to read and parse a CSV file, from the names of its columns on."""
        from pyarrow import csv

        options = csv.ReadOptions(encoding=self.encoding)
        if self._named is not None:
            options.column_names, options.skip_rows = self._named, self._above + 1
        return options, csv.ParseOptions(delimiter=self.mark, newlines_in_values=True)

    def json_types(self) -> Any:
        """Return options that keep text as text even if it looks like a time: it is a name."""
        import pyarrow.json as pj

        texts = [field for field in self.schema if pa.types.is_string(field.type)]
        return pj.ParseOptions(explicit_schema=pa.schema(texts) if texts else None)

    def refuse_rounded(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Reject numbers that were integers beyond 64 bits: as floats, two of them may be the same."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_float64(column.type) and len(column) > column.null_count:
                limits = pc.min_max(column).as_py()
                if max(abs(limits["min"]), abs(limits["max"])) >= 2**53:
                    raise InputError(
                        f"{self.path}: column {name!r} has numbers with too many digits to be told apart; "
                        "write them as text, in quotes"
                    )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn readers' errors into one clear message."""
        try:
            yield
        except FileNotFoundError as error:
            raise no_file(self.path) from error
        except (pa.ArrowException, OSError, UnicodeError) as error:
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


_NO_OBJECT = re.compile(rb"(?:\A|\n)[ \t\r\xef\xbb\xbf]*null")


class Shallow:
    """A stream of JSON lines that rejects what would crash the parser: deep nesting, and null."""

    closed = False

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._line = b""  # the beginning of a line whose end was not read yet

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data = bytes(self._stream.read(size))
        lines = self._line + data
        code = np.frombuffer(lines, dtype=np.uint8)
        opened = np.flatnonzero((code | 0x20) == ord("{"))  # "[" differs from "{" in this bit
        ends = np.flatnonzero(code == ord("\n"))
        bounds = np.concatenate([[0], np.searchsorted(opened, ends), [len(opened)]])
        if np.diff(bounds).max() > DEEPEST and _depth(lines) > DEEPEST:
            raise FileError(
                f"{self._path} has values more than {DEEPEST} levels deep; a line of votes is one flat object"
            )
        if b"null" in lines and _NO_OBJECT.search(lines):
            # A block that begins like this would crash the parser.
            raise FileError(f"{self._path} has a line that is null; every line is one object: remove it")
        self._line = lines[int(ends[-1]) + 1 :] if len(ends) else lines
        return data

    def close(self) -> None:
        """Leave the stream to its owner."""


def _depth(text: bytes) -> int:
    """Return the deepest nesting of brackets on any line, outside strings."""
    deepest = 0
    for line in text.split(b"\n"):
        depth = 0
        for mark in re.findall(rb"[\[\]{}]", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", line)):
            depth += 1 if mark in b"[{" else -1
            deepest = max(deepest, depth)
    return deepest


def _with_text(schema: pa.Schema) -> pa.Schema:
    """Return a schema of JSON lines in which columns that were taken for times are text."""
    return pa.schema([pa.field(f.name, pa.string()) if pa.types.is_timestamp(f.type) else f for f in schema])


def _is_utf8(head: bytes, rest: Any) -> bool:
    """Whether bytes, and those that follow in a stream, are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    plain, chunk = True, head
    try:
        while chunk:
            plain = plain and chunk.isascii()  # as nearly all text is, and quick to check
            if not plain:
                decoder.decode(chunk)
            chunk = b"" if rest is None else rest.read(_CHUNK)
        decoder.decode(b"", final=rest is not None)
    except UnicodeDecodeError:
        return False
    return True


def unnamed(names: list[str]) -> list[str]:
    """Return the names of columns, with a number for those that have none.

    >>> unnamed(["", "ann", ""])
    ['column 1', 'ann', 'column 3']
    """
    return [name if name.strip() else f"{UNNAMED}{c}" for c, name in enumerate(names, start=1)]


def _foot(rows: list[Row], head: int) -> int:
    """Return where the table in a sheet ends: before totals, and before lone cells after an empty row."""
    last = len(rows)
    end = last
    while last > head + 2:
        filled = [cell for cell in rows[last - 1] if cell]
        is_sum = is_total(filled[0]) and all(re.fullmatch(r"[\d.,%]+", cell) for cell in filled[1:])
        if not is_sum and len(filled) > 1:
            break
        last -= 1
        if is_sum or rows[last].number - rows[last - 1].number > 1:
            end = last
    return end
