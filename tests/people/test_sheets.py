"""Spreadsheets as people make them: titles, notes, sums, blanks, scripts.

Each table is accepted as what is expected of it, or rejected with everything that is wrong. Tables are
written as .xlsx files, and as .csv files as well where nothing in them is a spreadsheet's own.
"""

import csv
import datetime
from dataclasses import dataclass, field
from typing import Any

import openpyxl
import pytest

from covote import CovoteError, Panel, ReadOptions
from covote.files import VoteFile

A, B, C = "melanoma", "nævus", "eczéma"
CLINIC = {"Dr. Lee": [A, B], "Müller": [B, C], "Zoë": [A, C]}
ANSWERS = {"img1": [A, B, A], "img2": [B, B, C], "img3": [A, C, C]}
LONG = [["item", "expert", "label"]] + [
    [item, name, said] for item, row in ANSWERS.items() for name, said in zip(CLINIC, row, strict=True)
]
WIDE = [["item", *CLINIC], *([item, *row] for item, row in ANSWERS.items())]
MATRIX = [["expert", A, B, C], ["Dr. Lee", "x", "x", ""], ["Müller", "", "x", "x"], ["Zoë", "x", "", "x"]]
DOWN = [list(row) for row in zip(*MATRIX, strict=True)][1:]


@dataclass
class Table:
    """A table; `expected` are its votes or blocks, where they are not those of the clinic."""

    name: str
    rows: list[list[Any]]
    expected: Any = None
    rejected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    panel: dict[str, list[Any]] = field(default_factory=lambda: CLINIC)
    options: dict[str, Any] = field(default_factory=dict)
    merged: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    cost: list[float] | None = None
    text: bool = True
    """Whether it can be a .csv file, too."""

    def write(self, path):
        if path.suffix == ".csv":
            width = max(map(len, self.rows))
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([*row, *[None] * (width - len(row))] for row in self.rows)
            return
        book = openpyxl.Workbook()
        page = book.active
        for number, row in enumerate(self.rows, start=1):
            for column, value in enumerate(row, start=1):
                if value is not None:
                    page.cell(number, column, value)
        for area in self.merged:
            page.merge_cells(area)
        for name in self.sheets:
            book.create_sheet(name).append(["something else"])
        book.save(path)


def changed(rows, *changes):
    """Return rows in which some texts are others."""
    swap = dict(changes)
    return [[swap.get(cell, cell) for cell in row] for row in rows]


def known(*names):
    """Return a panel of two experts who know these classes."""
    return {"ann": list(names), "bob": list(names)}


def said(*labels):
    """Return a long table in which ann says these labels of items 1, 2, ..."""
    return [["item", "expert", "label"], *([n, "ann", label] for n, label in enumerate(labels, start=1))]


