"""Read panels from tables as people make them.

A table may be a matrix of marks in either orientation, lists of classes, or one row for each class that an
expert knows, and it may have titles, notes, costs and totals.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any

from covote.arguments import shown, some_of
from covote.errors import InputError
from covote.panel.checks import LONGEST_INTEGER
from covote.panel.ranges import expand_ranges
from covote.tables.arrow_names import arrow_table
from covote.tables.dialect import Row, without_empty
from covote.tables.sheets import text_of_cell
from covote.tables.words import (
    CLASSES,
    COSTS,
    EXPERTS,
    ITEMS,
    KNOWS,
    LEFT,
    NOTES,
    fold_accents,
    is_called,
    is_total,
    words,
)

_KNOWN = words("1 1.0 x xx yes y true t ja j wahr oui si sim tak ano да 是 + * v ok ✓ ✔ ✅ ☑ ■ ● •")
_NOT_KNOWN = words(
    "0 0.0 no n false f nein falsch non nao nie ne нет 否 - -- – — . / n/a na nan none null □ ☐ ○"
)
_VERBS = words("knows known can kann kennt connait sabe conoce")
_UNITS = words("per hour answer item case question stunde pro je h in eur usd gbp chf € $ £ unit day")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_SEVERAL = re.compile(r"\s*[,;|\n]\s*")

_SHOWN = 5  # problems in a message

CellRows = list[list[str]]


def cell_of(name: str | int) -> str:
    """Return a name as written in a table: text that looks like an integer gets an apostrophe in front."""
    if isinstance(name, str) and (_INTEGER.fullmatch(name) or name.startswith("'")):
        return "'" + name
    return str(name)


def name_of(cell: str) -> str | int:
    """Return the name in a cell: an integer if it is written as one."""
    if cell.startswith("'"):
        return cell[1:]
    return int(cell) if _INTEGER.fullmatch(cell) and len(cell) <= LONGEST_INTEGER else cell


def rows_of(table: Any) -> CellRows:
    """Return the cells of a table in memory, with the column names first, and with a named index."""
    found = arrow_table(table, "a panel", index=True)
    names = found.column_names
    index = [name for name in names if name.startswith("__index_level_")]
    order = index + [name for name in names if name not in index]
    columns = [
        ["" if name in index else name, *map(text_of_cell, found.column(name).to_pylist())] for name in order
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def panel_of_rows(rows: CellRows) -> dict[str, Any]:
    """Return the panel that the cells of a table describe, as plain lists and dicts.

    >>> panel_of_rows([["Doctor", "skin", "eye"], ["Ann", "x", ""], ["Bob", "yes", "ja"]])["experts"]
    [{'name': 'Ann', 'knows': ['skin']}, {'name': 'Bob', 'knows': ['skin', 'eye']}]
    >>> panel_of_rows([["ann", "skin, eye"], ["bob", "eye"]])["classes"]
    ['skin', 'eye']
    """
    rows = _without_notes(without_empty(rows))
    if not rows:
        raise InputError('the table is empty; it begins with a row: "expert" and the classes')
    rows = _without_titles(rows)
    pair = _long_columns(rows[0])
    if pair is not None:
        _warn_of_others(rows[0], pair)
        return _long(rows, *pair)
    if len(rows) == 1 or _is_matrix(rows):
        rows = _without_remarks(_without_totals(_upright(rows)))
        return matrix(rows, _cost_column(rows), _left_column(rows[0]))
    if len(rows[0]) == 3 and all(
        any(is_called(h, names) for h in rows[0]) for names in (ITEMS, EXPERTS, CLASSES)
    ):
        raise InputError(
            f"these are answers ({', '.join(rows[0])}), and a panel says who knows what: a row for each "
            "expert with the classes it knows (see covote docs formats); look at answers with covote check "
            "PANEL ANSWERS"
        )
    if is_called(rows[0][0], EXPERTS) and len(rows[0]) > 2:
        cells = [*chain(*_inner(rows))]
        named = all(rows[0]) and not any(map(_heads_a_list, rows[0][1:])) and not {*rows[0][1:]} & {*cells}
        if named or all(map(_is_level, cells)):
            return matrix(rows, _cost_column(rows), _left_column(rows[0]))  # which says what is wrong with it
    return _lists(rows)


def _heads_a_list(heading: str) -> bool:
    """Whether a heading stands above classes: "knows", "class 2"."""
    return is_called(heading.rstrip("0123456789 ."), KNOWS | CLASSES)


def _inner(rows: CellRows) -> CellRows:
    """Return the cells of a table without the first row and column."""
    return [row[1:] for row in rows[1:]]


def _is_level(cell: str) -> bool:
    """Whether a cell has a mark, or a number or letter in place of one: 2, (x)."""
    return _is_mark(cell) or re.fullmatch(r"\(?(\w|\d\d)\)?", cell) is not None


def _without_titles(rows: CellRows) -> CellRows:
    while len(rows) > 2 and _stands_above(*rows[:2]) and _begins_a_table(rows[1:]):
        rows = without_empty(rows[1:])
    return rows


def _stands_above(row: list[str], head: list[str]) -> bool:
    """Whether a row is a title, or has the names of groups of columns."""
    return _is_title(row) or _are_groups(row, head)


def _is_title(row: list[str]) -> bool:
    return sum(map(bool, row)) == 1


def _are_groups(row: list[str], head: list[str]) -> bool:
    """Whether a row has the names of groups of classes, above a heading that is filled."""
    return sum(map(bool, row)) < sum(map(bool, head)) and all(head[1:]) and not any(map(_is_mark, head[1:]))


def _begins_a_table(rows: CellRows) -> bool:
    """Whether rows after a title begin a table: a matrix, or a heading that names its columns."""
    called = any(is_called(cell, EXPERTS | CLASSES | KNOWS) for cell in rows[0] if cell)
    below = len(rows) > 2 and _stands_above(*rows[:2]) and _begins_a_table(rows[1:])
    return _is_matrix(rows) or (called and not _is_title(rows[0])) or below


def _without_notes(rows: CellRows) -> CellRows:
    """Return the rows without remarks at the end: lone cells that are sentences, or below an empty row."""
    last = len(rows)
    while last > 2 and _is_title(rows[last - 1]):
        last -= 1
    gaps = [n for n in range(last, len(rows)) if _number(rows, n) > _number(rows, n - 1) + 1]
    end = gaps[0] if gaps else len(rows)
    while end > 2 and _is_title(rows[end - 1]) and _is_remark(next(filter(None, rows[end - 1]))):
        end -= 1
    return without_empty(rows[:end])


def _number(rows: CellRows, place: int) -> int:
    """Return the number of a row in its file; of a table in memory, its place."""
    return getattr(rows[place], "number", place)


def _is_remark(text: str) -> bool:
    first = re.split(r"\W", fold_accents(text.strip(" *")), maxsplit=1)[0]
    legend = "=" in text or text.startswith("*") or is_called(text.partition(":")[0], NOTES)
    return legend or first in NOTES or len(text.split()) > 4


def _is_cost(heading: str) -> bool:
    """Whether a heading names costs, with or without a unit.

    >>> _is_cost("Cost per hour (EUR)"), _is_cost("Kosten/Stunde"), _is_cost("skin cost")
    (True, True, False)
    """
    parts = [fold_accents(word) for word in re.split(r"[\s/()\[\],.:_-]+", heading) if word]
    named = [word for word in parts if is_called(word, COSTS)]
    return is_called(heading, COSTS) or (bool(named) and all(w in _UNITS or w in named for w in parts))


def _left_column(head: list[str]) -> int | None:
    """Return the column that says who has left; next to "right", "left" is a class.

    >>> _left_column(["doctor", "skin", "Left"]), _left_column(["doctor", "left", "right"])
    (2, None)
    """
    if any(fold_accents(name) in ("right", "rechts", "droite") for name in head):
        return None
    return next((c for c, name in enumerate(head) if c and is_called(name, LEFT)), None)


def _has_left(row: list[str], column: int | None) -> bool:
    """Whether the cell that says whether an expert has left holds a mark, or a date."""
    return column is not None and column < len(row) and fold_accents(row[column]) not in _NOT_KNOWN | {""}


def panel_sheet(sheets: Mapping[str, Sequence[list[str]]]) -> str | None:
    """Return the first sheet of a workbook that says who knows what; None if there is none."""
    return next((name for name, rows in sheets.items() if is_panel_table([*rows])), None)


def is_panel_table(rows: CellRows) -> bool:
    """Whether cells hold ticks, or columns of experts and of what they know.

    >>> is_panel_table([["doctor", "skin", "eye"], ["Ann", "x", ""], ["Bob", "x", "x"]])
    True
    >>> is_panel_table([["case", "Ann", "Bob"], ["1", "skin", "eye"], ["2", "eye", "eye"]])
    False
    """
    rows = _without_titles(_without_notes(without_empty(rows)))
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    ticked = any(fold_accents(cell) in _KNOWN for row in rows[1:] for cell in row[1:])
    named = is_called(rows[0][0], EXPERTS) and is_called(rows[0][1], KNOWS)
    return named or _long_columns(rows[0]) is not None or (ticked and _is_matrix(rows))


def has_panel(rows: CellRows) -> bool:
    """Whether the cells describe a panel, and not a list of classes."""
    rows = without_empty(rows)
    return bool(rows) and len(rows[0]) > 1 and (len(rows) > 1 or is_called(rows[0][0], EXPERTS))


def _is_matrix(rows: CellRows) -> bool:
    """Whether most cells of a table are marks; a short column of words is a list."""
    if len(rows[0]) < 2 or not rows[0][1] or (len(rows[0]) == 2 and is_called(rows[0][1], KNOWS)):
        return False
    others = {
        c for c, name in enumerate(rows[0]) if _is_cost(name) or is_total(name) or is_called(name, NOTES)
    } | {_left_column(rows[0])}
    body = [row for row in rows[1:] if not is_total(row[0]) and not _is_cost(row[0])]
    cells = [cell for row in body for c, cell in enumerate(row) if c and c not in others and cell]
    marks = sum(map(_is_mark, cells))
    return not cells or 2 * marks >= len(cells)


def _upright(rows: CellRows) -> CellRows:
    """Return a matrix with one row per expert, and with the experts in the first column."""
    corner = rows[0][0]
    first = re.split(r"[\\/|,]", corner)[0]  # of "class / doctor"
    below = any(_is_cost(row[0]) for row in rows[1:]) and not any(map(_is_cost, rows[0]))
    if (is_called(first, CLASSES) or below) and not is_called(first, EXPERTS):
        short = next((n for n, row in enumerate(rows, start=1) if len(row) != len(rows[0])), None)
        if short is not None:
            raise _ragged(short, rows)
        return [list(row) for row in zip(*rows, strict=True)]
    place = next((c for c, name in enumerate(rows[0]) if is_called(name, EXPERTS)), 0)
    if place and not is_called(corner, EXPERTS) and not _any_marks(rows, place):
        return [
            Row.like(row, [row[place], *row[:place], *row[place + 1 :]]) for row in rows if place < len(row)
        ]
    return rows


def _any_marks(rows: CellRows, column: int) -> bool:
    return any(fold_accents(row[column]) in _KNOWN | _NOT_KNOWN for row in rows[1:] if column < len(row))


def _ragged(number: int, rows: CellRows) -> InputError:
    return InputError(
        f"row {number} has {len(rows[number - 1])} cells, the first row has {len(rows[0])}; give both the "
        "same number"
    )


def _numbered(body: CellRows) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows below the heading with their numbers; rows of a sheet keep the sheet's numbers."""
    for place, row in enumerate(body, start=2):
        yield getattr(row, "number", place), row


