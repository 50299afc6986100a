"""Fifty more tables as laboratories, offices and programs in several languages write them.

Each is accepted with the expected answers, or refused in one message that names everything that is wrong.
"""

import csv
import datetime
import io
import json
from dataclasses import dataclass, field
from typing import Any

import openpyxl
import pytest
import xlsxwriter

from covote import CovoteError, Panel, ReadOptions
from covote.files import VoteFile

A, B, C = "Mélanome", "Nævus", "Eczéma"
LEE, BO, ZOE = "Dr Anne Lee", "Dr Bo Müller", "Pr Zoé Cho"
KNOWS = {LEE: [A, B], BO: [B, C], ZOE: [A, C]}
ANSWERS = {"K1": [A, B, A], "K2": [B, B, C], "K3": [A, C, C]}
LONG = [[item, name, said] for item, row in ANSWERS.items() for name, said in zip(KNOWS, row, strict=True)]
HEAD = ["Cas", LEE, BO, ZOE]
WIDE = [HEAD, *([item, *row] for item, row in ANSWERS.items())]
TICKS = [["Médecin", A, B, C], [LEE, "x", "x", ""], [BO, "", "x", "x"], [ZOE, "x", "", "x"]]
TURNED = [list(row) for row in zip(*TICKS, strict=True)]
DAY = datetime.date(2026, 3, 4)
CYRILLIC = {"Иванова": ["кошка", "собака"], "Петров": ["собака", "лиса"]}
CHINESE = {"王医生": ["猫", "狗"], "李医生": ["狗", "狐"]}


@dataclass
class Case:
    """A file; `expected` are its answers or blocks, where they are not those of the clinic."""

    name: str
    rows: list[list[Any]] | bytes
    ending: str = ".xlsx"
    expected: Any = None
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    panel: dict[Any, list[Any]] = field(default_factory=lambda: KNOWS)
    options: dict[str, Any] = field(default_factory=dict)
    merged: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    def write(self, path):
        if isinstance(self.rows, bytes):
            path.write_bytes(self.rows)
        elif path.suffix == ".xlsx":
            book = openpyxl.Workbook()
            for r, row in enumerate(self.rows, start=1):
                for c, value in enumerate(row, start=1):
                    if value is not None:
                        book.active.cell(r, c, value)
            for area in self.merged:
                book.active.merge_cells(area)
            book.save(path)
        else:
            path.write_bytes(text_of(self.rows).encode())


