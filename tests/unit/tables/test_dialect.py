"""Tables of text: one dialect for votes, panels, gold items and names, the same as in spreadsheets."""

import gzip

import pytest

from covote import Panel, Votes
from covote.errors import FileError, InputError
from covote.files import VoteFile, read_gold
from covote.tables import table_file
from covote.tables.sheets import write_sheet
from covote.tables.table_file import TableFile

PANEL = Panel.from_blocks(["cat", "dog"], [["cat", "dog"], ["cat", "dog"]], ["ann", "bob"])
WIDE = [["item", "ann", "bob"], ["a", "cat", "dog"], ["b", "dog", "dog"]]
FEET = {
    "a sum": [["Total", "2", "2"]],
    "a sum after an empty row": [["", "", ""], ["Summe:", "2", "2"]],
    "a note": [["", "", ""], ["Note: b is blurred, said Zoë", "", ""]],
    "several": [["Total", "2", "2"], ["", "", ""], ["made by K. Lee", "", ""], ["final", "", ""]],
}


def write(path, rows):
    if path.suffix == ".xlsx":
        write_sheet(path, [[cell or None for cell in row] for row in rows])
        return path
    quoted = [[f'"{cell}"' if "," in cell else cell for cell in row] for row in rows]
    path.write_text("\n".join(map(",".join, quoted)) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("foot", FEET.values(), ids=FEET)
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("size", [2, 9000])
def test_what_stands_below_a_table_is_ignored(tmp_path, foot, ending, size):
    rows = [[f"i{n}", "cat", "dog"] for n in range(size)]
    path = write(tmp_path / f"votes.{ending}", [["Votes of May", "", ""], WIDE[0], *rows, *foot])
    file = VoteFile(path, PANEL)
    assert file.read().items.tolist() == [row[0] for row in rows]
    assert "below the table" in " | ".join(file.notes())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_foot_in_any_encoding(tmp_path, encoding):
    rows = [*WIDE, ["", "", ""], ["Zoë war es", "", ""]]
    (tmp_path / "votes.csv").write_bytes("\r\n".join(map(";".join, rows)).encode(encoding))
    assert Votes.load(tmp_path / "votes.csv", PANEL).items.tolist() == ["a", "b"]


def test_the_last_rows_of_a_table_are_no_foot(tmp_path):
    rows = [*WIDE, ["total", "cat", ""], ["", "", ""], ["c", "cat", ""]]
    assert Votes.load(write(tmp_path / "votes.csv", rows), PANEL).items.tolist() == ["a", "b", "total", "c"]


SPACED = {
    "before": 'item, ann, bob\na, "cat", "dog"\nb, "dog", "dog"\n',
    "around": '"item" , "ann" , "bob"\n "a" , "cat" ,"dog"\n"b","dog" , "dog" \n',
    "lines in cells": 'item, ann, bob, text\na, "cat", "dog", "two\nlines"\nb, "dog", "dog", ""\n',
}


@pytest.mark.parametrize("text", SPACED.values(), ids=SPACED)
@pytest.mark.parametrize("packed", [False, True])
def test_blanks_around_quotes_do_not_matter(tmp_path, monkeypatch, text, packed):
    monkeypatch.setattr(table_file, "ROWS", 1)
    path = tmp_path / ("votes.csv.gz" if packed else "votes.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    votes = Votes.load(path, PANEL, match="exact")
    assert (votes.items.tolist(), votes.dense.tolist()) == (["a", "b"], [[0, 1], [1, 1]])


def test_a_row_of_another_length_and_an_open_quote_are_named(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text('item, ann, bob\na, "cat"\n')
    with pytest.raises(FileError, match="expected 3 columns, got 2: a,cat"):
        Votes.load(path, PANEL)
    path.write_text('item, ann, bob\na, "cat", "dog\n')
    with pytest.raises(FileError, match="unexpected end of data"):
        Votes.load(path, PANEL)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_panels_votes_gold_and_names_have_one_dialect(tmp_path, mark):
    def text(*rows):
        return "\n".join((mark + " ").join(f'"{cell}"' for cell in row) for row in rows).encode("cp1252")

    (tmp_path / "panel.csv").write_bytes(text(["expert", "cat", "é"], ["ann", "x", "x"], ["bob", "x", ""]))
    (tmp_path / "votes.csv").write_bytes(
        text(["item", "expert", "label"], ["1", "ann", "é"], ["2", "b", "cat"])
    )
    (tmp_path / "gold.csv").write_bytes(text(["item", "label"], ["1", "é"]))
    (tmp_path / "names.csv").write_bytes(text(["votes", "panel"], ["b", "bob"]))
    panel = Panel.load(tmp_path / "panel.csv")
    votes = Votes.load(tmp_path / "votes.csv", panel, rename=tmp_path / "names.csv")
    assert votes.dense.tolist() == [[1, -1], [-1, 0]]
    assert read_gold(tmp_path / "gold.csv", panel) == {1: "é"}


def test_headings_have_no_blanks_and_two_of_one_name_are_refused(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(" item , ann ,bob \na,cat,dog\n")
    assert TableFile(path).names == ["item", "ann", "bob"]
    path.write_text("item,ann, ann\na,cat,dog\n")
    with pytest.raises(InputError, match="two columns 'ann'"):
        TableFile(path)
