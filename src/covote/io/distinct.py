"""Every different row of answers once: to a decoder, items with the same answers are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from covote.labels import Evidence, Labels
from covote.panel import Panel
from covote.vote_checks import frozen
from covote.votes import Votes

from . import kernels

Score = Callable[[Votes], Labels]

_MOST = 1 << 20  # rows remembered; a part is labelled item by item once there are more


class DistinctRows:
    """Labels of the different rows of answers in a file, each worked out when it first comes.

    Nine experts of four classes answer millions of items with some ten thousand different rows. Rows that do
    not fit into 64 bits, and files in which most rows differ, are labelled item by item.
    """

    def __init__(self, panel: Panel, score: Score) -> None:
        self._score = score
        self._base = len(panel.classes) + 2
        self._fits = self._base ** len(panel) < 2**63
        self._table = np.full(1 << 11, -1, np.int32)
        self._keys = np.empty(1 << 10, np.int64)
        self._count = np.zeros(0, np.int64)
        self._items = 0
        self._labelled: list[tuple[Votes, Labels]] = []
        self._index: NDArray[np.int64] | None = None
        self._evidence: Evidence | None = None

    def labels(self, part: Votes) -> Labels | None:
        """Return the labels of a part, or None if it should be labelled item by item."""
        rows = len(self._count)
        if (
            not self._fits
            or part.columns is None
            or part.soft
            or rows > _MOST
            or 2 * rows > self._items + _MOST
        ):
            return None
        keys = kernels.packed(part.columns, part.start, part.stop, self._base)
        which, first = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
        self._table, self._keys, found = kernels.number(keys, self._table, self._keys, rows, which, first)
        self._items += len(part)
        if found > rows:
            self._learn(part, first[: found - rows])
        self._count = np.bincount(which, minlength=found) + np.pad(self._count, (0, found - rows))
        return self._spread(part, which)

    def _learn(self, part: Votes, first: NDArray[np.int64]) -> None:
        """Label the rows that are new."""
        assert part.columns is not None
        columns = frozen(np.ascontiguousarray(part.columns[:, part.start + first]))
        votes = Votes(part.panel, columns, None, 0, len(first), part.complete)
        labels = self._score(votes)
        self._labelled.append((votes, labels))
        if self._index is None or self._evidence is None:
            self._index, self._tied, self._evidence = labels.index, labels.tied, labels.evidence
            return
        self._index = np.concatenate([self._index, labels.index])
        self._tied = np.concatenate([self._tied, labels.tied])
        self._evidence = Evidence(
            *(
                np.concatenate([getattr(self._evidence, name), getattr(labels.evidence, name)])
                for name in Evidence.__annotations__
            )
        )

    def _spread(self, part: Votes, which: NDArray[np.int32]) -> Labels:
        assert self._index is not None
        assert self._evidence is not None
        known = self._evidence

        def evidence() -> Evidence:
            return Evidence(*(getattr(known, name)[which] for name in Evidence.__annotations__))

        def tied_classes(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
            return self._score(part.subset(rows))._tied_classes(np.arange(len(rows)))

        return Labels(
            part.panel, self._index[which], self._tied[which], evidence, tied_classes, part._ids, part.start
        )

    def counted(self) -> Iterator[tuple[Votes, Labels, NDArray[np.int64]]]:
        """Yield (different rows, their labels, how many items have each)."""
        at = 0
        for votes, labels in self._labelled:
            yield votes, labels, self._count[at : at + len(votes)]
            at += len(votes)
