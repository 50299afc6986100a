"""Blocks built class by class, each time the class that closes most open pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.covers.pruning import prune


def greedy(
    classes: int,
    size: int,
    times: int = 1,
    *,
    counts: ArrayLike | None = None,
    seed: int = 0,
    tries: int = 4,
) -> NDArray[np.int32]:
    """Return blocks of `size` classes that cover every pair `times` times.

    The first class of a block is the one with most open pairs, each further one closes most pairs with the
    block so far. Ties go to the class with few open pairs left, or with many (better when a block holds more
    than about a fifth of the classes), then to chance. Both ways are tried from several seeds, the smallest
    cover is kept.

    Parameters
    ----------
    size
        Classes per block, from 2 to `classes`.
    counts
        How often each pair is covered already (classes x classes); nothing is unless given.
    tries
        Number of runs.

    Returns
    -------
    The new blocks (b x size), without redundant ones. The same seed gives the same blocks.

    >>> len(greedy(7, 3))
    7
    >>> covered = np.ones((5, 5))
    >>> covered[0, 4] = covered[4, 0] = 0
    >>> greedy(5, 3, counts=covered).shape
    (1, 3)
    """
    from covote.covers.random_kernels import chance
    from covote.covers.search.greedy_kernels import extend

    start = np.zeros((classes, classes), np.int16)
    if counts is not None:
        # More than `times` is as good as `times`.
        start[:] = np.minimum(counts, times)
    first = 1 if classes < 5 * size else -1
    state = chance(seed)
    best = extend(start.copy(), size, times, first, classes * classes * times, state)
    for run in range(1, tries):
        # Every fourth run breaks ties the other way round.
        sign = -first if run % 4 == 3 else first
        blocks = extend(start.copy(), size, times, sign, len(best), state)
        if len(blocks) < len(best):
            best = blocks
    return prune(best, classes, times, start.astype(np.int32))
