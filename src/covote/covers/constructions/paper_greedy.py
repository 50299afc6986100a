"""The paper's greedy set cover over all possible experts."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError, TooLargeError

CANDIDATES = 10_000_000
"""The most candidate experts, C(classes, size), that the paper's greedy cover looks through."""


def paper_cover(classes: int, size: int, times: int = 1) -> tuple[list[NDArray[np.int32]], str]:
    """Return the paper's greedy cover, as class indices per expert, and how it was built.

    Of all C(classes, size) possible experts the first in lexicographic order that covers most uncovered
    pairs joins the panel, until every pair is covered `times` times.

    Paper: the greedy set cover; within a factor H(C(R, 2)) of the smallest cover.

    >>> blocks, how = paper_cover(5, 3)
    >>> [[int(k) + 1 for k in block] for block in blocks]
    [[1, 2, 3], [1, 4, 5], [2, 3, 4], [2, 3, 5]]
    """
    if not 2 <= size <= classes:
        raise InputError(f"size {size} for {classes} classes; give a size from 2 to {classes}")
    if times < 1:
        raise InputError(f"times={times}; every pair must be known by at least 1 expert")
    candidates = comb(classes, size)
    if candidates > CANDIDATES:
        raise TooLargeError(
            f"method 'paper' looks through all {candidates:,} possible experts of {size} out of {classes} "
            f'classes, and stops at {CANDIDATES:,}; use method="auto", which finds smaller panels faster'
        )
    from covote.covers.constructions.paper_greedy_kernels import greedy_sweeps

    blocks = greedy_sweeps(classes, size, times)
    how = "the paper's greedy set cover, first best in lexicographic order"
    return list(blocks), how