VOTES = [
    # Above and below the table
    Table("title", [["Votes of May"], *LONG], notes=("a row above the heading",)),
    Table("title, wide", [["Clinic North"], [], *WIDE], notes=("a row above the heading",)),
    Table("title and date", [["Votes"], ["exported", "2024-05-01"], [], *LONG], notes=("2 rows above",)),
    Table("who made it", [["made by", "K. Lee"], ["version", "3"], *WIDE], notes=("2 rows above",)),
    Table("merged title", [["Votes of May"], *WIDE], merged=("A1:D1",), text=False),
    Table("note below", [*WIDE, [], ["Note: img2 is blurred."]], notes=("below the table are ignored",)),
    Table("notes below", [*WIDE, [], ["checked by KL"], ["final"]], notes=("(row 6, 7)",), text=False),
    Table("sums below", [*WIDE, ["Total", 3, 3, 3]], notes=("sums below the table are ignored",)),
    Table("Summe below", [*WIDE, [], ["Summe:", 3, 3, 3]], notes=("ignored",)),
    Table("title and note", [["May"], *WIDE, [], ["the end"]], notes=("a row above", "notes or sums below")),
    Table("empty rows", [LONG[0], [], *LONG[1:4], [], *LONG[4:]]),
    Table("starts in column B", [[None, *row] for row in LONG]),
    Table("starts in B3", [[], [], *([None, *row] for row in WIDE)]),
    Table("other sheets", WIDE, sheets=("Legend", "Old"), notes=("not read: 'Legend', 'Old'",), text=False),
    Table(
        "comments beside", [[*row, note] for row, note in zip(WIDE, ["Comment", "ok", "", "?"], strict=True)]
    ),
    Table(
        "items merged over their rows",
        [[row[0] if n % 3 == 1 or not n else None, *row[1:]] for n, row in enumerate(LONG)],
        merged=("A2:A4", "A5:A7", "A8:A10"),
        text=False,
    ),
    # No answer
    Table("?", [*LONG, ["img4", "Zoë", "?"]], notes=("read as no answer: '?'",)),
    Table("k.A.", [*LONG, ["img4", "Zoë", "k.A."]], notes=("read as no answer: 'k.A.'",)),
    Table("unknown", [*LONG, ["img4", "Zoë", "unknown"]], notes=("read as no answer: 'unknown'",)),
    Table("n/a and -", [*WIDE, ["img4", "n/a", "-", "N/A"]], notes=("'-', 'N/A', 'n/a'",)),
    Table("a word of theirs", [*WIDE, ["img4", "pass", None, None]], options={"blank": "pass"}),
    Table("in other letters", [*WIDE, ["img4", "PASS", None, None]], options={"blank": ("pass", "later")}),
    Table(
        "a class called unknown",
        said("unknown", "cat"),
        [[1, "unknown"], [2, "cat"]],
        panel=known("unknown", "cat"),
    ),
    Table("renamed to nothing", [*WIDE, ["img4", "tbd", None, None]], options={"rename": {"tbd": ""}}),
    # Names
    Table("no dot", changed(LONG, ("Dr. Lee", "Dr Lee")), notes=("'Dr Lee' as 'Dr. Lee'",)),
    Table("no blank", changed(WIDE, ("Dr. Lee", "DR.LEE"))),
    Table("a hyphen", changed(LONG, ("Dr. Lee", "dr-lee"))),
    Table("an underscore", changed(LONG, ("Dr. Lee", "dr_lee"))),
    Table("no umlaut", changed(LONG, ("Müller", "Muller"), ("Zoë", "ZOE"))),
    Table("full width", changed(LONG, (A, "ＭＥＬＡＮＯＭＡ"))),
    Table("no-break space", changed(LONG, ("Dr. Lee", "Dr.\u00a0Lee"))),
    Table("invisible letters", changed(LONG, (A, "mela\u200bnoma"), (C, "ecze\u0301ma\ufeff"))),
    Table("a ligature", changed(LONG, (B, "naevus"))),
    Table(
        "blanks around items",
        changed(LONG, ("img1", "img1 "), ("img2", "\u00a0img2"))[:1] + changed(LONG[1:], ("img2", "img2  ")),
        text=True,
    ),
    Table(
        "ё and е", said("чёрный", "ЧЁРНЫЙ"), [[1, "черный"], [2, "черный"]], panel=known("черный", "белый")
    ),
    Table(
        "Greek accents", said("ΚΑΛΌΣ", "κακός"), [[1, "καλός"], [2, "κακός"]], panel=known("καλός", "κακός")
    ),
    Table("Hebrew points", said("שָׁלוֹם"), [[1, "שלום"]], panel=known("שלום", "אור")),
    Table("Arabic tatweel", said("قـلب"), [[1, "قلب"]], panel=known("قلب", "كبد")),
    Table("apostrophes", said("O’Neil", "oneil"), [[1, "O'Neil"], [2, "O'Neil"]], panel=known("O'Neil", "b")),
    Table(
        "dashes",
        said("non–small", "NON SMALL"),
        [[1, "non-small"], [2, "non-small"]],
        panel=known("non-small", "b"),
    ),
    Table("signs kept", said("HER2+", "her2-"), [[1, "HER2+"], [2, "HER2-"]], panel=known("HER2+", "HER2-")),
    Table(
        "both in the panel",
        said("Muller", "müller"),
        [[1, "Muller"], [2, "Müller"]],
        panel=known("Müller", "Muller"),
    ),
    # Rows and cells
    Table("a copy of a row", [*WIDE, WIDE[1]]),
    Table("the last row counts", [WIDE[0], ["img1", B, C, C], *WIDE[1:]], options={"duplicates": "last"}),
    Table("numbers", said(1, 2.0), [[1, 1], [2, 2]], panel=known(1, 2)),
    Table(
        "dates as items",
        [LONG[0], [datetime.date(2024, 5, 1), "Zoë", A]],
        [["2024-05-01", "Zoë", A]],
    ),
    Table(
        "yes and no", said(True, False), [[1, "true"], [2, "false"]], panel=known("true", "false"), text=False
    ),
    # Rejected
    Table("ñ is not n", said("cana"), rejected=("row 2", "'cana'"), panel=known("caña", "b"), text=False),
    Table("バ is not ハ", said("ハラ"), rejected=("'ハラ'",), panel=known("バラ", "b")),
    Table("й is not и", said("мои"), rejected=("'мои'",), panel=known("мой", "b")),
    Table("dotless i", said("kırık"), rejected=("'kırık'",), panel=known("kirik", "b")),
    Table("ø is not o", said("bor"), rejected=("'bor'",), panel=known("bør", "b")),
    Table("1.5 is not 15", said("grade 15"), rejected=("'grade 15'",), panel=known("grade 1.5", "b")),
    Table("x² is not x2", said("x2"), rejected=("'x2'",), panel=known("x²", "b")),
    Table("C is not C++", said("C++"), rejected=("'C++'",), panel=known("C", "b")),
    Table("two spellings", [*LONG, ["img4", "Muller", B]], rejected=("'Muller' and 'Müller'", "--rename")),
    Table("17 digits", [LONG[0], [12345678901234567.0, "Zoë", A]], rejected=("row 2", "as text"), text=False),
    Table("two rows of an item", [*WIDE, ["img1", B, B, A]], rejected=("'img1'", "--duplicates"), text=False),
    Table(
        "rows as the sheet has them",
        [["May"], [], *LONG[:3], [], ["img9", "Who", A], ["img9", "Zoë", "wart"]],
        rejected=("'Who' (1 answer, in row 7)", "'wart' (1 answer, in row 8)"),
        text=False,
    ),
    Table("a column twice", [[*row, row[1]] for row in WIDE], rejected=("two columns 'Dr. Lee'",)),
    Table(
        "probabilities twice",
        [[*row, p, p] for row, p in zip(LONG, ["probability", *[0.5] * 9], strict=True)],
        rejected=("two columns 'probability'",),
    ),
    Table("no heading", LONG[1:], rejected=("item,expert,label",)),
    Table(
        "everything at once",
        [*LONG, ["img4", "Who", A], ["img5", "Zoë", "warts"], [None, "Zoë", A]],
        rejected=("'Who'", "'warts'", "no item"),
    ),
]

