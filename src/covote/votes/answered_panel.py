"""Who answers what, read off the votes alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.votes.names import encoded, entry_rows
from covote.votes.vote_columns import Columns

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as files write items, too: 007 is text


class Answered:
    """Collects who ever answered what; names that are all integers become integers.

    Parameters
    ----------
    columns
        Which column of the table is which.
    none
        The label that means "none of mine", which is no class.
    rename
        What is meant by some names.
    """

    def __init__(self, columns: Columns, none: str, rename: dict[str, Any] | None = None) -> None:
        self._columns = columns
        self._none = none
        self._rename = rename or {}
        self._given: dict[Any, set[Any]] = {}

    @property
    def names(self) -> list[str]:
        """The columns that are to be given to :meth:`add`."""
        if self._columns.answers is not None:
            return list(self._columns.answers)
        return [str(self._columns.expert), str(self._columns.label)]

    def add(self, columns: Sequence[Any]) -> None:
        """Look at the next rows."""
        if self._columns.answers is None:
            for who, what in _pairs(encoded(columns[0]), encoded(columns[1])):
                self._given.setdefault(self._meant(who), set()).add(self._meant(what))
            return
        for name, column in zip(self.names, columns, strict=True):
            found = encoded(column)
            entries = [*found.dictionary.to_pylist(), None]
            labels = {self._meant(entries[e]) for e in np.unique(entry_rows(found))}
            self._given.setdefault(self._meant(name), set()).update(labels)

    def _meant(self, name: Any) -> Any:
        return self._rename.get(str(name), name) if self._rename and name is not None else name

    def panel(self, *, everything: bool) -> Panel:
        """Return the panel: everybody knows every class, or each exactly what it ever answered."""
        self._given.pop(None, None)
        answers = {who: labels - {None, self._none} for who, labels in self._given.items()}
        answers = {
            who: labels for who, labels in answers.items() if labels or (everything and len(answers) > 1)
        }
        if not any(answers.values()):
            raise InputError("there are no votes: no expert ever answered a class")
        if everything:
            classes = set().union(*answers.values())
            answers = dict.fromkeys(answers, classes)
        return _panel(answers)


def _pairs(who: pa.DictionaryArray, what: pa.DictionaryArray) -> list[tuple[Any, Any]]:
    """Return the distinct (expert, label) pairs of a batch."""
    names = [[*array.dictionary.to_pylist(), None] for array in (who, what)]
    size = len(names[1])
    seen = np.unique(entry_rows(who).astype(np.int64) * size + entry_rows(what))
    return [(names[0][pair // size], names[1][pair % size]) for pair in seen]


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
