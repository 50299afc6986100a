"""Kept answers as votes, in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.labelling.answers_file import AnswersFile
from covote.panel import Panel
from covote.votes import NONE_OF_MINE, NOT_ASKED, Votes
from covote.votes.arrays import smallest_int

_ITEMS, _CELLS = 1 << 16, 1 << 25  # items of one part of the votes, and probabilities, at most


class KeptVotes:
    """The answers of a run as votes, a part at a time or at once.

    Where some experts give probabilities, they are NaN in the answers of the others.

    Parameters
    ----------
    panel
        All experts; those outside `experts` count as not asked.
    kept
        The answers.
    ids
        The names of all items.
    wanted
        For each expert, which items it should have been asked about; None for all. Other answers, from
        another run with the same file, do not count.
    """

    def __init__(
        self,
        panel: Panel,
        kept: AnswersFile,
        ids: Any,
        wanted: Sequence[NDArray[np.bool_] | None],
        experts: Sequence[int] | None = None,
    ) -> None:
        self.panel = panel
        self._kept, self._ids, self._wanted = kept, ids, wanted
        self._experts = range(len(panel)) if experts is None else experts
        # How many answers each expert owes: items it was asked about without an answer that can be used.
        self.missing = np.zeros(len(panel), dtype=np.int64)

    @cached_property
    def without_probabilities(self) -> list[int]:
        """The experts without probabilities."""
        return [i for i in self._experts if not self._kept.has_probabilities(self.panel.names[i])]

    @property
    def soft(self) -> bool:
        """Whether some expert gives probabilities."""
        return len(self.without_probabilities) < len(self._experts)

    def __len__(self) -> int:
        return len(self._ids)

    def parts(self, size: int = _ITEMS) -> Iterator[Votes]:
        """Yield the votes, in the order of the data, in parts of at most `size` items."""
        self.missing[:] = 0
        step = max(1, min(size, _ITEMS, _CELLS // max(1, int(self.panel.sizes.sum()))))
        for start in range(0, len(self._ids), step):
            yield self._votes(start, min(start + step, len(self._ids)))

    def whole(self) -> Votes:
        """Return all votes at once."""
        self.missing[:] = 0
        return self._votes(0, len(self._ids))

    def _votes(self, start: int, stop: int) -> Votes:
        # Laid out as votes are stored, so that they are not copied.
        kind = smallest_int(len(self.panel.classes))
        columns = np.full((len(self.panel), stop - start), NOT_ASKED, dtype=kind).T
        sizes = self.panel.sizes
        ends = np.cumsum(sizes)
        soft = np.zeros((stop - start, int(sizes.sum())), dtype=np.float32) if self.soft else None
        for i in self._experts:
            name, wanted = self.panel.names[i], self._wanted[i]
            label = self._kept.labels(name, start, stop)
            due = np.ones(stop - start, dtype=bool) if wanted is None else wanted[start:stop]
            answered = due & (label >= NONE_OF_MINE) & (label != NOT_ASKED)
            self.missing[i] += np.count_nonzero(due & ~answered)
            # Behind the classes, the codes of "none of mine" (-2) and of no answer (-1).
            codes = np.append(np.flatnonzero(self.panel.knows[i]), [NONE_OF_MINE, NOT_ASKED])
            columns[:, i] = codes[np.where(answered, label, NOT_ASKED)]
            if soft is not None:
                mine = slice(ends[i] - sizes[i], ends[i])
                soft[:, mine] = self._kept.probabilities(name, start, stop, int(sizes[i]))
        ids = self._ids[start:stop]
        return Votes.from_dense(columns, self.panel, items=ids, probabilities=soft)
