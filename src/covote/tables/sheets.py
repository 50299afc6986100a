"""Spreadsheets: the cells of a sheet as they are displayed, with their row numbers."""

from __future__ import annotations

import datetime
import io
import os
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from covote.arguments import did_you_mean, no_file, some_of
from covote.errors import CovoteError, FileError, InputError
from covote.tables.dialect import Row, workbook_and_sheet

_LARGEST = 1 << 30  # bytes of a spreadsheet, unpacked: a small file may be a ZIP bomb
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14  # of a sheet, as the format has it
_MOST_CELLS = 1 << 25  # of a table, empty ones included
_LISTS = "lists"  # the hidden sheet of what cells can be chosen from
_MEASURED, _WIDEST = 1000, 50  # rows that decide how wide a column is, and the most letters
_LONGEST = 32_767  # letters in a cell, as the format has it
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how .xls begins, and .xlsx with a password
_EXACT = 10**15  # spreadsheets keep 15 digits of a number
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ROW = re.compile(rb"<(?:\w+:)?row\b([^>]*?)(?:/>|>(.*?)</(?:\w+:)?row>)", re.DOTALL)
_CELL = re.compile(rb"<(?:\w+:)?c\b([^>]*?)(?:/>|>(.*?)</(?:\w+:)?c>)", re.DOTALL)
_PLACE = re.compile(rb'\br\s*=\s*["\']([A-Za-z]*)([0-9]+)["\']')
_TYPE = re.compile(rb'\bt\s*=\s*["\'](\w+)["\']')
_VALUE = re.compile(rb"<(?:\w+:)?v(?:\s[^>]*)?(?<!/)>[^<]|<(?:\w+:)?is\b")


Choice = Callable[[Mapping[str, list[Row]]], str | None]
"""Which of the sheets of a workbook to read, by their cells; None: the first."""


class Sheet(NamedTuple):
    """The rows of a sheet that are not empty.

    Attributes
    ----------
    rows
        Their cells as text, all rows equally long.
    notes
        What is unusual about the file, in sentences: other sheets, formulas without a value.
    """

    rows: list[Row]
    notes: tuple[str, ...]


def read_sheet(path: str | os.PathLike[str], choose: Choice | None = None) -> Sheet:
    """Return the cells of the sheet in ``book.xlsx#sheet``, else of the one chosen, else of the first."""
    place, named = workbook_and_sheet(path)
    sheets = read_sheets(place)
    if named is not None:
        same = [name for name in sheets if name == named]
        same = same or [name for name in sheets if name.casefold() == named.casefold()]
        if not same:
            raise InputError(
                f"{place} has no sheet {named!r}{did_you_mean(named, tuple(sheets))} with cells in it; it "
                f"has: {some_of([*map(repr, sheets)])}"
            )
        return sheets[same[0]]
    by_rows = {name: sheet.rows for name, sheet in sheets.items()}
    chosen = (choose(by_rows) if choose is not None else None) or next(iter(sheets))
    found = sheets[chosen]
    others = [repr(name) for name in sheets if name != chosen]
    if not others:
        return found
    return Sheet(found.rows, (f"the sheet {chosen!r} is read; not read: {', '.join(others)}", *found.notes))


