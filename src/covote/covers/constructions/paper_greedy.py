"""The paper's greedy set cover over all possible experts."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound
from covote.covers.blocks import UnequalBlocks
from covote.errors import InputError, TooLargeError

CELLS = 100_000_000
"""The largest table of the pairs of all possible experts: a million experts of up to 14 classes."""

LOOKS = 4_000_000_000
"""The most looks at a pair, over all choices of an expert; about ten seconds."""


def paper_cover(classes: int, size: int, times: int = 1) -> UnequalBlocks:
    """Return the paper's greedy cover.

    Of all C(classes, size) possible experts, the first one in lexicographic order that covers the most
    uncovered pairs joins the panel, until every pair is covered `times` times.

    Paper: the greedy set cover; within a factor H(C(R, 2)) of the smallest cover.

    >>> blocks, how = paper_cover(5, 3)
    >>> [[int(k) + 1 for k in block] for block in blocks]
    [[1, 2, 3], [1, 4, 5], [2, 3, 4], [2, 3, 5]]
    """
    if not 2 <= size <= classes:
        raise InputError(f"size {size} for {classes} classes; give a size from 2 to {classes}")
    if times < 1:
        raise InputError(f"redundancy={times}; every pair must be known by at least 1 expert")
    _check_work(classes, size, times)
    return UnequalBlocks(
        list(_greedy(classes, size, times)), "the paper's greedy set cover, first best in lexicographic order"
    )


def _greedy(classes: int, size: int, times: int) -> NDArray[np.int32]:
    members = chain.from_iterable(combinations(range(classes), size))
    experts = np.fromiter(members, dtype=np.int32).reshape(-1, size)  # all of them, in lexicographic order
    left, right = np.triu_indices(size, 1)
    pairs = experts[:, left] * classes + experts[:, right]  # the pairs that each of them knows
    need = np.full(classes * classes, times)
    chosen: list[int] = []
    while True:
        gain = np.count_nonzero((need > 0)[pairs], axis=1)  # uncovered pairs of each expert
        best = int(gain.argmax())  # the first of the best
        if gain[best] == 0:
            return experts[chosen]
        chosen.append(best)
        need[pairs[best]] -= 1


def _check_work(classes: int, size: int, times: int) -> None:
    """Reject a case whose table would not fit into memory, or whose choices would take minutes."""
    candidates = comb(classes, size)
    cells = candidates * comb(size, 2)
    choices, _ = best_lower_bound(classes, size, times)
    if cells > CELLS or cells * choices > LOOKS:
        raise TooLargeError(
            f"method 'paper' looks through all {candidates:,} possible experts of {size} out of {classes} "
            f"classes for each of at least {choices:,} experts it chooses, which is too much; use "
            'method="auto", which finds smaller panels faster'
        )
