"""Tables of votes: names to indices and back.

There is one way from a table to votes, wherever the table comes from: a batch of rows becomes indices
(:meth:`Reader.codes`), or an error that names the row, and the rows of whole items become votes
(:meth:`Reader.votes`). ``Votes.from_table`` has one batch, a file many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import CovoteError, InputError, UnknownNameError
from covote.panel import Panel
from covote.panel.checks import did_you_mean, shown, some_of
from covote.votes import votes_kernels
from covote.votes.item_ids import id_array, item_ids, refuse_repeated
from covote.votes.names import NULL, STRANGE, arrow, arrow_table, by_text, name_array, name_codes, named
from covote.votes.vote_checks import (
    NONE_OF_MINE,
    NOT_ASKED,
    Ragged,
    contradiction,
    frozen,
    is_complete,
    smallest_int,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from covote.votes import Votes

ITEM_COLUMNS = ("item", "task")
EXPERT_COLUMNS = ("expert", "worker")
CHANCES = ("probability", "probabilities")
"""Columns of a long table with the experts' probabilities: of the answer, or of the classes that it knows."""


class Codes(NamedTuple):
    """Rows of a long table as indices.

    Attributes
    ----------
    item
        The ids.
    who, what
        Expert and class; both are -1 where a row is no vote.
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
    """How to read tables; see :meth:`covote.Votes.from_table`.

    `where` begins a message: the file and a comma.
    """

    panel: Panel
    unknown: str = "error"
    duplicates: str = "error"
    none: str = "none of mine"
    where: str = ""

    def read(
        self, table: Any, shape: str, columns: tuple[str | None, str | None, str | None], first_row: int
    ) -> Votes:
        """Return the votes of a table, its items in the order in which they first come."""
        found = arrow_table(table)
        names = found.column_names
        item, expert, label = vote_columns(names, *columns)
        if shape == "wide" or (shape == "auto" and not (item and expert and label)):
            experts = expert_columns(names, item, self.panel, self.unknown == "drop")
            ids = None
            if item is not None:
                ids = item_ids(found.column(item), self.where, first_row)
                refuse_repeated(ids, self.where, first_row)
            return self.wide(
                [(i, found.column(name)) for name, i in experts.items()], ids, len(found), first_row
            )
        for name, what in ((item, "item"), (expert, "expert"), (label, "label")):
            if name is None:
                raise InputError(
                    f"the votes have no column {what!r} (they have: {', '.join(names)}); rename it or "
                    f"say which it is with {what}='...'"
                )
        chance = [name for name in CHANCES if name in names][:1]
        codes = self.codes([found.column(str(name)) for name in (item, expert, label, *chance)], first_row)
        order = codes.item.dictionary_encode()
        return self.votes(codes, np.from_dlpack(order.indices).astype(np.int64), order.dictionary)

    # Wide: one column for each expert

    def wide(self, columns: list[tuple[int, Any]], ids: Any, size: int, first_row: int) -> Votes:
        """Return the votes of a wide batch: the columns of some experts."""
        from covote.votes import Votes

        kind = smallest_int(len(self.panel.classes))
        dense = np.full((len(self.panel), size), NOT_ASKED, dtype=kind)
        refused: list[tuple[int, int, Any]] = []
        for i, column in columns:
            codes, entries, rows = self._labels(column)
            known = np.append(self.panel.knows[i], True)  # codes below 0 are looked at apart
            wrong = (codes == STRANGE) | ~known[np.maximum(codes, -1)]
            if self.unknown == "error" and wrong.any():
                bad = np.flatnonzero(wrong[rows])[:1]  # a dictionary may hold labels that no row has
                refused += [(int(row), i, entries[rows[row]]) for row in bad]
            np.take(
                np.where(wrong | (codes == NULL), NOT_ASKED, codes).astype(kind),
                rows,
                out=dense[i],
                mode="clip",
            )
        if refused:
            row, i, label = min(refused, key=lambda entry: entry[:2])
            raise self._no_vote(first_row + row, self.panel.names[i], label)
        return Votes(self.panel, frozen(dense), None, 0, size, is_complete(dense), _ids=ids)

    def _labels(self, column: Any) -> tuple[NDArray[np.int64], list[Any], NDArray[Any]]:
        """Return (class of each entry of a column, the entries, which entry each row has)."""
        codes, entries, rows = name_codes(column, self.panel.classes)
        for e in np.flatnonzero(codes[:-1] == STRANGE):
            if entries[e] == self.none:
                codes[e] = NONE_OF_MINE
        return codes, entries, rows

    # Long: one row for each vote

    def codes(self, columns: Sequence[Any], first_row: int) -> Codes:
        """Return a long batch as indices; its columns are item, expert, label and, maybe, probabilities."""
        panel = self.panel
        item = item_ids(columns[0], self.where, first_row)
        expert_code, experts, expert_row = name_codes(columns[1], panel.names)
        label_code, labels, label_row = self._labels(columns[2])
        who, what = (
            code.astype(smallest_int(size)).take(row)
            for code, row, size in (
                (expert_code, expert_row, len(panel)), (label_code, label_row, len(panel.classes))
            )
        )  # fmt: skip
        verdict = self._verdicts.take((who.astype(np.int64) + 4) * (len(panel.classes) + 4) + what + 4)
        if verdict.any():
            if self.unknown == "error" and verdict.max() > 1:
                bad = int(np.argmax(verdict > 1))
                raise self._no_vote(first_row + bad, experts[expert_row[bad]], labels[label_row[bad]])
            who[verdict > 0] = -1
            what[verdict > 0] = NOT_ASKED
        chance = self._chances(columns[3], who, what, first_row) if len(columns) > 3 else None
        return Codes(item, who, what, np.arange(first_row, first_row + len(item)), chance)

    @cached_property
    def _verdicts(self) -> NDArray[np.int8]:
        """What to do with each pair of codes, each from -4 on: 0 it is a vote, 1 it is none, 2 refuse it."""
        experts, classes = self.panel.knows.shape
        found = np.full((experts + 4, classes + 4), 2, dtype=np.int8)
        found[4:, 4:] = np.where(self.panel.knows, 0, 2)
        found[4:, NONE_OF_MINE + 4] = 0
        found[NULL + 4], found[:, NULL + 4] = 1, 1
        return found.reshape(-1)

    def _no_vote(self, row: int, expert: Any, label: Any) -> CovoteError:
        """Say why a row is no vote of the panel."""
        panel, drop = self.panel, "or drop such answers with unknown='drop' (--unknown drop)"
        index = by_text(panel.names).get(str(expert))
        if index is None or index < 0:
            return UnknownNameError(
                f"{self.where}row {row}: {shown(expert)} is not an expert of the panel"
                f"{did_you_mean(expert, panel.names)} (it has: {some_of(panel.names)}); add it to the panel, "
                f"{drop}"
            )
        known = some_of([panel.classes[k] for k in np.flatnonzero(panel.knows[index])])
        same = [name for name in panel.classes if str(name) == str(label)]  # CSV files have no types
        which = f"which it does not know (it knows: {known})"
        if not same:
            near = did_you_mean(label, panel.classes) or f" (expert {panel.names[index]!r} knows: {known})"
            which = f"which is not a class of the panel{near}"
        return InputError(
            f"{self.where}row {row}: expert {panel.names[index]!r} answered {shown((same or [label])[0])}, "
            f"{which}; add it to {panel.names[index]!r} in the panel, {drop}"
        )

    def _chances(self, column: Any, who: NDArray[Any], what: NDArray[Any], first_row: int) -> pa.Array:
        """Return the probabilities as float32, or lists of them, after a look at every one of a vote."""
        import pyarrow as pa

        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        lists = pa.types.is_nested(column.type) and not pa.types.is_struct(column.type)
        try:
            column = column.cast(pa.large_list(pa.float32()) if lists else pa.float32())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"{self.where}probabilities must be numbers between 0 and 1 ({error})"
            ) from error
        voted, owner, values = who >= 0, np.arange(len(who)), column
        if lists:
            lengths = np.asarray(column.value_lengths().fill_null(0))
            sizes = self.panel.sizes[np.maximum(who, 0)]
            wrong = np.flatnonzero(voted & (lengths != sizes))
            if len(wrong):
                p = int(wrong[0])
                raise InputError(
                    f"{self.where}row {first_row + p}: {lengths[p]} probabilities of expert "
                    f"{self.panel.names[int(who[p])]!r}, which knows {sizes[p]} classes; give one for each "
                    "class it knows, in the order of the panel"
                )
            owner, values = np.repeat(owner, lengths), column.flatten()
        chances = values.to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~((chances >= 0) & (chances <= 1)) & voted[owner])
        if len(wrong):
            raise InputError(
                f"{self.where}row {first_row + int(owner[wrong[0]])}: {chances[wrong[0]]} is not a "
                "probability between 0 and 1; correct it or remove the row"
            )
        if lists:
            starts = np.concatenate([[0], np.cumsum(lengths)])
            found = contradiction(chances, starts, who, what, self.panel)
            if found is not None:
                raise InputError(f"{self.where}row {first_row + found[0]}: {found[1]}")
        return column

    # Rows of whole items to votes

    def votes(self, codes: Codes, at: NDArray[np.int64], ids: pa.Array) -> Votes:
        """Return the votes on some items, all of whose rows are here: row p is about item ``at[p]``.

        They are dense where that takes less room.
        """
        from covote.votes import Votes

        panel, size = self.panel, len(ids)
        ragged = len(codes.who) * (codes.who.itemsize + codes.what.itemsize) + 8 * size
        if codes.chance is None and size * len(panel) * codes.what.itemsize <= ragged:
            columns = np.full((len(panel), size), NOT_ASKED, dtype=codes.what.dtype)
            again = fill(columns, codes, at, self.duplicates)
            if again >= 0:
                same = (at == at[again]) & (codes.who == codes.who[again])
                raise self.twice(codes, int(np.argmax(same)), again)
            return Votes(panel, frozen(columns), None, 0, size, is_complete(columns), _ids=ids)
        order = np.flatnonzero(codes.who >= 0)
        order = order[np.argsort(at[order], kind="stable")]
        who, what = codes.who[order], codes.what[order]
        indptr = np.searchsorted(at[order], np.arange(size + 1)).astype(np.int64)
        keep, first, other = votes_kernels.repeated(indptr, who, what, len(panel), self.duplicates == "last")
        if first >= 0 and self.duplicates == "error":
            raise self.twice(codes, int(order[first]), int(order[other]))
        if not keep.all():
            indptr = np.concatenate([[0], np.cumsum(keep)])[indptr]
            who, what, order = who[keep], what[keep], order[keep]
        if codes.chance is None:
            runs = Ragged(frozen(indptr), frozen(who), frozen(what))
            return Votes(panel, None, runs, 0, size, len(who) == size * len(panel), _ids=ids)
        chance = codes.chance.take(arrow(order))
        values = chance.flatten() if hasattr(chance, "flatten") and chance.type.num_fields else chance
        return Votes.from_ragged(
            indptr, who, what, panel, items=ids, probabilities=values.to_numpy(zero_copy_only=False)
        )

    def twice(self, codes: Codes, first: int, other: int) -> InputError:
        """Say that an expert gives two different answers to an item, in two rows."""
        names = (*self.panel.classes, self.none)
        one, two = (names[max(int(codes.what[p]), -1)] for p in (first, other))
        return InputError(
            f"{self.where}row {codes.row[other]}: expert {self.panel.names[int(codes.who[other])]!r} "
            f"answered {two!r} to item {codes.item[other].as_py()!r}, but {one!r} in row {codes.row[first]}; "
            "remove one, or choose with duplicates='first' or 'last' (--duplicates first|last)"
        )


def fill(columns: NDArray[Any], codes: Codes, at: NDArray[np.int64], duplicates: str) -> int:
    """Put rows into `columns` (experts x items): row p is about item ``at[p]``.

    Returns the first row with an answer other than the one before of the same expert to the same item, where
    that is an error; else -1.
    """
    voted = None if codes.who.min(initial=0) >= 0 else np.flatnonzero(codes.who >= 0)
    who, what, at = (a if voted is None else a[voted] for a in (codes.who, codes.what, at))
    cells = columns.reshape(-1)
    place = who * np.int64(columns.shape[1])
    place += at
    if duplicates == "last":
        cells[place] = what
        return -1
    before = cells.take(place)
    # Where a place is named twice, the last value stays: the first answer has to be written last.
    cells[place[::-1]] = np.where(before == NOT_ASKED, what, before)[::-1]
    if duplicates == "first":
        return -1
    different = cells.take(place) != what
    if not different.any():
        return -1
    p = int(np.argmax(different))
    return p if voted is None else int(voted[p])


def expert_columns(names: list[str], item: str | None, panel: Panel, drop: bool) -> dict[str, int]:
    """Return which column of a wide table is which expert's; the others are refused, or left out."""
    experts = by_text(panel.names)
    found, strange = {}, []
    for name in names:
        if experts.get(name, -1) >= 0 and name != item:
            found[name] = experts[name]
        elif name in experts and name != item:
            raise InputError(
                f"column {name!r} could be two experts of the panel, the text {name!r} and the number "
                f"{name}; rename one of them, or give a long table (item, expert, label)"
            )
        elif name != item:
            strange.append(name)
    if drop or not strange:
        return found
    if not found:
        raise UnknownNameError(
            f"no column is an expert of the panel (its columns: {some_of(names)}; the experts: "
            f"{some_of(panel.names)}); a wide table has a column for each expert, a long table has the "
            "columns item, expert, label, or others that are named with expert='...', label='...' (--expert, "
            "--label)"
        )
    raise UnknownNameError(
        f"column {strange[0]!r} is neither the item nor an expert of the panel"
        f"{did_you_mean(strange[0], panel.names)} (it has: {some_of(panel.names)}); add it to the panel, or "
        "leave such columns out with unknown='drop' (--unknown drop)"
    )