def matrix(rows: CellRows, cost: int | None, left: int | None) -> dict[str, Any]:
    """Return the panel of a matrix: its first row names the classes, its first column the experts.

    `cost` and `left` are the columns of costs, and of who has left.
    """
    head, body = rows[0], rows[1:]
    for number, row in enumerate(body, start=2):
        if len(row) != len(head):
            raise _ragged(number, rows)
    columns = [c for c in range(1, len(head)) if c not in (cost, left)]
    problems = [f"column {c + 1} has no class in the first row" for c in columns if not head[c]]
    problems += [f"row {n} has no expert in the first column" for n, row in _numbered(body) if not row[0]]
    problems += _repeated(body)
    for c in columns:
        wrong = {row[c]: n for n, row in reversed([*_numbered(body)]) if not _is_mark(row[c])}
        if wrong:
            cells = some_of([f"{shown(cell)} (row {n})" for cell, n in reversed(wrong.items())])
            problems.append(
                f"column {shown(head[c])} has {cells}, where a tick (x, 1, yes) or nothing is expected; "
                "if it is not a class, delete the column"
            )
    costs, refused = _costs(body, cost)
    if problems + refused:
        raise InputError("; ".join(problems + refused))
    experts = []
    for row, price in zip(body, costs, strict=True):
        known = [name_of(head[c]) for c in columns if fold_accents(row[c]) in _KNOWN]
        expert: dict[str, Any] = {"name": name_of(row[0]), "knows": known}
        if cost is not None:
            expert["cost"] = price
        if _has_left(row, left):
            expert["left"] = True
        experts.append(expert)
    return {"classes": [name_of(head[c]) for c in columns], "experts": experts}