PANELS = [
    Table("title", [["Who knows what"], [], *MATRIX]),
    Table("two titles", [["Clinic North"], ["Who knows what"], *MATRIX]),
    Table("legend below", [*MATRIX, [], ["x = knows the disease"]]),
    Table("note below", [*MATRIX, [], ["Note: as of May 2024, after the meeting."]]),
    Table("star below", [*MATRIX, ["* on leave until June"]]),
    Table(
        "sums at both edges", [[*MATRIX[0], "Total"], *([*row, 2] for row in MATRIX[1:]), ["Sum", 2, 2, 2, 6]]
    ),
    Table("Summe:", [*MATRIX, ["Summe:", 2, 2, 2]]),
    Table(
        "cost per hour",
        [
            [*MATRIX[0], "Cost per hour (EUR)"],
            *([*r, c] for r, c in zip(MATRIX[1:], [80, "90 €", "70,5"], strict=True)),
        ],
        cost=[80, 90, 70.5],
    ),
    Table(
        "Kosten/Stunde first",
        [[row[0], c, *row[1:]] for row, c in zip(MATRIX, ["Kosten/Stunde", 1, 2, 3], strict=True)],
        cost=[1, 2, 3],
    ),
    Table("cost in a row", [["", *CLINIC], *DOWN, ["cost per hour", 80, 90, 70]], cost=[80, 90, 70]),
    Table("classes down, sums", [["class", *CLINIC], *DOWN, ["Total", 2, 2, 2]]),
    Table(
        "comments",
        [[*row, note] for row, note in zip(MATRIX, ["Comment", "part time", "", "from May"], strict=True)],
    ),
    Table(
        "e-mail",
        [
            [row[0], mail, *row[1:]]
            for row, mail in zip(MATRIX, ["E-mail", "l@x.org", "m@x.org", "z@x.org"], strict=True)
        ],
    ),
    Table("empty rows", [MATRIX[0], [], MATRIX[1], [], *MATRIX[2:]]),
    Table("starts in C4", [[], [], [], *([None, None, *row] for row in MATRIX)]),
    Table(
        "title above pairs",
        [["Who knows what"], ["doctor", "disease"], *([n, k] for n, ks in CLINIC.items() for k in ks)],
    ),
    Table(
        "title above lists",
        [["Who knows what"], ["Doctor", "Knows"], *([n, ", ".join(ks)] for n, ks in CLINIC.items())],
    ),
    Table("other sheets", MATRIX, sheets=("Old",), text=False),
    Table(
        "wrong marks",
        [["Who knows what"], [], MATRIX[0], ["Dr. Lee", "x", "maybe", ""], [], ["Zoë", "??", "x", ""]],
        rejected=("column 'melanoma' has '??' (row 6)", "column 'nævus' has 'maybe' (row 4)"),
    ),
    Table(
        "wrong costs",
        [
            [*MATRIX[0], "price"],
            *([*row, c] for row, c in zip(MATRIX[1:], ["dear", 1, "cheap"], strict=True)),
        ],
        rejected=("row 2 has cost 'dear'", "row 4 has cost 'cheap'"),
    ),
    Table("somebody twice", [*MATRIX, MATRIX[1]], rejected=("'Dr. Lee' appears twice",)),
    Table("no expert", [*MATRIX, [None, "x", "", ""]], rejected=("row 5 has no expert",)),
]


