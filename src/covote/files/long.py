"""Long files: one row per vote."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.errors import CovoteError, InputError, UnknownNameError
from covote.files import long_kernels, sorting
from covote.files.items import Retry, ascending, plain_items, starts_of
from covote.files.vote_batches import ROWS
from covote.panel.checks import did_you_mean, shown, some_of
from covote.votes import Ragged, Votes
from covote.votes.names import STRANGE, arrow, by_text, name_codes
from covote.votes.vote_checks import NONE_OF_MINE, NOT_ASKED, frozen, smallest_int

if TYPE_CHECKING:
    from covote.files.vote_files import VoteFile


@dataclass(frozen=True)
class Rows:
    """Rows of a long file as indices; `who` is -1 where a row is no vote."""

    who: NDArray[Any]
    what: NDArray[Any]
    row: NDArray[np.int64] | range
    soft: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.who)

    def cut(self, start: int, stop: int) -> Rows:
        """Return the rows start:stop."""
        soft = None if self.soft is None else self.soft[start:stop]
        return Rows(self.who[start:stop], self.what[start:stop], self.row[start:stop], soft)

    def __add__(self, other: Rows) -> Rows:
        soft = None
        if self.soft is not None and other.soft is not None:
            soft = pa.concat_arrays([self.soft, other.soft])
        who, what = np.concatenate([self.who, other.who]), np.concatenate([self.what, other.what])
        return Rows(who, what, _joined_rows(self.row, other.row), soft)


def _joined_rows(one: Any, two: Any) -> Any:
    if isinstance(one, range) and isinstance(two, range):
        return range(one.start, two.stop)  # a file is read from its first row to its last
    return np.concatenate([one, two])


def parts(file: VoteFile) -> Generator[Votes, None, None]:
    """Yield the votes in parts that end where an item ends."""
    rest: tuple[pa.Array, Rows] | None = None  # the last item so far, which may go on in the next batch
    with closing(encoded(file) if file.in_order else ordered(encoded(file))) as batches:
        for item, more in batches:
            starts = starts_of(item)
            ids = item.take(arrow(starts))
            if rest is None:
                rows = more
            else:
                rows = rest[1] + more
                starts += len(rest[1])
                if ids[0] == rest[0][0]:
                    starts[0] = 0
                else:
                    starts = np.concatenate([np.zeros(1, np.int64), starts])
                    ids = pa.concat_arrays([rest[0], ids])
            if not ascending(ids):
                # Only items in ascending order are sure not to come back later.
                raise Retry(in_order=False) if file.in_order else no_order(file)
            end = int(starts[-1])
            if end:
                yield _votes(file, rows.cut(0, end), ids[:-1], starts)
            rest = ids[-1:], rows.cut(end, len(rows))
    if rest is not None:
        yield _votes(file, rest[1], rest[0], np.array([0, len(rest[1])]))


def encoded(file: VoteFile) -> Generator[tuple[pa.Array, Rows], None, None]:
    """Yield items and rows of the file as indices; refuse the first that is no vote of the panel."""
    source, panel = file.source, file.panel
    expert, label = str(file.expert), str(file.label)
    soft = next((name for name in ("probability", "probabilities") if name in source.names), None)
    columns = [file.item, expert, label] + ([soft] if soft else [])
    text = source.kind in ("csv", "tsv")
    for first, batch in file.batches(columns):
        item = plain_items(batch.column(0), source.path, first, text and file.integers)
        expert_code, experts, expert_row = name_codes(batch.column(1), panel.names)
        label_code, labels, label_row = name_codes(batch.column(2), panel.classes)
        for e, name in enumerate(labels):
            if label_code[e] == STRANGE and name == file.none:
                label_code[e] = NONE_OF_MINE
        who = np.empty(len(item), dtype=smallest_int(len(panel)))
        what = np.empty(len(item), dtype=smallest_int(len(panel.classes)))
        bad = long_kernels.encode(
            expert_row, expert_code, label_row, label_code, panel.knows, file.unknown == "drop", who, what
        )
        if bad >= 0:
            raise no_vote(file, first + bad, experts[expert_row[bad]], labels[label_row[bad]])
        chances = None
        if soft is not None:
            chances = _checked_chances(file, batch.column(3), who, first)
        yield item, Rows(who, what, range(first, first + len(item)), chances)


def no_vote(file: VoteFile, row: int, expert: Any, label: Any) -> CovoteError:
    """Say why a row is no vote of the panel."""
    where, panel = f"{file.source.path}, row {row}", file.panel
    drop = "or drop such answers with unknown='drop' (--unknown drop)"
    index = by_text(panel.names).get(str(expert))
    if index is None or index < 0:
        return UnknownNameError(
            f"{where}: {shown(expert)} is not an expert of the panel{did_you_mean(expert, panel.names)} (it "
            f"has: {some_of(panel.names)}); add it to the panel, {drop}"
        )
    known = some_of([panel.classes[k] for k in np.flatnonzero(panel.knows[index])])
    same = [name for name in panel.classes if str(name) == str(label)]  # CSV files have no types
    which = f"which it does not know (it knows: {known})"
    if not same:
        near = did_you_mean(label, panel.classes) or f" (expert {panel.names[index]!r} knows: {known})"
        which = f"which is not a class of the panel{near}"
    return InputError(
        f"{where}: expert {panel.names[index]!r} answered {shown((same or [label])[0])}, {which}; add it to "
        f"{panel.names[index]!r} in the panel, {drop}"
    )


def _checked_chances(file: VoteFile, column: pa.Array, who: NDArray[Any], first: int) -> pa.Array:
    """Return the probabilities as float32, or lists of them, after a look at every one of a vote."""
    where = file.source.path
    lists = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    try:
        column = column.cast(pa.large_list(pa.float32()) if lists else pa.float32())
    except pa.ArrowInvalid as error:
        raise InputError(f"{where}: probabilities must be numbers between 0 and 1 ({error})") from error
    voted = who >= 0
    if lists:
        lengths = np.asarray(column.value_lengths().fill_null(0))
        sizes = file.panel.sizes
        wrong = np.flatnonzero(voted & (lengths != sizes[np.maximum(who, 0)]))
        if len(wrong):
            p = int(wrong[0])
            raise InputError(
                f"{where}, row {first + p}: {lengths[p]} probabilities of expert "
                f"{file.panel.names[int(who[p])]!r}, which knows {sizes[int(who[p])]} classes; "
                "give one for each, in the order of the panel"
            )
        values, owner = (
            column.flatten().to_numpy(zero_copy_only=False),
            np.repeat(np.arange(len(who)), lengths),
        )
    else:
        values, owner = column.to_numpy(zero_copy_only=False), np.arange(len(who))
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)) & voted[owner])
    if len(wrong):
        raise InputError(
            f"{where}, row {first + int(owner[wrong[0]])}: {values[wrong[0]]} is not a probability between 0 "
            "and 1; correct it or remove the row"
        )
    return column


def ordered(batches: Iterator[tuple[pa.Array, Rows]]) -> Generator[tuple[pa.Array, Rows], None, None]:
    """Let DuckDB bring encoded rows in the order of their items."""
    start = next(batches, None)
    if start is None:
        return
    kind = start[0].type
    records = (_record(item, rows) for item, rows in itertools.chain([start], batches))
    first = next(records)
    with closing(sorting.by_item(itertools.chain([first], records), first.schema, ROWS)) as ordered:
        for batch in ordered:
            yield _rows(batch, kind)


def _rows(batch: pa.RecordBatch, kind: pa.DataType) -> tuple[pa.Array, Rows]:
    item = batch.column(0)
    item = item.view(kind) if pa.types.is_temporal(kind) else item.cast(kind)
    who, what, row = (np.asarray(np.from_dlpack(batch.column(c))) for c in (1, 2, 3))
    return item, Rows(who, what, row, batch.column(4) if batch.num_columns > 4 else None)


def _record(item: pa.Array, rows: Rows) -> pa.RecordBatch:
    if pa.types.is_temporal(item.type):
        # DuckDB would give them back in its own time zone, or as another type.
        item = item.view(pa.int32() if item.type.bit_width == 32 else pa.int64())
    columns = {
        "item": item,
        "who": arrow(rows.who),
        "what": arrow(rows.what),
        "row": arrow(np.asarray(rows.row)),
    }
    if rows.soft is not None:
        columns["soft"] = rows.soft
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _votes(file: VoteFile, rows: Rows, ids: pa.Array, indptr: NDArray[np.int64]) -> Votes:
    """Build the votes of complete items: dense where that takes less room."""
    panel = file.panel
    size, strict, last = len(ids), file.duplicates == "error", file.duplicates == "last"
    dense = size * len(panel) * rows.what.itemsize
    if rows.soft is None and dense <= len(rows) * (rows.who.itemsize + rows.what.itemsize) + 8 * size:
        columns = np.full((len(panel), size), NOT_ASKED, dtype=rows.what.dtype)
        filled, again = long_kernels.fill(indptr, rows.who, rows.what, last, strict, columns)
        if again >= 0:
            raise _twice(file, rows, ids, indptr, again)
        return Votes(panel, frozen(columns), None, 0, size, filled == columns.size, _ids=ids)
    bounds, kept, again = long_kernels.gather(indptr, rows.who, rows.what, len(panel), last, strict)
    if again >= 0:
        raise _twice(file, rows, ids, indptr, again)
    expert, label = rows.who[kept], rows.what[kept]
    if rows.soft is None:
        runs = Ragged(frozen(bounds), frozen(expert), frozen(label))
        return Votes(panel, None, runs, 0, size, len(kept) == size * len(panel), _ids=ids)
    soft = rows.soft.take(arrow(kept))
    lists = pa.types.is_list(soft.type) or pa.types.is_large_list(soft.type)  # DuckDB gives the smaller
    values = soft.flatten() if lists else soft
    chances = values.to_numpy(zero_copy_only=False)
    return Votes.from_ragged(bounds, expert, label, panel, items=ids, probabilities=chances)


def no_order(file: VoteFile) -> InputError:
    """Say that items without an order cannot be sorted."""
    return InputError(
        f"{file.source.path}: the items have no order (not-a-number among them?); name them by whole "
        "numbers or text"
    )


def _twice(file: VoteFile, rows: Rows, ids: pa.Array, indptr: NDArray[np.int64], again: int) -> InputError:
    item = int(np.searchsorted(indptr, again, side="right")) - 1
    same = np.flatnonzero(rows.who[indptr[item] : again] == rows.who[again]) + indptr[item]
    names = (*file.panel.classes, file.none)
    one, two = (names[max(int(v), -1)] for v in (rows.what[same[0]], rows.what[again]))
    return InputError(
        f"{file.source.path}, row {rows.row[again]}: expert {file.panel.names[int(rows.who[again])]!r} "
        f"answered {two!r} to item {ids[item].as_py()!r}, but {one!r} in row {rows.row[same[0]]}; remove "
        "one, or choose with duplicates='first' or 'last' (--duplicates first|last)"
    )
