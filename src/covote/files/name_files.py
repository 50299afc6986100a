"""Files that say what is meant by names in votes: two columns, as written and as the panel has it."""

from __future__ import annotations

import os

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.panel.cells import is_called, read_cells, words
from covote.panel.checks import did_you_mean, shown, some_of
from covote.votes.names import Matcher

_HEADINGS = words("old from name written alias as vote votes found original label expert before source")


def read_names(
    path: str | os.PathLike[str], panel: Panel | None, none: str = "none of mine"
) -> dict[str, str]:
    """Read ``{name as written: name of the panel}`` from a .csv, .tsv or .xlsx file with two columns.

    Every second name is an expert or a class of the panel, or the word for "none of mine".
    """
    rows = [[cell for cell in row if cell] for row in read_cells(path)]
    rows = [row for row in rows if row]
    wrong = [f"row {n} has {len(row)} cells" for n, row in enumerate(rows, start=1) if len(row) != 2]
    if not rows or wrong:
        said = "; ".join(wrong[:5]) or "it has no rows"
        raise InputError(f"{path}: {said}; a file of names has two columns: as written, as the panel has it")
    known = None if panel is None else [Matcher(panel.names), Matcher(panel.classes, none=none)]

    def is_known(name: str) -> bool:
        return known is None or any(matcher.code(name) >= 0 or name == none for matcher in known)

    heading = is_called(rows[0][0], _HEADINGS) or (panel is not None and not is_known(rows[0][1]))
    found: dict[str, str] = {}
    for old, new in rows[1 if heading and len(rows) > 1 else 0 :]:
        if not is_known(new):
            wrong.append(f"{shown(new)} (for {shown(old)})")
        elif found.setdefault(old, new) != new:
            raise InputError(
                f"{path}: {shown(old)} means {shown(found[old])} and also {shown(new)}; keep one"
            )
    if wrong:
        raise InputError(
            f"{path}: neither an expert nor a class of the panel: {', '.join(wrong[:20])}; the second column "
            "has names of the panel"
        )
    return found


def read_numbers(path: str | os.PathLike[str], names: tuple[Name, ...], what: str) -> dict[Name, float]:
    """Read ``{name: number}`` from a .csv, .tsv or .xlsx file with two columns; every name has one row.

    `what` the numbers are is for messages: "accuracy". A heading is left aside.
    """
    rows = [[cell for cell in row if cell] for row in read_cells(path)]
    rows = [row for row in rows if row]
    known, found = Matcher(names), dict[Name, float]()
    for n, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise InputError(f"{path}, row {n}: {len(row)} cells; a row has a name and its {what}")
        place = known.code(row[0])
        try:
            value = float(row[1])
        except ValueError:
            if n == 1 and place < 0:
                continue  # a heading
            raise InputError(f"{path}, row {n}: {what} {row[1]!r} is not a number") from None
        if place < 0:
            raise InputError(f"{path}, row {n}: {row[0]!r} is not in the panel{did_you_mean(row[0], names)}")
        if found.setdefault(names[place], value) != value:
            raise InputError(f"{path}, row {n}: a second {what} of {row[0]!r}; keep one")
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(f"{path}: no {what} of {some_of(missing)}; give one for each")
    return found
