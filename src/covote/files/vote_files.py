"""A file of votes, read in parts: long or wide, in any order, larger than memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covote.errors import InputError, UnknownNameError
from covote.files import sorting
from covote.files.vote_batches import ROWS, Source
from covote.panel import Name, Panel
from covote.panel.checks import some_of
from covote.progress import Progress
from covote.votes import Votes
from covote.votes.arrays import joined
from covote.votes.findings import DroppedWarning, Findings
from covote.votes.names import (
    arrow,
    changes,
    in_order,
    item_ids,
    plain_items,
    repeated_item,
    whole_ids,
    with_blanks,
)
from covote.votes.reports import without_lists
from covote.votes.tables import Codes, Reader, fill, given
from covote.votes.vote_checks import NOT_ASKED, check_choice, frozen, is_complete, smallest_int

PART_ITEMS, PART_BYTES = 1 << 19, 1 << 25
"""Size of a part: equal answer rows are found within a part, so large parts are less work."""
SLICE = 1 << 22
"""Votes of a slice, about: large enough that starting one costs nothing, small enough for many workers."""
_MOST = 1 << 25  # rows of a file that are looked at for two different answers, when everything is told
_ROOM = 1 << 29  # bytes for the answers to all items at once; beyond it, DuckDB sorts


class VoteSource(Protocol):
    """Votes kept somewhere, given part by part as often as asked."""

    panel: Panel

    def parts(self, progress: Progress | None = None) -> Iterator[Votes]:
        """Yield all votes; items do not lie across parts."""


class Nature(NamedTuple):
    """What a look at all items of a file has found.

    Attributes
    ----------
    integers
        Whether items that are text are integers.
    ordered
        Whether the file can be read as it lies: items ascend (and in a wide file none comes twice).
    span
        The least and the greatest item, if they are integers.
    cuts
        Positions of rows at which a Parquet file may be cut: an item begins there.
    blanks
        Whether items that are text have blanks around them, which do not count.
    """

    integers: bool
    ordered: bool
    span: tuple[int, int] | None
    cuts: tuple[int, ...]
    blanks: bool = False


@dataclass(frozen=True)
class Slice:
    """Some rows of a Parquet file in which the rows of an item are all together; can be read anywhere."""

    file: VoteFile
    rows: range
    number: int

    def parts(self) -> Iterator[Votes]:
        """Yield the votes."""
        return self.file.read_rows(self.rows)


class VoteFile:
    """Votes in a Parquet, CSV, JSON-lines or Excel file, given part by part as :class:`covote.Votes`.

    Long files have the columns ``item, expert, label`` (optionally ``probability``, or ``probabilities``, a
    list over the classes the expert knows), by these or other usual names, or found by what they hold; wide
    files have an item column and one column per expert. Memory stays the same however long the file is. The
    items of a long file come in ascending order if they are not so already.

    Parameters
    ----------
    path
        The file; its ending says the format.
    panel
        Who could answer what.
    unknown
        Answers of an unknown expert, or of a class that the expert does not know.
    duplicates
        Two different answers of one expert to one item.
    none
        The label that means "none of mine".
    item, expert, label
        Other names of the columns.
    match
        "loose": names match over case, blanks and accents; "exact": they do not.
    rename
        What is meant by names of experts and labels: ``{"A. Lee": "dr-lee"}``.
    lists
        Whether cells may hold several classes, for items with several labels.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        panel: Panel,
        *,
        unknown: Literal["error", "drop"] = "error",
        duplicates: Literal["error", "first", "last"] = "error",
        none: str = "none of mine",
        item: str | None = None,
        expert: str | None = None,
        label: str | None = None,
        match: Literal["loose", "exact"] = "loose",
        rename: Mapping[Any, Any] | None = None,
        lists: bool = False,
    ) -> None:
        check_choice("unknown", unknown, ("error", "drop"))
        check_choice("duplicates", duplicates, ("error", "first", "last"))
        check_choice("match", match, ("loose", "exact"))
        self.panel = panel
        self.match = match
        self.source = source = Source(path)
        self.reader = Reader(panel, unknown, duplicates, none, f"{source.path}, ", match, rename)
        if len(source.names) == 1:
            raise InputError(f"{source.path} has no votes: its only column is {source.names[0]!r}")
        look = (lambda: without_lists(source.look())) if lists else source.look
        self.columns = self.reader.columns(source.names, "auto", (item, expert, label), look)
        if self.columns.item is None:
            raise InputError(
                f"{source.path} has no column 'item' (it has: {some_of(source.names)}); say which column "
                "names the item that a row is about, with item='...' (--item ...)"
            )
        self.item, self.expert, self.label = self.columns.item, self.columns.expert, self.columns.label
        names = [self.item, *([] if lists else (n for n in self.answers if n != self.columns.chance))]
        source.refuse_nested(names)

    @property
    def shape(self) -> str:
        """Either "long" or "wide"."""
        return "wide" if self.columns.answers is not None else "long"

    @property
    def answers(self) -> list[str]:
        """The columns of the answers: expert, label and maybe probabilities, or one for each expert."""
        if self.columns.answers is not None:
            return list(self.columns.answers)
        return [str(self.expert), str(self.label), *self._chance]

    def read(self) -> Votes:
        """Return all votes at once, in memory."""
        self.warn_of_dropped()
        return joined(list(self.parts()))

    def parts(self, progress: Progress | None = None) -> Iterator[Votes]:
        """Yield the votes; those of a long file in the order of the items."""
        for part in self.read_rows(None):
            if progress is not None:
                progress(self.source.done, self.source.total, "")
            yield part

    def warn_of_dropped(self) -> None:
        """Warn of answers that are dropped, if they are; refuse votes of which nearly nothing is left."""
        if self.dropped is not None and self.dropped.dropped:
            warnings.warn(f"{self.source.path}: {self.dropped.drop_note}", DroppedWarning, stacklevel=3)

    @cached_property
    def dropped(self) -> Findings | None:
        """What is dropped of the file; None where nothing may be."""
        if self.reader.unknown != "drop":
            return None
        found = self.examine()
        found.judge("drop")
        return found

    def remember(self, names: Mapping[str, Name | None]) -> None:
        """Take note of names that another process has matched over case, blanks and accents."""
        self.reader.classes.loosely.update(names)

    def loosely(self) -> dict[str, Name | None]:
        """Return the names that were matched over case, blanks and accents so far."""
        return self.reader.loosely()

    def notes(self) -> list[str]:
        """Say how the file was read, where that is not plain from its content: columns, names, encoding."""
        found = [*self.source.notes, *self.columns.notes()]
        pairs = sorted(self.loosely().items())
        if pairs:
            said = [f"{old!r} as {'no answer' if new is None else repr(new)}" for old, new in pairs]
            found.append(f"names are read over case, blanks and accents: {some_of(said)}")
        return found

    def examine(self) -> Findings:
        """Look at the whole file for everything that is wrong with it."""
        return _examined(self)

    def slices(self) -> list[Slice]:
        """Return slices that can be read anywhere; none where the file must be read from its start."""
        if self.source.kind != "parquet" or not self.nature.ordered:
            return []
        width = len(self.source.names) - 1 if self.shape == "wide" else 1
        found: list[Slice] = []
        start = 0
        for cut in (*self.nature.cuts, self.source.total):
            if (cut - start) * width >= SLICE or cut == self.source.total:
                found.append(Slice(self, range(start, cut), len(found)))
                start = cut
        return found

    @cached_property
    def nature(self) -> Nature:
        """What the items of the file are like; a look at all of them."""
        return _nature(self)

    # How the file is read

    def read_rows(self, rows: range | None) -> Iterator[Votes]:
        """Yield the votes of some rows, or of all; refuse a file with everything that is wrong with it."""
        try:
            self.reader.refuse_strangers(self.columns, lambda name: 1)
            yield from self._read_rows(rows)
        except (InputError, UnknownNameError):
            self.examine().judge(self.reader.unknown)
            raise

    def _read_rows(self, rows: range | None) -> Iterator[Votes]:
        nature, span = self.nature, self.nature.span  # which refuses a wide file that repeats an item
        if self.shape == "wide":
            return _gathered(self._wide(rows))
        if nature.ordered:
            return _gathered(self._whole_items(self._codes(rows)))
        cell = smallest_int(len(self.panel.classes)).itemsize
        if span and not self._chance and (len(self.panel) * cell + 1) * (span[1] - span[0] + 1) <= _ROOM:
            return self._placed(span[0], span[1])
        return self._sorted_votes()

    def _sorted_votes(self) -> Iterator[Votes]:
        with closing(self._sorted()) as batches:
            yield from _gathered(self._whole_items(batches))

    def batches(
        self, columns: list[str], rows: range | None = None, like: Nature | None = None
    ) -> Iterator[tuple[int, list[pa.Array]]]:
        """Yield the columns batch by batch, items first, with the number of the first row."""
        nature = self.nature if like is None else like
        first = 1 if rows is None else rows.start + 1
        for batch in self.source.batches([self.item, *columns], plain=(self.item,), rows=rows):
            ids = batch.column(0)
            if nature.blanks:
                ids = _trimmed(ids)
            if self.source.untyped and nature.integers:
                ids = ids.cast(pa.int64())
            yield first, [ids, *batch.columns[1:]]
            first += batch.num_rows

    def _wide(self, rows: range | None) -> Iterator[Votes]:
        experts = list((self.columns.answers or {}).values())
        for first, (ids, *columns) in self.batches(self.answers, rows):
            yield self.reader.wide(experts, columns, ids, first, len(ids))

    @property
    def _chance(self) -> list[str]:
        return [self.columns.chance] if self.columns.chance else []

    def _codes(self, rows: range | None = None) -> Iterator[Codes]:
        for first, found in self.batches(self.answers, rows):
            yield self.reader.codes(found, first)

    def _whole_items(self, batches: Iterator[Codes]) -> Iterator[Votes]:
        """Turn rows that are grouped by item into votes; the last item of a batch may go on in the next."""
        waiting: list[Codes] = []
        for batch in batches:
            begins = np.flatnonzero(changes(batch.item))
            goes_on = not waiting or bool(waiting[-1].item[-1] == batch.item[0])
            if goes_on and not len(begins):
                waiting.append(batch)
                continue
            last = int(begins[-1]) + 1 if len(begins) else 0
            yield self._votes(Codes.joined([*waiting, batch.cut(0, last)]))
            waiting = [batch.cut(last, len(batch.who))]
        if waiting:
            yield self._votes(Codes.joined(waiting))

    def _votes(self, codes: Codes) -> Votes:
        begins = changes(codes.item)
        at = np.zeros(len(codes.who), np.int64)
        np.cumsum(begins, out=at[1:])
        first = np.concatenate([[0], np.flatnonzero(begins) + 1])
        return self.reader.votes(codes, at, codes.item.take(arrow(first)))

    def _placed(self, least: int, greatest: int) -> Iterator[Votes]:
        """Let every row of a file in any order find the place of its item."""
        columns, empty, kind = self._filled(least, greatest, "last")
        there = empty | (columns != NOT_ASKED).any(axis=0)
        found = np.flatnonzero(there)
        for start in range(0, len(found), PART_ITEMS):
            some = found[start : start + PART_ITEMS]
            part = np.ascontiguousarray(columns[:, some])
            ids = arrow(some + least).cast(kind)
            yield Votes(self.panel, frozen(part), None, 0, len(some), is_complete(part), _ids=ids)

    def _filled(
        self, least: int, greatest: int, duplicates: str
    ) -> tuple[NDArray[Any], NDArray[np.bool_], pa.DataType]:
        """Return the answers (experts x items), the items with empty rows, and the type of the ids."""
        shape = len(self.panel), greatest - least + 1
        columns = np.full(shape, NOT_ASKED, dtype=smallest_int(len(self.panel.classes)))
        empty, votes, kind = np.zeros(shape[1], np.bool_), 0, pa.int64()
        for codes in self._codes():
            kind = codes.item.type
            at = np.from_dlpack(codes.item).astype(np.int64) - least
            silent = np.flatnonzero(codes.who < 0)
            empty[at[silent]] = True
            votes += len(at) - len(silent)
            again = fill(columns, codes, at, duplicates)
            if again >= 0:
                raise self._twice(codes, again)
        if duplicates == "last" != self.reader.duplicates and given(columns) < votes:
            # Somebody answers an item twice, which is rare, and to look for it before takes twice the time.
            return self._filled(least, greatest, self.reader.duplicates)
        return columns, empty, kind

    def _twice(self, codes: Codes, again: int) -> InputError:
        """Find the first answer of an expert who gives another one to the same item later."""
        for before in self._codes():
            same = np.flatnonzero(before.who == codes.who[again])
            for p in same[np.from_dlpack(before.item)[same] == codes.item[again].as_py()][:1]:
                twice = Codes.joined([before.cut(p, p + 1), codes])
                return InputError(self.reader.where + self.reader.twice(twice, 0, again + 1))
        raise AssertionError("a row that was there is gone")

    def _sorted(self) -> Generator[Codes]:
        """Let DuckDB bring the rows in the order of their items."""
        kind = pa.null()

        def records() -> Iterator[pa.RecordBatch]:
            nonlocal kind
            for codes in self._codes():
                item, kind = codes.item, codes.item.type
                if pa.types.is_temporal(kind):
                    # DuckDB would give them back in its own time zone, or as another type.
                    item = item.view(pa.int32() if kind.bit_width == 32 else pa.int64())
                columns = {"item": item, "who": codes.who, "what": codes.what, "row": codes.row}
                if codes.chance is not None:
                    columns["chance"] = codes.chance
                yield pa.RecordBatch.from_pydict(columns)

        with closing(sorting.by_item(records(), ROWS)) as batches:
            for batch in batches:
                item, *numbers = batch.columns[:4]
                item = item.view(kind) if pa.types.is_temporal(kind) else item.cast(kind)
                who, what, row = (np.asarray(np.from_dlpack(column)) for column in numbers)
                yield Codes(item, who, what, row, batch.column(4) if batch.num_columns > 4 else None)


