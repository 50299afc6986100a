"""Gold files: items whose class is known."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from covote.errors import InputError
from covote.files.items import Retry, plain_items
from covote.files.vote_batches import Source
from covote.panel import Name, Panel
from covote.panel.checks import shown
from covote.votes.names import name_codes
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
    try:
        return _read(source, item, panel, source.kind in ("csv", "tsv"))
    except Retry:
        return _read(source, item, panel, integers=False)


def _read(source: Source, item: str, panel: Panel, integers: bool) -> dict[Any, Name]:
    gold: dict[Any, Name] = {}
    first = 1
    for batch in source.batches([item, "label"], plain=(item,)):
        ids = plain_items(batch.column(0), source.path, first, integers).to_pylist()
        codes, entries, rows = name_codes(batch.column(1), panel.classes)
        classes = codes[rows]
        known = ~batch.column(1).is_null().to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(known & (classes < 0))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"{source.path}, row {first + row}: {shown(entries[rows[row]])} is not a class of the panel; "
                "correct it or remove the row"
            )
        for n, (name, k) in enumerate(zip(ids, classes.tolist(), strict=True)):
            if known[n] and gold.setdefault(name, panel.classes[k]) != panel.classes[k]:
                raise InputError(
                    f"{source.path}, row {first + n}: item {name!r} is {panel.classes[k]!r} here and "
                    f"{gold[name]!r} before; keep one of them"
                )
        first += len(ids)
    if not gold:
        raise InputError(f"{source.path} has no gold items: it has no rows with a label")
    return gold
