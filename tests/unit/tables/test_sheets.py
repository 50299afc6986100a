"""Spreadsheets: what is written, and what a reader of cells would not notice or survive."""

import gc
import zipfile

import pyarrow as pa
import pytest

from covote import Votes
from covote.errors import InputError
from covote.tables.sheets import read_sheet, write_sheet
from covote.tables.writing import open_writer


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_character_that_a_sheet_cannot_hold_is_one_error_and_nothing_else(tmp_path, capfd):
    with pytest.raises(InputError, match="characters that a spreadsheet cannot hold"):
        write_sheet(tmp_path / "labels.xlsx", [["item"], ["a\x0bb"]])
    gc.collect()
    assert capfd.readouterr().err == ""
    assert not (tmp_path / "labels.xlsx").exists()


def test_a_text_that_would_be_cut_is_refused(tmp_path):
    with pytest.raises(InputError, match="40,000 letters"):
        write_sheet(tmp_path / "labels.xlsx", [["item"], ["a" * 40_000]])


@pytest.mark.parametrize("ending", ["xlsx", "jsonl", "csv"])
def test_numbers_that_nearly_agree_stay_apart(tmp_path, ending):
    items = [0.3, 0.1 + 0.2, 2**60 + 1, 1e15 + 1, 123456.7]
    path = tmp_path / f"votes.{ending}"
    table = pa.table({"item": pa.array(items[:2] + items[4:]), "expert": ["ann"] * 3, "label": ["a"] * 3})
    with open_writer(path) as writer:
        writer.write_batch(table.to_batches()[0])
    assert list(map(float, Votes.load(path).items)) == [0.3, 0.1 + 0.2, 123456.7]
    write_sheet(tmp_path / "x.xlsx", [["item"], *([item] for item in items)])
    assert [row[0] for row in read_sheet(tmp_path / "x.xlsx").rows[1:]] == list(
        map(str, (0.3, 0.1 + 0.2, 2**60 + 1, 1e15 + 1, 123456.7))
    )


def with_rows(path, rows):
    """Write a sheet whose rows are given as XML."""
    write_sheet(path, [["a"]])
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    start, end = sheet.index(b"<sheetData>") + len(b"<sheetData>"), sheet.index(b"</sheetData>")
    parts["xl/worksheets/sheet1.xml"] = sheet[:start] + rows.encode() + sheet[end:]
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return path


def cell(place, inner="<v>1</v>", kind="n"):
    return f'<c r="{place}" t="{kind}">{inner}</c>'


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (f'<row r="1">{cell("A1")}</row><row r="1">{cell("A1")}</row>', "row 1 twice"),
        (f'<row r="1">{cell("A1")}{cell("A1")}</row>', "row 1 twice"),
        (f'<row r="1">{cell("A9")}</row>', "a cell in row 9 that no sheet"),
        (f'<row r="1">{cell("A1")}</row><row r="1048576">{cell("XFD1048576")}</row>', "in 16,384 columns"),
        (f'<row r="2000000">{cell("A2000000")}</row>', "row 2,000,000 that no sheet"),
        (f'<row r="1000000000">{cell("A1000000000")}</row>', "row 1,000,000,000 that no sheet"),
        (f'<row r="1">{cell("A1")}{cell("AAAAAA1")}</row>', "in 12,356,631 columns"),
    ],
)
def test_cells_that_would_be_lost_or_fill_the_memory_are_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        read_sheet(with_rows(tmp_path / "x.xlsx", rows))


def test_cells_without_a_value_are_reported(tmp_path):
    formulas = (
        cell("B1", "<f>1+1</f><v>2</v>")
        + cell("C1", "<f>1+1</f><v/>")
        + cell("D1", "<f>A1</f><v></v>", "str")
    )
    faults = cell("E1", "<f>1/0</f><v>#DIV/0!</v>", "e") + cell("F1", "<v>#N/A</v>", "e")
    sheet = read_sheet(with_rows(tmp_path / "x.xlsx", f'<row r="1">{cell("A1")}{formulas}{faults}</row>'))
    assert sheet.rows == [["1", "2"]]
    assert sheet.notes == (
        "a cell holds a formula without a saved value (first: C1), taken as empty; open and save the file",
        "a cell holds an error (first: E1), taken as empty",
    )
