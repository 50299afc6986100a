"""A list of people as it stands in a spreadsheet: names, what each knows, perhaps addresses.

What someone knows is written as names of classes in one cell, or as one column for each class with an x.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from covote_studio.people.roster import Roster
from covote_studio.rules import Refusal, check_name

MOST_PEOPLE = 1000
MOST_HINTS = 20
"""Words that are compared with the names of classes, which takes long, to say what may be meant."""
_NAMES = ("name", "person", "who", "expert", "people")
_KNOWS = ("knows", "know", "classes", "class", "knows what", "expertise")
_MAILS = ("e-mail", "email", "mail", "e-mail address", "email address")
_NOT = ("", "0", "-", "–", "no", "n", "false")
"""Cells that are not a cross."""
_ALL = ("all", "everything", "*")


@dataclass
class NewPerson:
    """Someone of the list: name, ids of the classes they know, address, and what is wrong with the row."""

    name: str
    known: set[int] = field(default_factory=set)
    email: str = ""
    problems: list[str] = field(default_factory=list)


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of a pasted list: from a spreadsheet (tabs), or CSV.

    >>> rows_of("Ann\\tcat, dog\\nBob\\tfox")
    [['Ann', 'cat, dog'], ['Bob', 'fox']]
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = "\t" if "\t" in text else ";" if first.count(";") else ","
    cells = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        return [[cell.strip() for cell in row] for row in cells if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise Refusal(
            f"This list cannot be read ({error}); paste it again from the spreadsheet.", 422
        ) from error


def text_of(rows: Sequence[Sequence[str]]) -> str:
    """Return cells as they would be pasted."""
    packed = io.StringIO()
    csv.writer(packed, delimiter="\t", lineterminator="\n").writerows(rows)
    return packed.getvalue()


def read_people(rows: Sequence[Sequence[str]], roster: Roster) -> tuple[list[NewPerson], list[str]]:
    """Return the people of a list, and notes on how it was read."""
    if not rows:
        raise Refusal("The list is empty; paste the rows with names, or choose a file.", 422)
    if len(rows) > MOST_PEOPLE + 1:
        raise Refusal(f"The list has {len(rows):,} rows; add at most {MOST_PEOPLE:,} people at a time.", 422)
    classes = {one.name.casefold(): one.id for one in roster.classes}
    roles = _roles(rows, classes)
    body = rows[1:] if roles else rows
    notes = []
    if roles:
        ignored = [cell for cell, role in zip(rows[0], roles, strict=False) if cell and role == ""]
        if ignored:
            notes.append(f"Not used: {', '.join(ignored)}.")
    else:
        roles = ["name", *(["knows"] * max(0, max(map(len, rows)) - 1))]
    taken = {one.name.casefold() for one in roster.members}
    people = []
    hints: dict[str, str] = {}
    for row in body:
        one = _read_row(row, roles, classes, hints)
        if one.name.casefold() in taken:
            one.problems.append("is in the project, or in the list, already")
        taken.add(one.name.casefold())
        people.append(one)
    return people, notes


def _roles(rows: Sequence[Sequence[str]], classes: Collection[str]) -> list[str | int]:
    """Return the role of each column if the first row names them: name, knows, email, or a class."""
    found: list[str | int] = []
    for cell in rows[0]:
        word = cell.casefold()
        if word in _NAMES and "name" not in found:
            found.append("name")
        elif word in classes:
            found.append(word)
        elif word in _KNOWS:
            found.append("knows")
        elif word in _MAILS:
            found.append("email")
        else:
            found.append("")
    named = sum(role != "" for role in found)
    if "name" not in found and named >= 2 and found[0] == "":  # the corner of a table of crosses
        found[0] = "name"
    return found if "name" in found and (named >= 2 or len(found) == 1) else []


def _read_row(
    row: Sequence[str], roles: Sequence[str | int], classes: dict[str, int], hints: dict[str, str]
) -> NewPerson:
    one = NewPerson("")
    for cell, role in zip(row, roles, strict=False):
        if role == "name":
            one.name = cell
        elif role == "email" or (role == "knows" and re.fullmatch(r"[^@\s]+@[^@\s]+", cell)):
            one.email = cell
        elif role == "knows":
            _read_known(cell, one, classes, hints)
        elif role != "" and cell.casefold() not in _NOT:
            one.known.add(classes[str(role)])
    try:
        one.name = check_name(one.name, "A person")
    except Refusal as refused:
        one.problems.append(str(refused))
    return one


def _read_known(cell: str, one: NewPerson, classes: dict[str, int], hints: dict[str, str]) -> None:
    """Add the classes that a cell names; one that is not there is a problem."""
    if cell.casefold() in _ALL:
        one.known.update(classes.values())
        return
    whole = classes.get(cell.casefold())
    for word in [cell] if whole is not None else re.split(r"[,;/|\n]|\band\b", cell):
        name = word.strip().casefold()
        if name in classes:
            one.known.add(classes[name])
        elif name:
            if name not in hints and len(hints) < MOST_HINTS:
                near = get_close_matches(name[:200], classes, 1)
                hints[name] = f"; do you mean {near[0]}?" if near else ""
            one.problems.append(f"“{word.strip()[:60]}” is not a class{hints.get(name, '')}")
