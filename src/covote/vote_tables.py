"""Tables of votes: names to indices and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, UnknownNameError
from .panel import Name, Panel
from .vote_checks import NONE_OF_MINE, NOT_ASKED, frozen, smallest_int, unknown_class

if TYPE_CHECKING:
    import pyarrow as pa

    from .votes import Votes

ITEM_COLUMNS = ("item", "task")
EXPERT_COLUMNS = ("expert", "worker")
_STRANGE = -3  # a name that is neither a class nor "none of mine"; an expert that the panel does not have
_NULL = -4


@dataclass(frozen=True)
class Read:
    """Votes read from a table: dense `columns`, or ragged `runs` with their probabilities."""

    ids: Any
    columns: NDArray[Any] | None = None
    runs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None
    probabilities: NDArray[np.float32] | None = None


def arrow_table(table: Any) -> pa.Table:
    """Return anything that speaks Arrow as an Arrow table."""
    import pyarrow as pa

    try:
        if isinstance(table, pa.RecordBatchReader):
            found = table.read_all()
        elif isinstance(table, pa.RecordBatch):
            found = pa.Table.from_batches([table])
        else:
            found = pa.table(table)
    except (TypeError, ValueError, pa.ArrowInvalid) as error:
        raise InputError(
            f"cannot read votes from a {type(table).__name__}; give a table: pandas, polars, pyarrow, duckdb "
            f"or a dict of columns ({error})"
        ) from error
    index = [name for name in found.column_names if name.startswith("__index_level_")]
    return found.drop_columns(index) if index else found


def name_codes(values: pa.ChunkedArray, names: tuple[Name, ...]) -> tuple[NDArray[np.int64], list[Any], Any]:
    """Return (code of each distinct entry, the entries, which entry each row has).

    Codes are indices into `names`, -3 for a strange entry, -4 for null. A name matches exactly, or else
    by its text if that is unambiguous: CSV files have no types.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(flat, pa.ChunkedArray):  # an empty column has no chunk to combine
        flat = flat.chunk(0) if flat.num_chunks else pa.array([], values.type)
    if not pa.types.is_dictionary(flat.type):
        flat = pc.dictionary_encode(flat)
    entries = flat.dictionary.to_pylist()
    exact: dict[Any, int] = {name: k for k, name in enumerate(names)}
    texts: dict[str, int] = {}
    for k, name in enumerate(names):
        texts[str(name)] = -1 if str(name) in texts else k
    codes = np.full(len(entries) + 1, _NULL, dtype=np.int64)
    for e, entry in enumerate(entries):
        codes[e] = _code(entry, exact, texts)
    rows = flat.indices.fill_null(len(entries)).to_numpy(zero_copy_only=False)
    return codes, entries, rows


