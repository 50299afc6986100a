"""Count the experts who know both classes of a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.arguments import Name
from covote.panel.layout import Layout

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_CELLS = 1 << 22  # the most counts of one block
_FEW = 200  # classes of which there is nothing to gain
_DENSE = 0.003
"""Share of all pairs that an expert covers on average above which a matrix product is faster: it takes
about 0.02 ns for each cell and expert, and counting takes 8 ns for each pair that an expert covers."""


class _Block(NamedTuple):
    """Counts of the pairs (first + i, first + j); only those with j > i count, each in one block."""

    first: int
    counts: NDArray[np.signedinteger]

    def upper(self) -> NDArray[np.bool_]:
        """Return where j > i."""
        rows, columns = self.counts.shape
        return np.arange(columns) > np.arange(rows)[:, None]


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
        return
    knows = _sparse(layout)
    known_by = knows.T.tocsr()
    for low, high in _rows(layout):
        yield _Block(low, (known_by[low:high] @ knows).toarray()[:, low:])


def _sparse(layout: Layout) -> csc_array:
    """Return who knows what as a sparse matrix (experts x classes) of ones."""
    from scipy.sparse import csc_array

    return csc_array(layout.knows, dtype=np.int32)


def _is_dense(layout: Layout) -> bool:
    experts, classes = layout.knows.shape
    covered = float(np.square(np.diff(layout.known.start).astype(np.float64)).sum())
    return classes <= _FEW or bool(covered > _DENSE * experts * classes**2)


def _product(left: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return left.T @ right, a few experts at a time, since floats take four times the memory of Booleans."""
    counts = np.zeros((left.shape[1], right.shape[1]), dtype=np.float32)  # exact up to 2^24 experts
    step = max(1, _CELLS // right.shape[1])
    for i in range(0, len(left), step):
        counts += left[i : i + step].T.astype(np.float32) @ right[i : i + step].astype(np.float32)
    return counts.astype(np.int32)


def _rows(layout: Layout) -> Iterator[tuple[int, int]]:
    """Yield the classes low..high - 1 of each block."""
    classes = layout.knows.shape[1]
    low = 0
    while low < classes:
        high = max(low + 1, min(low + _CELLS // (classes - low), classes))
        yield low, high
        low = high


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
    weights[~block.upper()] = 0
    return weights


def pairs_below(layout: Layout, times: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the pairs k < j that fewer than `times` experts know, in order, some at a time."""
    for block in pair_count_blocks(layout):
        k, j = np.nonzero((block.counts < times) & block.upper())
        yield k + block.first, j + block.first


def pairs_at_risk(layout: Layout, missing: int) -> NDArray[np.int64]:
    """Return for each expert the number of its pairs that at most `missing` - 1 others know.

    >>> pairs_at_risk(Layout(np.array([[1, 1, 0], [1, 1, 1]], dtype=bool)), 1)
    array([0, 2])
    """
    layout, sizes = layout.groups
    alone = (layout.knows.sum(axis=0) <= missing) * (sizes * (sizes - 1) // 2)
    risk: NDArray[np.float64] = layout.knows @ alone.astype(np.float64)  # pairs inside a group
    dense = _is_dense(layout)
    knows: Any = layout.knows.astype(np.float64) if dense else _sparse(layout)
    for low, counts in pair_count_blocks(layout):
        k, j = np.nonzero((counts > 0) & (counts <= missing))
        k, j = k[j > k], j[j > k]
        if not len(k):
            continue
        pairs = sizes[low + k] * sizes[low + j]
        rows, columns = knows[:, low : low + len(counts)], knows[:, low:]
        if not dense:
            rare = type(knows)((pairs, (k, j)), shape=counts.shape)
            risk += (rows @ rare).multiply(columns).sum(axis=1)
            continue
        rare = np.zeros(counts.shape)
        rare[k, j] = pairs
        step = max(1, _CELLS // counts.shape[1])
        for i in range(0, len(risk), step):
            risk[i : i + step] += (rows[i : i + step] @ rare * columns[i : i + step]).sum(axis=1)
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
