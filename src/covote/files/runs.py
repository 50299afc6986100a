"""Long files whose items have their answers in one number each, in any order."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.files import long
from covote.files.items import Retry, ascending, plain_items, starts_of
from covote.files.packed import Packed, base, powers
from covote.votes.names import NULL, STRANGE, arrow, encoded, entry_rows, name_codes
from covote.votes.vote_checks import NONE_OF_MINE, NOT_ASKED

if TYPE_CHECKING:
    from covote.files.vote_files import VoteFile

_CHOICES = {"error": 0, "first": 1, "last": 2}
_LARGEST = 1 << 20  # pairs of different experts and labels in a batch
_ROOM = 1 << 29  # bytes for the answers of all items at once; beyond it, DuckDB sorts


def parts(file: VoteFile) -> Generator[Packed, None, None]:
    """Yield the votes in pieces that end where an item ends."""
    rows = _Rows(file)
    if not file.in_order:
        span = _span(file)
        if span is not None:
            yield from _gathered(rows, *span)
            return
    ids, keys = None, np.empty(0, np.int64)  # the last item so far, which may go on
    for item, answers in rows.in_file() if file.in_order else rows.in_order():
        starts = _starts(item)
        goes_on = ids is not None and item[0] == ids[0]
        if starts is None or (
            ids is not None and not goes_on and not ascending(pa.concat_arrays([ids, item[:1]]))
        ):
            # Only items in ascending order are sure not to come back later.
            raise Retry(in_order=False) if file.in_order else long.no_order(file)
        before = None if goes_on else ids
        found = np.empty(len(starts), np.int64)
        rows.pack(starts, answers, goes_on, found)
        all_ids = item.take(arrow(starts)) if not pa.types.is_integer(item.type) else _taken(item, starts)
        if before is not None:
            all_ids, found = pa.concat_arrays([before, all_ids]), np.concatenate([keys, found])
        if len(found) > 1:
            yield Packed(file.panel, found[:-1], all_ids[:-1])
        ids, keys = all_ids[-1:], found[-1:]
    if ids is not None:
        yield Packed(file.panel, keys, ids)


class _Rows:
    """The rows of a long file, and how they become numbers."""

    def __init__(self, file: VoteFile) -> None:
        self.file = file
        self.base = base(file.panel)
        self.power = powers(file.panel)
        self.state = np.array([0, -1], dtype=np.int64)
        self._entries: tuple[pa.Array, pa.Array] | None = None
        self._meaning: tuple[NDArray[np.int64], ...] = ()

    def in_file(self) -> Generator[tuple[pa.Array, tuple[Any, ...]], None, None]:
        """Yield items and answers as they lie."""
        file = self.file
        text = file.source.kind in ("csv", "tsv")
        for first, batch in file.batches([file.item, str(file.expert), str(file.label)]):
            item = plain_items(batch.column(0), file.source.path, first, text and file.integers)
            yield item, self._answers(encoded(batch.column(1)), encoded(batch.column(2)))

    def _answers(self, experts: pa.DictionaryArray, labels: pa.DictionaryArray) -> tuple[Any, ...]:
        """Return which entry each row has, and what the entries mean; most batches have the same entries."""
        found = experts.dictionary, labels.dictionary
        if self._entries is None or not all(map(pa.Array.equals, self._entries, found)):
            expert_code, _, _ = name_codes(experts, self.file.panel.names)
            label_code, names, _ = name_codes(labels, self.file.panel.classes)
            for e in np.flatnonzero(label_code[:-1] == STRANGE):
                if names[e] == self.file.none:
                    label_code[e] = NONE_OF_MINE
            self._entries, self._meaning = found, self._tables(expert_code, label_code)
        return (entry_rows(experts), entry_rows(labels), *self._meaning)

    def in_order(self) -> Generator[tuple[pa.Array, tuple[Any, ...]], None, None]:
        """Yield items and answers sorted by item."""
        size, classes = self.file.panel.knows.shape
        tables = self._tables(np.array([*range(size), NULL]), np.array([*range(classes), NONE_OF_MINE, NULL]))
        for item, rows in long.ordered(long.encoded(self.file)):
            experts = np.where(rows.who < 0, size, rows.who).astype(np.int32)
            labels = np.where(rows.what < 0, classes - 2 - rows.what, rows.what).astype(np.int32)
            yield item, (experts, np.where(experts == size, classes + 1, labels), *tables)

    def _tables(self, experts: NDArray[np.int64], labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return what each entry of the experts and each of the labels means together, for the kernels."""
        if len(experts) * len(labels) > _LARGEST:
            raise Retry(pack=False)
        i, v = experts[:, None], labels[None, :]
        knows = self.file.panel.knows[np.maximum(i, 0), np.maximum(v, 0)]
        missing = (i == NULL) | (v == NULL)
        strange = ~missing & ((i < 0) | (v == STRANGE) | ((v >= 0) & ~knows))
        if self.file.unknown == "drop":
            missing, strange = missing | strange, np.zeros_like(strange)
        unit = np.where(missing | strange, 1, self.power[np.maximum(i, 0)])
        bit = np.where(missing, 0, np.where(strange, -1, np.int64(1) << np.maximum(i, 0)))
        return np.where(missing, 0, (v - NOT_ASKED) * unit), np.broadcast_to(unit, bit.shape).copy(), bit

    def pack(self, starts: NDArray[np.int64], answers: tuple[Any, ...], goes_on: bool, keys: Any) -> None:
        """Write the answers to every item as one number."""
        from covote.files import packed_kernels

        if not goes_on:
            self.state[1] = -1
        twice = _CHOICES[self.file.duplicates]
        bad = packed_kernels.of_runs(
            starts, *answers, twice, self.base, int(self.power.sum()), self.state, keys
        )
        self._check(bad)

    def scatter(self, item: pa.Array, least: int, answers: tuple[Any, ...], cells: Any) -> None:
        """Add the answers in any order to the numbers of their items."""
        from covote.files import packed_kernels

        twice = _CHOICES[self.file.duplicates]
        items = np.from_dlpack(item)
        self._check(packed_kernels.scatter(items, least, *answers, twice, self.base, cells))

    def _check(self, bad: int) -> None:
        if bad >= 0:
            raise Retry(pack=False)  # read again in a way that can say what is wrong


