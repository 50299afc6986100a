"""Answer rows, each different one once.

With few experts many items get the same answers, and items with the same answers are the same to every
decoder. Estimation then works on the different rows and how often each occurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from covote.decoding import rows_kernels
from covote.decoding.shares import ragged_parts
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import Ragged, Votes

Array = NDArray[Any]


@dataclass(frozen=True)
class Patterns:
    """Different answer rows.

    Attributes
    ----------
    runs
        The answers.
    cell
        Each answer as one number: which expert gave which answer (see `Layout.cells`).
    count
        How many items have these answers.
    inverse
        The pattern of every item; None if every item is its own pattern.
    """

    runs: Ragged
    cell: NDArray[np.int64]
    count: NDArray[np.int64]
    inverse: NDArray[np.int32] | None

    def __len__(self) -> int:
        return len(self.count)

    def spread(self, labels: Labels) -> Labels:
        """Return the labels of the items from those of the patterns."""
        return labels if self.inverse is None else labels.take(self.inverse)

    def spread_values(self, values: Array) -> Array:
        """Return one value per item from one value per pattern."""
        return values if self.inverse is None else values[self.inverse]

    def count_without(self, rows: Array) -> NDArray[np.int64]:
        """Return the counts when some items are left out."""
        which = rows if self.inverse is None else self.inverse[rows]
        return self.count - np.bincount(which, minlength=len(self.count))


_found: WeakKeyDictionary[Votes, Patterns] = WeakKeyDictionary()


def pattern_parts(votes: Votes) -> Iterator[tuple[Patterns, slice]]:
    """Yield (patterns, which items they are of).

    Where a row of answers fits into 64 bits, equal rows are found, once per votes object; else every item is
    its own pattern, and the votes come in slices so that little memory is needed.
    """
    if (len(votes.panel.classes) + 2) ** len(votes.panel) < 2**63:
        patterns = _found.get(votes)
        if patterns is None:
            patterns = _distinct(votes)
            _found[votes] = patterns
        yield patterns, slice(0, len(votes))
        return
    for runs, span in ragged_parts(votes):
        yield each_item(runs, votes.panel), span


def with_counts(votes: Votes, count: NDArray[np.int64]) -> Votes:
    """Let rows of answers, all different, stand for `count` items each when statistics are taken of them."""
    _found[votes] = replace(each_item(votes.ragged, votes.panel), count=count)
    return votes


def _distinct(votes: Votes) -> Patterns:
    dense = votes.to_dense()
    assert dense.columns is not None
    keys = rows_kernels.packed(dense.columns, dense.start, dense.stop, len(votes.panel.classes) + 2)
    first, count, inverse = rows_kernels.distinct(keys)
    del keys
    rows = dense.subset(first)
    return replace(each_item(rows.ragged, votes.panel), count=count, inverse=inverse)


def each_item(runs: Ragged, panel: Panel) -> Patterns:
    """Return every item as a pattern of its own."""
    begin, end = int(runs.indptr[0]), int(runs.indptr[-1])
    expert, label = runs.expert[begin:end], runs.label[begin:end]
    cell = np.empty(end - begin, dtype=np.int64)
    rows_kernels.find_cells(expert, label, *panel.layout.known, len(panel.classes), cell)
    count = np.ones(len(runs.indptr) - 1, dtype=np.int64)
    return Patterns(Ragged(runs.indptr - begin, expert, label), cell, count, None)
