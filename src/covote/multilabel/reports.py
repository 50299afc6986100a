"""Reports: answers that may name several classes of an item."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.tables import ReadOptions
from covote.tables.arrow_names import (
    arrow_array,
    arrow_table,
    as_dictionary,
    entry_rows,
    flat,
    name_array,
    whole_ids,
)
from covote.tables.column_roles import HEAD, ColumnRoles
from covote.tables.matching import UNKNOWN
from covote.votes import Votes
from covote.votes.problems import DroppedWarning
from covote.votes.reader import IndexedRows, Reader

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[Any]
SEPARATOR = re.compile("[;|]")
"""The separators of classes in a cell of text."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Answers about items that may have several labels.

    Attributes
    ----------
    panel
        Who knows what.
    item, expert, label
        One entry for each class that an expert named, as indices; sorted by item, expert and label.
    asked
        (items x experts) who was asked. An expert who was asked and named no class said "none of mine".
    ids
        The names of the items.
    """

    panel: Panel
    item: NDArray[np.int64]
    expert: NDArray[np.int64]
    label: NDArray[np.int64]
    asked: NDArray[np.bool_]
    ids: tuple[Any, ...]

    def __post_init__(self) -> None:
        asked = np.asarray(self.asked, dtype=np.bool_)
        if asked.shape != (len(self.ids), len(self.panel)):
            raise InputError(
                f"asked has shape {asked.shape}; give one row for each of the {len(self.ids)} items, with "
                f"one flag for each of the {len(self.panel)} experts"
            )
        sizes = {"item": len(asked), "expert": len(self.panel), "label": len(self.panel.classes)}
        columns = {name: np.asarray(getattr(self, name), dtype=np.int64).reshape(-1) for name in sizes}
        if len({len(column) for column in columns.values()}) > 1:
            raise InputError(
                "item, expert and label have different lengths; give one of each per named class"
            )
        for name, column in columns.items():
            wrong = (column < 0) | (column >= sizes[name])
            if wrong.any():
                raise InputError(
                    f"{name} {column[np.argmax(wrong)]} is out of range; indices go from 0 to "
                    f"{sizes[name] - 1}"
                )
        item, expert, label = columns.values()
        outside = ~self.panel.knows[expert, label]
        if outside.any():
            p = int(np.argmax(outside))
            _known(self.panel, self.ids[item[p]], int(expert[p]), self.panel.classes[label[p]])
        order = np.lexsort((label, expert, item))
        asked = asked.copy()
        asked[item, expert] = True
        for name, value in {**{name: c[order] for name, c in columns.items()}, "asked": asked}.items():
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.asked)

    @classmethod
    def from_lists(
        cls, rows: Sequence[Sequence[Iterable[Name] | None]], panel: Panel, items: Sequence[Any] | None = None
    ) -> Reports:
        """Make reports from one row per item, with the classes that each expert named.

        None stands for an expert who was not asked, an empty list for "none of mine".

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1]])
        >>> Reports.from_lists([[["cat", "dog"], ["dog"]], [None, []]], panel).asked.sum()
        np.int64(3)
        """
        ids = tuple(range(len(rows))) if items is None else tuple(items)
        if len(ids) != len(rows):
            raise InputError(f"{len(ids)} names for {len(rows)} items; give one for each")
        named: list[tuple[int, int, int]] = []
        asked = np.zeros((len(rows), len(panel)), dtype=np.bool_)
        for n, row in enumerate(rows):
            if len(row) != len(panel):
                raise InputError(
                    f"item {ids[n]!r} has {len(row)} answers from {len(panel)} experts; write None for an "
                    "expert who was not asked"
                )
            for i, classes in enumerate(row):
                if classes is not None:
                    asked[n, i] = True
                    named += [(n, i, _known(panel, ids[n], i, name)) for name in classes]
        table = np.array(sorted(set(named)), dtype=np.int64).reshape(-1, 3)
        return cls(panel, table[:, 0], table[:, 1], table[:, 2], asked, ids)

    @classmethod
    def from_table(
        cls,
        table: Any,
        panel: Panel,
        *,
        reading: ReadOptions | None = None,
        **options: Any,
    ) -> Reports:
        """Make reports from a table as for :meth:`covote.Votes.from_table`, with cells of several classes.

        A cell holds a class, a list of classes, or text with classes between semicolons (``"cat; dog"``).
        In a long table an expert may also have several rows about an item. An empty list, or the label
        `none`, means that the expert knows none of the labels; an empty cell, that the expert was not asked.
        Items keep the order in which they first occur. `reading` and `options` are as for
        :meth:`covote.Votes.from_table`.

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1]], ["ann", "bob"])
        >>> reports = Reports.from_table({"item": ["x"], "ann": ["cat; dog"], "bob": [None]}, panel)
        >>> reports.lists()
        [[('cat', 'dog'), None]]
        """
        reader = Reader(panel, ReadOptions.of(reading, options))
        found = arrow_table(table)
        columns = reader.columns(found.column_names, lambda: without_lists(found.slice(0, HEAD)))
        for name in columns.unknown_columns:
            reader.problems.add_column(name, len(found) - found.column(name).null_count)
        if columns.items:
            raise InputError(
                "a table with several labels has a row for each item, and not for each expert; transpose it"
            )
        names = [columns.item, *columns.of_answers]
        given = [None if name is None else found.column(name) for name in names]
        if given[0] is None:
            given[0] = arrow_array(np.arange(len(found)))
        rows = spread(reader, columns, given, np.arange(1, len(found) + 1))
        reports, _ = cls.from_rows(reader, rows, wide=columns.answers is not None)
        dropped = reader.problems.judge(reader.options.unknown)
        if dropped:
            warnings.warn(dropped, DroppedWarning, stacklevel=2)
        return reports

    @classmethod
    def from_rows(
        cls, reader: Reader, codes: IndexedRows, *, wide: bool, untyped: bool = False
    ) -> tuple[Reports, pa.DataType]:
        """Make reports from the rows of a table as indices, the items as they first occur; and their type.

        Items of an `untyped` table become integers if all of them are written as integers.
        """
        panel = reader.panel
        reader.problems.count(int(np.count_nonzero(codes.expert >= 0)))
        found = codes.item.dictionary_encode()
        ids, at = found.dictionary, np.from_dlpack(found.indices).astype(np.int64)
        integers = whole_ids(ids) if untyped else None
        ids = ids if integers is None else integers
        names = tuple(ids.to_pylist())
        if wide:
            _refuse_repeated(reader, codes, at, names)
        asked = np.zeros((len(names), len(panel)), dtype=np.bool_)
        valid = codes.expert >= 0
        item, who, what = at[valid], codes.expert[valid].astype(np.int64), codes.label[valid].astype(np.int64)
        asked[item, who] = True
        declined = np.zeros_like(asked)
        declined[item[what < 0], who[what < 0]] = True
        both = np.flatnonzero(declined[item, who] & (what >= 0))
        if len(both):
            p = both[0]
            reader.problems.add_fault(
                f"row {codes.row[valid][p]}: expert {panel.names[who[p]]!r} named {panel.classes[what[p]]!r} "
                f"for item {names[item[p]]!r}, but also answered {reader.options.none!r}; remove one"
            )
        named = what >= 0
        triples = np.unique(np.stack([item[named], who[named], what[named]], axis=1), axis=0)
        return cls(panel, triples[:, 0], triples[:, 1], triples[:, 2], asked, names), ids.type

    @classmethod
    def from_votes(cls, votes: Votes) -> Reports:
        """Make reports from votes: every expert named one class, or "none of mine"."""
        ragged = votes.ragged
        item = np.repeat(np.arange(len(votes)), np.diff(ragged.indptr))
        asked = np.zeros((len(votes), len(votes.panel)), dtype=np.bool_)
        asked[item, ragged.expert] = True
        named = ragged.label >= 0
        triples = (item[named], ragged.expert[named].astype(np.int64), ragged.label[named].astype(np.int64))
        return cls(votes.panel, *triples, asked, tuple(votes.items))

    def count_several(self) -> int:
        """Return how many answers name more than one class."""
        answer = self.item * len(self.panel) + self.expert
        return len(np.unique(answer[1:][answer[1:] == answer[:-1]]))

    def lists(self) -> list[list[tuple[Name, ...] | None]]:
        """Return one row per item, with the classes that each expert named; None for experts not asked."""
        named: dict[tuple[int, int], list[Name]] = {}
        for n, i, k in zip(self.item.tolist(), self.expert.tolist(), self.label.tolist(), strict=True):
            named.setdefault((n, i), []).append(self.panel.classes[k])
        return [
            [tuple(named.get((n, i), ())) if there else None for i, there in enumerate(row)]
            for n, row in enumerate(self.asked.tolist())
        ]


def _known(panel: Panel, item: Any, i: int, name: Name) -> int:
    k = panel.class_index(name)
    if not panel.knows[i, k]:
        known = ", ".join(map(str, panel.blocks()[i]))
        raise InputError(
            f"expert {panel.names[i]!r} named {name!r} for item {item!r}, which is not one of their classes "
            f"({known}); add it to the panel, or drop the answer"
        )
    return k


def _refuse_repeated(
    reader: Reader, codes: IndexedRows, at: NDArray[np.int64], names: tuple[Any, ...]
) -> None:
    """Reject an item that has two rows in a wide table."""
    rows = np.full(len(names), -1, dtype=np.int64)
    rows[at[::-1]] = codes.row[::-1]  # the first row of each item
    again = np.flatnonzero(codes.row != rows[at])
    if len(again):
        p = again[0]
        reader.problems.add_fault(
            f"row {codes.row[p]}: item {names[at[p]]!r} already occurs in row {rows[at[p]]}; a wide table "
            "has one row per item: keep one of them"
        )


# Cells with several classes


def without_lists(table: pa.Table) -> pa.Table:
    """Return a table with the first class of every cell: enough to recognise columns by their content."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            column = pa.array([some[0] if some else None for some in column.to_pylist()])
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = pc.utf8_trim_whitespace(pc.replace_substring_regex(column, "[;|].*", ""))
        columns[name] = column
    return pa.table(columns)


