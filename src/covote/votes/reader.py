"""Tables of votes: names to indices, and the indices of all rows to votes.

Every table takes the same way: :meth:`Reader.add` turns a batch of rows into indices and notes what is wrong
with it, :meth:`Reader.votes` turns the indices of all rows into votes. ``Votes.from_table`` has one batch, a
file many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.arguments import naming, some_of
from covote.errors import InputError
from covote.panel import Panel
from covote.tables import ReadOptions
from covote.tables.arrow_names import (
    NONE_OF_MINE,
    NOT_ASKED,
    arrow_array,
    flat,
    plain_items,
    text_array,
    whole_ids,
    without_blanks,
)
from covote.tables.column_roles import ColumnRoles, find_columns
from covote.tables.matching import NULL, UNKNOWN, Matcher
from covote.votes.arrays import Ragged, frozen, repeated, smallest_int
from covote.votes.item_index import ItemIndex
from covote.votes.probabilities import checked_column
from covote.votes.problems import TableProblems

if TYPE_CHECKING:
    import pyarrow as pa

    from covote.votes import Votes


class IndexedRows(NamedTuple):
    """Rows of a long table as indices.

    Attributes
    ----------
    item
        The ids, or the positions of the items.
    expert, label
        Indices; both are -1 if a row is not a vote.
    row
        The number of each row in its table.
    probability
        The experts' probabilities, if there are any.
    """

    item: Any
    expert: NDArray[Any]
    label: NDArray[Any]
    row: NDArray[Any]
    probability: pa.Array | None = None

    @staticmethod
    def joined(parts: Sequence[IndexedRows]) -> IndexedRows:
        """Return the rows of several parts."""
        import pyarrow as pa

        if len(parts) == 1:
            return parts[0]
        item, expert, label, row, probability = zip(*parts, strict=True)
        ids = np.concatenate(item) if isinstance(item[0], np.ndarray) else pa.concat_arrays(item)
        values = None if probability[0] is None else pa.concat_arrays(probability)
        return IndexedRows(ids, np.concatenate(expert), np.concatenate(label), np.concatenate(row), values)


class Reader:
    """Reads one table of votes; see :meth:`covote.Votes.from_table`.

    Parameters
    ----------
    panel
        Who could answer what.
    options
        How columns, names and cells are understood.
    where
        The beginning of messages: the file and a comma.

    Attributes
    ----------
    problems
        What is wrong with the rows so far, for the caller to judge.
    """

    def __init__(self, panel: Panel, options: ReadOptions | None = None, where: str = "") -> None:
        self.panel, self.options, self.where = panel, options or ReadOptions(), where
        self.problems = TableProblems(panel, self.experts, self.classes, where)
        self._items = ItemIndex()
        self._parts: list[IndexedRows] = []  # of a long table
        self._matrices: list[NDArray[Any]] = []  # of a wide table (experts x rows)
        self._rows: list[NDArray[Any]] = []  # the numbers of its rows
        self._bytes = 0  # of parts, matrices and rows
        self._unnamed = False  # whether it has no items
        self._trimmed = False  # whether items had blanks around them

    # Names and columns

    @cached_property
    def renames(self) -> dict[str, Any]:
        """The meanings of names that the panel does not have."""
        if self.options.rename is None:
            return {}
        plain = [Matcher(self.panel.names), Matcher(self.panel.classes, self.options, labels=True)]
        return self.options.renames(
            lambda name: name == self.options.none or any(known.code(name) >= 0 for known in plain)
        )

    @cached_property
    def experts(self) -> Matcher:
        """The names of the experts."""
        return Matcher(self.panel.names, self.options, self.renames)

    @cached_property
    def classes(self) -> Matcher:
        """The names of the classes."""
        return Matcher(self.panel.classes, self.options, self.renames, labels=True)

    def columns(self, names: list[str], head: Callable[[], pa.Table]) -> ColumnRoles:
        """Return the roles of the columns of a table; `head` returns its first rows."""
        with naming(self.where.removesuffix(", ")):
            names = [name for name in names if name != self.options.gold_column]
            return find_columns(names, self.options.columns, (self.experts, self.classes), head)

    def notes(self) -> list[str]:
        """Return notes on the names that were matched loosely, and on the labels read as no answer."""
        pairs = sorted((self.experts.loose_matches | self.classes.loose_matches).items())
        matched = [f"{old!r} as {new!r}" for old, new in pairs if new is not None]
        no_answer = [repr(old) for old, new in pairs if new is None]
        found = []
        if matched:
            found.append(
                "names that differ only in case, blanks, punctuation, accents or titles are taken as the "
                f"same: {some_of(matched)}"
            )
        found += [f"read as no answer: {some_of(no_answer)}"] if no_answer else []
        return ["blanks around item names are ignored", *found] if self._trimmed else found

    # Rows to indices

    @property
    def nbytes(self) -> int:
        """How many bytes the rows so far take."""
        return self._items.nbytes + self._bytes

    def add(self, roles: ColumnRoles, batch: Any, rows: NDArray[np.int64]) -> None:
        """Add a batch of rows (a table or record batch); `rows` are their numbers."""
        for name in roles.unknown_columns:
            self.problems.add_column(name, len(batch.column(name)) - batch.column(name).null_count)
        items = None if roles.item is None else batch.column(roles.item)
        rows = rows.astype(smallest_int(int(rows[-1]) + 1)) if len(rows) else rows
        for name in roles.items:
            ids = text_array([name] * len(rows))
            self._add_long([ids, batch.column(roles.expert), batch.column(name)], rows)
        if roles.items:
            return
        if roles.answers is not None:
            self._add_wide(roles.answers, [batch.column(name) for name in roles.answers], items, rows)
            return
        names = [*roles.of_answers, *([roles.probability] if roles.probability else [])]
        self._add_long([items, *(batch.column(name) for name in names)], rows)

    def _add_long(self, columns: Sequence[Any], rows: NDArray[Any]) -> None:
        """Add rows that have the columns item, expert, label, and perhaps probabilities."""
        found = self.index(columns, rows)
        self.problems.count(int(np.count_nonzero(found.expert >= 0)))
        self._items.add(found.item)
        self._parts.append(found._replace(item=None))
        self._bytes += sum(array.nbytes for array in found[1:] if array is not None)

    def index(self, columns: Sequence[Any], rows: NDArray[Any]) -> IndexedRows:
        """Return rows of a long table as indices, given the columns item, expert, label and probabilities.

        The last of these may be absent; `rows` are the numbers of the rows.
        """
        panel = self.panel
        item, keep = self._ids(columns[0], columns[1:], rows)
        if keep is not None:
            columns, rows = [flat(column).filter(arrow_mask(keep)) for column in columns], rows[keep]
        expert_code, experts, expert_row = self.experts.codes(columns[1])
        label_code, labels, label_row = self.classes.codes(columns[2])
        expert, label = (
            code.astype(smallest_int(size)).take(row)
            for code, row, size in (
                (expert_code, expert_row, len(panel)), (label_code, label_row, len(panel.classes))
            )
        )  # fmt: skip
        width = len(panel.classes) + 4
        pair = expert.astype(smallest_int((len(panel) + 4) * width))
        pair *= width
        pair += label
        kind = self._answer_kinds.take(pair)
        if kind.any():
            if kind.max() > 1:
                bad = np.flatnonzero(kind > 1)
                pairs = expert_row[bad].astype(np.int64) * (len(labels) + 1) + label_row[bad]
                which, first, count = np.unique(pairs, return_index=True, return_counts=True)
                self.problems.add(
                    (
                        experts[e],
                        int(expert_code[e]),
                        labels[k],
                        int(label_code[k]),
                        int(n),
                        int(rows[bad[p]]),
                    )
                    for e, k, p, n in zip(*np.divmod(which, len(labels) + 1), first, count, strict=True)
                )
            expert[kind > 0] = -1
            label[kind > 0] = NOT_ASKED
        probability = None
        if len(columns) > 3:
            try:
                probability = checked_column(columns[3], expert, label, rows, self.panel)
            except InputError as error:
                self.problems.add_fault(str(error), "probabilities")
        return IndexedRows(item, expert, label, rows, probability)

    @cached_property
    def _answer_kinds(self) -> NDArray[np.int8]:
        """What each pair of codes is: 0 a vote, 1 not a vote, 2 a problem.

        Expert i and class k, whose codes begin at -4, are at ``i * (classes + 4) + k``, which counts from the
        end if it is below 0.
        """
        experts, classes = self.panel.knows.shape
        found = np.full((experts + 4, classes + 4), 2, dtype=np.int8)
        found[4:, 4:] = np.where(self.panel.knows, 0, 2)
        found[4:, NONE_OF_MINE + 4] = 0
        found[NULL + 4], found[:, NULL + 4] = 1, 1
        return np.roll(found.reshape(-1), -4 * (classes + 4) - 4)

    def _ids(
        self, column: Any, others: Sequence[Any], rows: NDArray[Any]
    ) -> tuple[pa.Array, NDArray[np.bool_] | None]:
        """Return the items and the rows to keep, None for all rows; rows without an item are left out."""
        ids = plain_items(column, self.where)
        if self.options.match == "loose":
            trimmed = without_blanks(ids)
            self._trimmed = self._trimmed or trimmed is not ids
            ids = trimmed
        if not ids.null_count:
            return ids, None
        there = np.array(ids.is_valid().to_pylist(), dtype=np.bool_)
        answered = np.zeros(len(ids), dtype=np.bool_)
        for other in others:
            answered |= np.array(flat(other).is_valid().to_pylist(), dtype=np.bool_)
        wrong = np.flatnonzero(answered & ~there)
        if len(wrong):
            self.problems.add_rows_without_item(int(rows[wrong[0]]), len(wrong))
        return ids.drop_null(), there

    def _add_wide(self, experts: dict[str, int], columns: list[Any], items: Any, rows: NDArray[Any]) -> None:
        """Add rows that have a column for each of some experts."""
        if items is not None:
            ids, keep = self._ids(items, columns, rows)
            if keep is not None:
                columns, rows = [flat(column).filter(arrow_mask(keep)) for column in columns], rows[keep]
            self._items.add(ids)
        self._unnamed = items is None
        kind = smallest_int(len(self.panel.classes))
        matrix = np.full((len(self.panel), len(rows)), NOT_ASKED, dtype=kind)
        refused: list[tuple[Any, int, Any, int, int, int]] = []
        for i, column in zip(experts.values(), columns, strict=True):
            codes, entries, at = self.classes.codes(column)
            known = np.append(self.panel.knows[i], True)  # codes below 0 are handled separately
            wrong = (codes == UNKNOWN) | ~known[np.maximum(codes, -1)]
            if wrong.any():
                bad = np.flatnonzero(wrong[at])  # a dictionary may have labels that occur in no row
                which, first, count = np.unique(at[bad], return_index=True, return_counts=True)
                refused += [
                    (self.panel.names[i], i, entries[e], int(codes[e]), int(n), int(rows[bad[p]]))
                    for e, p, n in zip(which, first, count, strict=True)
                ]
            votes = np.where(wrong | (codes == NULL), NOT_ASKED, codes).astype(kind)
            np.take(votes, at, out=matrix[i], mode="clip")
        self.problems.add(refused)
        self.problems.count(answers_in(matrix))
        self._matrices.append(matrix)
        self._rows.append(rows)
        self._bytes += matrix.nbytes + rows.nbytes

    # Indices to votes

    def votes(self, *, untyped: bool = False) -> Votes:
        """Return the votes of all rows, the items in the order in which they first appear.

        Items of an `untyped` table become integers if all of them are written as integers. An expert with two
        answers to an item is a problem, unless the options say which of them counts.
        """
        from covote.votes import Votes

        positions, ids = self._items.positions(), None if self._unnamed else self._items.ids
        if untyped and ids is not None and len(ids):
            integers = whole_ids(ids)
            ids = ids if integers is None else integers
        if self._matrices:
            size = sum(map(len, self._rows))
            if ids is None or len(ids) == size:
                columns = np.concatenate(self._matrices, axis=1)
                return Votes(self.panel, frozen(columns), None, 0, size, ids=ids)
            self._parts = list(self._melted(positions))
            positions = [part.item for part in self._parts]
        assert ids is not None  # only wide tables are without items
        parts = [part._replace(item=at) for part, at in zip(self._parts, positions, strict=True)]
        size, count = len(ids), sum(len(part.expert) for part in parts)
        kinds = smallest_int(len(self.panel)).itemsize, smallest_int(len(self.panel.classes)).itemsize
        soft = any(part.probability is not None for part in parts)
        if not soft and size * len(self.panel) * kinds[1] <= count * sum(kinds) + 8 * size:
            return self._dense(parts, ids)
        return self._sparse(IndexedRows.joined(parts) if parts else None, ids)

    def _melted(self, positions: list[NDArray[np.int32]]) -> Iterator[IndexedRows]:
        """Yield wide rows as long ones."""
        for matrix, rows, item in zip(self._matrices, self._rows, positions, strict=True):
            at, expert = np.nonzero(matrix.T != NOT_ASKED)
            label, expert = matrix[expert, at], expert.astype(smallest_int(len(self.panel)))
            yield IndexedRows(item[at], expert, label, rows[at])

    def _dense(self, parts: list[IndexedRows], ids: pa.Array) -> Votes:
        from covote.votes import Votes

        panel, size = self.panel, len(ids)
        columns = np.full((len(panel), size), NOT_ASKED, dtype=smallest_int(len(panel.classes)))
        cells, answers = columns.reshape(-1), 0
        for part in parts:
            place, label = _votes_of(part, size)
            cells[place] = label
            answers += len(place)
        # If there are fewer votes than answers, an expert answered an item twice.
        if self.options.duplicates != "last" and answers > answers_in(columns):
            return self._sparse(IndexedRows.joined(parts), ids).to_dense()
        return Votes(panel, frozen(columns), None, 0, size, ids=ids)

    def _sparse(self, rows: IndexedRows | None, ids: pa.Array) -> Votes:
        from covote.votes import Votes

        panel, size = self.panel, len(ids)
        if rows is None:
            return Votes.from_ragged([0], [], [], panel, items=ids)
        order = np.flatnonzero(rows.expert >= 0)
        order = order[np.argsort(rows.item[order], kind="stable")]
        expert, label, item = rows.expert[order], rows.label[order], rows.item[order]
        indptr = np.searchsorted(item, np.arange(size + 1)).astype(np.int64)
        keep, differ = repeated(indptr, expert, label, self.options.duplicates == "last")
        if differ and self.options.duplicates == "error":
            self._refuse_contradiction(expert, item, label, rows.row[order], ids)
        if not keep.all():
            indptr = np.concatenate([[0], np.cumsum(keep)])[indptr]
            expert, label, order = expert[keep], label[keep], order[keep]
        if rows.probability is None:
            sparse = Ragged(frozen(indptr), frozen(expert), frozen(label))
            return Votes(panel, None, sparse, 0, size, ids=ids)
        chosen = rows.probability.take(arrow_array(order))
        values = chosen.flatten() if hasattr(chosen, "flatten") and chosen.type.num_fields else chosen
        return Votes.from_ragged(
            indptr, expert, label, panel, items=ids, probabilities=values.to_numpy(zero_copy_only=False)
        )

    def _refuse_contradiction(
        self, expert: NDArray[Any], item: NDArray[Any], label: NDArray[Any], row: NDArray[Any], ids: pa.Array
    ) -> None:
        """Note that experts gave two different answers to an item, with the first row that shows it."""
        order = np.lexsort((row, expert, item))
        expert, item, label, row = expert[order], item[order], label[order], row[order]
        begins = np.flatnonzero(np.append(True, (expert[1:] != expert[:-1]) | (item[1:] != item[:-1])))
        first = np.repeat(begins, np.diff(np.append(begins, len(order))))
        wrong = np.flatnonzero(label != label[first])
        number = len(np.unique(first[wrong]))
        more = f" ({number:,} such pairs of expert and item)" if number > 1 else ""
        more += "; if two columns together name the item, join them into one" if number > 1 else ""
        after = wrong[np.argmin(row[wrong])]
        before = first[after]
        names = (*self.panel.classes, self.options.none)
        earlier, later = (names[max(int(label[p]), -1)] for p in (before, after))
        self.problems.add_fault(
            f"row {row[after]}: expert {self.panel.names[int(expert[after])]!r} answered {later!r} to item "
            f"{ids[int(item[after])].as_py()!r}, but {earlier!r} in row {row[before]}; remove one, or choose "
            f"with duplicates='first' or 'last' (--duplicates first|last){more}"
        )


def _votes_of(part: IndexedRows, items: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the cells (of experts x items) and the classes of the rows that are votes."""
    expert, label, item = part.expert, part.label, part.item
    if expert.min(initial=0) < 0:
        voted = np.flatnonzero(expert >= 0)
        expert, label, item = expert[voted], label[voted], item[voted]
    place = expert.astype(np.int64)
    place *= items
    place += item
    return place, label


def arrow_mask(keep: NDArray[np.bool_]) -> pa.Array:
    """Return which rows to keep, for Arrow."""
    import pyarrow as pa

    return pa.array(keep.tolist())


def answers_in(columns: NDArray[Any]) -> int:
    """Return how many answers there are in `columns` (experts x items)."""
    return int(np.count_nonzero(columns != NOT_ASKED))