def _repeated(body: CellRows) -> list[str]:
    """Return a sentence for each expert who has several rows."""
    places: dict[str, list[int]] = {}
    for number, row in _numbered(body):
        places.setdefault(row[0], []).append(number)
    return [
        f"expert {name!r} appears twice (rows {some_of(rows)}); give each person a name of their own"
        for name, rows in places.items()
        if name and len(rows) > 1
    ]


def _without_totals(rows: CellRows) -> CellRows:
    """Return a matrix without the totals that spreadsheets have in the last column and row."""
    rows = [row for row in rows if not is_total(row[0]) or not _numbers(row[1:])]
    sums = {
        c
        for c, name in enumerate(rows[0])
        if c and is_total(name) and _numbers([row[c] for row in rows[1:] if c < len(row)])
    }
    return _without_columns(rows, sums)


def _without_remarks(rows: CellRows) -> CellRows:
    """Return a matrix without the columns that are not classes: remarks, and columns without a tick."""
    left = _left_column(rows[0])
    columns = {c: [row[c] for row in rows[1:] if c < len(row)] for c in range(1, len(rows[0])) if c != left}
    remarks = {c for c in columns if is_called(rows[0][c], NOTES) and not all(map(_is_mark, columns[c]))}
    others = {
        c: name
        for c, name in enumerate(rows[0])
        if c in columns and c not in remarks and not _is_cost(name) and _holds_no_marks(columns[c])
    }
    if len(others) < len(columns):
        for name in others.values():
            warnings.warn(f"column {name!r} has no ticks, so it is not a class", stacklevel=2)
        remarks |= set(others)
    return _without_columns(rows, remarks)


