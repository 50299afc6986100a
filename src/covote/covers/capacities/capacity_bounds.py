"""Proofs that experts of given capacities cannot fill a need.

The need is a symmetric matrix: how many experts must (still) know each pair. The experts who know a class x
of total need D_x must have capacities that, less 1 each, sum to at least D_x. Counting pairs, or the places
that all classes together take (Schonheim), shows that some experts are too few.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound

Ints = NDArray[np.int64]


def refute(need: NDArray[np.int16], sizes: NDArray[np.int32]) -> str | None:
    """Return why experts of these sizes cannot fill the need, or None if counting does not show it.

    >>> need = np.ones((6, 6), dtype=np.int16) - np.eye(6, dtype=np.int16)
    >>> refute(need, np.array([4, 4]))
    'together they can know 12 pairs of classes, and 15 are needed'
    >>> refute(need, np.array([4, 4, 3]))
    'each class must be known by 2 of them, which takes 12 places, and they have 11'
    """
    degrees = need.sum(axis=1, dtype=np.int64)
    needed, known = int(degrees.sum()) // 2, sum(int(c) * (int(c) - 1) // 2 for c in sizes)
    if needed > known:
        return f"together they can know {known} pairs of classes, and {needed} are needed"
    owners, places = fewest_per_class(need, sizes), int(sizes.sum())
    if owners.max(initial=0) > len(sizes):
        x = int(owners.argmax())
        return f"one class must meet {degrees[x]} others, and all of them together know fewer"
    if owners.sum() > places:
        each = (
            f"each class must be known by {owners[0]} of them"
            if len(set(owners.tolist())) == 1
            else (f"the classes must be known by up to {owners.max()} of them each")
        )
        return f"{each}, which takes {owners.sum()} places, and they have {places}"
    largest, uniform = int(sizes.max(initial=0)), _uniform(need)
    if uniform and (bound := best_lower_bound(len(need), largest, uniform))[0] > len(sizes):
        return f"even if all had capacity {largest}, at least {bound[0]} would be needed ({bound[1]} bound)"
    return None


def _uniform(need: NDArray[np.int16]) -> int:
    """Return the need if it is the same for every pair, else 0."""
    most = int(need.max(initial=0))
    return most if np.count_nonzero(need == most) == need.size - len(need) else 0


def fewest_per_class(need: NDArray[np.int16], sizes: NDArray[np.int32]) -> Ints:
    """Return, per class, the fewest of these experts that can serve it; if none can, more than there are."""
    largest_first = np.sort(sizes)[::-1].astype(np.int64) - 1
    reach = np.concatenate([[0], np.cumsum(largest_first)])
    by_degree = np.searchsorted(reach, need.sum(axis=1, dtype=np.int64))
    return np.asarray(np.maximum(by_degree, need.max(axis=1, initial=0)), dtype=np.int64)


def fewest_blocks(need: NDArray[np.int16], sizes: NDArray[np.int32]) -> tuple[int, str]:
    """Return a lower bound on how many of these experts, the largest first, are needed, and its name.

    One more than there are means that all of them are too few. `sizes` must be in descending order.

    >>> need = np.ones((7, 7), dtype=np.int16) - np.eye(7, dtype=np.int16)
    >>> fewest_blocks(need, np.full(9, 3))
    (7, 'Schonheim')
    """
    if not need.any():
        return 0, "counting"
    numbers = range(1, len(sizes) + 1)
    high = 1 + bisect_left(numbers, True, key=lambda n: refute(need, sizes[:n]) is None)
    largest = int(sizes.max(initial=0))
    inside, times = _clique(need)
    if len(inside) >= largest >= 2:
        bound, name = best_lower_bound(len(inside), largest, times)
        if bound >= high:
            return bound, name
    return high, "counting"


def _clique(need: NDArray[np.int16]) -> tuple[list[int], int]:
    """Return a greedily found set of classes of which every two are needed together, and how often."""
    inside: list[int] = []
    for x in np.argsort(-need.astype(bool).sum(axis=1), kind="stable"):
        if need[x, inside].all():
            inside.append(int(x))
    pairs = need[np.ix_(inside, inside)]
    return inside, int(pairs[~np.eye(len(inside), dtype=bool)].min(initial=int(need.max())))