class _Seen:
    """Ids that go by: whether they are in order, and the least and the greatest if they are integers."""

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
        with_last = ids if self._last is None else pa.concat_arrays([self._last, ids])
        self.ordered = self.ordered and in_order(with_last, strictly=self._strictly)
        self._last = ids[-1:]


def _trimmed(ids: pa.Array) -> pa.Array:
    """Return items without blanks around them; one of blanks alone is none."""
    found = pc.utf8_trim_whitespace(ids)
    return pc.if_else(pc.equal(found, ""), None, found)


def _nature(file: VoteFile) -> Nature:
    source, wide = file.source, file.shape == "wide"
    # The items of a file without types are text, and integers as long as all are written as such.
    seen, whole = _Seen(strictly=wide), _Seen(strictly=wide)
    integers, blanks = source.untyped, False
    trimming = source.untyped and file.match == "loose"
    starts = source.group_starts()[1:-1] if source.kind == "parquet" else []
    cuts: list[int] = []
    first = 0
    last: Any = None
    for batch in source.batches([file.item], plain=(file.item,)):
        if source.untyped:
            ids = plain_items(batch.column(0), f"{source.path}, ")
            ids = ids.drop_null() if ids.null_count else ids  # empty rows are left out
        else:
            ids = item_ids(batch.column(0), f"{source.path}, ", first + 1)
        numbers = whole_ids(ids) if integers else None
        if numbers is None and trimming and (blanks or with_blanks(ids)):
            ids, blanks = _trimmed(ids).drop_null(), True
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
            # The rows of an item that began before stay with it.
            begins = first + np.flatnonzero(
                changes(pa.concat_arrays([ids[:1] if last is None else last, ids]))
            )
            while starts and len(begins) and starts[0] <= begins[-1]:
                cuts.append(int(begins[np.searchsorted(begins, starts.pop(0))]))
        first, last = first + batch.num_rows, ids[-1:]
    if last is None:
        raise InputError(f"{source.path} has no votes: it has no rows")
    found = whole if integers else seen
    if wide and not found.ordered:
        _refuse_repeated(
            file, Nature(integers, False, None, (), blanks)
        )  # ascending items cannot repeat; of others we must ask
    span = found.span if found.span is not None and found.span[1] < 2**63 else None
    return Nature(integers, wide or found.ordered, span, tuple(starts if wide else cuts), blanks)


