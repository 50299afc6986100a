"""Long files whose items have their answers in one number each, in any order."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.vote_checks import NONE_OF_MINE
from covote.vote_names import NULL, STRANGE, name_codes

from . import long
from .items import Retry, arrow, ascending, plain_items, starts_of
from .packed import Packed, base, powers

if TYPE_CHECKING:
    from .votes import VoteFile

_CHOICES = {"error": 0, "first": 1, "last": 2}
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
        panel = file.panel
        self.file = file
        self.base = base(panel)
        self.power = powers(panel)
        self.state = np.array([0, -1], dtype=np.int64)
        # Rows that are encoded already have indices; -1 and -2 find the last entries.
        self.experts = np.array([*range(len(panel)), NULL], dtype=np.int64)
        self.labels = np.array([*range(len(panel.classes)), NONE_OF_MINE, NULL], dtype=np.int64)

    def in_file(self) -> Generator[tuple[pa.Array, tuple[Any, ...]], None, None]:
        """Yield items and answers as they lie."""
        file, panel = self.file, self.file.panel
        text = file.source.kind in ("csv", "tsv")
        for first, batch in file.batches([file.item, str(file.expert), str(file.label)]):
            item = plain_items(batch.column(0), file.source.path, first, text and file.integers)
            expert_code, _, expert_row = name_codes(batch.column(1), panel.names)
            label_code, labels, label_row = name_codes(batch.column(2), panel.classes)
            for e in np.flatnonzero(label_code[:-1] == STRANGE):
                if labels[e] == file.none:
                    label_code[e] = NONE_OF_MINE
            yield item, (expert_row, expert_code, label_row, label_code)

    def in_order(self) -> Generator[tuple[pa.Array, tuple[Any, ...]], None, None]:
        """Yield items and answers sorted by item."""
        for item, rows in long.ordered(long.encoded(self.file)):
            yield item, (rows.who, self.experts, rows.what, self.labels)

    def pack(self, starts: NDArray[np.int64], answers: tuple[Any, ...], goes_on: bool, keys: Any) -> None:
        """Write the answers to every item as one number."""
        from . import packed_kernels

        if not goes_on:
            self.state[1] = -1
        bad = packed_kernels.of_runs(
            starts, *answers, self.file.panel.knows, *self._rules, self.base, self.power, self.state, keys
        )
        self._check(bad)

    def scatter(self, place: NDArray[np.int64], answers: tuple[Any, ...], keys: Any, heard: Any) -> None:
        """Add the answers in any order to the numbers of their items."""
        from . import packed_kernels

        bad = packed_kernels.scatter(
            place, *answers, self.file.panel.knows, *self._rules, self.base, self.power, keys, heard
        )
        self._check(bad)

    @property
    def _rules(self) -> tuple[bool, int]:
        return self.file.unknown == "drop", _CHOICES[self.file.duplicates]

    def _check(self, bad: int) -> None:
        if bad >= 0:
            raise Retry(pack=False)  # read again in a way that can say what is wrong


def _starts(item: pa.Array) -> NDArray[np.int64] | None:
    """Return where each item starts; None if they do not ascend."""
    from . import packed_kernels

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
    if span is None or 17 * (span[1] - span[0] + 1) > _ROOM:
        return None
    return span


def _gathered(rows: _Rows, least: int, greatest: int) -> Generator[Packed, None, None]:
    """Let every row find the place of its item; items then come in order."""
    size = greatest - least + 1
    keys, heard = np.full(size, rows.power.sum(), np.int64), np.zeros(size, np.int64)
    there = np.zeros(size, np.bool_)  # an item may be there without any answer
    kind = None
    for item, answers in rows.in_file():
        kind = item.type
        place = np.from_dlpack(item).astype(np.int64) - least
        there[place] = True
        rows.scatter(place, answers, keys, heard)
    found = np.flatnonzero(there)
    for start in range(0, len(found), 1 << 19):
        some = found[start : start + (1 << 19)]
        yield Packed(rows.file.panel, keys[some], arrow(some + least).cast(kind))
