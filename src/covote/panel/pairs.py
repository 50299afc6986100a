"""Count the experts who know both classes of a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.arguments import Name
from covote.panel.layout import Layout

_CELLS = 1 << 22  # the most counts of one block, and the most pairs to count for it
_DENSE = 0.003
"""Share of all pairs that an expert covers on average above which a matrix product is faster: it takes
about 0.02 ns for each cell and expert, and counting takes 8 ns for each pair that an expert covers."""


class _Block(NamedTuple):
    """Counts of the pairs (first + i, first + j); only those with j > i count, each in one block."""

    first: int
    counts: NDArray[np.signedinteger]

    def later(self) -> NDArray[np.bool_]:
        """Return where j > i."""
        rows, columns = self.counts.shape
        return np.arange(columns) > np.arange(rows)[:, None]


class _Runs(NamedTuple):
    """The later classes that an expert knows together with a class of a block, one run after another.

    Class `codes % width` of a block with `width` columns is known with its row ``codes // width``; the
    n-th run is ``codes[ends[n] - lengths[n]:ends[n]]`` and belongs to ``experts[n]``.
    """

    experts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ends: NDArray[np.int64]
    codes: NDArray[np.int64]


def pair_count_blocks(layout: Layout) -> Iterator[_Block]:
    """Yield how many experts know both classes of each pair, for a few classes at a time.

    So even tens of thousands of classes need little memory.

    >>> knows = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    >>> [np.triu(block.counts, 1).tolist() for block in pair_count_blocks(Layout(knows))]
    [[[0, 1, 0], [0, 0, 1], [0, 0, 0]]]
    """
    if _is_dense(layout):
        for low, high in _rows(layout):
            yield _Block(low, _product(layout.knows[:, low:high], layout.knows[:, low:]))
    else:
        for low, high in _rows(layout, layout.later):
            yield _counted(layout, low, high, _runs(layout, low, high))


def _is_dense(layout: Layout) -> bool:
    experts, classes = layout.knows.shape
    covered = float(np.square(np.diff(layout.known.start).astype(np.float64)).sum())
    return bool(covered > _DENSE * experts * classes**2)


def _product(left: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return left.T @ right, a few experts at a time, since floats take four times the memory of Booleans."""
    counts = np.zeros((left.shape[1], right.shape[1]), dtype=np.float32)  # exact up to 2^24 experts
    step = max(1, _CELLS // right.shape[1])
    for i in range(0, len(left), step):
        counts += left[i : i + step].T.astype(np.float32) @ right[i : i + step].astype(np.float32)
    return counts.astype(np.int32)


def _rows(layout: Layout, pairs: NDArray[np.int64] | None = None) -> Iterator[tuple[int, int]]:
    """Yield the classes low..high - 1 of each block; `pairs` is the number of pairs to count per class."""
    classes = layout.knows.shape[1]
    before = np.concatenate([[0], np.cumsum(np.zeros(classes) if pairs is None else pairs)])
    low = 0
    while low < classes:
        few = int(np.searchsorted(before, before[low] + _CELLS, side="right")) - 1
        high = max(low + 1, min(low + _CELLS // (classes - low), few, classes))
        yield low, high
        low = high


def _runs(layout: Layout, low: int, high: int) -> _Runs:
    start, members = layout.known
    first, place = layout.places
    here = place[first[low] : first[high]]  # where the experts' lists have one of the classes
    experts = layout.owner[here]
    lengths = start[experts + 1] - here - 1
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    row = (members[here] - low) * (layout.knows.shape[1] - low) - low
    # One row of positions for all runs, without a loop over them.
    position = np.arange(total) + np.repeat(here + 1 - (ends - lengths), lengths)
    return _Runs(experts, lengths, ends, members[position] + np.repeat(row, lengths))


def _counted(layout: Layout, low: int, high: int, runs: _Runs) -> _Block:
    width = layout.knows.shape[1] - low
    counts = np.bincount(runs.codes, minlength=(high - low) * width)
    return _Block(low, counts.reshape(high - low, width))


def pair_histogram(layout: Layout) -> NDArray[np.int64]:
    """Return how many pairs of classes have exactly c common experts, for c = 0 to the number of experts.

    >>> pair_histogram(Layout(np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)))
    array([1, 2, 0])
    """
    few, sizes = layout.groups
    pairs = np.zeros(len(layout.knows) + 1, dtype=np.int64)
    for block in pair_count_blocks(few):
        if few is layout:
            pairs += np.bincount(block.counts.ravel(), minlength=len(pairs))
            square = block.counts[:, : len(block.counts)]
            pairs -= np.bincount(square[np.tril_indices(len(square))], minlength=len(pairs))
        else:
            weights = _weights(block, sizes).ravel()  # whole numbers, exact up to 2^53
            pairs += np.bincount(block.counts.ravel(), weights, len(pairs)).astype(np.int64)
    inside = sizes * (sizes - 1) // 2
    pairs += np.bincount(few.knows.sum(axis=0), inside, len(pairs)).astype(np.int64)
    return pairs


def _weights(block: _Block, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many pairs of classes each count of a block of groups stands for."""
    rows, columns = block.counts.shape
    here = sizes[block.first : block.first + columns].astype(np.float64)
    weights: NDArray[np.float64] = here[:rows, None] * here
    weights[~block.later()] = 0
    return weights


def pairs_below(layout: Layout, times: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the pairs k < j that fewer than `times` experts know, in order, some at a time."""
    for block in pair_count_blocks(layout):
        k, j = np.nonzero((block.counts < times) & block.later())
        yield k + block.first, j + block.first


def pairs_at_risk(layout: Layout, missing: int) -> NDArray[np.int64]:
    """Return for each expert the number of its pairs that at most `missing` - 1 others know.

    >>> pairs_at_risk(Layout(np.array([[1, 1, 0], [1, 1, 1]], dtype=bool)), 1)
    array([0, 2])
    """
    layout, sizes = layout.groups
    alone = (layout.knows.sum(axis=0) <= missing) * (sizes * (sizes - 1) // 2)
    risk: NDArray[np.float64] = layout.knows @ alone.astype(np.float64)  # pairs inside a group
    if _is_dense(layout):
        for block in pair_count_blocks(layout):
            few = ((block.counts <= missing) * _weights(block, sizes)).T
            low, high = block.first, block.first + few.shape[1]
            step = max(1, _CELLS // len(few))
            for i in range(0, len(risk), step):
                some = layout.knows[i : i + step, low:].astype(np.float64)
                risk[i : i + step] += np.einsum("ek,ek->e", some @ few, some[:, : high - low])
        return risk.astype(np.int64)
    for low, high in _rows(layout, layout.later):
        runs = _runs(layout, low, high)
        rare = _counted(layout, low, high, runs).counts.ravel()[runs.codes] <= missing
        row, column = np.divmod(runs.codes, layout.knows.shape[1] - low)
        before = np.concatenate([[0], np.cumsum(rare * sizes[low + row] * sizes[low + column])])
        found = before[runs.ends] - before[runs.ends - runs.lengths]
        risk += np.bincount(runs.experts, found, minlength=len(risk))
    return risk.astype(np.int64)


@dataclass(frozen=True)
class Outage:
    """The effect of losing some experts; true if every pair stays covered.

    Attributes
    ----------
    missing
        How many experts may be lost.
    survives
        Whether every pair stays covered, whichever experts are lost.
    critical
        The critical experts, each with the number of pairs that are lost if it leaves together with all other
        experts who know the pair (at most `missing` - 1); most pairs first. If one expert may be lost, these
        are the single points of failure, with the cost of each outage.
    """

    missing: int
    survives: bool
    critical: tuple[tuple[Name, int], ...]

    def __bool__(self) -> bool:
        return self.survives
