"""A whole study in one workbook: who knows what, the answers, and the gold items."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from covote.arguments import no_file, some_of, without_titles
from covote.errors import InputError
from covote.files.side_tables import GOLD, gold_sheet
from covote.panel import Name, Panel
from covote.panel.panel_tables import panel_sheet
from covote.tables import ReadOptions
from covote.tables.dialect import Row, heading_row
from covote.tables.sheets import read_sheets
from covote.tables.words import fold_accents, is_called
from covote.votes.answered_panel import unanswered
from covote.votes.vote_file import VoteFile, answers_sheet

_OTHER_WORKBOOKS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_LONGEST = 20  # letters by which the name of a sheet, which Excel cuts, is known as that of an expert


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
    left out; names that are surely misspelt are corrected, and those that a sheet of two columns or a column
    next to the experts explains are replaced.
    """
    sheets = _sheets(path)
    knows, answered = _panel_and_answers(path, sheets)
    rest = {name: rows for name, rows in sheets.items() if name not in (knows, answered)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        panel = _load_panel(path, knows, answered, sheets[answered])
    _refuse_several(path, {name: rows for name, rows in sheets.items() if name != knows}, panel)
    answers = f"{path}#{answered}"
    file = VoteFile(answers, panel, ReadOptions(unknown="drop"))
    votes = file.examine()
    notes = [*_panel_notes(knows, panel), *(str(warning.message) for warning in caught)]
    notes.append(f"sheet {answered!r}: {len(votes):,} items")

    without_answer = unanswered(votes)[0]
    unknown = file.problems.unknown_names(without_answer)
    others = {name: rows for name, rows in sheets.items() if name != answered}
    place, other_names = _other_names(others, [*unknown], panel)
    corrections = {old: new for old, new in unknown.items() if new is not None and old not in other_names}
    unexplained = [name for name in unknown if name not in (*other_names, *corrections)]
    short_forms = _short_forms(unexplained, without_answer, panel)
    rename = other_names | corrections | short_forms
    notes += _renamed(f"other names, in sheet {place!r}", other_names, "is")
    notes += _renamed("last names and numbers", short_forms, "is")
    notes += _renamed("read as misspelt", corrections, "as")

    rest.pop(str(place), None)
    gold_name = gold_sheet(rest)
    head = sheets[answered][heading_row(sheets[answered])]
    column = next((name for name in head if is_called(name, GOLD)), None) if gold_name is None else None
    columns = [name for name in file.columns.unknown_columns if name not in rename]
    notes.append(f"gold items: {_gold_note(gold_name, column, columns)}")
    dropped_names = [repr(name) for name in unknown if name not in (*rename, column)]
    if dropped_names:
        notes.append(
            f"not in sheet {knows!r}, so left out: {some_of(dropped_names)}; a sheet with two "
            f"columns, the name as written and the name in {knows!r}, would say what they mean"
        )
    other_sheets = [repr(name) for name in rest if name != gold_name]
    notes += [f"not read: {some_of(other_sheets)}"] if other_sheets else []
    reading = ReadOptions(unknown="drop", gold_column=column, rename=rename)
    gold = answers if column is not None else None if gold_name is None else f"{path}#{gold_name}"
    return Workbook(panel, answers, gold, reading, tuple(notes))


def _sheets(path: str | os.PathLike[str]) -> dict[str, list[Row]]:
    """Return the rows of each sheet."""
    ending = Path(path).suffix.lower()
    if not Path(path).exists():
        raise no_file(path)
    if ending in _OTHER_WORKBOOKS:
        raise InputError(f"{path} is a workbook of another kind; save it as .xlsx")
    if ending != ".xlsx":
        raise InputError(f"{path} is not an Excel workbook (.xlsx); for other files: covote decode")
    return {name: sheet.rows for name, sheet in read_sheets(path).items()}


def _panel_and_answers(path: str | os.PathLike[str], sheets: Mapping[str, list[Row]]) -> tuple[str, str]:
    """Return the sheet that says who knows what, and that of the answers."""
    listed = some_of([*map(repr, sheets)])
    knows = panel_sheet(sheets)
    if knows is None:
        raise InputError(
            f"{path} has no sheet that says who knows what (it has: {listed}); add one with a row for each "
            "expert, a column for each class, and an x where the expert knows the class, with nothing "
            "else on it"
        )
    answered = answers_sheet({name: rows for name, rows in sheets.items() if name != knows})
    if answered is None:
        raise InputError(
            f"{path} has no sheet of answers (it has: {listed}); add one with a row for each item and a "
            "column for each expert, with nothing else on it"
        )
    return knows, answered


def _panel_notes(knows: str, panel: Panel) -> list[str]:
    """Say how large the panel is, who has left, and which classes nobody knows."""
    experts, classes = panel.knows.shape
    notes = [f"sheet {knows!r}: {experts} experts and {classes} classes"]
    gone = [str(name) for name, left in zip(panel.names, panel.left, strict=True) if left]
    notes += [f"left: {some_of(gone)}"] if gone else []
    unticked = [repr(panel.classes[k]) for k in np.flatnonzero(~panel.knows.any(axis=0))]
    if unticked:
        notes.append(
            f"nobody knows {some_of(unticked)}, so every label stays open; if no item can be of it, delete it"
        )
    return notes


def _renamed(what: str, names: Mapping[str, Name], verb: str) -> list[str]:
    """Return a note on names that stand for others, if there are any."""
    listed = some_of([f"{old!r} {verb} {str(new)!r}" for old, new in names.items()])
    return [f"{what}: {listed}"] if names else []


def _gold_note(sheet: str | None, column: str | None, columns: Sequence[str]) -> str:
    """Say where the gold items are; `columns` may hold known classes without being called so."""
    if sheet is not None:
        return f"sheet {sheet!r}"
    if column is not None:
        return f"column {column!r}"
    if columns:
        return f"none (if {some_of([*map(repr, columns)])} holds known classes, call the column Truth)"
    return "none (a column Truth, or a sheet with two columns, would give some)"


def _load_panel(path: str | os.PathLike[str], knows: str, answered: str, answers: Sequence[Row]) -> Panel:
    """Load the panel; report its problems together with names that head several columns of answers."""
    head = answers[heading_row(answers)]
    problems = [
        f"{path}#{answered} has two columns {name!r}; name each as in the sheet {knows!r}"
        for name in dict.fromkeys(head)
        if name and head.count(name) > 1
    ]
    try:
        panel = Panel.load(f"{path}#{knows}")
    except InputError as error:
        problems.insert(0, str(error))
    if problems:
        raise InputError("; ".join(problems))
    return panel


def _refuse_several(path: str | os.PathLike[str], sheets: Mapping[str, Sequence[Row]], panel: Panel) -> None:
    """Reject a workbook whose answers are on several sheets: one for each month, or for each expert."""
    experts = {fold_accents(str(name)) for name in panel.names}
    cut = {name[:_LONGEST] for name in experts}
    of_experts = [name for name in sheets if fold_accents(name)[:_LONGEST] in cut]
    several = [
        name
        for name, rows in sheets.items()
        if len(experts & {fold_accents(cell) for cell in rows[heading_row(rows)]}) > 1
    ]
    if len(of_experts) > 1:
        raise InputError(
            f"{path} has a sheet for each expert ({some_of([*map(repr, of_experts)])}); put all answers on "
            "one sheet, with a row for each item and a column for each expert, or a row for each answer "
            "(item, expert, label)"
        )
    if len(several) > 1:
        raise InputError(
            f"{path} has answers on several sheets ({some_of([*map(repr, several)])}); put their rows below "
            "each other on one sheet, or hide those that do not count: hidden sheets are not read"
        )


def _other_names(
    sheets: Mapping[str, Sequence[Row]], unknown: Sequence[str], panel: Panel
) -> tuple[str | None, dict[str, Name]]:
    """Return what unknown names mean, and the sheet that says so: a list of codes, or a column of initials.

    It has the names of the panel in a column, and other names, each once, in another column.
    """
    unknown_by_text = {fold_accents(name): name for name in unknown}
    known = {fold_accents(str(name)): name for name in (*panel.names, *panel.classes)}
    place, best = None, dict[str, Name]()
    for sheet, rows in sheets.items():
        body = [[fold_accents(cell) for cell in row] for row in rows[heading_row(rows) + 1 :]]
        for other, own in permutations(range(len(rows[0])), 2):
            pairs = [(row[other], row[own]) for row in body if row[other] and row[own] in known]
            found = {unknown_by_text[old]: known[new] for old, new in pairs if old in unknown_by_text}
            once = len({old for old, _ in pairs}) == len(pairs)
            if once and 2 * len(found) >= len(pairs) and len(found) > len(best):
                place, best = sheet, found
    return place, best


def _short_forms(unknown: Sequence[str], without_answer: Sequence[Name], panel: Panel) -> dict[str, Name]:
    """Return what unknown names are short or long for: last names, and classes with or without their number.

    An expert who has answers is not meant by another name, so only those in `silent` are.
    """
    meant: dict[str, list[Name]] = {}
    for name in without_answer:
        meant.setdefault(fold_accents(without_titles(str(name)).split()[-1]), []).append(name)
    for name in panel.classes:
        number, text = _parts(str(name))
        for part in {number, fold_accents(text)} if number else ():
            meant.setdefault(part, []).append(name)
        meant.setdefault(fold_accents(str(name)), []).append(name)
    found: dict[str, Name] = {}
    for name in unknown:
        number, text = _parts(name)
        near = meant.get(fold_accents(name), []) or (meant.get(fold_accents(text), []) if number else [])
        if len(near) == 1 and (not number or _parts(str(near[0]))[0] in ("", number)):
            found[name] = near[0]
    return found


def _parts(name: str) -> tuple[str, str]:
    """Return the number in front of a name, and the rest.

    >>> _parts("2 - Naevus"), _parts("(2) Naevus"), _parts("2. Naevus"), _parts("2nd"), _parts("Naevus")
    (('2', 'Naevus'), ('2', 'Naevus'), ('2', 'Naevus'), ('', '2nd'), ('', 'Naevus'))
    """
    numbered = re.fullmatch(r"\(?(\d+)\)?(?:\s*[-–.:=)]\s*|\s+)([^\W\d].*)", name)
    return (numbered[1], numbered[2]) if numbered else ("", name)
