"""The items of a file of votes: whether they are in order, and how they are sorted if not."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covote.errors import FileError, InputError, MissingDependencyError
from covote.tables.batches import ROWS, Source
from covote.tables.names import (
    changes,
    flat,
    in_order,
    item_ids,
    plain_items,
    whole_ids,
    without_blanks,
)

IN_MEMORY = 1 << 28
"""Bytes of rows that are sorted in memory; beyond that, DuckDB sorts them on disk."""
_DUCKDB = "1GB"


class Nature(NamedTuple):
    """What is known after a look at all items of a file.

    Attributes
    ----------
    integers
        Whether items that are text are integers.
    ordered
        Whether the file can be read as it is: items ascend (and none occurs twice in a wide file).
    span
        The least and the greatest item, if they are integers.
    cuts
        Positions of rows at which a Parquet file may be cut: an item begins there.
    blanks
        Whether items that are text have blanks around them, which are ignored.
    repeats
        Whether an item of a wide file has several rows.
    """

    integers: bool
    ordered: bool
    span: tuple[int, int] | None
    cuts: tuple[int, ...]
    blanks: bool = False
    repeats: bool = False

    def ids(self, column: pa.Array) -> pa.Array:
        """Return the items of a batch: without the blanks around them, and integers if all are."""
        ids = without_blanks(flat(column)) if self.blanks else flat(column)
        return ids.cast(pa.int64()) if self.integers else ids


class _Seen:
    """The ids seen so far: whether they are in order, and their range if they are integers."""

    def __init__(self, *, strictly: bool) -> None:
        self.ordered = True
        self.span: tuple[int, int] | None = None
        self._strictly = strictly
        self._last: pa.Array | None = None

    def see(self, ids: pa.Array) -> None:
        """Look at the next ids."""
        if pa.types.is_integer(ids.type):
            values = np.from_dlpack(ids)
            limits = [int(values.min()), int(values.max()), *(self.span or ())]
            self.span = min(limits), max(limits)
        edge = ids[:1] if self._last is None else pa.concat_arrays([self._last, ids[:1]])
        self.ordered = self.ordered and all(in_order(some, strictly=self._strictly) for some in (edge, ids))
        self._last = ids[-1:]


def nature_of(source: Source, item: str, *, wide: bool, loose: bool) -> Nature:
    """Look at all items of a file; blanks around text are ignored if names match loosely."""
    # The items of a file without types are text, and integers as long as all are written as such.
    seen, whole = _Seen(strictly=wide), _Seen(strictly=wide)
    integers, blanks = source.untyped, False
    starts = source.group_starts()[1:-1] if source.kind == "parquet" else []
    cuts: list[int] = []
    first = 0
    last: Any = None
    for batch in source.batches([item], plain=(item,)):
        if source.untyped:
            ids = plain_items(batch.column(0), f"{source.path}, ")
            ids = ids.drop_null() if ids.null_count else ids  # empty rows are left out
        else:
            ids = item_ids(batch.column(0), f"{source.path}, ", first + 1)
        numbers = whole_ids(ids) if integers else None
        if numbers is None and loose and (found := without_blanks(ids)) is not ids:
            ids, blanks = found.drop_null(), True
            numbers = whole_ids(ids) if integers else None
        if not len(ids):
            first += batch.num_rows
            continue
        try:
            seen.see(ids)
        except pa.ArrowNotImplementedError as error:
            raise InputError(
                f"{source.path}: items of type {ids.type} have no order; name them by whole numbers or text"
            ) from error
        integers = numbers is not None
        if numbers is not None:
            whole.see(numbers)
        if starts and starts[0] < first + len(ids) and not wide:
            # Rows of an item that began earlier stay with it.
            begins = first + np.flatnonzero(
                changes(pa.concat_arrays([ids[:1] if last is None else last, ids]))
            )
            while starts and len(begins) and starts[0] <= begins[-1]:
                cuts.append(int(begins[np.searchsorted(begins, starts.pop(0))]))
        first, last = first + batch.num_rows, ids[-1:]
    if last is None:
        raise InputError(f"{source.path} has no votes: it has no rows")
    best = whole if integers else seen
    span = best.span if best.span is not None and best.span[1] < 2**63 else None
    return Nature(integers, best.ordered, span, tuple(starts if wide else cuts), blanks)


# Rows in the order of their items: in memory where they fit, else DuckDB sorts and streams


def by_item(batches: Iterator[pa.RecordBatch], rows: int) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of all batches ordered by ``item``, and for one item as they came.

    `batches` have the columns ``item`` and ``row``, the second of which ascends.
    """
    held: list[pa.RecordBatch] = []
    room = IN_MEMORY
    for batch in batches:
        held.append(batch)
        room -= batch.get_total_buffer_size()
        if room < 0:
            yield from _sorted_on_disk(held, batches, rows)
            return
    whole = pa.concat_batches(held)
    order = _order(whole.column("item"))
    for start in range(0, len(order), rows):
        yield whole.take(order[start : start + rows])