def spread(
    reader: Reader, columns: ColumnRoles, given: Sequence[Any], rows: NDArray[np.int64]
) -> IndexedRows:
    """Return a batch as indices, with one row for each class that an expert named.

    `given` has the items, then the columns with answers; `rows` are the numbers of the rows.
    """
    import pyarrow as pa

    item = flat(given[0])
    if columns.answers is None:
        return _spread(reader, item, flat(given[1]), _lists(reader, given[2]), rows)
    parts = []
    for i, column in zip(columns.answers.values(), given[1:], strict=True):
        expert = pa.repeat(name_array((reader.panel.names[i],))[0], len(item))
        parts.append(_spread(reader, item, expert, _lists(reader, column), rows))
    return IndexedRows.joined(parts)


def _lists(reader: Reader, column: Any) -> pa.Array:
    """Return the names in each cell as lists; text that is not a name itself is split at semicolons."""
    import pyarrow as pa

    values = flat(column)
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        return values.cast(pa.list_(values.type.value_type))
    found = as_dictionary(values)
    cells: list[list[Any]] = []
    for entry in found.dictionary.to_pylist():
        several = isinstance(entry, str) and reader.classes.code(entry) == UNKNOWN
        parts = [part.strip() for part in SEPARATOR.split(entry)] if several else [entry]
        cells.append([part for part in parts if part != ""])
    kind = pa.list_(found.dictionary.type if len(cells) else pa.string())
    return pa.array([*cells, None], kind).take(arrow_array(entry_rows(found).astype(np.int64)))


def _spread(reader: Reader, item: pa.Array, expert: pa.Array, cells: pa.Array, rows: Array) -> IndexedRows:
    import pyarrow as pa

    there = np.array(cells.is_valid().to_pylist(), dtype=np.bool_)
    lengths = np.asarray(cells.value_lengths().fill_null(0)).astype(np.int64)
    empty, missing = np.flatnonzero(there & (lengths == 0)), np.flatnonzero(~there)
    parts: list[IndexedRows] = []
    for at, labels in (
        (np.repeat(np.arange(len(rows)), lengths), cells.flatten()),
        (empty, pa.array([reader.options.none] * len(empty), pa.string())),
        (missing, pa.nulls(len(missing), pa.string())),
    ):
        if len(at) or not parts:
            parts.append(
                reader.index([item.take(arrow_array(at)), expert.take(arrow_array(at)), labels], rows[at])
            )
    return IndexedRows.joined(parts)