def text_of(rows, mark=",", quoting=csv.QUOTE_MINIMAL):
    """Return rows as CSV."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark, quoting=quoting).writerows(rows)
    return out.getvalue()


def beside(rows, heading, values):
    """Return rows with a further column."""
    return [[*row, value] for row, value in zip(rows, [heading, *values], strict=True)]


def changed(change):
    """Return the wide table with other cells."""
    return [HEAD, *([row[0], *map(change, row[1:])] for row in WIDE[1:])]


def objects(rows, keys):
    """Return rows as JSON lines."""
    return "\n".join(
        json.dumps(dict(zip(keys, row, strict=True)), ensure_ascii=False) for row in rows
    ).encode()


def formatted(rows):
    """Return a workbook with a thousand empty rows below that have a colour, and a hidden column."""
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed)
    page, grey = book.add_worksheet(), book.add_format({"bg_color": "#eeeeee"})
    for r, row in enumerate(rows):
        page.write_row(r, 0, row)
    for r in range(len(rows), 1000):
        page.write_blank(r, 0, None, grey)
    page.set_column(2, 2, None, None, {"hidden": True})
    book.close()
    return packed.getvalue()


def label_studio():
    """Return what Label Studio exports: tasks with the annotations of several people."""
    return json.dumps(
        [
            {
                "id": n,
                "data": {"image": f"/data/upload/{item}.jpg"},
                "annotations": [
                    {
                        "id": 10 * n + i,
                        "completed_by": {"email": name},
                        "result": [{"type": "choices", "from_name": "dx", "value": {"choices": [said]}}],
                    }
                    for i, (name, said) in enumerate(zip(KNOWS, row, strict=True))
                ],
            }
            for n, (item, row) in enumerate(ANSWERS.items(), start=1)
        ]
    ).encode()


def times(cell):
    """Return how sure an expert is, as people write it into the cell."""
    return f"{cell} (80%)"


SURE = ["80 %", "90%", "0,7", "1", "65%", "100%", "0,95", "50 %", "75%"]

VOTES = [
    # Languages and encodings
    Case(
        "French, semicolons", text_of([["Cas", "Médecin", "Diagnostic"], *LONG], ";").encode("cp1252"), ".csv"
    ),
    Case(
        "Excel's Unicode text", text_of([["Bild", "Ärztin", "Befund"], *LONG], "\t").encode("utf-16"), ".txt"
    ),
    Case("UTF-16 without tabs", text_of(WIDE, ";").encode("utf-16"), ".csv"),
    Case("everything in quotes", text_of(WIDE, ";", csv.QUOTE_ALL).encode("utf-8-sig"), ".csv"),
    Case("Spanish", [["caso", "médico", "diagnóstico"], *LONG]),
    Case("Italian, no answer in words", [*WIDE, ["K4", "non so", "", "n.d."]], notes=("no answer",)),
    Case(
        "French, no answer in words",
        [*WIDE, ["K4", "ne sait pas", "NSP", "pas d'avis"]],
        notes=("no answer",),
    ),
    Case(
        "German, no answer in words", [*WIDE, ["K4", "weiß nicht", "k. A.", "unklar"]], notes=("no answer",)
    ),
    Case(
        "English, no answer in words",
        [*WIDE, ["K4", "not sure", "I don't know", "can't tell"]],
        notes=("no answer",),
    ),
    Case(
        "Cyrillic",
        [["Фото", *CYRILLIC], ["1", "кошка", "лиса"], ["2", "СОБАКА", "собака"]],
        panel=CYRILLIC,
        expected=[
            ["1", "Иванова", "кошка"],
            ["1", "Петров", "лиса"],
            ["2", "Иванова", "собака"],
            ["2", "Петров", "собака"],
        ],
    ),
    Case(
        "Chinese, full width",
        [["图片", *CHINESE], ["１", "猫", "狐 "], ["2", "\u3000狗", "狗"]],
        panel=CHINESE,
        expected=[
            ["１", "王医生", "猫"],
            ["１", "李医生", "狐"],
            ["2", "王医生", "狗"],
            ["2", "李医生", "狗"],
        ],
    ),
    Case(
        "no-break spaces",
        [["Cas", "Dr\u00a0Anne\u00a0Lee", BO, ZOE], *([f"{r[0]}\u00a0", *r[1:]] for r in WIDE[1:])],
    ),
    Case("capitals and dots", changed(lambda c: c.upper() + ".")),
    # Columns
    Case(
        "how sure, under one heading for all",
        [
            ["Cas", LEE, "sûr ?", BO, "sûr ?", ZOE, "sûr ?"],
            *([r[0], r[1], 3, r[2], 1, r[3], 2] for r in WIDE[1:]),
        ],
        notes=("columns without answers are ignored",),
    ),
    Case(
        "names above pairs of columns",
        [
            ["", LEE, "", BO, "", ZOE, ""],
            ["Cas", *["Diagnostic", "sûr"] * 3],
            *([r[0], r[1], 3, r[2], 1, r[3], 2] for r in WIDE[1:]),
        ],
        merged=("B1:C1", "D1:E1", "F1:G1"),
        refused=("two columns 'Diagnostic'", "the name of its expert"),
    ),
    Case("one expert in two columns", beside(WIDE, LEE, [A, B, B]), refused=(f"two columns {LEE!r}",)),
    Case(
        "one expert in two columns, as pandas writes them",
        beside(WIDE, f"{LEE}.1", [A, B, B]),
        refused=(f"'{LEE}.1'", f"did you mean {LEE!r}"),
    ),
    Case(
        "percentages",
        beside([["item", "expert", "label"], *LONG], "probability", [f"{n}%" for n in range(51, 60)]),
    ),
    Case(
        "percentages and shares mixed",
        beside([["item", "expert", "label"], *LONG], "probability", SURE),
        ".csv",
    ),
    Case("how sure in words", beside([["Cas", "Médecin", "Diagnostic"], *LONG], "certitude", ["haute"] * 9)),
    Case("a consensus next to the answers", beside(WIDE, "Consensus", [A, B, C]), refused=("'Consensus'",)),
    Case(
        "a consensus that is to be ignored",
        beside(WIDE, "Consensus", [A, B, C]),
        options={"rename": {"Consensus": ""}},
    ),
    Case(
        "dates, laterality, a link and free text",
        [
            ["N°", "Cas", "Date", "Côté", *HEAD[1:], "Lien", "Remarques"],
            *(
                [n, r[0], DAY, "GD"[n % 2], *r[1:], f"http://x.org/{n}", ["", "flou"][n % 2]]
                for n, r in enumerate(WIDE[1:])
            ),
        ],
    ),
    Case("empty columns between", [[row[0], None, *row[1:3], None, None, row[3]] for row in WIDE]),
    Case("a hidden column and formatted rows", formatted(WIDE)),
    Case(
        "experts by e-mail",
        [["Cas", "anne.lee@x.org", BO, ZOE], *WIDE[1:]],
        options={"rename": {"anne.lee@x.org": LEE}},
    ),
    Case(
        "experts by e-mail, unexplained",
        [["Cas", "a.lee@x.org", BO, ZOE], *WIDE[1:]],
        refused=("'a.lee@x.org'",),
    ),
    Case(
        "ticks per class",
        [
            ["Cas", "Médecin", A, B, C],
            *([i, e, *("x" if c == said else "" for c in (A, B, C))] for i, e, said in LONG),
        ],
        refused=("Mélanome, Nævus, Eczéma are classes",),
    ),
    # Rows
    Case("a section for each clinic", [HEAD, ["Clinique Nord"], WIDE[1], WIDE[2], ["Clinique Sud"], WIDE[3]]),
    Case(
        "merged cells for the case",
        [
            ["Cas", "Médecin", "Diagnostic"],
            *([i if n % 3 == 0 else None, e, c] for n, (i, e, c) in enumerate(LONG)),
        ],
        merged=("A2:A4", "A5:A7", "A8:A10"),
    ),
    Case(
        "merged cells for the doctor",
        [
            ["Médecin", "Cas", "Diagnostic"],
            *(
                [e if n % 3 == 0 else None, i, c]
                for n, (i, e, c) in enumerate(sorted(LONG, key=lambda row: row[1]))
            ),
        ],
        merged=("A2:A4", "A5:A7", "A8:A10"),
    ),
    Case(
        "the case only in its first row",
        [
            ["Cas", "Médecin", "Diagnostic"],
            *([i if n % 3 == 0 else None, e, c] for n, (i, e, c) in enumerate(LONG)),
        ],
        refused=("row 3", "6 rows have none"),
    ),
    Case(
        "agreement below", [*WIDE, ["Somme", 3, 3, 3], ["Total", "66%", "33%", "100%"]], notes=("sums below",)
    ),
    Case("the same row twice", [["Cas", "Médecin", "Diagnostic"], *LONG, LONG[4]]),
    Case(
        "two answers to a case",
        [["Cas", "Médecin", "Diagnostic"], *LONG, ["K1", LEE, B]],
        refused=(LEE, "'K1'", "--duplicates"),
    ),
    Case(
        "two answers to a case, the last counts",
        [["Cas", "Médecin", "Diagnostic"], ["K1", LEE, B], *LONG],
        options={"duplicates": "last"},
    ),
    Case(
        "a comment above in CSV",
        b"# export 2026-03-04, v3\n" + text_of(WIDE).encode(),
        ".csv",
        notes=("above the heading",),
    ),
    Case(
        "a comment of several lines", [[*HEAD, "Note"], *([*row, 'a "b"\nc, d'] for row in WIDE[1:])], ".csv"
    ),
    # Items
    Case(
        "running number, case number and date",
        [
            ["Befundliste"],
            ["lfd. Nr.", "Fallnummer", "Datum", "Befunder", "Diagnose", "Sicherheit", "Bemerkung"],
            *([n, i, DAY, e, c, "hoch", ""] for n, (i, e, c) in enumerate(LONG, start=1)),
            [],
            [None, None, None, None, "Summe", 9],
        ],
        notes=("items are read from 'Fallnummer', experts from 'Befunder'",),
    ),
    Case(
        "number of the file in French",
        [["Ligne", "N° de dossier", *HEAD[1:]], *([n, *row] for n, row in enumerate(WIDE[1:]))],
    ),
    Case(
        "neither of two columns is called so",
        [["Kürzel", "Zeichen", *HEAD[1:]], *([f"a{n}", f"b{n}", *row[1:]] for n, row in enumerate(WIDE[1:]))],
        refused=("Kürzel, Zeichen", "call the right one item"),
    ),
    Case(
        "dates as cases",
        [["Date", LEE], [DAY, A], [DAY + datetime.timedelta(1), B]],
        options={"item": "Date"},
        expected=[["2026-03-04", LEE, A], ["2026-03-05", LEE, B]],
    ),
    Case(
        "numbers and numbers as text",
        [["Cas", LEE], [1, A], ["2", B]],
        expected=[["1", LEE, A], ["2", LEE, B]],
    ),
    Case(
        "one case as number and as text",
        [["Cas", "Médecin", "Diagnostic"], [7, LEE, A], ["7", BO, B], ["7 ", ZOE, C]],
        expected=[["7", LEE, A], ["7", BO, B], ["7", ZOE, C]],
    ),
    Case(
        "long numbers",
        [["Cas", LEE], ["12345678901234567890", A]],
        expected=[["12345678901234567890", LEE, A]],
    ),
    # Cells
    Case(
        "how sure in the cell",
        changed(times),
        refused=("'Mélanome (80%)'", "'Nævus (80%)'", "'Eczéma (80%)'"),
    ),
    Case(
        "a question mark behind",
        changed(lambda c: f"{c}?" if c == A else c),
        refused=("'Mélanome?'", f"did you mean {A!r}"),
    ),
    Case(
        "letters with a legend",
        [*changed(lambda c: c[0]), [], ["M = Mélanome, N = Nævus, E = Eczéma"]],
        refused=("'M'", "'N'", "'E'"),
    ),
    Case(
        "letters with a list of them", changed(lambda c: c[0]), options={"rename": {"M": A, "N": B, "E": C}}
    ),
    # Programs
    Case("Label Studio", label_studio(), ".json", [[i[1:], e, c] for i, e, c in LONG]),
    Case("JSON lines with German keys", objects(LONG, ["Bild", "Arzt", "Befund"]), ".jsonl"),
    Case(
        "Google Forms in German",
        [
            ["Zeitstempel", "Wer sind Sie?", "K1", "K2", "K3"],
            *([DAY, n, *(row[i] for row in ANSWERS.values())] for i, n in enumerate(KNOWS)),
        ],
        ".csv",
    ),
    Case(
        "LimeSurvey with questions in brackets",
        [
            ["id", "submitdate", "Name", "dx[K1]", "dx[K2]", "dx[K3]"],
            *([i, DAY, n, *(row[i] for row in ANSWERS.values())] for i, n in enumerate(KNOWS)),
        ],
        ".csv",
        expected=[[f"dx[{i}]", e, c] for i, e, c in LONG],
    ),
    Case("OpenDocument", b"PK\x03\x04" + bytes(100), ".ods", refused=(".xlsx",)),
    Case("Excel's binary format", b"PK\x03\x04" + bytes(100), ".xlsb", refused=(".xlsx",)),
    Case("an empty file", b"", ".csv", refused=("empty",)),
    Case("only a heading", [HEAD], refused=("it has no rows",)),
]

PANELS = [
    Case(
        "French ticks",
        [["Médecin", A, B, C], [LEE, "oui", "OUI", "non"], [BO, "non", "x", "X"], [ZOE, "✔", None, "1"]],
    ),
    Case(
        "ticks in other languages",
        [["Arzt", A, B, C], [LEE, "да", "tak", "нет"], [BO, "nie", "sì", "sí"], [ZOE, "ano", "não", "sim"]],
    ),
    Case("classes in rows, heading of two words", [["Diagnostic \\ Médecin", *TURNED[0][1:]], *TURNED[1:]]),
    Case(
        "one row for each class that is known",
        [["Médecin", "Connaît"], *([n, c] for n, known in KNOWS.items() for c in known)],
        ".csv",
    ),
    Case(
        "lists in a cell, one below the other",
        [["Nom", "Compétences"], *([n, "\n".join(known)] for n, known in KNOWS.items())],
    ),
    Case(
        "title, groups, totals and legend",
        [
            ["Compétences 2026"],
            [None, "tumeurs", None, "autres"],
            [*TICKS[0], "Total"],
            *([*row, 2] for row in TICKS[1:]),
            ["Total", 2, 2, 2, 6],
            [],
            ["x = connaît"],
        ],
        merged=("A1:E1", "B2:C2"),
    ),
    Case(
        "hours and a clinic",
        [
            [r[0], *e, *r[1:]]
            for r, e in zip(TICKS, [["Heures", "Site"], [12, "Nord"], [8, "Sud"], [40, "Nord"]], strict=True)
        ],
        warned=("'Heures' has no ticks", "'Site' has no ticks"),
    ),
    Case(
        "words instead of ticks",
        [["Médecin", A, B], [LEE, "bien", "un peu"], [BO, "", "très"]],
        refused=("'bien'", "'un peu'", "'très'"),
    ),
    Case(
        "names of the classes instead of ticks",
        [["Médecin", A, B, C], [LEE, A, B, ""], [BO, "", B, C], [ZOE, A, "", C]],
    ),
    Case(
        "a clinic, and what they know",
        [["Médecin", "Site", "Connaît"], *([n, "Nord", ", ".join(k)] for n, k in KNOWS.items())],
        warned=("column 'Site'",),
    ),
    Case(
        "shares instead of ticks",
        [["Médecin", A, B], [LEE, "80%", "20%"], [BO, "0%", "100%"]],
        refused=("'80%'", "'20%'", "'100%'"),
    ),
    Case(
        "a class twice",
        [[*TICKS[0], A], *([*row, "x"] for row in TICKS[1:])],
        refused=(f"{A!r} appears twice",),
    ),
    Case(
        "a doctor twice",
        [*TICKS, TICKS[1]],
        refused=(f"{LEE!r} appears twice (rows 2, 5)", "name of their own"),
    ),
    Case(
        "doubtful ticks",
        [TICKS[0], [LEE, "x", "(x)", "?"], [BO, "x?", "x", ""]],
        refused=("'(x)' (row 2)", "'?' (row 2)", "'x?' (row 3)"),
    ),
]


def files(cases):
    return [pytest.param(case, id=case.name) for case in cases]


def test_there_are_fifty():
    assert len(VOTES) + len(PANELS) >= 50


@pytest.mark.parametrize("case", files(VOTES))
def test_votes(tmp_path, case):
    path = tmp_path / f"votes{case.ending}"
    case.write(path)
    classes = list(dict.fromkeys(name for known in case.panel.values() for name in known))
    panel = Panel.from_blocks(classes, list(case.panel.values()), list(case.panel))
    if case.refused:
        with pytest.raises(CovoteError) as caught:
            VoteFile(path, panel, ReadOptions(**case.options)).read()
        message = str(caught.value)
        assert [words for words in (path.name, *case.refused) if words not in message] == [], message
        assert "\n" not in message
        return
    file = VoteFile(path, panel, ReadOptions(**case.options))
    found = [[str(row["item"]), row["expert"], row["label"]] for row in file.read().to_arrow().to_pylist()]
    assert sorted(found) == sorted(LONG if case.expected is None else case.expected)
    notes = " | ".join(file.notes())
    assert [words for words in case.notes if words not in notes] == [], notes


@pytest.mark.parametrize("case", files(PANELS))
def test_panels(tmp_path, case, recwarn):
    path = tmp_path / f"panel{case.ending}"
    case.write(path)
    if case.refused:
        with pytest.raises(CovoteError) as caught:
            Panel.load(path)
        message = str(caught.value)
        assert [words for words in (path.name, *case.refused) if words not in message] == [], message
        return
    panel = Panel.load(path)
    told = " | ".join(str(warning.message) for warning in recwarn)
    assert [words for words in case.warned if words not in told] == [], told
    found = {name: sorted(known) for name, known in zip(panel.names, panel.blocks(), strict=True)}
    assert found == {name: sorted(known) for name, known in KNOWS.items()}
