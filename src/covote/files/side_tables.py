"""Small tables that accompany votes: items whose class is known, a number for each name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from covote.arguments import did_you_mean, shown, some_of
from covote.errors import InputError
from covote.panel import Name, Panel
from covote.panel.panel_tables import is_panel_table
from covote.tables import ReadOptions
from covote.tables.arrow_names import plain_items, whole_ids, without_blanks
from covote.tables.column_roles import COMMON_NAMES, common_column, item_column, share_of
from covote.tables.dialect import heading_row, read_cells
from covote.tables.matching import UNKNOWN, Matcher
from covote.tables.table_file import TableFile
from covote.tables.words import CLASSES, ITEMS, is_called, words
from covote.votes import NONE_OF_MINE
from covote.votes.reader import Reader
from covote.votes.vote_file import answers_sheet

GOLD = words(
    "gold goldstandard truth true correct goldlabel truelabel groundtruth target reference referencestandard "
    "referencediagnosis histology histopathology histologie histo pathology pathologie biopsy biopsie "
    "confirmed confirmeddiagnosis finaldiagnosis finallabel"
)
"""What people call the column of known classes, besides what they call labels."""


def read_gold(
    path: str | os.PathLike[str],
    panel: Panel,
    reading: ReadOptions | None = None,
    *,
    required: bool = True,
) -> dict[Any, Name]:
    """Read the known classes, ``{item: class}``, from a table with the columns item and label.

    Rows without a label are skipped: a review file comes back with those filled in that someone looked at. A
    table without any label is an error if gold items are `required`.
    """
    how = reading or ReadOptions()
    classes = Reader(panel, how).classes
    # A column of the answers is in the sheet of the answers.
    source = TableFile(path, choose=answers_sheet if how.gold_column else gold_sheet)
    item, label = _columns(source, how, classes)
    ids, labels, numbers = [], [], []
    wrong: dict[str, int] = {}
    first = 0
    for batch in source.batches([item, label], plain=(item,)):
        number = source.row_numbers(first, batch.num_rows).tolist()
        first += batch.num_rows
        items = plain_items(batch.column(0), f"{source.path}, ")
        items = without_blanks(items) if how.match == "loose" else items
        codes, entries, rows = classes.codes(batch.column(1))
        for row in np.flatnonzero((codes[rows] == UNKNOWN) | (codes[rows] == NONE_OF_MINE)).tolist():
            wrong.setdefault(str(entries[rows[row]]), number[row])
        known = [panel.classes[k] if k >= 0 else None for k in codes[rows].tolist()]
        for row, name in enumerate(items.to_pylist()) if items.null_count else ():
            if name is None and (known[row] is not None or not source.untyped):  # empty rows are skipped
                raise InputError(f"{source.path}, row {number[row]}: no item; give every row an item")
        there = np.flatnonzero(np.array(items.is_valid().to_pylist(), dtype=np.bool_))
        ids.append(items.drop_null())
        labels += [known[row] for row in there]
        numbers += [number[row] for row in there]
    if wrong:
        name, row = next(iter(wrong.items()))
        near = classes.suggestion(name)
        others = [f"{shown(other)} (row {n})" for other, n in wrong.items()][1:]
        more = f"; nor {'is' if len(others) == 1 else 'are'} {some_of(others)}" if others else ""
        raise InputError(
            f"{source.path}, row {row}: {shown(name)} is not a class of the panel{near}{more}; correct it or "
            "remove the row"
        )
    if source.untyped:
        # The items of a file without types are integers if all are written as such.
        integers = [found for found in map(whole_ids, ids) if found is not None]
        ids = integers if len(integers) == len(ids) else ids
    gold: dict[Any, Name] = {}
    names = (name for some in ids for name in some.to_pylist())
    for row, name, known_class in zip(numbers, names, labels, strict=True):
        if known_class is not None and gold.setdefault(name, known_class) != known_class:
            raise InputError(
                f"{source.path}, row {row}: item {name!r} is {known_class!r} here and {gold[name]!r} before; "
                "keep one of them"
            )
    if required and not gold:
        raise InputError(f"{source.path} has no gold items: it has no rows with a label")
    return gold


def gold_sheet(sheets: Mapping[str, Sequence[list[str]]]) -> str | None:
    """Return the first sheet of a workbook with a column of known classes, else one with two columns."""
    others = {name: rows for name, rows in sheets.items() if not is_panel_table([*rows])}
    named = [
        n for n, rows in others.items() if any(is_called(cell, GOLD) for cell in rows[heading_row(rows)])
    ]
    return next(iter([*named, *(n for n, rows in others.items() if len(rows[0]) == 2)]), None)


def _columns(source: TableFile, reading: ReadOptions, classes: Matcher) -> tuple[str, str]:
    """Return the columns of items and labels: as named, by their usual names, else by what they hold."""
    names = source.names
    if reading.gold_column is not None:
        held = common_column(names, (reading.gold_column, reading.gold_column.strip().lower()))
        if held is None:
            hint = did_you_mean(reading.gold_column, names)
            raise InputError(f"{source.path} has no column {reading.gold_column!r}{hint}")
        others = [name for name in names if name != held]
        return item_column(others, source.head, reading.item) or others[0], held
    found: list[str] = []
    for named, common, called in (
        (reading.item, COMMON_NAMES[0], ITEMS), (reading.label, COMMON_NAMES[2], CLASSES | GOLD)
    ):  # fmt: skip
        exact = common_column(names, (*([named] if named else []), *common))
        near = [name for name in names if is_called(name, called) and name not in found]
        if not exact and len(near) != 1:
            break
        found.append(exact or near[0])
    if len(found) == 2:
        return found[0], found[1]
    if len(names) != 2:
        raise InputError(
            f"{source.path} has {len(names)} columns ({', '.join(names)}), and it is not clear which are the "
            "items and their classes; keep these two, or call them item and label"
        )
    shares = {name: share_of(source.head().column(name), classes) for name in names}
    classed = max(names, key=shares.__getitem__)
    return next(name for name in names if name != classed), classed


def read_numbers(path: str | os.PathLike[str], names: tuple[Name, ...], what: str) -> dict[Name, float]:
    """Read ``{name: number}`` from a .csv, .tsv or .xlsx file with two columns; every name has one row.

    `what` names the numbers in messages: "accuracy". A heading is skipped.
    """
    rows = _filled(path)
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
            raise InputError(f"{path}, row {n}: a second {what} for {row[0]!r}; keep one")
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(f"{path}: no {what} for {some_of(missing)}; give one for each")
    return found


def _filled(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the cells of a small table that are not empty, row by row."""
    rows = ([cell for cell in row if cell] for row in read_cells(path))
    return [row for row in rows if row]