def first_repeated(batches: Iterator[pa.RecordBatch]) -> tuple[Any, int, int] | None:
    """Return (item, its earlier row, the row) of the first row that repeats an item, or None."""
    found: list[tuple[int, int, Any]] = []
    edge: list[pa.RecordBatch] = []  # the last row of the batch before
    with closing(by_item(batches, ROWS)) as ordered:
        for batch in ordered:
            some = pa.concat_batches([*edge, batch])
            items, rows = some.column("item"), np.asarray(np.from_dlpack(some.column("row")))
            again = np.flatnonzero(~changes(items))
            if len(again):
                place = int(again[np.argmin(rows[again + 1])])
                found.append((int(rows[place + 1]), int(rows[place]), items[place].as_py()))
            edge = [some.slice(len(rows) - 1)]
    if not found:
        return None
    row, before, item = min(found, key=lambda one: one[0])
    return item, before, row


def _order(items: pa.Array) -> pa.Array:
    try:
        return pc.array_sort_indices(items)  # equal items stay in the order in which they came
    except pa.ArrowNotImplementedError as error:
        raise _no_order(items.type) from error


def _no_order(kind: pa.DataType) -> InputError:
    return InputError(f"items of type {kind} cannot be sorted; name them by whole numbers or text")


def _sorted_on_disk(
    held: list[pa.RecordBatch], more: Iterator[pa.RecordBatch], rows: int
) -> Generator[pa.RecordBatch, None, None]:
    """Let DuckDB sort a stream of batches; it spills what does not fit to disk."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError(
            "this file is not sorted by item and too large to be sorted in memory; install DuckDB to sort it "
            "on disk (pip install 'covote[large]'), or sort the file by item"
        ) from error
    schema = held[0].schema
    failure: list[Exception] = []

    def guarded() -> Iterator[pa.RecordBatch]:
        try:
            while held:
                yield held.pop(0)
            yield from more
        except Exception as error:
            failure.append(error)  # DuckDB would bury it in its own message
            raise

    with tempfile.TemporaryDirectory(prefix="covote-") as folder, duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{_DUCKDB}'")
        connection.execute("SET temp_directory = ?", [folder])
        try:
            connection.register("votes", pa.RecordBatchReader.from_batches(schema, guarded()))
            yield from connection.sql("SELECT * FROM votes ORDER BY item, row").to_arrow_reader(rows)
        except (duckdb.Error, OSError) as error:
            if failure:
                raise failure[0] from None
            if isinstance(error, duckdb.NotImplementedException):
                raise _no_order(schema.field("item").type) from error
            if isinstance(error, FileError):
                raise
            reason = str(error).splitlines()[0]
            raise FileError(
                f"cannot sort the votes by item: {reason}; make room in {tempfile.gettempdir()} or set TMPDIR"
            ) from error
