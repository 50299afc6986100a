"""A file of votes, read in parts: long or wide, in any order, larger than memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.arguments import naming
from covote.errors import InputError, UnknownNameError
from covote.files.item_order import Nature, by_item, first_repeated, nature_of
from covote.panel import Name, Panel
from covote.progress import Progress
from covote.tables import Reading
from covote.tables.batches import ROWS, Source
from covote.tables.columns import find_columns
from covote.tables.names import NOT_ASKED, arrow, changes, plain_items, repeated_item
from covote.votes import Votes
from covote.votes.answered_panel import answered_panel
from covote.votes.arrays import frozen, is_complete, joined, smallest_int
from covote.votes.findings import DroppedWarning, Findings
from covote.votes.tables import Codes, Reader, answers_in, fill

PART_ITEMS, PART_BYTES = 1 << 19, 1 << 25
"""Size of a part: equal answer rows are found within a part, so large parts are less work."""
SLICE = 1 << 22
"""Votes of a slice, about: large enough that starting one costs nothing, small enough for many workers."""
_MOST = 1 << 25  # rows that are searched for two different answers when all problems are listed
_SMALL = 1 << 26  # rows or bytes of a wide file up to which rows that repeat others can be left out
_ROOM = 1 << 29  # bytes for the answers to all items at once; beyond it, DuckDB sorts


class VoteSource(Protocol):
    """Votes that can be read part by part, as often as needed."""

    panel: Panel

    def parts(self, progress: Progress | None = None) -> Iterator[Votes]:
        """Yield all votes; no item is split between parts."""


@dataclass(frozen=True)
class Slice:
    """Some rows of a Parquet file, with all rows of their items; any process can read them."""

    file: VoteFile
    rows: range
    number: int

    def parts(self) -> Iterator[Votes]:
        """Yield the votes."""
        return self.file.read_rows(self.rows)


class VoteFile:
    """Votes in a Parquet, CSV, JSON-lines or Excel file, given part by part as :class:`covote.Votes`.

    Long files have the columns ``item, expert, label`` (optionally ``probability``, or ``probabilities``, a
    list over the classes the expert knows), by these or other usual names, or recognised by content; wide
    files have an item column and one column per expert. Memory does not grow with the file. The items of a
    long file are given in ascending order.

    Parameters
    ----------
    path
        The file; its ending says the format.
    panel
        Who could answer what.
    reading
        How columns, names and cells are understood.

    Attributes
    ----------
    shape
        Either "long" or "wide".
    answers
        The columns of the answers: expert, label and maybe probabilities, or one for each expert.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        panel: Panel,
        reading: Reading | None = None,
    ) -> None:
        self.panel = panel
        self.reader = Reader(panel, reading or Reading(), f"{Path(path)}, ", trimmed=True)
        self.source = source = Source(path, exports=True)
        if len(source.names) == 1:
            raise InputError(f"{source.path} has no votes: its only column is {source.names[0]!r}")
        self.columns = self.reader.columns(source.names, "auto", source.look)
        if self.columns.item is None:
            raise source.no_items()
        self.item = self.columns.item
        self.shape = "wide" if self.columns.answers is not None else "long"
        of_answers, self._chance = self.columns.of_answers, self.columns.chance
        self.answers = [*of_answers, *([self._chance] if self._chance else [])]
        source.refuse_nested([self.item, *of_answers])

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
        """Warn about dropped answers; reject votes of which nearly nothing is left."""
        if self.dropped is not None and self.dropped.dropped:
            warnings.warn(f"{self.source.path}: {self.dropped.drop_note}", DroppedWarning, stacklevel=3)

    @cached_property
    def dropped(self) -> Findings | None:
        """What is dropped from the file; None unless dropping is allowed."""
        if self.reader.reading.unknown != "drop":
            return None
        found = self.examine()
        found.judge("drop")
        return found

    def remember(self, names: Mapping[str, Name | None]) -> None:
        """Remember names that another process has matched loosely."""
        self.reader.classes.loosely.update(names)

    def loosely(self) -> dict[str, Name | None]:
        """Return the names that were matched loosely so far."""
        return self.reader.loosely()

    def notes(self) -> list[str]:
        """Describe how the file was read, where that is not obvious: columns, names, encoding."""
        nature: Nature | None = self.__dict__.get("nature")  # None before the first read
        blanks = ["blanks around item names are ignored"] if nature and nature.blanks else []
        return [*self.source.notes, *self.columns.notes(), *blanks, *self.reader.notes()]

    def examine(self) -> Findings:
        """Search the whole file for problems.

        Two different answers from an expert about an item are searched for in files of up to `_MOST` rows.
        """
        reader = self.fresh_reader()
        found = reader.found
        try:
            nature = self.nature
        except InputError as error:
            nature = Nature(False, False, None, ())
            said = str(error).removeprefix(reader.where)
            found.others += [] if "no item" in said else [said]  # reported below, for all rows
        if self.shape == "wide":
            whole = self.source.total <= _SMALL  # then repeated rows can be reported
            for rows, (ids, *columns) in self._joined(self.batches(self.answers, like=nature), whole):
                runs = reader.wide(self._experts, columns, ids, rows, whole=whole).ragged
                found.count(runs.expert, runs.label)
        else:
            self._examine_rows(reader, nature)
        self.remember(reader.loosely())
        return found

    def _examine_rows(self, reader: Reader, nature: Nature) -> None:
        kept: list[Codes] = []
        rows = 0
        for numbers, columns in self.batches(self.answers, like=nature):
            codes = reader.codes(columns, numbers)
            reader.found.count(codes.who, codes.what)
            rows += len(codes.who)
            kept = [*kept, codes._replace(chance=None)] if rows <= _MOST else []
        if not kept or reader.reading.duplicates != "error":
            return
        joint = Codes.joined(kept)
        with suppress(pa.ArrowNotImplementedError):  # items that cannot be compared are reported already
            ids = joint.item.dictionary_encode()
            at = np.from_dlpack(ids.indices).astype(np.int64)
            if again := reader.conflicts(joint, at):
                reader.found.fault(again)

    def fresh_reader(self) -> Reader:
        """Return a new reader, which knows only the columns that belong to no expert."""
        reader, strangers = replace(self.reader), list(self.columns.strangers)
        reader.found.add_columns(strangers, self.source.count_filled(strangers).__getitem__)
        return reader

    def slices(self) -> list[Slice]:
        """Return slices that any process can read; none if the file must be read from its start."""
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
        """The nature of the items, from a look at all of them."""
        wide = self.shape == "wide"
        found = nature_of(self.source, self.item, wide=wide, loose=self.reader.reading.match == "loose")
        again = wide and not found.ordered and self._repeats(found)  # ascending items cannot repeat
        return found._replace(ordered=(wide and not again) or (found.ordered and not wide), repeats=again)

    def _repeats(self, nature: Nature) -> bool:
        """Whether a wide file has two rows for an item; reject one that is too large to compare them."""

        def batches() -> Iterator[pa.RecordBatch]:
            for rows, (column,) in self.batches([], like=nature):
                ids = plain_items(column, self.reader.where)
                batch = pa.RecordBatch.from_arrays([ids, arrow(rows)], names=["item", "row"])
                yield batch.filter(ids.is_valid()) if ids.null_count else batch

        found = first_repeated(batches())
        if found is not None and self.source.total > _SMALL:
            raise InputError(f"{self.reader.where}{repeated_item(*found)}")
        return found is not None

    def _joined(
        self, batches: Iterator[tuple[NDArray[np.int64], list[pa.Array]]], whole: bool
    ) -> Iterator[tuple[NDArray[np.int64], list[pa.Array]]]:
        """Yield batches as they are, or the whole file as one."""
        parts = list(batches) if whole else []
        if not parts:
            yield from batches
            return
        numbers, columns = zip(*parts, strict=True)
        yield np.concatenate(numbers), [pa.chunked_array(chunks) for chunks in zip(*columns, strict=True)]

    # How the file is read

    def read_rows(self, rows: range | None) -> Iterator[Votes]:
        """Yield the votes of some rows, or of all; reject a bad file with a list of all its problems."""
        unknown, found = self.reader.reading.unknown, self.reader.found
        try:
            found.add_columns(self.columns.strangers, lambda name: 1)
            found.refuse(unknown)
            for part in self._read_rows(rows):
                found.refuse(unknown)
                yield part
        except (InputError, UnknownNameError):
            self.examine().judge(unknown)
            raise

    def _read_rows(self, rows: range | None) -> Iterator[Votes]:
        nature, span = self.nature, self.nature.span  # this rejects a large wide file that repeats an item
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
    ) -> Iterator[tuple[NDArray[np.int64], list[pa.Array]]]:
        """Yield the columns batch by batch, items first, with the numbers of the rows."""
        nature = self.nature if like is None else like
        first = 0 if rows is None else rows.start
        for batch in self.source.batches([self.item, *columns], plain=(self.item,), rows=rows):
            ids = nature.ids(batch.column(0))
            yield self.source.row_numbers(first, batch.num_rows), [ids, *batch.columns[1:]]
            first += batch.num_rows

    def _wide(self, rows: range | None) -> Iterator[Votes]:
        whole = self.nature.repeats
        for numbers, (ids, *columns) in self._joined(self.batches(self.answers, rows), whole):
            yield self.reader.wide(self._experts, columns, ids, numbers, whole=whole)

    @property
    def _experts(self) -> list[int]:
        return list((self.columns.answers or {}).values())

    def _codes(self, rows: range | None = None) -> Iterator[Codes]:
        """Yield the rows of a long file as indices, until something is wrong with them."""
        for numbers, columns in self.batches(self.answers, rows):
            codes = self.reader.codes(columns, numbers)
            self.reader.found.refuse(self.reader.reading.unknown)
            yield codes

    def _whole_items(self, batches: Iterator[Codes]) -> Iterator[Votes]:
        """Turn rows grouped by item into votes; the last item of a batch may continue in the next."""
        waiting: list[Codes] = []
        for batch in batches:
            codes = Codes.joined([*waiting, batch])
            begins = changes(codes.item)
            last = int(np.flatnonzero(begins)[-1]) + 1 if begins.any() else 0
            if last:
                yield self._votes(codes.cut(0, last), begins[: last - 1])
            waiting = [codes.cut(last, len(codes.who))]
        for codes in waiting:
            yield self._votes(codes, changes(codes.item))

    def _votes(self, codes: Codes, begins: NDArray[np.bool_]) -> Votes:
        at = np.zeros(len(codes.who), np.int64)
        np.cumsum(begins, out=at[1:])
        first = np.concatenate([[0], np.flatnonzero(begins) + 1])
        return self.reader.votes(codes, at, codes.item.take(arrow(first)))

    def _placed(self, least: int, greatest: int) -> Iterator[Votes]:
        """Put every row of a file in any order in the place of its item."""
        shape = len(self.panel), greatest - least + 1
        columns = np.full(shape, NOT_ASKED, dtype=smallest_int(len(self.panel.classes)))
        there, votes, kind = np.zeros(shape[1], np.bool_), 0, pa.int64()
        for codes in self._codes():
            kind = codes.item.type
            at = np.from_dlpack(codes.item).astype(np.int64) - least
            silent = np.flatnonzero(codes.who < 0)
            there[at[silent]] = True
            votes += len(at) - len(silent)
            fill(columns, codes, at)
        if self.reader.reading.duplicates != "last" and answers_in(columns) < votes:
            # Someone answers an item twice, which is rare.
            yield from self._sorted_votes()
            return
        found = np.flatnonzero(there | (columns != NOT_ASKED).any(axis=0))
        for start in range(0, len(found), PART_ITEMS):
            some = found[start : start + PART_ITEMS]
            part = np.ascontiguousarray(columns[:, some])
            ids = arrow(some + least).cast(kind)
            yield Votes(self.panel, frozen(part), None, 0, len(some), is_complete(part), ids=ids)

    def _sorted(self) -> Generator[Codes]:
        """Let DuckDB sort the rows by item."""
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

        with closing(by_item(records(), ROWS)) as batches:
            for batch in batches:
                item, *numbers = batch.columns[:4]
                item = item.view(kind) if pa.types.is_temporal(kind) else item.cast(kind)
                who, what, row = (np.asarray(np.from_dlpack(column)) for column in numbers)
                yield Codes(item, who, what, row, batch.column(4) if batch.num_columns > 4 else None)


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


# Without a panel


def open_panel(path: str | os.PathLike[str], reading: Reading | None = None) -> Panel:
    """Return the panel of a file of votes in which every expert knows every class that anyone answered."""
    return _panel(path, reading or Reading(), everything=True)


def inferred_panel(path: str | os.PathLike[str], reading: Reading | None = None) -> Panel:
    """Return the panel in which every expert knows exactly the labels that they ever gave.

    An expert who knows a class but never named it in this file is assumed not to know it, so with few votes
    the panel is a guess. Names that are all integers become integers.
    """
    return _panel(path, reading or Reading(), everything=False)


def _panel(path: str | os.PathLike[str], reading: Reading, *, everything: bool) -> Panel:
    source = Source(path, exports=True)

    def read(names: list[str]) -> Iterator[list[pa.Array]]:
        source.refuse_nested(names)
        return (batch.columns for batch in source.batches(names))

    with naming(source.path):
        columns = find_columns(source.names, reading.columns, "auto", None, source.look)
        return answered_panel(columns, read, reading, everything=everything)
