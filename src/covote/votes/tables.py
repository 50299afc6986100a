"""Tables of votes: names to indices and back.

Every table takes the same way to votes: :meth:`Reader.codes` turns a batch of rows into indices, or raises an
error that names the row, and :meth:`Reader.votes` turns the rows of whole items into votes.
``Votes.from_table`` has one batch, a file many.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.arguments import naming, some_of
from covote.errors import InputError
from covote.panel import Name, Panel
from covote.tables import Reading
from covote.tables.columns import LOOK, Columns, find_columns
from covote.tables.names import (
    NONE_OF_MINE,
    NOT_ASKED,
    NULL,
    STRANGE,
    Matcher,
    arrow,
    arrow_table,
    flat,
    plain_items,
    repeated_item,
    whole_ids,
    without_blanks,
)
from covote.votes.answered_panel import answered_panel
from covote.votes.arrays import Ragged, frozen, is_complete, repeated, smallest_int
from covote.votes.findings import DroppedWarning, Findings
from covote.votes.probabilities import checked_column

if TYPE_CHECKING:
    import pyarrow as pa

    from covote.votes import Votes


class Codes(NamedTuple):
    """Rows of a long table as indices.

    Attributes
    ----------
    item
        The ids.
    who, what
        Expert and class; both are -1 if a row is not a vote.
    row
        The number of each row in its table.
    chance
        The experts' probabilities, if there are any.
    """

    item: pa.Array
    who: NDArray[Any]
    what: NDArray[Any]
    row: NDArray[np.int64]
    chance: pa.Array | None = None

    def cut(self, start: int, stop: int) -> Codes:
        """Return the rows start:stop."""
        chance = None if self.chance is None else self.chance[start:stop]
        return Codes(
            self.item[start:stop], self.who[start:stop], self.what[start:stop], self.row[start:stop], chance
        )

    @staticmethod
    def joined(parts: Sequence[Codes]) -> Codes:
        """Return the rows of several parts."""
        import pyarrow as pa

        if len(parts) == 1:
            return parts[0]
        item, who, what, row, chance = zip(*parts, strict=True)
        return Codes(
            pa.concat_arrays(item), np.concatenate(who), np.concatenate(what), np.concatenate(row),
            None if chance[0] is None else pa.concat_arrays(chance),
        )  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """Reads tables of votes; see :meth:`covote.Votes.from_table`.

    `where` is the beginning of messages: the file and a comma. With `trimmed`, items have no blanks around
    them, or the blanks matter. Problems of a table are collected in :attr:`found`, for the caller to judge.
    """

    panel: Panel
    reading: Reading = field(default_factory=Reading)
    where: str = ""
    trimmed: bool = False

    @cached_property
    def meanings(self) -> dict[str, Any]:
        """The meanings of names that the panel does not have."""
        if self.reading.rename is None:
            return {}
        plain = [Matcher(self.panel.names), Matcher(self.panel.classes, self.reading, labels=True)]
        return self.reading.meanings(
            lambda name: name == self.reading.none or any(known.code(name) >= 0 for known in plain)
        )

    @cached_property
    def experts(self) -> Matcher:
        """The names of the experts."""
        return Matcher(self.panel.names, self.reading, self.meanings)

    @cached_property
    def classes(self) -> Matcher:
        """The names of the classes."""
        return Matcher(self.panel.classes, self.reading, self.meanings, labels=True)

    @cached_property
    def found(self) -> Findings:
        """The problems of the tables that were read."""
        return Findings(self.panel, self.experts, self.classes, self.where)

    def columns(self, names: list[str], shape: str, look: Callable[[], pa.Table]) -> Columns:
        """Return the roles of the columns of a table."""
        with naming(self.where.removesuffix(", ")):
            return find_columns(names, self.reading.columns, shape, (self.experts, self.classes), look)

    def loosely(self) -> dict[str, Name | None]:
        """Return the names that have been matched despite case, blanks and accents."""
        return self.experts.loosely | self.classes.loosely

    def notes(self) -> list[str]:
        """Return notes on the names that were matched loosely, and on the labels read as no answer."""
        pairs = sorted(self.loosely().items())
        said = [f"{old!r} as {new!r}" for old, new in pairs if new is not None]
        silent = [repr(old) for old, new in pairs if new is None]
        found = []
        if said:
            found.append(
                "names that differ only in case, blanks, punctuation or accents are taken as the same: "
                f"{some_of(said)}"
            )
        return [*found, *([f"read as no answer: {some_of(silent)}"] if silent else [])]

    def read(self, table: Any, shape: str, rows: NDArray[np.int64] | int, *, untyped: bool = False) -> Votes:
        """Return the votes of a table, with items in order of first occurrence.

        `rows` are the numbers of its rows, or the number of the first one. Items of an `untyped` table become
        integers if all of them are written as integers.
        """
        found = arrow_table(table)
        if isinstance(rows, int):
            rows = np.arange(rows, rows + len(found))
        columns = self.columns(found.column_names, shape, lambda: found.slice(0, LOOK))
        if untyped and columns.item is not None:
            place = found.column_names.index(columns.item)
            found = found.set_column(place, columns.item, self._numbers(found.column(columns.item)))
        votes = self._read(found, columns, rows)
        dropped = self.found.judge(self.reading.unknown)
        if dropped:
            warnings.warn(dropped, DroppedWarning, stacklevel=3)
        return votes

    def _numbers(self, column: Any) -> pa.Array:
        """Return items that are text as integers if all of them are written as integers."""
        ids = flat(column)
        whole = whole_ids(without_blanks(ids) if self.reading.match == "loose" else ids)
        return ids if whole is None else whole

    def _read(self, found: pa.Table, columns: Columns, rows: NDArray[np.int64]) -> Votes:
        if columns.answers is not None:
            self.found.add_columns(columns.strangers, lambda name: len(found) - found.column(name).null_count)
            votes = self.wide(
                list(columns.answers.values()), [found.column(name) for name in columns.answers],
                None if columns.item is None else found.column(columns.item), rows, whole=True,
            )  # fmt: skip
            self.found.count(votes.ragged.expert, votes.ragged.label)
            return votes
        names = [columns.item, *columns.of_answers, *([columns.chance] if columns.chance else [])]
        codes = self.codes([found.column(str(name)) for name in names], rows)
        self.found.count(codes.who, codes.what)
        order = codes.item.dictionary_encode()
        return self.votes(codes, np.from_dlpack(order.indices).astype(np.int64), order.dictionary)

    def _items(
        self, column: Any, others: Sequence[Any], rows: NDArray[np.int64]
    ) -> tuple[pa.Array, NDArray[np.bool_] | None]:
        """Return the items and the rows to keep, None for all rows; rows without an item are left out."""
        ids = plain_items(column, self.where)
        if self.reading.match == "loose" and not self.trimmed:
            ids = without_blanks(ids)
        if not ids.null_count:
            return ids, None
        there = np.array(ids.is_valid().to_pylist(), dtype=np.bool_)
        said = np.zeros(len(ids), dtype=np.bool_)
        for other in others:
            said |= np.array(flat(other).is_valid().to_pylist(), dtype=np.bool_)
        wrong = np.flatnonzero(said & ~there)
        if len(wrong):
            more = f" ({len(wrong):,} rows have none)" if len(wrong) > 1 else ""
            self.found.fault(f"row {rows[wrong[0]]}: no item; give every row an item{more}")
        return ids.drop_null(), there

    # Wide: one column for each expert

    def wide(
        self,
        experts: Sequence[int],
        columns: Sequence[Any],
        items: Any,
        rows: NDArray[np.int64],
        *,
        whole: bool = False,
    ) -> Votes:
        """Return the votes of a wide batch, given the columns of some experts.

        If the batch is the `whole` table, rows with the same item are merged.
        """
        from covote.votes import Votes

        ids, size = None, len(rows)
        if items is not None:
            ids, keep = self._items(items, columns, rows)
            if keep is not None:
                columns, rows = [flat(column).filter(arrow_mask(keep)) for column in columns], rows[keep]
                size = len(rows)
            if whole:
                once = self._once(ids, columns, rows)
                if once is not None:
                    columns = [column.take(arrow(once)) for column in columns]
                    ids, rows, size = ids.take(arrow(once)), rows[once], len(once)
        kind = smallest_int(len(self.panel.classes))
        dense = np.full((len(self.panel), size), NOT_ASKED, dtype=kind)
        refused: list[tuple[Any, int, Any, int, int, int]] = []
        for i, column in zip(experts, columns, strict=True):
            codes, entries, at = self.classes.codes(column)
            known = np.append(self.panel.knows[i], True)  # codes below 0 are handled separately
            wrong = (codes == STRANGE) | ~known[np.maximum(codes, -1)]
            if wrong.any():
                bad = np.flatnonzero(wrong[at])  # a dictionary may have labels that occur in no row
                which, first, count = np.unique(at[bad], return_index=True, return_counts=True)
                refused += [
                    (self.panel.names[i], i, entries[e], int(codes[e]), int(n), int(rows[bad[p]]))
                    for e, p, n in zip(which, first, count, strict=True)
                ]
            np.take(
                np.where(wrong | (codes == NULL), NOT_ASKED, codes).astype(kind),
                at,
                out=dense[i],
                mode="clip",
            )
        self.found.add(refused)
        return Votes(self.panel, frozen(dense), None, 0, size, is_complete(dense), ids=ids)

    def _once(
        self, ids: pa.Array, columns: Sequence[Any], rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | None:
        """Return the places of a wide table's rows, with one row per item; None for all rows.

        Rows of one item with different answers are rejected, unless `duplicates` selects the first or last.
        """
        import pyarrow.compute as pc

        if not len(ids) or pc.count_distinct(ids).as_py() == len(ids):
            return None
        kept: dict[Any, int] = {}
        for place, item in enumerate(ids.to_pylist()):
            before = kept.setdefault(item, place)
            if before == place:
                continue
            if self.reading.duplicates == "last":
                kept[item] = place
            elif self.reading.duplicates == "error" and any(c[before] != c[place] for c in columns):
                self.found.fault(repeated_item(item, int(rows[before]), int(rows[place])))
        return np.array(sorted(kept.values()), dtype=np.int64)

    # Long: one row for each vote

    def codes(self, columns: Sequence[Any], rows: NDArray[np.int64]) -> Codes:
        """Return a long batch as indices; its columns are item, expert, label and optionally probabilities.

        `rows` are the numbers of its rows.
        """
        panel = self.panel
        item, keep = self._items(columns[0], columns[1:], rows)
        if keep is not None:
            columns, rows = [flat(column).filter(arrow_mask(keep)) for column in columns], rows[keep]
        expert_code, experts, expert_row = self.experts.codes(columns[1])
        label_code, labels, label_row = self.classes.codes(columns[2])
        who, what = (
            code.astype(smallest_int(size)).take(row)
            for code, row, size in (
                (expert_code, expert_row, len(panel)), (label_code, label_row, len(panel.classes))
            )
        )  # fmt: skip
        width = len(panel.classes) + 4
        pair = who.astype(smallest_int((len(panel) + 4) * width))
        pair *= width
        pair += what
        verdict = self._verdicts.take(pair)
        if verdict.any():
            if verdict.max() > 1:
                bad = np.flatnonzero(verdict > 1)
                pairs = expert_row[bad].astype(np.int64) * (len(labels) + 1) + label_row[bad]
                which, first, count = np.unique(pairs, return_index=True, return_counts=True)
                self.found.add(
                    [
                        (
                            experts[e],
                            int(expert_code[e]),
                            labels[k],
                            int(label_code[k]),
                            int(n),
                            int(rows[bad[p]]),
                        )
                        for e, k, p, n in zip(*np.divmod(which, len(labels) + 1), first, count, strict=True)
                    ]
                )
            who[verdict > 0] = -1
            what[verdict > 0] = NOT_ASKED
        chance = None
        if len(columns) > 3:
            try:
                chance = checked_column(columns[3], who, what, rows, self.panel)
            except InputError as error:
                self.found.fault(str(error))
        return Codes(item, who, what, rows, chance)

    @cached_property
    def _verdicts(self) -> NDArray[np.int8]:
        """What each pair of codes, which start at -4, is: 0 a vote, 1 not a vote, 2 to be rejected.

        Expert i and class k are at ``i * (classes + 4) + k``, which puts codes below 0 at the end.
        """
        experts, classes = self.panel.knows.shape
        found = np.full((experts + 4, classes + 4), 2, dtype=np.int8)
        found[4:, 4:] = np.where(self.panel.knows, 0, 2)
        found[4:, NONE_OF_MINE + 4] = 0
        found[NULL + 4], found[:, NULL + 4] = 1, 1
        return np.roll(found.reshape(-1), -4 * (classes + 4) - 4)

    # Rows of whole items to votes

    def votes(self, codes: Codes, at: NDArray[np.int64], ids: pa.Array) -> Votes:
        """Return the votes on some items, given all their rows; row p is about item ``at[p]``.

        The votes are dense if that takes less memory.
        """
        from covote.votes import Votes

        panel, size = self.panel, len(ids)
        ragged = len(codes.who) * (codes.who.itemsize + codes.what.itemsize) + 8 * size
        dense = codes.chance is None and size * len(panel) * codes.what.itemsize <= ragged
        if dense:
            columns = np.full((len(panel), size), NOT_ASKED, dtype=codes.what.dtype)
            fill(columns, codes, at)
            # If there are as many answers as rows, no expert answered an item twice.
            if self.reading.duplicates == "last" or answers_in(columns) == np.count_nonzero(codes.who >= 0):
                return Votes(panel, frozen(columns), None, 0, size, is_complete(columns), ids=ids)
        order = np.flatnonzero(codes.who >= 0)
        order = order[np.argsort(at[order], kind="stable")]
        who, what = codes.who[order], codes.what[order]
        indptr = np.searchsorted(at[order], np.arange(size + 1)).astype(np.int64)
        keep, differ = repeated(indptr, who, what, self.reading.duplicates == "last")
        if differ and self.reading.duplicates == "error":
            self.found.fault(self.conflicts(codes, at))
        if not keep.all():
            indptr = np.concatenate([[0], np.cumsum(keep)])[indptr]
            who, what, order = who[keep], what[keep], order[keep]
        if codes.chance is None:
            runs = Ragged(frozen(indptr), frozen(who), frozen(what))
            votes = Votes(panel, None, runs, 0, size, len(who) == size * len(panel), ids=ids)
            return votes.to_dense() if dense else votes
        chance = codes.chance.take(arrow(order))
        values = chance.flatten() if hasattr(chance, "flatten") and chance.type.num_fields else chance
        return Votes.from_ragged(
            indptr, who, what, panel, items=ids, probabilities=values.to_numpy(zero_copy_only=False)
        )

    def conflicts(self, codes: Codes, at: NDArray[np.int64]) -> str:
        """Return a message about experts who gave two different answers to an item; "" if there are none.

        Row p is about item ``at[p]``.
        """
        order = np.flatnonzero(codes.who >= 0)
        order = order[np.lexsort((codes.row[order], codes.who[order], at[order]))]
        who, what, item = codes.who[order], codes.what[order], at[order]
        begins = np.flatnonzero(
            np.append(True, (who[1:] != who[:-1]) | (item[1:] != item[:-1]))[: len(order)]
        )
        first = np.repeat(begins, np.diff(np.append(begins, len(order))))
        wrong = np.flatnonzero(what != what[first])
        if not len(wrong):
            return ""
        p = wrong[np.argmin(codes.row[order[wrong]])]
        number = len(np.unique(first[wrong]))
        more = f" ({number:,} such pairs of expert and item)" if number > 1 else ""
        before, after = int(order[first[p]]), int(order[p])
        names = (*self.panel.classes, self.reading.none)
        one, two = (names[max(int(codes.what[p]), -1)] for p in (before, after))
        return (
            f"row {codes.row[after]}: expert {self.panel.names[int(codes.who[after])]!r} "
            f"answered {two!r} to item {codes.item[after].as_py()!r}, but {one!r} in row "
            f"{codes.row[before]}; remove one, or choose with duplicates='first' or 'last' (--duplicates "
            f"first|last){more}"
        )


def read_file(path: str | os.PathLike[str], panel: Panel | None, reading: Reading) -> Votes:
    """Return all votes of a file; without a panel, everyone knows every class."""
    from covote.tables.batches import Source  # which loads pyarrow

    source = Source(path, exports=True)
    table = source.table()
    if panel is None:
        with naming(source.path):
            panel = open_panel(table, "auto", reading)
    reader = Reader(panel, reading, f"{source.path}, ")
    return reader.read(table, "auto", source.row_numbers(0, len(table)), untyped=source.untyped)


def open_panel(table: pa.Table, shape: str, reading: Reading) -> Panel:
    """Return the panel of a table of votes in which everyone knows every class that anyone answered."""
    columns = find_columns(table.column_names, reading.columns, shape, None, lambda: table.slice(0, LOOK))
    return answered_panel(columns, lambda names: [table.select(names).columns], reading, everything=True)


def arrow_mask(keep: NDArray[np.bool_]) -> pa.Array:
    """Return which rows to keep, for Arrow."""
    import pyarrow as pa

    return pa.array(keep.tolist())


def answers_in(columns: NDArray[Any]) -> int:
    """Return how many answers there are in `columns` (experts x items)."""
    return int(np.count_nonzero(columns != NOT_ASKED))


def fill(columns: NDArray[Any], codes: Codes, at: NDArray[np.int64]) -> None:
    """Write rows into `columns` (experts x items), later ones over earlier; row p is about item ``at[p]``."""
    who, what = codes.who, codes.what
    if who.min(initial=0) < 0:
        voted = np.flatnonzero(who >= 0)
        who, what, at = who[voted], what[voted], at[voted]
    place = who * np.int64(columns.shape[1])
    place += at
    columns.reshape(-1)[place] = what