def _holds_no_marks(cells: list[str]) -> bool:
    """Whether a column has several cells with something in them, and none is a mark."""
    filled = [cell for cell in cells if cell]
    return len(filled) > 1 and not any(map(_is_mark, filled))


def _without_columns(rows: CellRows, gone: set[int]) -> CellRows:
    if not gone:
        return rows
    return [Row.like(row, (cell for c, cell in enumerate(row) if c not in gone)) for row in rows]


def _is_mark(cell: str) -> bool:
    return not cell or fold_accents(cell) in _KNOWN or fold_accents(cell) in _NOT_KNOWN


def _numbers(cells: list[str]) -> bool:
    return all(re.fullmatch(r"\d*", cell) for cell in cells)


def _cost_column(rows: CellRows) -> int | None:
    """Return the column of costs: the second one by its name, or another one that also holds no marks."""
    for c, name in enumerate(rows[0]):
        if c and _is_cost(name):
            cells = {fold_accents(row[c]) for row in rows[1:] if c < len(row)}
            if c == 1 or not cells <= _KNOWN | _NOT_KNOWN | {""}:
                return c
    return None


def _costs(body: CellRows, column: int | None) -> tuple[list[float], list[str]]:
    """Return the cost of each row, and a list of problems; 80, 1.5, 1,5 and 80 € are numbers."""
    found, wrong = [], []
    for number, row in _numbered(body):
        cell = row[column] if column is not None and column < len(row) else ""
        try:
            found.append(float(cell.strip(" €$£").replace(",", ".") or 1))
        except ValueError:
            wrong.append(f"row {number} has cost {cell!r}, which is not a number; write it as 1.5")
    return found, wrong


def _long_columns(head: list[str]) -> tuple[int, int, int | None] | None:
    """Return the columns (expert, class, mark) of a table with a row for each class that an expert knows."""
    experts = [c for c, name in enumerate(head) if is_called(name, EXPERTS)]
    classes = [c for c, name in enumerate(head) if is_called(name, CLASSES | KNOWS) and c not in experts[:1]]
    left = _left_column(head)
    rest = [
        c for c, name in enumerate(head) if c != left and not _is_cost(name) and not is_called(name, NOTES)
    ]
    if len(experts) != 1 or not classes:
        return None
    if len(rest) > 2 and (known := _between_others(head, rest)) is not None:
        return experts[0], known, None
    if len(rest) == 2 and len(classes) == 1:
        return experts[0], classes[0], None
    if len(rest) == 3 and len(classes) == 2:
        named = [c for c in classes if is_called(head[c], CLASSES)]
        marks = [c for c in classes if c not in named]
        if len(named) == 1 and fold_accents(head[marks[0]]) in _VERBS:
            return experts[0], named[0], marks[0]
    return None


def _warn_of_others(head: list[str], used: tuple[int, int, int | None]) -> None:
    """Warn of columns that say neither who nor what."""
    left = _left_column(head)
    for c, name in enumerate(head):
        if name and c not in (*used, left) and not _is_cost(name) and not is_called(name, NOTES):
            warnings.warn(f"column {name!r} does not say what an expert knows", stacklevel=3)


