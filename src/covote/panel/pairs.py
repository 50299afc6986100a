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
    if _is_dense(knows):
        matrix = knows.astype(np.float32)  # exact, as no pair has 2^24 experts
        for k, stop in _blocks(knows):
            yield k, (matrix[:, k:stop].T @ matrix).astype(np.int32)
        return
    met = _Met(knows)
    for low, high in _blocks(knows):
        rows = [np.bincount(met.classes(k)[0], minlength=knows.shape[1]) for k in range(low, high)]
        yield low, np.array(rows, dtype=np.int32)


def _is_dense(knows: NDArray[np.bool_]) -> bool:
    experts, classes = knows.shape
    covered = float(np.square(knows.sum(axis=1, dtype=np.float64)).sum())
    return bool(covered > _DENSE * experts * classes**2)


def _blocks(knows: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    classes = knows.shape[1]
    step = max(1, _CELLS // classes)
    return ((k, min(k + step, classes)) for k in range(0, classes, step))


class _Met:
    """What the experts of a class know: touches only that, where experts know little."""

    def __init__(self, knows: NDArray[np.bool_]) -> None:
        size, classes = knows.shape
        experts, self._members = np.nonzero(knows)
        self._start = np.searchsorted(experts, np.arange(size + 1))
        by_class = np.argsort(self._members, kind="stable")
        self._first = np.searchsorted(self._members[by_class], np.arange(classes + 1))
        self._owners = experts[by_class]

    def classes(self, k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return (classes, experts): what each expert of class k knows, one expert after another."""
        asked = self._owners[self._first[k] : self._first[k + 1]]
        lengths = self._start[asked + 1] - self._start[asked]
        # Positions of all members of the asked experts, without a loop over experts.
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        positions = np.arange(total) + np.repeat(self._start[asked] - (ends - lengths), lengths)
        return self._members[positions], np.repeat(asked, lengths)


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
    twice = np.zeros(len(knows))  # every pair is there in both orders
    if _is_dense(knows):
        matrix = knows.astype(np.float32)
        for first, counts in pair_count_blocks(knows):
            last = first + len(counts)
            rare = (counts <= missing).astype(np.float32)
            rare[np.arange(len(counts)), np.arange(first, last)] = 0
            twice += np.einsum("ek,ek->e", matrix @ rare.T, matrix[:, first:last], dtype=np.float64)
        return (twice / 2).astype(np.int64)
    met = _Met(knows)
    for k in range(knows.shape[1]):
        classes, experts = met.classes(k)
        rare = (np.bincount(classes, minlength=knows.shape[1]) <= missing)[classes] & (classes != k)
        twice += np.bincount(experts[rare], minlength=len(knows))
    return (twice / 2).astype(np.int64)


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
