"""Gold files: items whose class is known."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa

from covote.errors import InputError
from covote.files.vote_batches import Source
from covote.panel import Name, Panel
from covote.panel.checks import shown
from covote.votes.item_ids import item_ids, whole_ids
from covote.votes.names import STRANGE, name_codes
from covote.votes.tables import ITEM_COLUMNS


def read_gold(path: str | os.PathLike[str], panel: Panel) -> dict[Any, Name]:
    """Read the known classes, ``{item: class}``, from a table with the columns item and label.

    Rows without a label are skipped: a review file comes back with those filled in that somebody looked at.
    """
    source = Source(path)
    item = next((name for name in ITEM_COLUMNS if name in source.names), None)
    if item is None or "label" not in source.names:
        missing = "label" if item is not None else "item"
        raise InputError(
            f"{path} has no column {missing!r} (it has: {', '.join(source.names)}); gold files have the "
            "columns item and label"
        )
    ids, labels = [], []
    first = 1
    for batch in source.batches([item, "label"], plain=(item,)):
        ids.append(item_ids(batch.column(0), f"{source.path}, ", first))
        labels += _labels(batch.column(1), panel, source, first)
        first += batch.num_rows
    if source.kind in ("csv", "tsv"):
        # The items of a file without types are integers if all are written as such.
        whole = [found for found in map(whole_ids, ids) if found is not None]
        ids = whole if len(whole) == len(ids) else ids
    gold: dict[Any, Name] = {}
    names = (name for some in ids for name in some.to_pylist())
    for row, (name, label) in enumerate(zip(names, labels, strict=True), start=1):
        if label is not None and gold.setdefault(name, label) != label:
            raise InputError(
                f"{source.path}, row {row}: item {name!r} is {label!r} here and {gold[name]!r} before; keep "
                "one of them"
            )
    if not gold:
        raise InputError(f"{source.path} has no gold items: it has no rows with a label")
    return gold


def _labels(column: pa.Array, panel: Panel, source: Source, first: int) -> list[Name | None]:
    """Return the classes in a column, None where there is no label; refuse the first that is no class."""
    codes, entries, rows = name_codes(column, panel.classes)
    wrong = np.flatnonzero(codes[rows] == STRANGE)
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{source.path}, row {first + row}: {shown(entries[rows[row]])} is not a class of the panel; "
            "correct it or remove the row"
        )
    return [panel.classes[k] if k >= 0 else None for k in codes[rows].tolist()]
