"""A whole study in one workbook: who knows what, the answers, and the gold items."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

from covote.arguments import some_of
from covote.errors import InputError
from covote.files.side_tables import GOLD, gold_sheet
from covote.panel import Panel
from covote.panel.panel_tables import panel_sheet
from covote.tables import ReadOptions
from covote.tables.dialect import heading_row
from covote.tables.sheets import read_sheets
from covote.tables.words import is_called
from covote.votes.answered_panel import unanswered
from covote.votes.vote_file import VoteFile, answers_sheet


class Workbook(NamedTuple):
    """What is where in a workbook.

    Attributes
    ----------
    panel
        Who knows what.
    answers, gold
        The sheets of answers and of gold items, as paths: ``study.xlsx#Answers``.
    reading
        How the answers are read.
    notes
        What was understood, in sentences.
    """

    panel: Panel
    answers: str
    gold: str | None
    reading: ReadOptions
    notes: tuple[str, ...]


def read_workbook(path: str | os.PathLike[str]) -> Workbook:
    """Find the panel, the answers and the gold items in a workbook.

    Answers of experts who are not in the panel, of unknown classes, and outside what the expert knows are
    left out; names that are surely misspelt are corrected.
    """
    if Path(path).suffix.lower() != ".xlsx":
        raise InputError(f"{path} is not an Excel workbook (.xlsx); for other files: covote decode")
    sheets = {name: sheet.rows for name, sheet in read_sheets(path).items()}
    listed = some_of([*map(repr, sheets)])
    knows = panel_sheet(sheets)
    if knows is None:
        raise InputError(
            f"{path} has no sheet that says who knows what (it has: {listed}); add one with a row for each "
            "expert, a column for each class, and an x where the expert knows the class"
        )
    rest = {name: rows for name, rows in sheets.items() if name != knows}
    answered = answers_sheet(rest)
    if answered is None:
        raise InputError(
            f"{path} has no sheet of answers (it has: {listed}); add one with a row for each item and a "
            "column for each expert"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        panel = Panel.load(f"{path}#{knows}")
    experts, classes = panel.knows.shape
    notes = [f"sheet {knows!r}: {experts} experts and {classes} classes"]
    gone = [str(name) for name, left in zip(panel.names, panel.left, strict=True) if left]
    notes += [f"left: {some_of(gone)}"] if gone else []
    notes += [str(warning.message) for warning in caught]
    golden = gold_sheet({name: rows for name, rows in rest.items() if name != answered})
    head = rest[answered][heading_row(rest[answered])]
    column = next((name for name in head if is_called(name, GOLD)), None) if golden is None else None
    reading = ReadOptions(unknown="drop", gold_column=column)
    answers = f"{path}#{answered}"
    file = VoteFile(answers, panel, reading)
    votes = file.examine()
    notes.append(f"sheet {answered!r}: {len(votes):,} items")
    fixed = {old: new for old, new in file.problems.unknown_names(unanswered(votes)[0]).items() if new}
    if fixed:
        notes.append(f"read as misspelt: {some_of([f'{old!r} as {new!r}' for old, new in fixed.items()])}")
        reading = ReadOptions(unknown="drop", gold_column=column, rename=fixed)
    if golden is not None:
        notes.append(f"gold items: sheet {golden!r}")
    elif column is not None:
        notes.append(f"gold items: column {column!r}")
    else:
        notes.append("gold items: none (a column Truth, or a sheet with two columns, would give some)")
    gold = answers if column is not None else None if golden is None else f"{path}#{golden}"
    return Workbook(panel, answers, gold, reading, tuple(notes))