def vote_columns(
    names: list[str], item: str | None, expert: str | None, label: str | None
) -> tuple[str | None, str | None, str | None]:
    """Return the columns of items, experts and labels: those given, else by their usual names, else None."""
    found: list[str | None] = []
    for given, usual in ((item, ITEM_COLUMNS), (expert, EXPERT_COLUMNS), (label, ("label",))):
        if given is not None and given not in names:
            raise InputError(
                f"the votes have no column {given!r}{did_you_mean(given, names)}; they have: {some_of(names)}"
            )
        found.append(given or next((name for name in usual if name in names), None))
    chosen = [name for name in found if name is not None]
    twice = next((name for name in chosen if chosen.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"column {twice!r} cannot stand for two of item, expert and label; name another (they have: "
            f"{some_of(names)})"
        )
    return found[0], found[1], found[2]


# Back to names


def write(votes: Votes, shape: Literal["long", "wide"], none: str = "none of mine") -> pa.Table:
    """Return the votes as a table of names; see :meth:`covote.Votes.to_arrow`."""
    import pyarrow as pa

    classes = name_array(votes.panel.classes)
    ids = id_array(votes._ids, votes.start, votes.stop)
    if shape == "wide":
        dense = votes.dense
        return pa.table(
            [ids, *(named(dense[:, i], classes, none) for i in range(len(votes.panel)))],
            names=["item", *map(str, name_array(votes.panel.names).to_pylist())],
        )
    runs = votes.ragged
    item = np.repeat(np.arange(len(votes)), np.diff(runs.indptr))
    table = {
        "item": ids.take(pa.array(item)),
        "expert": named(runs.expert, name_array(votes.panel.names)),
        "label": named(runs.label, classes, none),
    }
    ragged = votes.to_ragged()
    if ragged.runs is not None:
        first, last = ragged.runs.indptr[0], ragged.runs.indptr[-1]
        if ragged.vote_probability is not None:
            table["probability"] = pa.array(ragged.vote_probability[first:last])
        if ragged.class_probability is not None and ragged.class_start is not None:
            starts = ragged.class_start[first : last + 1]
            values = pa.array(ragged.class_probability[starts[0] : starts[-1]])
            table["probabilities"] = pa.LargeListArray.from_arrays(pa.array(starts - starts[0]), values)
    return pa.table(table)
