"""Kept answers as votes, in the order of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from covote.labelling.kept import Kept, Parts
from covote.panel import Panel
from covote.votes import NONE_OF_MINE, NOT_ASKED, Votes
from covote.votes.vote_checks import smallest_int

T = TypeVar("T")
_ITEMS, _CELLS = 1 << 16, 1 << 25  # items of one part of the votes, and probabilities, at most


class _NotSoft(Exception):
    """Not every expert that answered gives probabilities."""


class KeptVotes:
    """The answers of a run as a source of votes; see :class:`covote.files.VoteSource`.

    Probabilities are used if every expert that answered gives them.

    Parameters
    ----------
    panel
        All experts; those outside `experts` count as not asked.
    kept
        Where the answers are.
    ids
        The names of all items.
    batch
        How many items a batch has.
    wanted
        For each expert, which items it should have been asked about; None for all. Other answers, from
        another run with the same files, do not count.
    """

    def __init__(
        self,
        panel: Panel,
        kept: Kept,
        ids: Any,
        batch: int,
        wanted: Sequence[NDArray[np.bool_] | None],
        experts: Sequence[int] | None = None,
    ) -> None:
        self.panel = panel
        self.keep = False
        self._kept, self._ids, self._batch, self._wanted = kept, ids, batch, wanted
        self._experts = range(len(panel)) if experts is None else experts
        self._parts: list[Votes] | None = None
        self.soft = True
        # How many answers each expert owes: items it was asked about without an answer that can be used.
        self.owed = np.zeros(len(panel), dtype=np.int64)
        self.notes: dict[int, str] = {}
        self._found: dict[int, Parts] = {}

    def over(
        self, task: Callable[[Iterator[Votes]], T], progress: Callable[[int, int, str], None] | None = None
    ) -> T:
        """Run a task over all parts."""
        try:
            return task(self._read(progress))
        except _NotSoft:
            self.soft = False
            return task(self._read(progress))

    def _read(self, progress: Callable[[int, int, str], None] | None) -> Iterator[Votes]:
        if self._parts is not None:
            yield from self._parts
            return
        parts, self.owed[:] = [], 0
        room = min(_ITEMS, _CELLS // max(1, int(self.panel.sizes.sum())))
        step = max(1, room // self._batch) * self._batch
        for start in range(0, len(self._ids), step):
            stop = min(start + step, len(self._ids))
            part = self._votes(start, stop)
            if self.keep:
                parts.append(part)
            if progress is not None:
                progress(stop, len(self._ids), "")
            yield part
        if self.keep:
            self._parts = parts

    def _expert_parts(self, i: int) -> Parts:
        if i not in self._found:
            self._found[i] = self._kept.parts(self.panel.names[i])
        return self._found[i]

    def _votes(self, start: int, stop: int) -> Votes:
        # Laid out as votes are stored, so that they are not copied.
        kind = smallest_int(len(self.panel.classes))
        columns = np.full((len(self.panel), stop - start), NOT_ASKED, dtype=kind).T
        sizes = self.panel.sizes
        ends = np.cumsum(sizes)
        soft = np.zeros((stop - start, int(sizes.sum())), dtype=np.float32) if self.soft else None
        for i in self._experts:
            classes = np.flatnonzero(self.panel.knows[i])
            parts = self._expert_parts(i)
            for low in range(start, stop, self._batch):
                high = min(low + self._batch, stop)
                rows = slice(low - start, high - start)
                part = parts.read(low, high)
                wanted = self._wanted[i]
                due = np.ones(high - low, dtype=bool) if wanted is None else wanted[low:high]
                given = due & (part.label >= NONE_OF_MINE) & (part.label != NOT_ASKED)
                self.owed[i] += np.count_nonzero(due & ~given)
                if part.note:
                    self.notes.setdefault(i, part.note)
                if not given.any():
                    continue
                inside = part.label >= 0
                label = np.where(inside, classes[np.where(inside, part.label, 0)], NONE_OF_MINE)
                columns[rows, i] = np.where(given, label, NOT_ASKED)
                if soft is not None:
                    if part.probability is None:
                        raise _NotSoft
                    soft[rows, ends[i] - sizes[i] : ends[i]] = part.probability
        ids = self._ids[start:stop]
        return Votes.from_dense(columns, self.panel, items=ids, probabilities=soft)
