"""Forty more tables as hospitals, surveys and older programs write them, made here: none is a binary file.

Each is accepted with the expected answers, or refused in one message that names everything that is wrong.
"""

import csv
import datetime
import io
import warnings
from dataclasses import dataclass, field
from typing import Any

import openpyxl
import pandas as pd
import pytest

from covote import CovoteError, Panel, ReadOptions, Votes
from covote.cli import main
from covote.files import VoteFile

A, B, C = "Melanom", "Nävus", "Ekzem"
LEE, BO, ZOE = "Dr. Anna Lee", "Dr. Bo Müller", "Prof. Zoë Cho"
KNOWS = {LEE: [A, B], BO: [B, C], ZOE: [A, C]}
ANSWERS = {"K1": [A, B, A], "K2": [B, B, C], "K3": [A, C, C]}
LONG = [[item, name, said] for item, row in ANSWERS.items() for name, said in zip(KNOWS, row, strict=True)]
WIDE = [["Fall", LEE, BO, ZOE], *([item, *row] for item, row in ANSWERS.items())]
FORM = [[name, *said] for name, said in zip(KNOWS, zip(*ANSWERS.values(), strict=True), strict=True)]
TICKS = [["Arzt", A, B, C], [LEE, "x", "x", ""], [BO, "", "x", "x"], [ZOE, "x", "", "x"]]
NOW = datetime.datetime(2026, 3, 4, 9, 30, 15)


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
    sheets: dict[str, list[list[Any]]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    def write(self, path):
        if isinstance(self.rows, bytes):
            path.write_bytes(self.rows)
            return
        if path.suffix == ".csv":
            path.write_bytes(text_of(self.rows).encode("utf-8"))
            return
        book = openpyxl.Workbook()
        for number, (name, rows) in enumerate({"Tabelle1": self.rows, **self.sheets}.items()):
            page = book.create_sheet(name, number)
            for r, row in enumerate(rows, start=1):
                for c, value in enumerate(row, start=1):
                    if value is not None:
                        page.cell(r, c, value)
            if name in self.hidden:
                page.sheet_state = "hidden"
            if not number:
                for area in self.merged:
                    page.merge_cells(area)
        del book["Sheet"]
        book.save(path)


def text_of(rows, mark=",", end="\r\n"):
    """Return rows as CSV."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark, lineterminator=end).writerows(rows)
    return out.getvalue()


def beside(rows, heading, values):
    """Return rows with a further column."""
    return [[*row, value] for row, value in zip(rows, [heading, *values], strict=True)]


def long_with(heading, *columns):
    """Return a long table with further columns before item, expert and label."""
    return [heading, *([*(column[n] for column in columns), *row] for n, row in enumerate(LONG))]


STAMPS = [NOW + datetime.timedelta(minutes=n) for n in range(9)]
SURE = ["0,85", "0,9", "1", "0,5", "0,75", "0,6", "0,99", "1,0", "0,8"]

VOTES = [
    # Text, as programs write it
    Case(
        "semicolons, a mark of UTF-8, decimal commas",
        b"\xef\xbb\xbf"
        + text_of(beside([["Fall", "Arzt", "Diagnose"], *LONG], "probability", SURE), ";").encode(),
        ".csv",
    ),
    Case(
        "percentages",
        beside([["item", "expert", "label"], *LONG], "probability", [f"{n} %" for n in range(50, 95, 5)]),
        ".csv",
    ),
    Case("sep= above", b"sep=;\r\n" + text_of(WIDE, ";").encode("cp1252"), ".csv", notes=("Windows-1252",)),
    Case("UTF-16 with tabs", text_of(WIDE, "\t").encode("utf-16"), ".csv"),
    Case("line ends of old Macs", text_of(WIDE, ",", "\r").encode(), ".csv"),
    Case(
        "blanks around everything",
        b"Fall , Dr. Anna Lee ,Dr. Bo M\xc3\xbcller , Prof. Zo\xc3\xab Cho\n"
        + "\n".join(" , ".join(row) + " " for row in WIDE[1:]).encode(),
        ".csv",
    ),
    Case("empty lines and commas below", (text_of(WIDE) + ",,,\r\n,,,\r\n\r\n").encode(), ".csv"),
    Case(
        "quotes inside quotes",
        [["Fall", LEE, BO, ZOE], ['K "1"', A, B, A]],
        ".csv",
        [['K "1"', LEE, A], ['K "1"', BO, B], ['K "1"', ZOE, A]],
    ),
    Case(
        "an index of pandas",
        [["", *WIDE[0]], *([n, *row] for n, row in enumerate(WIDE[1:]))],
        ".csv",
    ),
    Case("cut off", text_of(WIDE).encode()[:-12] + b'"', ".csv", refused=("CSV",)),
    # Items
    Case(
        "leading zeros",
        [["Fall", LEE], ["007", A], ["008", B]],
        expected=[["007", LEE, A], ["008", LEE, B]],
    ),
    Case("items as floats", [["Fall", LEE], [1.0, A], [2.0, B]], expected=[["1", LEE, A], ["2", LEE, B]]),
    Case(
        "items as dates and times",
        [["Aufnahme", LEE], [NOW, A], [datetime.date(2026, 3, 5), B]],
        expected=[["2026-03-04T09:30:15", LEE, A], ["2026-03-05", LEE, B]],
        options={"item": "Aufnahme"},
    ),
    Case("the item is the last column", [[*row[1:], row[0]] for row in WIDE]),
    Case(
        "two columns may be the item",
        [["patient", *WIDE[0]], *([f"P{n}", *row] for n, row in enumerate(WIDE))][:1]
        + [[f"P{n}", *row] for n, row in enumerate(WIDE[1:])],
        refused=("patient, Fall", "--item"),
    ),
    # Headings, notes, other columns
    Case(
        "merged headings above",
        [["", "Antworten"], *WIDE],
        merged=("B1:D1",),
        notes=("a row above",),
    ),
    Case("headings of two lines", [["Fall", "Dr.\nAnna Lee", "Dr. Bo\nMüller", "Prof.\nZoë Cho"], *WIDE[1:]]),
    Case(
        "legend below",
        [*WIDE, [], ["A = Melanom"], ["B = Nävus"], [], ["Stand: Mai"]],
        notes=("below the table are ignored",),
    ),
    Case(
        "a table of the classes beside",
        beside(beside(WIDE, None, [None] * 3), "Legende", ["A Melanom", "B Nävus", "C Ekzem"]),
    ),
    Case(
        "how sure, next to every doctor",
        [
            ["Fall", LEE, "sicher (1-5)", BO, "sicher 2", ZOE, "sicher 3"],
            *([item, row[0], 5, row[1], 4, row[2], 3] for item, row in ANSWERS.items()),
        ],
        notes=("columns without answers are ignored",),
    ),
    Case(
        "age, sex, date and comment",
        [
            ["Fall", "Datum", "Alter", "m/w", LEE, BO, ZOE, "Bemerkung"],
            *(
                [item, NOW, 50 + n, "mw"[n % 2], *row, "s. Foto"]
                for n, (item, row) in enumerate(ANSWERS.items())
            ),
        ],
    ),
    Case("empty rows between", [WIDE[0], [], WIDE[1], [], [], WIDE[2], [], WIDE[3]]),
    Case("totals of a pivot table", [*WIDE, ["Gesamtergebnis", 3, 3, 3]], notes=("sums below",)),
    Case(
        "two tables on a sheet",
        [*WIDE, [], ["Arzt", "kennt"], [LEE, "Haut"]],
        refused=("row 6", "row 7", "'kennt'"),
    ),
    # No answer
    Case(
        "no answer in many words",
        [*WIDE, ["K4", "(leer)", "keine Angabe", "nicht beurteilbar"], ["K5", "#NV", "#REF!", "-"]],
        notes=("read as no answer",),
    ),
    Case("formulas that were never computed", [*WIDE, ["K4", "=B2", None, None]], notes=("a formula",)),
    # Sheets
    Case(
        "an older version is hidden",
        WIDE,
        sheets={"Alt": [WIDE[0], *([f"alt{n}", A, B, C] for n in range(20))]},
        hidden=("Alt",),
    ),
    Case("the ticks come first", TICKS, sheets={"Antworten": WIDE}, notes=("'Antworten'",)),
    Case(
        "old .xls with another ending",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
        refused=("spreadsheet", "save it again as .xlsx"),
    ),
    Case(
        "a web page with the ending of Excel",
        b"<html><table><tr><td>Fall</td></tr></table></html>",
        refused=("spreadsheet", "save it again as .xlsx"),
    ),
    # Names
    Case(
        "last name first",
        [["Fall", "Lee, Anna", "Müller, Bo", "Cho, Zoë"], *WIDE[1:]],
        notes=("'Lee, Anna' as 'Dr. Anna Lee'",),
    ),
    Case("without titles", [["Fall", "Anna Lee", "Bo Müller", "Zoë Cho"], *WIDE[1:]]),
    Case(
        "more titles",
        [["Fall", "Prof. Dr. med. Anna Lee", "Herr Dr. Bo Müller", "Zoë Cho, MD"], *WIDE[1:]],
    ),
    Case(
        "last names only",
        [["Fall", "Lee", "Müller", "Cho"], *WIDE[1:]],
        refused=(f"'Lee' (did you mean {LEE!r}?)", f"'Müller' (did you mean {BO!r}?)", f"mean {ZOE!r}?)"),
    ),
    Case(
        "one of two Lees",
        [["Fall", "Lee", "Dr. Bo Müller"], ["K1", A, B]],
        panel={**KNOWS, "Dr. Max Lee": [A]},
        refused=("'Lee'", "Dr. Anna Lee", "Dr. Max Lee"),
    ),
    Case(
        "codes and a list of them",
        [
            ["Fall", LEE, BO, ZOE],
            *([item, *({A: 1, B: 2, C: 3}[k] for k in row)] for item, row in ANSWERS.items()),
        ],
        options={"rename": {"1": A, "2": B, "3": C}},
    ),
    # Forms and surveys: a row for each person, a column for each item
    Case(
        "Google Forms",
        [["Zeitstempel", "Ihr Name", "K1", "K2", "K3"], *([NOW, *row] for row in FORM)],
        ".csv",
    ),
    Case(
        "Microsoft Forms",
        [
            ["ID", "Start time", "Completion time", "Email", "Name", "K1", "K2", "K3"],
            *([n, NOW, NOW, "anonymous", *row] for n, row in enumerate(FORM, start=1)),
        ],
    ),
    Case(
        "LimeSurvey",
        [
            [
                "Response ID",
                "Date submitted",
                "Last page",
                "Start language",
                "Seed",
                "Your name",
                "K1",
                "K2",
                "K3",
            ],
            *([n, "2026-03-04 09:30:15", 2, "de", 10**9 + n, *row] for n, row in enumerate(FORM, start=1)),
        ],
        ".csv",
    ),
    Case(
        "Qualtrics",
        [
            ["StartDate", "Progress", "ResponseId", "Q1", "Q2", "Q3", "Q4"],
            ["Start Date", "Progress", "Response ID", "Your name", "Case K1", "Case K2", "Case K3"],
            [
                f'{{"ImportId":"{name}"}}'
                for name in ("startDate", "progress", "_recordId", "1", "2", "3", "4")
            ],
            *(["2026-03-04 09:30:15", 100, f"R_{n}", *row] for n, row in enumerate(FORM)),
        ],
        ".csv",
        [[{"K1": "Q2", "K2": "Q3", "K3": "Q4"}[item], name, said] for item, name, said in LONG],
    ),
    Case(
        "one person twice in a form",
        [["Timestamp", "Name", "K1", "K2", "K3"], *([NOW, *row] for row in FORM), [NOW, LEE, B, B, A]],
        refused=(LEE, "'K1'", "--duplicates"),
    ),
    Case(
        "somebody unknown in a form",
        [
            ["Timestamp", "Name", "K1", "K2", "K3"],
            *([NOW, *row] for row in FORM),
            [NOW, "Eva", A, "Warze", A],
        ],
        refused=("'Eva'", "'Warze'"),
    ),
    Case(
        "experts in rows, nothing else",
        [["", "K1", "K2", "K3"], *FORM],
    ),
    # Databases of studies
    Case(
        "REDCap",
        long_with(
            ["redcap_event_name", "redcap_repeat_instance", "record_id", "rater", "diagnosis"],
            ["baseline_arm_1"] * 9,
            [n % 3 + 1 for n in range(9)],
        ),
        ".csv",
    ),
    Case(
        "ODK and Kobo",
        long_with(
            ["start", "_uuid", "_submission_time", "group/image", "group/rater", "group/diagnosis"],
            ["2026-03-04T09:30:15.000+01:00"] * 9,
            [f"uuid{n}" for n in range(9)],
            [str(stamp) for stamp in STAMPS],
        ),
        ".csv",
        options={"item": "group/image"},
    ),
    Case(
        "several choices in a cell",
        [["Fall", LEE], ["K1", f"{A}; {B}"], ["K2", f"{A} {B}"]],
        refused=(f"'{A}; {B}'", f"'{A} {B}'"),
    ),
    Case(
        "a pivot table of counts",
        [["Fall", A, B, C], ["K1", 2, 1, 0], ["K2", 0, 2, 1]],
        refused=("Melanom, Nävus, Ekzem are classes", "a column for each expert"),
    ),
    Case(
        "who said it in the cells",
        [["Fall", A, B, C], ["K1", f"{LEE}, {ZOE}", BO, ""]],
        refused=("Melanom, Nävus, Ekzem are classes", "a column for each expert"),
    ),
]

PANELS = [
    Case(
        "ticks of all kinds",
        [["Arzt", A, B, C], [LEE, "✓", 1, None], [BO, "nein", "ja", True], [ZOE, "X", "-", "yes"]],
    ),
    Case(
        "groups above the classes",
        [["", "bösartig", "gutartig", ""], *TICKS],
        merged=("C1:D1",),
    ),
    Case(
        "ticks of experts in columns",
        [list(row) for row in zip(*[["Diagnose", *TICKS[0][1:]], *TICKS[1:]], strict=True)],
    ),
    Case(
        "clinic, years and comment",
        [
            [row[0], *extra, *row[1:], note]
            for row, extra, note in zip(
                TICKS,
                [["Klinik", "Berufsjahre"], ["Nord", 12], ["Süd", 1], ["Nord", 7]],
                ["Bemerkung", "Teilzeit", "", "ab Mai"],
                strict=True,
            )
        ],
        warned=("'Klinik' has no ticks",),
    ),
    Case("who left, and since when", beside(TICKS, "ausgeschieden", [None, NOW, None]), left=(BO,)),
    Case("a price with a comma", beside(TICKS, "Kosten (EUR)", ["1,5", "2", "80,00 €"])),
    Case(
        "legend of several rows",
        [*TICKS, [], ["x = kennt die Diagnose"], ["leer = kennt sie nicht"], ["Stand: Mai 2026"]],
    ),
    Case(
        "levels instead of ticks",
        [["Arzt", A, B], [LEE, 3, 2], [BO, 0, 1], [ZOE, "(x)", ""]],
        refused=("'3'", "'2'", "'(x)'"),
    ),
    Case(
        "ticks that are colours only",
        [["Arzt", A, B], [LEE, "", ""], [BO, "", ""]],
        refused=(LEE, "no class"),
    ),
]


def files(cases):
    return [pytest.param(case, id=case.name) for case in cases]


def test_there_are_forty():
    assert len(VOTES) + len(PANELS) >= 40


@pytest.mark.parametrize("case", files(VOTES))
def test_votes(tmp_path, case):
    path = tmp_path / f"votes{case.ending}"
    case.write(path)
    panel = Panel.from_blocks([A, B, C], list(case.panel.values()), list(case.panel))
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
def test_panels(tmp_path, case):
    path = tmp_path / f"panel{case.ending}"
    case.write(path)
    if case.refused:
        with pytest.raises(CovoteError) as caught:
            Panel.load(path)
        message = str(caught.value)
        assert [words for words in (path.name, *case.refused) if words not in message] == [], message
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        panel = Panel.load(path)
    told = " | ".join(str(warning.message) for warning in caught)
    assert (told == "") == (case.warned == ())
    assert [words for words in case.warned if words not in told] == [], told
    found = {name: sorted(known) for name, known in zip(panel.names, panel.blocks(), strict=True)}
    assert found == {name: sorted(known) for name, known in KNOWS.items()}
    assert [name for name, left in zip(panel.names, panel.left, strict=True) if left] == [*case.left]


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "frame"])
def test_numbers_dates_and_free_text_are_not_experts(tmp_path, ending):
    """Without a panel, experts are the columns that share labels with each other."""
    size = 40
    frame = pd.DataFrame(
        {
            "case": [f"C{n}" for n in range(size)],
            "Date": [NOW + datetime.timedelta(days=n % 8) for n in range(size)],
            "Age": [20 + n % 11 for n in range(size)],
            "Weight": [25.0 + n % 7 for n in range(size)],
            "Sex": ["f" if n % 3 else "m" for n in range(size)],
            "ann": [[A, B, C][n % 3] for n in range(size)],
            "bob": [[A, B, C][n % 4 % 3] for n in range(size)],
            "Comment": ["see photo" if n == 7 else None for n in range(size)],
        }
    )
    path = tmp_path / f"answers.{ending}"
    if ending != "frame":
        save = {"csv": frame.to_csv, "xlsx": frame.to_excel}.get(ending, frame.to_parquet)
        save(path, index=False)
    votes = Votes.from_table(frame) if ending == "frame" else Votes.load(path)
    assert votes.panel.names == ("ann", "bob")
    assert sorted(votes.panel.classes) == sorted([A, B, C])


def test_an_empty_meaning_drops_an_expert(tmp_path):
    """In the list of names, an empty second cell stands for nobody."""
    names, path = tmp_path / "names.csv", tmp_path / "votes.csv"
    names.write_text("votes,panel\nEva,\n", encoding="utf-8")
    panel = Panel.from_blocks([A, B, C], list(KNOWS.values()), list(KNOWS))
    wide = beside(WIDE, "Eva", [A, A, A])
    for rows in (wide, [["item", "expert", "label"], *LONG, ["K1", "Eva", A]]):
        path.write_text(text_of(rows), encoding="utf-8")
        with pytest.raises(CovoteError, match="'Eva'"):
            Votes.load(path, panel)
        votes = Votes.load(path, panel, rename=names)
        assert votes.answers == len(LONG)


def test_many_answers_outside_the_ticks_are_counted_for_each_expert(tmp_path):
    rows = [[f"K{n}", name, label] for n in range(30) for name in KNOWS for label in [[A, B, C][n % 3]]]
    panel = Panel.from_blocks({name: [f"D{n}"] for n, name in enumerate(KNOWS)} | {"all": [A, B, C, *"EFGH"]})
    rows += [[f"L{n}", LEE, label] for n, label in enumerate("EFGH")]
    path = tmp_path / "votes.csv"
    path.write_text(text_of([["item", "expert", "label"], *rows]), encoding="utf-8")
    with pytest.raises(CovoteError) as caught:
        Votes.load(path, panel)
    assert "'Dr. Anna Lee' (34 answers: 'Melanom', 'Nävus', 'Ekzem', 'E', 'F', 'G', ... 7 in all)" in str(
        caught.value
    )
    assert "'Dr. Bo Müller' (30 answers: 'Melanom', 'Nävus', 'Ekzem')" in str(caught.value)


def test_many_experts_with_answers_outside_the_ticks_have_a_line_each(tmp_path, capsys, monkeypatch):
    """The sentence names the first five; covote check prints all of them, the worst first."""
    panel, rows = Panel.from_blocks({f"p{n}": [A] for n in range(8)} | {"all": [A, B, C]}), []
    for n in range(8):
        rows += [[f"K{k}", f"p{n}", [B, C][k % 2]] for k in range(9 - n)]
    path, place = tmp_path / "votes.csv", tmp_path / "panel.toml"
    panel.save(place)
    path.write_text(text_of([["item", "expert", "label"], *rows, ["K0", "all", A]]), encoding="utf-8")
    with pytest.raises(CovoteError) as caught:
        Votes.load(path, panel)
    assert "'p0' (9 answers), 'p1' (8 answers)" in str(caught.value)
    assert "'p4' (5 answers), and 3 more (covote check lists them); correct" in str(caught.value)
    monkeypatch.setattr("sys.argv", ["covote", "check", str(place), str(path)])
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr().out.split("do not know\n")[1].splitlines()
    assert [line.split()[:2] for line in told[:8]] == [[f"p{n}", str(9 - n)] for n in range(8)]
    assert told[0].endswith("Nävus, Ekzem")


def test_a_panel_of_numbers_and_answers_with_names_are_told_apart(tmp_path):
    (tmp_path / "panel.csv").write_text('volunteer,species\nann,"1-3, 5"\nbob,"2-5"\n', encoding="utf-8")
    (tmp_path / "answers.csv").write_text(
        "photo,volunteer,species\n1,ann,Robin\n1,bob,Wren\n", encoding="utf-8"
    )
    with pytest.raises(CovoteError, match=r"list the names in a \.toml panel .*and knows = \"1-40\""):
        Votes.load(tmp_path / "answers.csv", Panel.load(tmp_path / "panel.csv"))