def _between_others(head: list[str], rest: list[int]) -> int | None:
    """Return the column "knows" between others that are neither items nor classes, such as a clinic."""
    known = [c for c in rest if fold_accents(head[c]) in _VERBS]
    others = (head[c] for c in rest if c not in known and not is_called(head[c], EXPERTS))
    if len(known) != 1 or not all(head) or any(is_called(name, ITEMS | CLASSES) for name in others):
        return None
    return known[0]


def _long(rows: CellRows, who: int, what: int, mark: int | None) -> dict[str, Any]:
    """Return the panel of a table with the columns expert and class, which may hold a list of classes."""
    width = max(who, what) + 1
    body = [Row.like(row, row + [""] * (max(width, len(rows[0])) - len(row))) for row in rows[1:]]
    empty = [f"row {n} has no expert" for n, row in _numbered(body) if not row[who]]
    if mark is not None:
        empty += [
            f"row {n} has {shown(row[mark])}, which is neither yes nor no"
            for n, row in _numbered(body)
            if fold_accents(row[mark]) not in _KNOWN | _NOT_KNOWN | {""}
        ]
    cost = next((c for c, name in enumerate(rows[0]) if _is_cost(name)), None)
    costs, wrong = _costs(body, cost)
    if empty + wrong:
        raise InputError("; ".join(empty[:_SHOWN] + wrong))
    left = _left_column(rows[0])
    gone = {row[who] for row in body if _has_left(row, left)}
    names = [row[who] for row in body]
    once = len(set(names)) == len(names)
    found: dict[str, list[str]] = {}
    classes: dict[str, None] = {}
    prices: dict[str, float] = {}
    for row, price in zip(body, costs, strict=True):
        listed = _listed(row[what]) if once else [row[what]] * bool(row[what])
        classes |= dict.fromkeys(listed)
        known = mark is None or fold_accents(row[mark]) in _KNOWN
        found.setdefault(row[who], []).extend(listed if known else [])
        if cost is not None and prices.setdefault(row[who], price) != price:
            raise InputError(
                f"expert {row[who]!r} costs {prices[row[who]]:g} and also {price:g}; keep one of them"
            )
    return _panel(found, classes, prices, gone)


def _lists(rows: CellRows) -> dict[str, Any]:
    """Return the panel of rows that consist of an expert and then the classes it knows."""
    head = is_called(rows[0][0], EXPERTS) or any(is_called(cell, KNOWS) for cell in rows[0][1:2])
    known: dict[str, list[str]] = {}
    for row in rows[1 if head else 0 :]:
        if not row[0]:
            raise InputError(f"a row with {shown(' '.join(row))} has no expert in the first column")
        known.setdefault(row[0], []).extend(part for cell in row[1:] for part in _listed(cell))
    first = next(iter(known))
    others = {part for name, parts in known.items() if name != first for part in parts}
    if not head and len(known) > 2 and len(known[first]) == 1 and not set(known[first]) & others:
        raise InputError(
            f"the first row ({', '.join(rows[0])}) was not recognised as a heading; call its columns expert "
            "and knows"
        )
    if not head and not set(known[first]) & others and any(len(set(p)) < len(p) for p in known.values()):
        raise InputError(
            f"a row names a class twice, so these seem to be answers and not a panel ({', '.join(rows[0])}); "
            "look at answers with covote check PANEL ANSWERS"
        )
    return _panel(known, dict.fromkeys(part for parts in known.values() for part in parts))


def _listed(cell: str) -> list[str]:
    """Return the classes in a cell: a, b, c."""
    return [part for part in _SEVERAL.split(cell.strip()) if part]


def _panel(
    known: dict[str, list[str]],
    classes: dict[str, None],
    cost: Mapping[str, float] = MappingProxyType({}),
    gone: Container[str] = (),
) -> dict[str, Any]:
    before = {part for parts in known.values() for part in parts}
    known = expand_ranges(known)
    unknown = [name for name in classes if name not in before]
    classes = dict.fromkeys([*(part for parts in known.values() for part in parts), *unknown])
    everything = [name for name in classes if fold_accents(name) not in ("all", "alle", "*")]
    experts = []
    for name, parts in known.items():
        some = everything if len(parts) < 2 and set(parts) & (set(classes) - set(everything)) else parts
        expert: dict[str, Any] = {"name": name_of(name), "knows": [*dict.fromkeys(map(name_of, some))]}
        if name in cost:
            expert["cost"] = cost[name]
        if name in gone:
            expert["left"] = True
        experts.append(expert)
    return {"classes": [name_of(part) for part in everything], "experts": experts}