def files(tables):
    return [
        pytest.param(table, ending, id=f"{table.name}{ending}")
        for table in tables
        for ending in (".xlsx", *([".csv"] if table.text else []))
    ]


def test_there_are_sixty_more():
    assert len({("votes", t.name) for t in VOTES} | {("panel", t.name) for t in PANELS}) >= 60


@pytest.mark.parametrize(("table", "ending"), files(VOTES))
def test_votes(tmp_path, table, ending):
    path = tmp_path / f"votes{ending}"
    table.write(path)
    classes = list(dict.fromkeys(name for names in table.panel.values() for name in names))
    panel = Panel.from_blocks(classes, list(table.panel.values()), list(table.panel))
    if table.rejected:
        with pytest.raises(CovoteError) as caught:
            VoteFile(path, panel, ReadOptions(**table.options)).read()
        message = str(caught.value)
        assert [words for words in (path.name, *table.rejected) if words not in message] == [], message
        assert "\n" not in message
        return
    file = VoteFile(path, panel, ReadOptions(**table.options))
    rows = file.read().to_arrow().to_pylist()
    found = sorted([str(row["item"]), row["expert"], str(row["label"])] for row in rows)
    expected = LONG[1:] if table.expected is None else table.expected
    expected = [[row[0], "ann", row[1]] if len(row) == 2 else row for row in expected]
    assert found == sorted([str(cell) for cell in row] for row in expected)
    notes = " | ".join(file.notes())
    assert [words for words in table.notes if words not in notes] == [], notes


@pytest.mark.parametrize(("table", "ending"), files(PANELS))
def test_panels(tmp_path, table, ending):
    path = tmp_path / f"panel{ending}"
    table.write(path)
    if table.rejected:
        with pytest.raises(CovoteError) as caught:
            Panel.load(path)
        message = str(caught.value)
        assert [words for words in (path.name, *table.rejected) if words not in message] == [], message
        return
    panel = Panel.load(path)
    found = {name: sorted(known) for name, known in zip(panel.names, panel.blocks(), strict=True)}
    assert found == {name: sorted(known) for name, known in CLINIC.items()}
    assert panel.cost.tolist() == (table.cost or [1, 1, 1])
