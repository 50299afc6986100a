"""Whole studies in one workbook, as `covote start` reads them: who knows what, answers, gold items, codes.

Each is understood, with the answers and gold items that it has, or refused in one message with the remedy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import openpyxl
import pytest

from covote import CovoteError
from covote.files import read_gold
from covote.files.workbook import read_workbook
from covote.votes.vote_file import VoteFile

A, B, C, D = CLASSES = ["Melanoma", "Naevus", "Basal cell carcinoma", "Eczema"]
KNOWS = {"Dr. Ada Lee": [A, B], "Dr. Bo Cho": [B, C], "Prof. Zoë Eck": [A, C, D], "Dr. Di O'Hara": [B, D]}
NAMES = list(KNOWS)
TRUTH = [CLASSES[n % 4] for n in range(24)]
SAID = [[c if c in known else known[n % 2] for known in KNOWS.values()] for n, c in enumerate(TRUTH)]
TICKS = [
    ["Doctor", *CLASSES],
    *([d, *("x" if c in known else "" for c in CLASSES)] for d, known in KNOWS.items()),
]
WIDE = [["Case", *NAMES], *([f"C-{n}", *row] for n, row in enumerate(SAID))]
LONG = [[f"C-{n}", d, c] for n, row in enumerate(SAID) for d, c in zip(NAMES, row, strict=True)]
INITIALS = dict(zip(NAMES, ["AL", "BC", "ZE", "DO"], strict=True))
SHORT = {C: "BCC"}


def beside(rows: list[list[Any]], heading: str, values: list[Any]) -> list[list[Any]]:
    """Return rows with a further column."""
    return [[*row, value] for row, value in zip(rows, [heading, *values], strict=True)]


def changed(rows: list[list[Any]], change: Callable[[Any], Any]) -> list[list[Any]]:
    """Return rows with other cells below the heading, except in the first column."""
    return [rows[0], *([row[0], *map(change, row[1:])] for row in rows[1:])]


@dataclass
class Study:
    """A workbook, the answers and gold items that it has, and experts besides those of the clinic."""

    name: str
    sheets: dict[str, list[list[Any]]]
    answers: int = 96
    gold: int = 0
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    experts: tuple[str, ...] = ()


GOLD = [c if n % 3 == 0 else "" for n, c in enumerate(TRUTH)]  # eight of them
CODED = changed(WIDE, lambda c: CLASSES.index(c) + 1)
AGED = beside(WIDE, "Age", [*range(24)])
CODES = [["Code", "Meaning"], *([n, c] for n, c in enumerate(CLASSES, start=1))]

STUDIES = [
    Study("two sheets", {"Who": TICKS, "Answers": WIDE}, notes=("24 items", "gold items: none")),
    Study("answers first", {"Answers": WIDE, "Who": TICKS}),
    Study("German histology", {"Wer": TICKS, "Befunde": beside(WIDE, "Histologie", GOLD)}, gold=8),
    Study("gold standard", {"Who": TICKS, "Answers": beside(WIDE, "Gold standard", GOLD)}, gold=8),
    Study("final diagnosis", {"Who": TICKS, "Answers": beside(WIDE, "Final diagnosis", GOLD)}, gold=8),
    Study(
        "consensus, which may be gold or not",
        {"Who": TICKS, "Answers": beside(WIDE, "Consensus", GOLD)},
        notes=("if 'Consensus' holds known classes, call the column Truth",),
    ),
    Study(
        "gold on a sheet with a title",
        {
            "Who": TICKS,
            "Answers": WIDE,
            "Histo": [
                ["Biopsies"],
                [],
                ["Case", "Age", "Histology"],
                *([f"C-{n}", 40 + n, c] for n, c in enumerate(TRUTH)),
            ],
        },
        gold=24,
        notes=("gold items: sheet 'Histo'",),
    ),
    Study(
        "codes on a sheet",
        {"Who": TICKS, "Answers": beside(CODED, "Truth", [1 + n % 4 for n in range(24)]), "Codes": CODES},
        gold=24,
        notes=("other names, in sheet 'Codes': '1' is 'Melanoma'",),
    ),
    Study(
        "codes with a third column",
        {"Who": TICKS, "Answers": CODED, "Codes": beside(CODES, "ICD-10", ["C43", "D22", "C44", "L30"])},
    ),
    Study(
        "codes of ICD-10 on a sheet with a title, the other way round",
        {
            "Who": TICKS,
            "Answers": changed(WIDE, dict(zip(CLASSES, ["C43", "D22", "C44", "L30"], strict=True)).get),
            "ICD": [
                ["Version 2025"],
                [],
                ["Diagnosis", "ICD-10"],
                *([c, k] for c, k in zip(CLASSES, ["C43", "D22", "C44", "L30"], strict=True)),
            ],
        },
    ),
    Study(
        "initials beside the doctors",
        {
            "Who": [[row[0], ["Initials", *INITIALS.values()][n], *row[1:]] for n, row in enumerate(TICKS)],
            "Readings": [["Case", "Reader", "Diagnosis"], *([i, INITIALS[d], c] for i, d, c in LONG)],
        },
        notes=("'AL' is 'Dr. Ada Lee'",),
    ),
    Study(
        "abbreviations that a sheet explains",
        {
            "Who": TICKS,
            "Answers": changed(WIDE, lambda c: SHORT.get(c, c)),
            "Abbreviations": [["short", "long"], ["BCC", C], ["SCC", "Squamous cell carcinoma"]],
        },
        notes=("'BCC' is 'Basal cell carcinoma'",),
    ),
    Study(
        "abbreviations that nothing explains",
        {"Who": TICKS, "Answers": changed(WIDE, lambda c: SHORT.get(c, c))},
        answers=96 - sum(row.count(C) for row in SAID),
        notes=("left out: 'BCC'; a sheet with two columns",),
    ),
    Study(
        "last names only",
        {"Who": TICKS, "Answers": [["Case", *(name.split()[-1] for name in NAMES)], *WIDE[1:]]},
        notes=("'Lee' is 'Dr. Ada Lee'",),
    ),
    Study(
        "the last name of two",
        {
            "Who": [*TICKS, ["Dr. Max Lee", "x", "x", "", ""]],
            "Answers": [["Case", "Lee", *NAMES[1:]], *WIDE[1:]],
        },
        answers=72,
        notes=("so left out: 'Lee'",),
        experts=("Dr. Max Lee",),
    ),
    Study(
        "a number before each answer",
        {"Who": TICKS, "Answers": changed(WIDE, lambda c: f"{CLASSES.index(c) + 1} - {c}")},
        notes=("'2 - Naevus' is 'Naevus'",),
    ),
    Study(
        "the numbers of the classes as answers",
        {
            "Who": [["Doctor", *(f"({n}) {c}" for n, c in enumerate(CLASSES, start=1))], *TICKS[1:]],
            "A": CODED,
        },
        notes=("'1' is '(1) Melanoma'",),
    ),
    Study(
        "a number that is not that of the class",
        {
            "Who": [["Doctor", *(f"{n}. {c}" for n, c in enumerate(CLASSES, start=1))], *TICKS[1:]],
            "A": changed(WIDE, lambda c: f"{CLASSES.index(c) + (2 if c == D else 1)}. {c}"),
        },
        answers=96 - sum(row.count(D) for row in SAID),
        notes=("so left out: '5. Eczema'",),
    ),
    Study(
        "answers that look like a class, and are another",
        {"Who": TICKS, "Answers": changed(WIDE, lambda c: "Non-melanoma" if c == A else c)},
        answers=96 - sum(row.count(A) for row in SAID),
        notes=("so left out: 'Non-melanoma'",),
    ),
    Study(
        "gold items that are numbers, like codes",
        {
            "Who": TICKS,
            "Answers": [["Case", *NAMES], *([n + 1, *row] for n, row in enumerate(SAID))],
            "Truth": [["Case", "Class"], *([n + 1, c] for n, c in enumerate(TRUTH[:5]))],
        },
        gold=5,
    ),
    Study(
        "a class that nobody knows",
        {"Who": beside(TICKS, "Other", [0, 0, 0, 0]), "Answers": WIDE},
        notes=("nobody knows 'Other'",),
    ),
    Study(
        "a legend of two columns below a wide table",
        {"Who": TICKS, "Answers": [*AGED, [], ["Legend:"], ["x", "seen"], ["y", 1]]},
        notes=("24 items",),
    ),
    Study(
        "the last items have few answers, after an empty row",
        {"Who": TICKS, "Answers": [*AGED, [], ["C-24", A], ["C-25", B]]},
        answers=98,
        notes=("26 items",),
    ),
    Study(
        "a locum", {"Who": TICKS, "Answers": beside(WIDE, "Dr. Kim", TRUTH)}, notes=("left out: 'Dr. Kim'",)
    ),
    Study(
        "a sheet of notes",
        {"Who": TICKS, "Answers": WIDE, "Notes": [["call Bo"]]},
        notes=("not read: 'Notes'",),
    ),
    Study("an old version, hidden", {"Who": TICKS, "Old": WIDE, "Answers": WIDE[:11]}, 40, hidden=("Old",)),
    Study(
        "an old version",
        {"Who": TICKS, "Old": WIDE, "Answers": WIDE[:11]},
        refused=("'Old', 'Answers'", "hide"),
    ),
    Study(
        "a sheet for each month",
        {"Who": TICKS, "January": WIDE[:9], "February": [WIDE[0], *WIDE[9:]]},
        refused=("answers on several sheets ('January', 'February')", "below each other"),
    ),
    Study(
        "a sheet for each doctor",
        {
            "Who": TICKS,
            **{d: [["Case", "Diagnosis"], *([i, c] for i, e, c in LONG if e == d)] for d in NAMES},
        },
        refused=("a sheet for each expert", "Dr. Bo Cho", "a row for each answer"),
    ),
    Study("no ticks", {"Answers": WIDE}, refused=("no sheet that says who knows what", "'Answers'", "an x")),
    Study("both tables on one sheet", {"S": [*TICKS, [], *WIDE]}, refused=("'S'", "with nothing else on it")),
    Study("no answers", {"Who": TICKS}, refused=("no sheet of answers", "a row for each item")),
    Study(
        "two lesions of a patient",
        {
            "Who": TICKS,
            "Answers": [["Patient", "Lesion", *NAMES], *([n // 2, n % 2, *r] for n, r in enumerate(SAID))],
        },
        refused=("such pairs", "if two columns together name the item, join them"),
    ),
    Study(
        "an expert in two columns, and a tick that is none",
        {"Who": [*TICKS[:4], ["Dr. Di O'Hara", "?", "x", "", "x"]], "Answers": beside(WIDE, NAMES[0], TRUTH)},
        refused=("'Melanoma' has '?' (row 5)",),
    ),
]


def read_study(path):
    """Return what a workbook holds, and its answers."""
    found = read_workbook(path)
    return found, VoteFile(found.answers, found.panel, found.reading).read()


@pytest.mark.filterwarnings("ignore::covote.votes.problems.DroppedWarning")
@pytest.mark.parametrize("study", [pytest.param(study, id=study.name) for study in STUDIES])
def test_studies(tmp_path, study):
    path = tmp_path / "study.xlsx"
    book = openpyxl.Workbook()
    for name, rows in study.sheets.items():
        page = book.create_sheet(name[:31])
        for row in rows:
            page.append([None if cell == "" else cell for cell in row])
        page.sheet_state = "hidden" if name in study.hidden else "visible"
    del book["Sheet"]
    book.save(path)
    if study.refused:
        with pytest.raises(CovoteError) as caught:
            read_study(path)
        message = str(caught.value)
        assert [words for words in ("study.xlsx", *study.refused) if words not in message] == [], message
        assert "\n" not in message
        return
    found, votes = read_study(path)
    assert found.panel.names == (*NAMES, *study.experts)
    gold = {} if found.gold is None else read_gold(found.gold, found.panel, found.reading)
    assert (votes.answers, len(gold)) == (study.answers, study.gold)
    notes = " | ".join(found.notes)
    assert [words for words in study.notes if words not in notes] == [], notes
