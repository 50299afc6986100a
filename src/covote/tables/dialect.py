"""How a table is written in a text file or a sheet: encoding, separator, heading, foot.

Votes, panels, gold items and lists of names are read with the same rules.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from covote.arguments import no_file
from covote.errors import FileError, InputError
from covote.tables.words import CLASSES, EXPERTS, ITEMS, is_called, is_total

SEPARATORS = "\t;,"
UNNAMED = "column "
"""What a column without a name is called, with its number: pandas writes an index this way."""
HEADING_ROWS = 50
"""Rows in which the heading is looked for."""
_WIDE = 5  # columns from which on a row of two cells is a narrow one
_SHEET = re.compile(r"(.+\.xlsx)#(.+)", re.IGNORECASE | re.DOTALL)
_SPACED = re.compile(r'(?:^|[\t;,]) +"|"[ \t]+(?:[\t;,\r\n]|\Z)', re.MULTILINE)


class Row(list[str]):
    """The cells of a row, with its number in the file, from 1 on.

    Attributes
    ----------
    number
        Empty rows are counted, too.
    line
        The line of text on which it ends; a cell may hold several lines.
    """

    number: int
    line: int = 0

    @classmethod
    def like(cls, row: list[str], cells: Iterable[str]) -> list[str]:
        """Return other cells with the number of a row, if it has one."""
        if not isinstance(row, Row):
            return list(cells)
        found = cls(cells)
        found.number = row.number
        return found


# Text


def encoding_of(chunks: Iterable[bytes], *, complete: bool = True) -> str:
    """Return "utf-8-sig", "utf-16" or else "cp1252", as older programs write, by the bytes of a text.

    >>> encoding_of(["Zoë".encode("cp1252")]), encoding_of(["Zoë".encode("utf-16")])
    ('cp1252', 'utf-16')
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    plain = True
    try:
        for number, chunk in enumerate(chunks):
            if not number and chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                return "utf-16"
            plain = plain and chunk.isascii()  # as nearly all text is, and quick to check
            if not plain:
                decoder.decode(chunk)
        decoder.decode(b"", final=complete)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def decode_text(data: bytes, path: str | os.PathLike[str]) -> str:
    """Return the text of a file.

    >>> decode_text("Zoë".encode("cp1252"), "a.csv"), decode_text("Zoë".encode("utf-16"), "a.csv")
    ('Zoë', 'Zoë')
    """
    encoding = encoding_of([data])
    try:
        return data.decode("utf-8" if encoding == "cp1252" and b"\0" in data else encoding)
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not a text file in UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error


def separator(text: str, default: str = "") -> str:
    """Return the separator of a text: the tab, semicolon or comma that occurs in every line.

    If several do, the `default` is preferred.

    >>> separator("doctor;skin;eye"), separator("ann; skin, eye, ear"), separator('a,"b;c"')
    (';', ';', ',')
    """
    lines = [line for line in re.sub(r'"(?:[^"]|"")*"', "q", text).splitlines() if line.strip()]
    marks = default + SEPARATORS
    counts = {mark: {line.count(mark) for line in lines} for mark in marks}
    in_all = [mark for mark in marks if 0 not in counts[mark]]
    for mark in in_all:
        if len(counts[mark]) == 1:  # a table: the same number in every line
            return mark
    in_some = in_all or [mark for mark in marks if counts[mark] != {0}]
    firsts = [min(in_some, key=lambda mark: (line + mark).index(mark)) for line in lines if in_some]
    return max(in_some, key=firsts.count, default=default or ",")


def is_spaced(text: str) -> bool:
    """Whether there are blanks between separators and quotes.

    >>> is_spaced('1, "ann"'), is_spaced('1,"ann, bob "')
    (True, False)
    """
    return _SPACED.search(re.sub(r'"(?:[^"]|"")*"', '""', text)) is not None


def text_rows(lines: Iterable[str], mark: str, *, strict: bool = True) -> Iterator[Row]:
    """Yield the rows of a text that are not empty, without blanks around the cells.

    Reading stops with ``csv.Error`` at a quote that is never closed, unless it is not `strict`.

    >>> [list(row) for row in text_rows(['a, " b" ,c\\n', '\\n', '1,2,\\n'], ",")]
    [['a', 'b', 'c'], ['1', '2', '']]
    """
    tight = (re.sub(r'"[ \t]+(?=[\t;,\r\n]|\Z)', '"', line) if '"' in line else line for line in lines)
    reader = csv.reader(tight, delimiter=mark, skipinitialspace=True, strict=strict)
    for number, cells in enumerate(reader, start=1):
        row = Row(cell.strip() for cell in cells)
        row.number, row.line = number, reader.line_num
        if any(row):
            yield row


def split(text: str) -> list[list[str]]:
    """Split a whole text into rows of cells."""
    try:
        return [*text_rows(io.StringIO(text, newline=""), separator(text))]
    except csv.Error as error:
        raise InputError(f"not a CSV file: {error}") from error


