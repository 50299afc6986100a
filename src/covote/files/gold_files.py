"""Gold files: items whose class is known."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow.compute as pc

from covote.errors import InputError
from covote.files.vote_batches import Source
from covote.panel import Name, Panel
from covote.panel.cells import CLASSES, ITEMS, is_called, words
from covote.panel.checks import shown, some_of
from covote.votes.names import STRANGE, Matcher, item_ids, whole_ids

GOLD = words("gold truth true correct goldlabel truelabel groundtruth target")
"""What people call the column of known classes, besides what they call labels."""


def read_gold(path: str | os.PathLike[str], panel: Panel) -> dict[Any, Name]:
    """Read the known classes, ``{item: class}``, from a table with the columns item and label.

    Rows without a label are skipped: a review file comes back with those filled in that somebody looked at.
    """
    source = Source(path)
    item, label = _columns(source)
    classes = Matcher(panel.classes)
    ids, labels = [], []
    wrong: dict[str, int] = {}
    first = 1
    for batch in source.batches([item, label], plain=(item,)):
        if source.untyped:  # empty rows do not count
            batch = batch.filter(pc.or_(batch.column(0).is_valid(), batch.column(1).is_valid()))
        ids.append(item_ids(batch.column(0), f"{source.path}, ", first))
        codes, entries, rows = classes.codes(batch.column(1))
        for row in np.flatnonzero(codes[rows] == STRANGE).tolist():
            wrong.setdefault(str(entries[rows[row]]), first + row)
        labels += [panel.classes[k] if k >= 0 else None for k in codes[rows].tolist()]
        first += batch.num_rows
    if wrong:
        name, row = next(iter(wrong.items()))
        near = classes.suggestion(name)
        others = [f"{shown(other)} (row {n})" for other, n in wrong.items()][1:]
        more = f"; nor are {some_of(others)}" if others else ""
        raise InputError(
            f"{source.path}, row {row}: {shown(name)} is not a class of the panel{near}{more}; correct it or "
            "remove the row"
        )
    if source.untyped:
        # The items of a file without types are integers if all are written as such.
        whole = [found for found in map(whole_ids, ids) if found is not None]
        ids = whole if len(whole) == len(ids) else ids
    gold: dict[Any, Name] = {}
    names = (name for some in ids for name in some.to_pylist())
    for row, (name, known) in enumerate(zip(names, labels, strict=True), start=1):
        if known is not None and gold.setdefault(name, known) != known:
            raise InputError(
                f"{source.path}, row {row}: item {name!r} is {known!r} here and {gold[name]!r} before; keep "
                "one of them"
            )
    if not gold:
        raise InputError(f"{source.path} has no gold items: it has no rows with a label")
    return gold


def _columns(source: Source) -> tuple[str, str]:
    """Return the columns of items and labels: by their usual names, else by others that people use."""
    found = []
    for usual, called in ((("item", "task"), ITEMS), (("label",), CLASSES | GOLD)):
        exact = [name for name in usual if name in source.names]
        near = [name for name in source.names if is_called(name, called) and name not in found]
        if not exact and len(near) != 1:
            raise InputError(
                f"{source.path} has no column {usual[0]!r} (it has: {', '.join(source.names)}); gold files "
                "have the columns item and label"
            )
        found.append((exact or near)[0])
    return found[0], found[1]