def read_sheets(path: str | os.PathLike[str]) -> dict[str, Sheet]:
    """Return the visible sheets of a workbook that have cells, by their names."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    found: dict[str, Sheet] = {}
    with _opened(path) as (book, packed):
        places = _places(packed)
        for page in book.sheets_metadata:
            if page.typ == SheetTypeEnum.WorkSheet and page.visible == SheetVisibleEnum.Visible:
                notes = _checked_cells(packed.read(places[page.name]), path)
                rows = _rows(book.get_sheet_by_name(page.name), path)
                if rows:
                    found[page.name] = Sheet(rows, tuple(notes))
    if not found:
        raise InputError(f"{path} is empty: it has no cells")
    return found


def _rows(sheet: Any, path: str | os.PathLike[str]) -> list[Row]:
    """Return the rows of a sheet that are not empty."""
    found: dict[int, Row] = {}
    width = 0
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        row = Row(_text(value, path, number) for value in cells)
        row.number = number
        if any(row):
            found[number] = row
            width = max(width, *(c for c, cell in enumerate(row, start=1) if cell))
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        value = found[top + 1][left] if top + 1 in found and left < width else ""
        if value and left == right:  # one value for several rows
            for number in range(top + 2, min(bottom + 1, _MOST_ROWS) + 1):
                if number not in found:
                    found[number] = Row([""] * width)
                    found[number].number = number
                found[number][left] = found[number][left] or value
    for row in found.values():
        del row[width:]
    return [found[number] for number in sorted(found)]


def _text(value: Any, path: str | os.PathLike[str], row: int) -> str:
    if isinstance(value, float) and abs(value) >= _EXACT and value.is_integer():
        raise InputError(
            f"{path}, row {row}: the number {value:.0f} has more digits than a spreadsheet keeps, so "
            "different ones may look the same; format the column as text and enter it again"
        )
    return text_of_cell(value)


def _checked_cells(text: bytes, path: str | os.PathLike[str]) -> list[str]:
    """Return notes on cells of a sheet that have no value; reject what readers would not notice or survive.

    A cell far out would take more memory than there is, and of two rows with one number the last would win.
    """
    formulas: list[str] = []
    faults: list[str] = []
    numbers: set[int] = set()
    last, width = 0, 26
    special = b"<f" in text or b":f" in text or b'"e"' in text or b"'e'" in text
    for row in _ROW.finditer(text):
        attributes, inner = row[1], row[2] or b""
        named = _PLACE.search(attributes)
        last = int(named[2]) if named else last + 1
        places = [
            (column.upper(), int(number))
            for cell in _CELL.finditer(inner)
            for column, number in _PLACE.findall(cell[1])
        ]
        outside = [number for _, number in places if number != last]
        if outside or not 0 < last <= _MOST_ROWS:
            number = outside[0] if outside else last
            raise InputError(f"{path} has a cell in row {number:,} that no sheet can have there")
        if places and (last in numbers or len(set(places)) < len(places)):
            raise InputError(f"{path} has row {last:,} twice; save it again as .xlsx")
        numbers |= {last} if places else set()
        width = max([width, *(_number_of(column) for column, _ in places if len(column) > 1)])
        for cell in _CELL.finditer(inner) if special else ():
            place, kind = _PLACE.search(cell[1]), _TYPE.search(cell[1])
            name = (place[1] + place[2]).decode() if place else "?"
            content = cell[2] or b""
            type_name = None if kind is None else kind[1]
            if type_name == b"e" and b"#N/A" not in content:
                faults.append(name)
            elif re.search(rb"<(?:\w+:)?f\b", content) and not _VALUE.search(content) and type_name != b"str":
                formulas.append(name)
    if width > _MOST_COLUMNS or max(numbers, default=0) * width > _MOST_CELLS:
        raise InputError(f"{path} has cells in {width:,} columns; save the table alone as .csv")
    return [
        *_cells_note(formulas, "a formula", "formulas", " without a saved value", "; open and save the file"),
        *_cells_note(faults, "an error", "errors"),
    ]


def _number_of(column: bytes) -> int:
    """Return the number of a column.

    >>> _number_of(b"A"), _number_of(b"AB")
    (1, 28)
    """
    number = 0
    for letter in column:
        number = 26 * number + letter - ord("A") + 1
    return number


def _cells_note(names: list[str], single: str, plural: str, how: str = "", remedy: str = "") -> list[str]:
    """Return a note on cells that are taken as empty, if there are any."""
    if not names:
        return []
    found = f"{len(names):,} cells hold {plural}" if len(names) > 1 else f"a cell holds {single}"
    return [f"{found}{how} (first: {names[0]}), taken as empty{remedy}"]


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[Any, zipfile.ZipFile]]:
    """Open a spreadsheet, and turn readers' errors into one clear message."""
    from python_calamine import CalamineWorkbook

    try:
        with open(path, "rb") as file:
            if file.read(len(_OLD)) == _OLD:
                raise FileError(
                    f"{path} is a spreadsheet with a password, or an old .xls; save it again as .xlsx, "
                    "without a password"
                )
        with zipfile.ZipFile(path) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > _LARGEST:
                raise FileError(f"{path} is larger than 1 GiB, unpacked; save it as .csv")
            with CalamineWorkbook.from_path(str(path)) as book:
                yield book, packed
    except CovoteError:
        raise
    except FileNotFoundError as error:
        raise no_file(path) from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # the libraries underneath have many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"{path} cannot be read as a spreadsheet: {reason}; save it again as .xlsx"
        ) from error


