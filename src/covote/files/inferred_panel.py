"""Who answers what, read off the votes alone."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pyarrow as pa

from covote.errors import InputError
from covote.files.vote_batches import Source
from covote.files.vote_files import columns_of
from covote.panel import Name, Panel

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as files write items, too: 007 is text


def inferred_panel(
    path: str | os.PathLike[str],
    *,
    none: str = "none of mine",
    item: str | None = None,
    expert: str | None = None,
    label: str | None = None,
) -> Panel:
    """Return the panel in which every expert knows exactly the labels it ever gave.

    An expert that knows a class but never answered it in this file is taken not to know it: with many votes
    this is who answers what, with few it is a guess. Names that are all integers become integers.
    """
    import pyarrow.compute as pc

    source = Source(path)
    item, expert, label = columns_of(source, item, expert, label)
    given: dict[Any, set[Any]] = {}
    if expert is None or label is None:
        columns = [name for name in source.names if name != item]
        source.refuse_nested(columns)
        for batch in source.batches(columns):
            for name, column in zip(columns, batch.columns, strict=True):
                found = column.dictionary if pa.types.is_dictionary(column.type) else column
                if pa.types.is_dictionary(column.type):
                    found = found.take(pc.unique(column.indices).drop_null())
                given.setdefault(name, set()).update(pc.unique(found).to_pylist())
    else:
        for batch in source.batches([expert, label]):
            for who, what in _pairs(batch.column(0), batch.column(1)):
                given.setdefault(who, set()).add(what)
    given.pop(None, None)
    answers = {who: labels - {None, none} for who, labels in given.items()}
    answers = {who: labels for who, labels in answers.items() if labels}
    if not answers:
        raise InputError(f"{path} has no votes: no expert ever answered a class")
    return _panel(answers)


def _pairs(experts: pa.Array, labels: pa.Array) -> list[tuple[Any, Any]]:
    """Return the distinct (expert, label) pairs of a batch."""
    who, what = (
        array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        for array in (experts, labels)
    )
    size = len(what.dictionary) + 1
    codes = [array.indices.fill_null(-1).to_numpy().astype(np.int64) for array in (who, what)]
    seen = np.flatnonzero(np.bincount((codes[0] + 1) * size + codes[1] + 1, minlength=1))
    who_names, what_names = [None, *who.dictionary.to_pylist()], [None, *what.dictionary.to_pylist()]
    return [(who_names[pair // size], what_names[pair % size]) for pair in seen]


def _panel(answers: dict[Any, set[Any]]) -> Panel:
    classes = _names(set().union(*answers.values()), "label")
    experts = _names(set(answers), "expert")
    order = sorted(experts, key=lambda name: _natural(experts[name]))
    ranked = sorted(classes, key=lambda name: _natural(classes[name]))
    return Panel.from_blocks(
        [classes[name] for name in ranked],
        [[classes[label] for label in answers[name]] for name in order],
        [experts[name] for name in order],
    )


def _names(found: set[Any], what: str) -> dict[Any, Name]:
    """Return the panel's name for everything found: integers if all of them read as such."""
    for name in found:
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InputError(f"{what} {name!r} is a {type(name).__name__}; names are text or integers")
    if all(isinstance(name, int) or _WHOLE.fullmatch(name) for name in found):
        return {name: int(name) for name in found}
    return {name: str(name) for name in found}


def _natural(name: Name) -> tuple[Any, ...]:
    """Order names as people do: expert-2 before expert-10."""
    if isinstance(name, int):
        return (0, name)
    stem = name.rstrip("0123456789")
    number = name[len(stem) :].lstrip("0")
    return (1, stem, stem != name, len(number), number, name)
