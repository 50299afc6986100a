"""What votes alone say about who knows what: an inferred panel, silent experts, confused classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.tables import ReadOptions
from covote.tables.arrow_names import as_dictionary, entry_rows
from covote.tables.column_roles import ColumnRoles
from covote.tables.matching import UNKNOWN, Matcher, is_whole_float

if TYPE_CHECKING:
    from covote.votes.votes import Votes

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
    renames = reading.renames()
    no_answer = Matcher((), reading, labels=True)
    labels_of: dict[Any, set[Any]] = {}
    for batch in batches:
        for who, what in _pairs(columns, batch):
            if who is not None:
                labels = labels_of.setdefault(renames.get(str(who), who), set())
                labels.add(None if what is None else renames.get(str(what), what))
    answers = {
        who: {label for label in labels if label is not None and no_answer.code(label) == UNKNOWN}
        for who, labels in labels_of.items()
    }
    answers = {who: labels for who, labels in answers.items() if labels or (everything and len(answers) > 1)}
    if not any(answers.values()):
        raise InputError("there are no answers: no expert ever answered a class")
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
    texts = {name: str(int(name) if is_whole_float(name) else name) for name in found}
    for name in found:
        if not isinstance(name, str | int | float):
            raise InputError(f"{what} {name!r} is a {type(name).__name__}; names are text or numbers")
    if all(_WHOLE.fullmatch(text) for text in texts.values()):
        return {name: int(text) for name, text in texts.items()}
    return dict(texts)


def _natural(name: Name) -> tuple[Any, ...]:
    """Order names as people do: expert-2 before expert-10."""
    if isinstance(name, int):
        return (0, name)
    stem = name.rstrip("0123456789")
    number = name[len(stem) :].lstrip("0")
    return (1, stem, stem != name, len(number), number, name)


def unanswered(votes: Votes) -> tuple[list[Name], list[Name]]:
    """Return the experts without an answer, and the classes that no one answered."""
    ragged = votes.ragged
    experts = np.bincount(ragged.expert, minlength=len(votes.panel))
    classes = np.bincount(ragged.label[ragged.label >= 0], minlength=len(votes.panel.classes))
    return (
        [name for name, count in zip(votes.panel.names, experts, strict=True) if not count],
        [name for name, count in zip(votes.panel.classes, classes, strict=True) if not count],
    )


class Confusion(NamedTuple):
    """Two classes, and how many items got answers with both."""

    first: Name
    second: Name
    items: int


def confused_pairs(votes: Votes, most: int | None = None) -> list[Confusion]:
    """List the pairs that no expert knows and that answers confuse, the most frequent first.

    >>> from covote import Panel, Votes
    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1]], ["ann", "bob"])
    >>> votes = Votes.from_dense([[0, 2], [0, 2], [1, 2]], panel)
    >>> confused_pairs(votes)
    [Confusion(first='cat', second='fox', items=2)]
    """
    from scipy.sparse import coo_array, triu

    panel, ragged = votes.panel, votes.ragged
    label = ragged.label[ragged.indptr[0] : ragged.indptr[-1]].astype(np.int64)
    item = np.repeat(np.arange(len(votes)), np.diff(ragged.indptr))
    named = np.unique(item[label >= 0] * len(panel.classes) + label[label >= 0])
    place = np.divmod(named, len(panel.classes))
    ones, shape = np.ones(len(named), np.int64), (len(votes), len(panel.classes))
    answered = coo_array((ones, place), shape=shape).tocsr()
    together = triu(answered.T @ answered, 1).tocoo()
    first, second = together.coords
    order = np.argsort(-together.data, kind="stable")
    unknown = (panel.knows[:, first] & panel.knows[:, second]).sum(axis=0) == 0
    return [
        Confusion(panel.classes[first[n]], panel.classes[second[n]], int(together.data[n]))
        for n in order[unknown[order]][:most].tolist()
    ]
