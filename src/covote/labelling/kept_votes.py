"""Kept answers as votes, in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.labelling.journal import Answered, Kept, Part
from covote.panel import Panel
from covote.progress import Progress
from covote.votes import NONE_OF_MINE, NOT_ASKED, Votes
from covote.votes.vote_checks import smallest_int

_ITEMS, _CELLS = 1 << 16, 1 << 25  # items of one part of the votes, and probabilities, at most


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
        self._kept, self._ids, self._batch, self._wanted = kept, ids, batch, wanted
        self._experts = range(len(panel)) if experts is None else experts
        # How many answers each expert owes: items it was asked about without an answer that can be used.
        self.owed = np.zeros(len(panel), dtype=np.int64)
        self.notes: dict[int, str] = {}
        self._found: dict[int, Answered] = {}

    @cached_property
    def plain(self) -> list[int]:
        """The experts that answered without probabilities."""
        return [i for i in self._experts if self._answered_plainly(i)]

    def _answered_plainly(self, i: int) -> bool:
        for low in range(0, len(self._ids), self._batch):
            part, _, given = self._answers(i, low, min(low + self._batch, len(self._ids)))
            if part.probability is None and given.any():
                return True
        return False

    @property
    def soft(self) -> bool:
        """Whether every expert that answered gives probabilities."""
        return not self.plain

    def parts(self, progress: Progress | None = None) -> Iterator[Votes]:
        """Yield the votes, in the order of the data."""
        self.owed[:] = 0
        room = min(_ITEMS, _CELLS // max(1, int(self.panel.sizes.sum())))
        step = max(1, room // self._batch) * self._batch
        for start in range(0, len(self._ids), step):
            stop = min(start + step, len(self._ids))
            part = self._votes(start, stop)
            if progress is not None:
                progress(stop, len(self._ids), "")
            yield part

    def whole(self) -> Votes:
        """Return all votes at once."""
        return self._votes(0, len(self._ids))

    def _expert_parts(self, i: int) -> Answered:
        if i not in self._found:
            self._found[i] = self._kept.parts(self.panel.names[i])
        return self._found[i]

    def _answers(self, i: int, low: int, high: int) -> tuple[Part, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return what an expert said about a batch, which items it was due to answer, and which it did."""
        part, wanted = self._expert_parts(i).read(low, high), self._wanted[i]
        due = np.ones(high - low, dtype=bool) if wanted is None else wanted[low:high]
        return part, due, due & (part.label >= NONE_OF_MINE) & (part.label != NOT_ASKED)

    def _votes(self, start: int, stop: int) -> Votes:
        # Laid out as votes are stored, so that they are not copied.
        kind = smallest_int(len(self.panel.classes))
        columns = np.full((len(self.panel), stop - start), NOT_ASKED, dtype=kind).T
        sizes = self.panel.sizes
        ends = np.cumsum(sizes)
        soft = np.zeros((stop - start, int(sizes.sum())), dtype=np.float32) if self.soft else None
        for i in self._experts:
            classes = np.flatnonzero(self.panel.knows[i])
            for low in range(start, stop, self._batch):
                high = min(low + self._batch, stop)
                rows = slice(low - start, high - start)
                part, due, given = self._answers(i, low, high)
                self.owed[i] += np.count_nonzero(due & ~given)
                if part.note:
                    self.notes.setdefault(i, part.note)
                if not given.any():
                    continue
                inside = part.label >= 0
                label = np.where(inside, classes[np.where(inside, part.label, 0)], NONE_OF_MINE)
                columns[rows, i] = np.where(given, label, NOT_ASKED)
                if soft is not None:
                    soft[rows, ends[i] - sizes[i] : ends[i]] = part.probability
        ids = self._ids[start:stop]
        return Votes.from_dense(columns, self.panel, items=ids, probabilities=soft)
