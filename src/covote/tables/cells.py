"""Tables as cells of text, whatever their format, and tables in memory."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covote.arguments import no_file
from covote.errors import FileError, InputError
from covote.tables.sheets import Row, read_sheet
from covote.tables.words import CLASSES, EXPERTS, ITEMS, is_called

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = "\t;,"


def decoded(data: bytes, path: str | os.PathLike[str]) -> str:
    """Return the text of a file: UTF-8, UTF-16 with its mark, or else Windows-1252, as older programs write.

    >>> decoded("Zoë".encode("cp1252"), "a.csv"), decoded("Zoë".encode("utf-16"), "a.csv")
    ('Zoë', 'Zoë')
    """
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        try:
            if encoding == "utf-8-sig" and b"\0" not in data:
                return data.decode("cp1252")
        except UnicodeDecodeError:
            pass
        raise FileError(
            f"{path} is not a text file in UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error


def separator(text: str, usual: str = "") -> str:
    """Return the separator of a text: the tab, semicolon or comma that occurs in every line.

    If several do, the `usual` one is preferred.

    >>> separator("doctor;skin;eye"), separator("ann; skin, eye, ear"), separator('a,"b;c"')
    (';', ';', ',')
    """
    lines = [line for line in re.sub(r'"(?:[^"]|"")*"', "", text).splitlines() if line.strip()]
    marks = usual + SEPARATORS
    counts = {mark: {line.count(mark) for line in lines} for mark in marks}
    in_all = [mark for mark in marks if 0 not in counts[mark]]
    for mark in in_all:
        if len(counts[mark]) == 1:  # a table: the same number in every line
            return mark
    in_some = in_all or [mark for mark in marks if counts[mark] != {0}]
    firsts = [min(in_some, key=lambda mark: (line + mark).index(mark)) for line in lines if in_some]
    return max(in_some, key=firsts.count, default=usual or ",")


def split(text: str) -> list[list[str]]:
    """Split a text into cells; blanks around them are dropped, except inside quotes.

    >>> split('a, " b" ,c\\n\\n1,2,')
    [['a', ' b', 'c'], ['1', '2', '']]
    """
    mark = separator(text)
    if not re.search(r'"[ \t]|[ \t]"', text):
        try:
            reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
            return [[cell.strip() for cell in row] for row in reader if row]
        except csv.Error as error:
            raise InputError(f"not a CSV file: {error}") from error
    cell = re.compile(rf'[ ]*"((?:[^"]|"")*)"[ ]*(?=[{mark}\r\n]|\Z)|([^{mark}\r\n]*)')
    rows: list[list[str]] = [[]]
    place = 0
    while True:
        found = cell.match(text, place)
        assert found is not None  # the second alternative matches anything, even nothing
        quoted, plain = found.groups()
        if quoted is None and plain.lstrip().startswith('"'):
            raise InputError(f"not a CSV file: a quote is not closed in row {len(rows)}")
        rows[-1].append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if place >= len(text):
            break
        if text[place] == mark:
            place += 1
            continue
        place += 2 if text[place : place + 2] == "\r\n" else 1
        rows.append([])
        if place >= len(text):
            break
    return [row for row in rows if row and row != [""]]


def read_cells(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the cells of a .csv, .tsv or .xlsx file."""
    if Path(path).suffix.lower() == ".xlsx":
        return [*read_sheet(path).rows]
    return split(decoded(read_bytes(path), path))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; a pipe or a device, which may have no end, is rejected."""
    refuse_pipes(path)
    refuse_folders(path)
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise no_file(path) from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def refuse_pipes(path: str | os.PathLike[str]) -> None:
    """Reject what exists but is neither a file nor a folder: reading it might never end."""
    place = Path(path)
    if place.exists() and not place.is_file() and not place.is_dir():
        raise FileError(f"{path} is not a regular file; write its content to a file first")


def refuse_folders(path: str | os.PathLike[str]) -> None:
    """Reject a folder where a file is needed."""
    if Path(path).is_dir():
        raise FileError(f"{path} is a folder; give a file inside it")


LOOKED = 50
"""Rows in which the heading is looked for."""


def heading_row(rows: Sequence[list[str]]) -> int:
    """Return the row that names the columns: titles and dates above it fill fewer cells.

    >>> heading_row([["Votes of May", "", ""], ["item", "expert", "label"], ["1", "ann", "cat"]])
    1
    """
    filled = [sum(map(bool, row)) for row in rows[:LOOKED]]
    width = max(filled, default=0)
    first = next((n for n, cells in enumerate(filled) if cells >= max(2, 0.6 * width)), 0)

    def roles(n: int) -> int:
        return sum(any(is_called(c, role) for c in rows[n] if c) for role in (ITEMS, EXPERTS, CLASSES))

    if roles(first):
        return first
    later = range(first + 1, min(first + 10, len(filled)))
    return next((n for n in later if roles(n) >= (1 if filled[n] > filled[first] else 2)), first)


def without_empty(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows without empty ones and without columns that are empty from top to bottom."""
    width = max(map(len, rows), default=0)
    filled = [any(column < len(row) and row[column] for row in rows) for column in range(width)]
    last = max((column for column in range(width) if filled[column]), default=-1) + 1
    inner = [column for column in range(last) if filled[column]]
    return [Row.like(row, (row[c] for c in inner if c < len(row))) for row in rows if any(row)]


def arrow_table(table: Any, what: str) -> pa.Table:
    """Convert any object with an Arrow interface to an Arrow table; messages say `what` it holds."""
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
            f"cannot read {what} from a {type(table).__name__}; give a table: pandas, polars, pyarrow, "
            f"duckdb or a dict of columns ({error})"
        ) from error
    names = found.column_names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"cannot read {what} from a table with two columns {twice!r}; rename one")
    try:
        found.validate(full=True)  # Arrow does not check indices into dictionaries
    except pa.ArrowInvalid as error:
        raise InputError(f"cannot read {what} from a damaged table: {error}; make it again") from error
    return found