# Heading and foot, of text and of sheets


def heading_row(rows: Sequence[list[str]]) -> int:
    """Return the row that names the columns: titles and dates above it fill fewer cells.

    >>> heading_row([["Votes of May", "", ""], ["item", "expert", "label"], ["1", "ann", "cat"]])
    1
    """
    filled = [sum(map(bool, row)) for row in rows[:HEADING_ROWS]]
    width = max(filled, default=0)
    first = next((n for n, cells in enumerate(filled) if cells >= max(2, 0.6 * width)), 0)

    def roles(n: int) -> int:
        return sum(any(is_called(c, role) for c in rows[n] if c) for role in (ITEMS, EXPERTS, CLASSES))

    if roles(first):
        return first
    later = range(first + 1, min(first + 10, len(filled)))
    return next((n for n in later if roles(n) >= (1 if filled[n] > filled[first] else 2)), first)


def body_row(rows: Sequence[list[str]], head: int) -> int:
    """Return the first row below the heading; Qualtrics puts the questions and their ids between."""
    ids = rows[head + 2] if len(rows) > head + 2 else []
    return head + 3 if ids and all(cell.startswith('{"ImportId"') for cell in ids if cell) else head + 1


def titles_note(count: int) -> list[str]:
    """Return a note on the rows above the heading, if there are any."""
    many = "a row above the heading is" if count == 1 else f"{count} rows above the heading are"
    return [f"{many} ignored"] if count else []


def foot_row(rows: Sequence[Row], head: int) -> int:
    """Return where a table ends: before totals, and before lone cells or a narrow legend after an empty row.

    `head` is the place of the heading, and the result that of the first row below the table.
    """
    last = end = _before_legend(rows, head)
    while last > head + 2:
        filled = [cell for cell in rows[last - 1] if cell]
        is_sum = is_total(filled[0]) and all(re.fullmatch(r"[\d.,%]+", cell) for cell in filled[1:])
        if not is_sum and len(filled) > 1:
            break
        last -= 1
        if is_sum or rows[last].number - rows[last - 1].number > 1:
            end = last
    return end


def _before_legend(rows: Sequence[Row], head: int) -> int:
    """Return where a legend begins below a wide table: titled rows of up to two cells after an empty row."""
    first = len(rows)
    while first > head + 2 and sum(map(bool, rows[first - 1])) <= 2 and not any(rows[first - 1][2:]):
        first -= 1
    wide = sum(map(bool, rows[head])) >= _WIDE if rows else False
    for n in range(first, len(rows)) if wide else ():
        if rows[n].number - rows[n - 1].number > 1 and sum(map(bool, rows[n])) == 1:
            return n
    return len(rows)


def foot_note(rows: Sequence[Row]) -> list[str]:
    """Return a note on the rows below the table, if there are any."""
    if not rows:
        return []
    more = ", ..." if len(rows) > 3 else ""
    return [
        "notes or sums below the table are ignored (row "
        f"{', '.join(str(row.number) for row in rows[:3])}{more})"
    ]


def column_names(names: list[str]) -> list[str]:
    """Return the names of columns, with a number for those that have none.

    >>> column_names(["", "ann", ""])
    ['column 1', 'ann', 'column 3']
    """
    return [name if name.strip() else f"{UNNAMED}{c}" for c, name in enumerate(names, start=1)]


def without_empty(rows: Sequence[list[str]]) -> list[list[str]]:
    """Return the rows without empty ones and without columns that are empty from top to bottom."""
    width = max(map(len, rows), default=0)
    filled = [any(column < len(row) and row[column] for row in rows) for column in range(width)]
    last = max((column for column in range(width) if filled[column]), default=-1) + 1
    inner = [column for column in range(last) if filled[column]]
    return [Row.like(row, (row[c] for c in inner if c < len(row))) for row in rows if any(row)]


def first_rows(text: str, mark: str) -> list[Row]:
    """Return the first rows of a text, as far as they can be read."""
    rows: list[Row] = []
    with suppress(csv.Error):  # reported when the whole file is read
        rows.extend(islice(text_rows(io.StringIO(text, newline=""), mark, strict=False), HEADING_ROWS))
    return rows


# Files


def workbook_and_sheet(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return the file and the name of the sheet in it, if one is named.

    >>> workbook_and_sheet("study.xlsx#Answers"), workbook_and_sheet("study.xlsx")
    (('study.xlsx', 'Answers'), ('study.xlsx', None))
    """
    named = _SHEET.fullmatch(os.fspath(path))
    return (named[1], named[2]) if named else (os.fspath(path), None)


def read_cells(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the cells of a .csv, .tsv or .xlsx file."""
    if Path(workbook_and_sheet(path)[0]).suffix.lower() == ".xlsx":
        from covote.tables.sheets import read_sheet

        return [*read_sheet(path).rows]
    return split(decode_text(read_bytes(path), path))


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
