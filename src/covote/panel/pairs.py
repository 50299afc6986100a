"""How many experts know both classes of a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covote.panel.checks import Name

_CELLS = 1 << 22  # counts of one block
_DENSE = 0.01
"""Share of all pairs that an expert covers on average, above which a matrix product is the faster way."""


def pair_count_blocks(knows: NDArray[np.bool_]) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Yield (k, counts): row i of `counts` says how many experts know k + i and j, for every class j.

    A few rows at a time keep tens of thousands of classes within little memory.

    >>> knows = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    >>> [(k, counts.tolist()) for k, counts in pair_count_blocks(knows)]
    [(0, [[1, 1, 0], [1, 2, 1], [0, 1, 1]])]
    """
    experts, classes = knows.shape
    step = max(1, _CELLS // classes)
    covered = float(np.square(knows.sum(axis=1, dtype=np.float64)).sum())
    count = _by_product if covered > _DENSE * experts * classes**2 else _by_lists
    return count(knows, step)


def _by_product(knows: NDArray[np.bool_], step: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    matrix = knows.astype(np.float32)  # exact, as no pair has 2^24 experts
    for k in range(0, matrix.shape[1], step):
        yield k, (matrix[:, k : k + step].T @ matrix).astype(np.int32)


def _by_lists(knows: NDArray[np.bool_], step: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Touch only what the experts know: of each class, the members of its experts."""
    size, classes = knows.shape
    experts, members = np.nonzero(knows)
    start = np.searchsorted(experts, np.arange(size + 1))
    sizes = np.diff(start)
    by_class = np.argsort(members, kind="stable")
    first = np.searchsorted(members[by_class], np.arange(classes + 1))
    owners = experts[by_class]
    for low in range(0, classes, step):
        counts = np.zeros((min(step, classes - low), classes), dtype=np.int32)
        for row, k in enumerate(range(low, low + len(counts))):
            asked = owners[first[k] : first[k + 1]]
            lengths = sizes[asked]
            # Positions of all members of the asked experts, without a loop over experts.
            ends = np.cumsum(lengths)
            total = int(ends[-1]) if len(ends) else 0
            positions = np.arange(total) + np.repeat(start[asked] - (ends - lengths), lengths)
            counts[row] = np.bincount(members[positions], minlength=classes)
        yield low, counts


def pair_histogram(knows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many pairs of classes have exactly c common experts, for c = 0 to the number of experts.

    >>> pair_histogram(np.array([[1, 1, 0], [0, 1, 1]], dtype=bool))
    array([1, 2, 0])
    """
    twice = np.zeros(len(knows) + 1, dtype=np.int64)  # every pair is there in both orders, k = j as well
    for _, counts in pair_count_blocks(knows):
        twice += np.bincount(counts.ravel(), minlength=len(twice))
    twice -= np.bincount(knows.sum(axis=0), minlength=len(twice))
    return twice // 2


def pairs_below(knows: NDArray[np.bool_], times: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the pairs k < j that fewer than `times` experts know together, in order, some at a time."""
    classes = np.arange(knows.shape[1])
    for first, counts in pair_count_blocks(knows):
        later = classes > np.arange(first, first + len(counts))[:, None]
        k, j = np.nonzero((counts < times) & later)
        yield k + first, j


def pairs_at_risk(knows: NDArray[np.bool_], missing: int) -> NDArray[np.int64]:
    """Return for each expert how many pairs are known by it and by at most `missing` - 1 others.

    >>> pairs_at_risk(np.array([[1, 1, 0], [1, 1, 1]], dtype=bool), 1)
    array([0, 2])
    """
    known = [np.flatnonzero(row) for row in knows]
    twice = np.zeros(len(knows), dtype=np.int64)  # every pair is there in both orders
    for first, counts in pair_count_blocks(knows):
        rare = counts <= missing
        rare[np.arange(len(counts)), np.arange(first, first + len(counts))] = False
        for i, classes in enumerate(known):
            low, high = np.searchsorted(classes, (first, first + len(counts)))
            twice[i] += np.count_nonzero(rare[np.ix_(classes[low:high] - first, classes)])
    return twice // 2


@dataclass(frozen=True)
class Outage:
    """What the loss of some experts does to a panel; true if every pair stays covered.

    Attributes
    ----------
    missing
        How many experts may be lost.
    survives
        Whether every pair is still covered, whoever is lost.
    critical
        The experts that matter, with the number of pairs that are lost if the expert leaves with all the
        others (at most `missing` - 1) that know the pair; most pairs first. With one missing they are
        the single points of failure, and what the outage of each costs.
    """

    missing: int
    survives: bool
    critical: tuple[tuple[Name, int], ...]

    def __bool__(self) -> bool:
        return self.survives
