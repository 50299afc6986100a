"""Spreadsheets: the cells of the first sheet that has any, as they are displayed, with their row numbers."""

from __future__ import annotations

import datetime
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from covote.errors import CovoteError, FileError, InputError

_LARGEST = 1 << 30  # bytes of a spreadsheet, unpacked: a small file may be a ZIP bomb
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14  # of a sheet, as the format has it
_MOST_CELLS = 1 << 26  # of a table, empty ones included
_EXACT = 10**15  # spreadsheets keep 15 digits of a number


class Row(list[str]):
    """The cells of a row, with its number in the sheet, from 1 on."""

    number: int

    @classmethod
    def like(cls, row: list[str], cells: Iterable[str]) -> list[str]:
        """Return other cells with the number of a row, if it has one."""
        if not isinstance(row, Row):
            return list(cells)
        found = cls(cells)
        found.number = row.number
        return found


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


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Return the cells of the first sheet of a spreadsheet that has any."""
    with _book(path) as book:
        for page in book.worksheets:
            cells, formulas = _cells(page, path)
            if not cells:
                continue
            numbers = sorted({row for row, _ in cells})
            width = max(column for _, column in cells)
            if len(numbers) * width > _MOST_CELLS:
                raise InputError(f"{path} has cells in {width:,} columns; save the table alone as .csv")
            rows = [Row(cells.get((n, c), "") for c in range(1, width + 1)) for n in numbers]
            for row, number in zip(rows, numbers, strict=True):
                row.number = number
            return Sheet(rows, (*_others(book, page), *_unsaved(formulas)))
    raise InputError(f"{path} is empty: it has no cells")


def _others(book: Any, page: Any) -> list[str]:
    others = [repr(other.title) for other in book.worksheets if other is not page]
    return [f"the sheet {page.title!r} is read; not read: {', '.join(others)}"] if others else []


def _unsaved(formulas: list[str]) -> list[str]:
    if not formulas:
        return []
    many = f"{len(formulas):,} cells hold formulas" if len(formulas) > 1 else "a cell holds a formula"
    return [f"{many} without a saved value (first: {formulas[0]}), taken as empty; open and save the file"]


def _cells(page: Any, path: str | os.PathLike[str]) -> tuple[dict[tuple[int, int], str], list[str]]:
    """Return the cells of a sheet that are not empty, by row and column, and formulas without a value.

    openpyxl's own loop fills up missing rows one by one, however many, and leaves out rows that are not in
    order. So the cells are taken from its parser, each with its own place.
    """
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    formulas: list[str] = []

    class Parser(WorkSheetParser):  # type: ignore[misc]
        def parse_cell(self, element: Any) -> Any:
            cell = super().parse_cell(element)
            if cell["value"] is None and element.find(FORMULA_TAG) is not None:
                formulas.append(str(element.get("r", "?")))
            return cell

    found: dict[tuple[int, int], str] = {}
    book = page.parent
    with page._get_source() as source:
        parser = Parser(
            source,
            page._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        for number, row in parser.parse():
            for cell in row:
                place = cell["row"], cell["column"]
                there = 0 < number <= _MOST_ROWS and cell["column"] <= _MOST_COLUMNS
                if cell["row"] != number or not there:
                    raise InputError(f"{path} has a cell in row {cell['row']:,} that no sheet can have there")
                text = _text(cell["value"], path, place)
                if text and found.setdefault(place, text) != text:
                    raise InputError(f"{path} has row {number:,} twice; save it again as .xlsx")
        merged = parser.merged_cells
    for area in merged.mergeCell if merged is not None else ():
        if area.min_col == area.max_col:  # one value for several rows
            value = found.get((area.min_row, area.min_col))
            for number in range(area.min_row + 1, min(area.max_row, _MOST_ROWS) + 1) if value else ():
                found.setdefault((number, area.min_col), str(value))
    return found, formulas


def _text(value: Any, path: str | os.PathLike[str], place: tuple[int, int]) -> str:
    if isinstance(value, float) and abs(value) >= _EXACT and value.is_integer():
        raise InputError(
            f"{path}, row {place[0]}: the number {value:.0f} has more digits than a spreadsheet keeps, so "
            "different ones may look the same; format the column as text and enter it again"
        )
    return text_of_cell(value)


@contextmanager
def _book(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a spreadsheet, and turn readers' errors into one clear message."""
    openpyxl = _openpyxl()
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > _LARGEST:
                raise FileError(f"{path} is larger than 1 GiB, unpacked; save it as .csv")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            yield book
        finally:
            book.close()
    except CovoteError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # the libraries underneath have many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"{path} cannot be read as a spreadsheet: {reason}; save it again as .xlsx"
        ) from error


def write_sheet(path: str | os.PathLike[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows as the only sheet of a spreadsheet; text stays text, even if it begins like a formula."""
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet("covote")
    try:
        for row in rows:
            cells = [openpyxl.cell.WriteOnlyCell(page, value) for value in row]
            for cell in cells:
                if cell.data_type == "f":
                    cell.data_type = "s"
            page.append(cells)
    except openpyxl.utils.exceptions.IllegalCharacterError as error:
        page.close()  # or openpyxl complains on stderr when it is collected
        raise InputError("a name has characters that a spreadsheet cannot hold; write a .csv file") from error
    with Path(path).open("wb") as file:
        book.save(file)


def _openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.cell
        import openpyxl.utils.exceptions
    except ImportError as error:
        raise InputError(
            "spreadsheets (.xlsx) need openpyxl; pip install 'covote[xlsx]', or save it as .csv"
        ) from error
    return openpyxl


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