def _refuse_repeated(file: VoteFile, nature: Nature) -> None:
    """Refuse a wide file in which an item has two rows."""
    where = f"{file.source.path}, "

    def batches() -> Iterator[pa.RecordBatch]:
        for first, (column,) in file.batches([], like=nature):
            ids = plain_items(column, where)
            rows = arrow(np.arange(first, first + len(ids)))
            batch = pa.RecordBatch.from_arrays([ids, rows], names=["item", "row"])
            yield batch.filter(ids.is_valid()) if ids.null_count else batch

    found = sorting.first_repeated(batches())
    if found is not None:
        raise repeated_item(*found, where)


def _gathered(parts: Iterator[Votes]) -> Iterator[Votes]:
    """Join small parts."""
    waiting: list[Votes] = []
    items = room = 0
    for part in parts:
        waiting.append(part)
        items, room = items + len(part), room + part.nbytes
        if items >= PART_ITEMS or room >= PART_BYTES:
            yield joined(waiting)
            waiting, items, room = [], 0, 0
    if waiting:
        yield joined(waiting)


def _examined(file: VoteFile) -> Findings:
    """Return everything that is wrong with a file; two different answers in files of up to `_MOST` rows."""
    reader = file.reader.collecting()
    found = reader.found
    assert found is not None
    try:
        nature = file.nature
    except InputError as error:
        nature = Nature(False, False, None, ())
        said = str(error).removeprefix(reader.where)
        found.others += [] if "no item" in said else [said]  # told below, of all rows
    columns = file.columns
    reader.refuse_strangers(
        columns, lambda name: sum(len(b) - b.column(0).null_count for b in file.source.batches([name]))
    )
    kept: list[Codes] = []
    rows = 0
    for first, (ids, *others) in file.batches(file.answers, like=nature):
        rows += len(ids)
        if columns.answers is not None:
            reader.wide(list(columns.answers.values()), others, ids, first, len(ids))
        else:
            codes = reader.codes([ids, *others], first)._replace(chance=None)
            kept = [*kept, codes] if rows <= _MOST else []
    if kept and reader.duplicates == "error":
        joint = Codes.joined(kept)
        with suppress(pa.ArrowNotImplementedError):  # items that cannot be compared are told already
            at = np.from_dlpack(joint.item.dictionary_encode().indices).astype(np.int64)
            again = reader.conflicts(joint, at)
            found.others += [again] if again else []
    return found
