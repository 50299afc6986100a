"""Infer who knows what from the votes alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.tables import ReadOptions
from covote.tables.arrow_names import as_dictionary, entry_rows
from covote.tables.column_roles import ColumnRoles
from covote.tables.matching import UNKNOWN, Matcher

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # 007 is text, also in files of items


def answered_panel(
    columns: ColumnRoles,
    batches: Iterable[Sequence[Any]],
    reading: ReadOptions,
    *,
    everything: bool,
) -> Panel:
    """Return the panel of votes: each expert knows every class, or exactly the classes it answered.

    If all names are integers, they become integers.

    Parameters
    ----------
    columns
        The roles of the columns of the table.
    batches
        The columns of answers, a batch of rows at a time.
    reading
        Which labels mean "none of mine" or "no answer", and the meanings of other names.
    everything
        Whether everyone knows every class.
    """
    meant = reading.renames()
    silent = Matcher((), reading, labels=True)
    given: dict[Any, set[Any]] = {}
    for batch in batches:
        for who, what in _pairs(columns, batch):
            if who is not None:
                labels = given.setdefault(meant.get(str(who), who), set())
                labels.add(None if what is None else meant.get(str(what), what))
    answers = {
        who: {label for label in labels if label is not None and silent.code(label) == UNKNOWN}
        for who, labels in given.items()
    }
    answers = {who: labels for who, labels in answers.items() if labels or (everything and len(answers) > 1)}
    if not any(answers.values()):
        raise InputError("there are no votes: no expert ever answered a class")
    if everything:
        answers = dict.fromkeys(answers, set().union(*answers.values()))
    return _panel(answers)


def _pairs(columns: ColumnRoles, batch: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the distinct (expert, label) pairs of a batch; None for a missing one."""
    encodings = [as_dictionary(column) for column in batch]
    entries = [[*found.dictionary.to_pylist(), None] for found in encodings]
    if columns.answers is None:
        size = len(entries[1])
        rows = [entry_rows(found).astype(np.int64) for found in encodings]
        for pair in np.unique(rows[0] * size + rows[1]).tolist():
            yield entries[0][pair // size], entries[1][pair % size]
        return
    for name, found, labels in zip(columns.answers, encodings, entries, strict=True):
        yield from ((name, labels[e]) for e in np.unique(entry_rows(found)).tolist())


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
    """Return the panel's name for every name found: integers if all of them can be read as integers."""
    texts = {name: str(int(name) if _is_whole(name) else name) for name in found}
    for name in found:
        if not isinstance(name, str | int | float):
            raise InputError(f"{what} {name!r} is a {type(name).__name__}; names are text or numbers")
    if all(_WHOLE.fullmatch(text) for text in texts.values()):
        return {name: int(text) for name, text in texts.items()}
    return dict(texts)


def _is_whole(name: Any) -> bool:
    """Whether a name is a float that was an integer: pandas turns integers with gaps into floats."""
    return isinstance(name, float) and name.is_integer()


def _natural(name: Name) -> tuple[Any, ...]:
    """Order names as people do: expert-2 before expert-10."""
    if isinstance(name, int):
        return (0, name)
    stem = name.rstrip("0123456789")
    number = name[len(stem) :].lstrip("0")
    return (1, stem, stem != name, len(number), number, name)