def _places(packed: zipfile.ZipFile) -> dict[str, str]:
    """Return where the text of each sheet is, by its name."""
    linked = ElementTree.fromstring(packed.read("xl/_rels/workbook.xml.rels"))
    targets = {link.get("Id"): link.get("Target", "") for link in linked}
    found: dict[str, str] = {}
    for element in ElementTree.fromstring(packed.read("xl/workbook.xml")).iter():
        if element.tag.endswith("}sheet"):
            key = next((value for name, value in element.items() if name.endswith("}id")), None)
            found[element.get("name", "")] = posixpath.join("/xl", targets.get(key, "")).lstrip("/")
    return found


def write_sheet(
    path: str | os.PathLike[str],
    rows: Sequence[Sequence[Any]],
    choices: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write rows as a sheet whose heading stays in view; text stays text, even if it begins like a formula.

    Cells of the columns in `choices` offer a list to choose from. Numbers with more digits than a spreadsheet
    keeps are written as text.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    as_text = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    cells = [[_cell_value(value) for value in row] for row in rows]
    # In memory: an archive that a full disk cuts off would complain when it is closed for the second time.
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed, {**as_text, "in_memory": True})
    page = book.add_worksheet("covote")
    for number, row in enumerate(cells):
        page.write_row(number, 0, row)
    if cells:
        page.set_row(0, None, book.add_format({"bold": True}))
        page.freeze_panes(1, 0)
        page.autofilter(0, 0, len(cells) - 1, len(cells[0]) - 1)
    for column in range(len(cells[0]) if cells else 0):
        longest = max(len(str(row[column])) for row in cells[:_MEASURED] if row[column] is not None)
        page.set_column(column, column, min(max(longest, 6) + 2, _WIDEST))
    for place, (name, listed) in enumerate((choices or {}).items()):
        _offer(book, page, place, cells[0].index(name), len(cells), listed)
    try:
        book.close()
    except XlsxWriterException as error:
        raise FileError(f"cannot write {path}: {error}") from error
    Path(path).write_bytes(packed.getbuffer())


def _offer(book: Any, page: Any, place: int, column: int, rows: int, listed: Sequence[str]) -> None:
    """Let the cells of a column be chosen from a list, which a hidden sheet holds."""
    hidden = book.get_worksheet_by_name(_LISTS) or book.add_worksheet(_LISTS)
    hidden.hide()
    hidden.write_column(0, place, listed)
    letter = "ABCDEFGHIJ"[place]
    source = f"={_LISTS}!${letter}$1:${letter}${len(listed)}"
    page.data_validation(1, column, max(rows - 1, 1), column, {"validate": "list", "source": source})


def _cell_value(value: Any) -> Any:
    """Return a value as it is written to a cell."""
    if isinstance(value, str):
        if _CONTROL.search(value):
            raise InputError("a name has characters that a spreadsheet cannot hold; write a .csv file")
        if len(value) > _LONGEST:
            raise InputError(
                f"a text of {len(value):,} letters is longer than a cell of a spreadsheet ({_LONGEST:,}); "
                "write a .csv file"
            )
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and float(f"{value:.15g}") != value:
        return str(value)
    return value


def text_of_cell(value: Any) -> str:
    """Return a cell as it is displayed."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value).strip()