def _code(entry: Any, exact: dict[Any, int], texts: dict[str, int]) -> int:
    if entry is None or (isinstance(entry, float) and entry != entry):
        return _NULL
    if isinstance(entry, float) and entry.is_integer():
        entry = int(entry)  # pandas turns integers with gaps into floats
    if isinstance(entry, str | int) and not isinstance(entry, bool) and entry in exact:
        return exact[entry]
    k = texts.get(str(entry), -1)
    return k if k >= 0 else _STRANGE


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
        item = _column(names, self.item, ITEM_COLUMNS)
        expert = _column(names, self.expert, EXPERT_COLUMNS)
        label = _column(names, self.label, ("label",))
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
        by_text = {str(name): i for i, name in enumerate(panel.names)}
        kind = smallest_int(len(panel.classes))
        columns = np.full((len(panel), table.num_rows), NOT_ASKED, dtype=kind)
        for name in table.column_names:
            if name == item:
                continue
            if name not in by_text:
                if self.drop:
                    continue
                raise UnknownNameError(
                    f"column {name!r} is neither the item nor an expert of the panel ({_some(panel.names)}); "
                    "a long table has the columns item, expert, label. Rename it or pass unknown='drop'"
                )
            i = by_text[name]
            columns[i] = self._known_codes(table.column(name), i)
        ids = None if item is None else _unique_ids(table.column(item), self.first_row)
        return Read(ids, columns=frozen(columns))

    def _known_codes(self, column: Any, i: int) -> NDArray[np.int64]:
        """Return the class indices of one expert's column."""
        codes, entries, rows = name_codes(column, self.panel.classes)
        codes = self._with_none(codes, entries)
        known = np.append(self.panel.knows[i], True)  # codes below 0 are checked apart
        wrong = (codes == _STRANGE) | ~known[np.maximum(codes, -1)]
        if wrong.any():
            bad = np.flatnonzero(wrong[rows])
            if len(bad) and not self.drop:
                row = int(bad[0])
                raise self._unknown_vote(row, i, entries[rows[row]])
            codes = np.where(wrong, NOT_ASKED, codes)
        found: NDArray[np.int64] = np.where(codes == _NULL, NOT_ASKED, codes)[rows]
        return found

    def _with_none(self, codes: NDArray[np.int64], entries: list[Any]) -> NDArray[np.int64]:
        for e, entry in enumerate(entries):
            if codes[e] == _STRANGE and entry == self.none:
                codes[e] = NONE_OF_MINE
        return codes

    # Long: one row for each vote

    def _read_long(self, table: pa.Table, item: str, expert: str, label: str) -> Read:
        from . import vote_kernels

        ids, items = _item_codes(table.column(item), self.first_row)
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
            indptr, order = vote_kernels.group(at_item, len(ids))
            who, what = who[order], what[order]
        who, what = (
            who.astype(smallest_int(len(self.panel))),
            what.astype(smallest_int(len(self.panel.classes))),
        )
        source = _composed(row, order, len(who))
        last = self.duplicates == "last"
        once, first, other = vote_kernels.repeated(indptr, who, what, len(self.panel), last)
        if first >= 0 and self.duplicates == "error":
            raise self._twice(who[first], what[first], what[other], source[first], source[other])
        if not once.all():
            indptr = vote_kernels.kept_indptr(indptr, once)
            who, what, source = who[once], what[once], source[once]
        return Read(ids, runs=(indptr, who, what), probabilities=self._probabilities(table, who, source))

    def _checked(
        self, who: NDArray[Any], what: NDArray[Any], experts: list[Any], expert_rows: NDArray[Any],
        labels: list[Any], label_rows: NDArray[Any],
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Return which rows are votes; raise at the first that is no vote of this panel."""
        null = (what == _NULL) | (who == _NULL)
        strange = (who == _STRANGE) | (what == _STRANGE)
        knows = np.pad(self.panel.knows, ((0, 1), (0, 1)), constant_values=True)
        wrong = ~null & (strange | ~knows[np.maximum(who, -1), np.maximum(what, -1)])
        if not self.drop and wrong.any():
            row = int(np.argmax(wrong))
            if who[row] == _STRANGE:
                raise UnknownNameError(
                    f"row {self.first_row + row}: {experts[expert_rows[row]]!r} is not an expert of the "
                    f"panel ({_some(self.panel.names)}); add it to the panel or pass unknown='drop'"
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


def _column(names: list[str], given: str | None, usual: tuple[str, ...]) -> str | None:
    if given is not None:
        if given not in names:
            raise InputError(f"the votes have no column {given!r} (they have: {', '.join(names)})")
        return given
    return next((name for name in usual if name in names), None)


def _some(names: tuple[Name, ...]) -> str:
    return ", ".join(map(str, names[:5])) + (f", ... {len(names)} in all" if len(names) > 5 else "")


def _flat(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    if column.num_chunks == 0:
        return pa.array([], column.type)
    flat = column.combine_chunks()
    return flat.chunk(0) if isinstance(flat, pa.ChunkedArray) else flat


def _item_codes(column: pa.ChunkedArray, first_row: int) -> tuple[pa.Array, NDArray[Any]]:
    """Return (distinct ids in order of appearance, the position of each row's id among them)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = _flat(column)
    _refuse_null(flat, first_row)
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    encoded = pc.dictionary_encode(flat)
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def _unique_ids(column: pa.ChunkedArray, first_row: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = _flat(column)
    _refuse_null(flat, first_row)
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    if len(flat) and pc.count_distinct(flat).as_py() != len(flat):
        seen: set[Any] = set()
        for row, value in enumerate(flat.to_pylist()):
            if value in seen:
                raise InputError(
                    f"row {first_row + row}: item {value!r} appears again; a wide table has one row per item"
                )
            seen.add(value)
    return flat


def _refuse_null(ids: pa.Array, first_row: int) -> None:
    if ids.null_count:
        row = first_row + int(np.argmax(ids.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"row {row} has no item; give every row an item")


# Back to names


def name_array(names: tuple[Name, ...]) -> pa.Array:
    """Return names as an Arrow array: integers if all are, else text."""
    import pyarrow as pa

    if all(isinstance(name, int) for name in names):
        return pa.array(list(names), pa.int64())
    return pa.array([str(name) for name in names], pa.string())


def named(index: NDArray[Any], names: pa.Array, none: str | None = None) -> pa.Array:
    """Return the names at the indices; -1 becomes null, -2 the word for "none of mine"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = index == NOT_ASKED
    if none is not None and (index == NONE_OF_MINE).any():
        names = pa.concat_arrays([names.cast(pa.string()), pa.array([none])])
        index = np.where(index == NONE_OF_MINE, len(names) - 1, index)
    return pc.take(names, pa.array(np.where(missing, 0, index), mask=missing))


def coded(index: NDArray[Any], names: pa.Array) -> pa.Array:
    """Return the names at the indices, -1 as null; text stays a dictionary of codes."""
    import pyarrow as pa

    if pa.types.is_integer(names.type):
        return named(index, names)
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=index == NOT_ASKED), names)


def id_array(ids: Any, start: int, stop: int) -> pa.Array:
    """Return the item ids as an Arrow array of their own type."""
    import pyarrow as pa

    if ids is None:
        return pa.array(np.arange(start, stop))
    part = ids[start:stop]
    if isinstance(part, np.ndarray) and part.dtype == object and len({type(v) for v in part}) > 1:
        part = [str(value) for value in part]  # Arrow columns have one type
    return part if isinstance(part, pa.Array) else pa.array(part)


def write(votes: Votes, shape: Literal["long", "wide"], none: str = "none of mine") -> pa.Table:
    """Return the votes as a table of names; see :meth:`covote.Votes.to_arrow`."""
    import pyarrow as pa

    classes = name_array(votes.panel.classes)
    ids = id_array(votes._ids, votes.start, votes.stop)
    if shape == "wide":
        dense = votes.dense
        return pa.table(
            [ids, *(named(dense[:, i], classes, none) for i in range(len(votes.panel)))],
            names=["item", *map(str, votes.panel.names)],
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
