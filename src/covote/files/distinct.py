"""Labels of the different rows of answers in a file, each worked out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.files.packed import MOST, Packed, Rows, unpacked
from covote.labels import Labels, joined
from covote.votes import Votes

Score = Callable[[Votes], Labels]


class DistinctRows:
    """Labels by row of answers, worked out when a row first comes.

    Nine experts of four classes answer millions of items with some ten thousand different rows. Files in
    which most rows differ are labelled item by item.

    Parameters
    ----------
    rows
        None yet; or all that there are, with how many items have each.
    score
        How rows are labelled.
    """

    def __init__(self, rows: Rows, score: Score) -> None:
        self.rows = rows
        self._score = score
        self._given = rows.count if len(rows) else None
        self._items = 0
        self._labelled: list[tuple[Votes, Labels]] = []
        self._known = 0
        self._count = np.zeros(0, np.int64)
        self._labels: Labels | None = None

    def __reduce__(self) -> Any:
        return DistinctRows, (self.rows, self._score)  # labels are worked out again faster than they travel

    def labels(self, part: Packed) -> Labels | None:
        """Return the labels of a part, or None if it should be labelled item by item."""
        # Those of this part may be numbered already; they are labelled whatever they are.
        if self._known > MOST or 2 * self._known > self._items + 2 * MOST:
            return None
        which = self.rows.numbers(part)
        self._items += len(part)
        self._learn()
        if self._given is None:
            self._count = np.bincount(which, minlength=self._known) + np.pad(
                self._count, (0, self._known - len(self._count))
            )
        return self._spread(part, which)

    def _learn(self) -> None:
        """Label the rows that are new."""
        if len(self.rows) == self._known:
            return
        votes = unpacked(self.rows.panel, self.rows.keys[self._known : len(self.rows)])
        labels = self._score(votes)
        self._known += len(votes)
        self._labelled.append((votes, labels))
        self._labels = labels if self._labels is None else joined([self._labels, labels])

    def _spread(self, part: Packed, which: NDArray[np.int32]) -> Labels:
        assert self._labels is not None
        return self._labels.take(which, part.ids)

    def counted(self) -> Iterator[tuple[Votes, Labels, NDArray[np.int64]]]:
        """Yield (different rows, their labels, how many items have each)."""
        self._learn()
        count = self._count if self._given is None else self._given
        at = 0
        for votes, labels in self._labelled:
            yield votes, labels, count[at : at + len(votes)]
            at += len(votes)