def _starts(item: pa.Array) -> NDArray[np.int64] | None:
    """Return where each item starts; None if they do not ascend."""
    from covote.files import packed_kernels

    if not pa.types.is_integer(item.type):
        starts = starts_of(item)
        return starts if ascending(item.take(arrow(starts))) else None
    found = np.empty(len(item), np.int64)
    size = packed_kernels.run_starts(np.from_dlpack(item), found)
    return found[:size] if size >= 0 else None


def _taken(item: pa.Array, starts: NDArray[np.int64]) -> pa.Array:
    return arrow(np.from_dlpack(item)[starts])


def _span(file: VoteFile) -> tuple[int, int] | None:
    """Return the least and the greatest item, if all integers between them find a place in memory."""
    span = file.source.span(file.item)
    if span is None or 16 * (span[1] - span[0] + 1) > _ROOM:
        return None
    return span


def _gathered(rows: _Rows, least: int, greatest: int) -> Generator[Packed, None, None]:
    """Let every row find the place of its item; items then come in order."""
    cells = np.zeros((greatest - least + 1, 2), np.int64)  # number, who was heard
    cells[:, 0] = rows.power.sum()
    kind = None
    for item, answers in rows.in_file():
        kind = item.type
        rows.scatter(item, least, answers, cells)
    found = np.flatnonzero(cells[:, 1])
    for start in range(0, len(found), 1 << 19):
        some = found[start : start + (1 << 19)]
        yield Packed(rows.file.panel, cells[some, 0], arrow(some + least).cast(kind))
