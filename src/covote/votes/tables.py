"""Tables of votes: names to indices and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError, UnknownNameError
from covote.panel import Panel
from covote.panel.checks import did_you_mean, some_of
from covote.votes.item_ids import id_array, item_codes, unique_ids
from covote.votes.names import NULL, STRANGE, arrow_table, by_text, name_array, name_codes, named
from covote.votes.vote_checks import NONE_OF_MINE, NOT_ASKED, frozen, smallest_int, unknown_class

if TYPE_CHECKING:
    import pyarrow as pa

    from covote.votes import Votes

ITEM_COLUMNS = ("item", "task")
EXPERT_COLUMNS = ("expert", "worker")


@dataclass(frozen=True)
class Read:
    """Votes read from a table: dense `columns`, or ragged `runs` with their probabilities."""

    ids: Any
    columns: NDArray[Any] | None = None
    runs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None
    probabilities: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Reader:
    """How to read a table; see :meth:`covote.Votes.from_table`."""

    panel: Panel
    drop: bool
    duplicates: str
    none: str
    item: str | None
    expert: str | None
    label: str | None
    first_row: int

    def read(self, table: Any, shape: str) -> Read:
        """Read a long or a wide table."""
        found = arrow_table(table)
        names = found.column_names
        item, expert, label = vote_columns(names, self.item, self.expert, self.label)
        if shape == "long" or (shape == "auto" and item and expert and label):
            for name, what in ((item, "item"), (expert, "expert"), (label, "label")):
                if name is None:
                    raise InputError(
                        f"the votes have no column {what!r} (they have: {', '.join(names)}); rename it or "
                        f"say which it is with {what}='...'"
                    )
            return self._read_long(found, str(item), str(expert), str(label))
        return self._read_wide(found, item)

    # Wide: one column for each expert

    def _read_wide(self, table: pa.Table, item: str | None) -> Read:
        panel = self.panel
        kind = smallest_int(len(panel.classes))
        columns = np.full((len(panel), table.num_rows), NOT_ASKED, dtype=kind)
        for name, i in expert_columns(table.column_names, item, panel, self.drop).items():
            columns[i] = self._known_codes(table.column(name), i)
        ids = None if item is None else unique_ids(table.column(item), self.first_row)
        return Read(ids, columns=frozen(columns))

    def _known_codes(self, column: Any, i: int) -> NDArray[np.int64]:
        """Return the class indices of one expert's column."""
        codes, entries, rows = name_codes(column, self.panel.classes)
        codes = self._with_none(codes, entries)
        known = np.append(self.panel.knows[i], True)  # codes below 0 are checked apart
        wrong = (codes == STRANGE) | ~known[np.maximum(codes, -1)]
        if wrong.any():
            bad = np.flatnonzero(wrong[rows])
            if len(bad) and not self.drop:
                row = int(bad[0])
                raise self._unknown_vote(row, i, entries[rows[row]])
            codes = np.where(wrong, NOT_ASKED, codes)
        found: NDArray[np.int64] = np.where(codes == NULL, NOT_ASKED, codes)[rows]
        return found

    def _with_none(self, codes: NDArray[np.int64], entries: list[Any]) -> NDArray[np.int64]:
        for e, entry in enumerate(entries):
            if codes[e] == STRANGE and entry == self.none:
                codes[e] = NONE_OF_MINE
        return codes

    # Long: one row for each vote

    def _read_long(self, table: pa.Table, item: str, expert: str, label: str) -> Read:
        from covote.votes import votes_kernels

        ids, items = item_codes(table.column(item), self.first_row)
        codes, experts, rows = name_codes(table.column(expert), self.panel.names)
        who = codes[rows]
        codes, labels, rows_label = name_codes(table.column(label), self.panel.classes)
        what = self._with_none(codes, labels)[rows_label]
        keep = self._checked(who, what, experts, rows, labels, rows_label)
        row = None if keep.all() else np.flatnonzero(keep)
        who, what = (a if row is None else a[row] for a in (who, what))
        at_item = items if row is None else items[row]
        if len(at_item) == 0 or (at_item[1:] >= at_item[:-1]).all():
            indptr = np.searchsorted(at_item, np.arange(len(ids) + 1)).astype(np.int64)
            order = None
        else:
            indptr, order = votes_kernels.group(at_item, len(ids))
            who, what = who[order], what[order]
        who, what = (
            who.astype(smallest_int(len(self.panel))),
            what.astype(smallest_int(len(self.panel.classes))),
        )
        source = _composed(row, order, len(who))
        last = self.duplicates == "last"
        once, first, other = votes_kernels.repeated(indptr, who, what, len(self.panel), last)
        if first >= 0 and self.duplicates == "error":
            raise self._twice(who[first], what[first], what[other], source[first], source[other])
        if not once.all():
            indptr = votes_kernels.kept_indptr(indptr, once)
            who, what, source = who[once], what[once], source[once]
        return Read(ids, runs=(indptr, who, what), probabilities=self._probabilities(table, who, source))

    def _checked(
        self, who: NDArray[Any], what: NDArray[Any], experts: list[Any], expert_rows: NDArray[Any],
        labels: list[Any], label_rows: NDArray[Any],
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Return which rows are votes; raise at the first that is no vote of this panel."""
        null = (what == NULL) | (who == NULL)
        strange = (who == STRANGE) | (what == STRANGE)
        knows = np.pad(self.panel.knows, ((0, 1), (0, 1)), constant_values=True)
        wrong = ~null & (strange | ~knows[np.maximum(who, -1), np.maximum(what, -1)])
        if not self.drop and wrong.any():
            row = int(np.argmax(wrong))
            if who[row] == STRANGE:
                raise UnknownNameError(
                    f"row {self.first_row + row}: {experts[expert_rows[row]]!r} is not an expert of the "
                    f"panel ({some_of(self.panel.names)}); add it to the panel or pass unknown='drop'"
                )
            raise self._unknown_vote(row, int(who[row]), labels[label_rows[row]])
        votes: NDArray[np.bool_] = ~(null | wrong)
        return votes

    def _unknown_vote(self, row: int, expert: int, entry: Any) -> Exception:
        return InputError(f"row {self.first_row + row}: {unknown_class(self.panel, expert, entry)}")

    def _twice(self, expert: int, one: int, two: int, row_one: int, row_two: int) -> Exception:
        names = [*self.panel.classes, self.none]
        one, two = (int(v) if v >= 0 else -1 for v in (one, two))
        return InputError(
            f"row {self.first_row + int(row_two)}: expert {self.panel.names[int(expert)]!r} answered "
            f"{names[two]!r}, but the same item {names[one]!r} in row {self.first_row + int(row_one)}; fix "
            "it or pass duplicates='first' or 'last'"
        )

    def _probabilities(
        self, table: pa.Table, expert: NDArray[Any], source: NDArray[Any]
    ) -> NDArray[np.float32] | None:
        """Return the column `probability` or `probabilities` in the order of the votes."""
        import pyarrow as pa

        names = table.column_names
        if "probability" in names:
            values: NDArray[np.float32] = _numbers(table.column("probability").to_numpy(), "probability")[
                source
            ]
            wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
            if len(wrong):
                row = self.first_row + int(source[wrong].min())
                value = values[wrong[int(np.argmin(source[wrong]))]]
                raise InputError(f"row {row}: {value} is not a probability between 0 and 1")
            return values
        if "probabilities" not in names:
            return None
        lists = table.column("probabilities").take(pa.array(source)).combine_chunks()
        lengths = np.asarray(lists.value_lengths().fill_null(0))
        wrong = np.flatnonzero(lengths != self.panel.sizes[expert])
        if len(wrong):
            p = int(wrong[0])
            name, size = self.panel.names[int(expert[p])], self.panel.sizes[int(expert[p])]
            row = self.first_row + int(source[p])
            raise InputError(
                f"row {row}: {lengths[p]} probabilities of expert {name!r}, which knows {size} "
                "classes; give one for each class it knows, in the order of the panel"
            )
        values = _numbers(lists.flatten().to_numpy(zero_copy_only=False), "probabilities")
        wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if len(wrong):
            p = int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
            row = self.first_row + int(source[p])
            raise InputError(f"row {row}: {values[wrong[0]]} is not a probability between 0 and 1")
        return values


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


def _numbers(values: NDArray[Any], what: str) -> NDArray[np.float32]:
    try:
        return np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"the column {what!r} must hold numbers between 0 and 1 ({error})") from error


def _composed(row: NDArray[Any] | None, order: NDArray[Any] | None, size: int) -> NDArray[Any]:
    """Return the table row of every vote after dropping (row) and sorting (order)."""
    if row is None:
        return np.arange(size) if order is None else order
    return row if order is None else row[order]


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
