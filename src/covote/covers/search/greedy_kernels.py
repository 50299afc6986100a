"""The loop of :mod:`covote.covers.search.greedy`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below


@helper
def best_class(
    gain: NDArray[np.int32],
    open_pairs: NDArray[np.int32],
    sign: int,
    taken: NDArray[np.bool_],
    state: State,
) -> int:
    """Return the class outside the block with most gain; ties by open pairs times `sign`, then by chance."""
    best = -1
    ties = 0
    for c in range(len(gain)):
        if taken[c]:
            continue
        if best >= 0:
            lead = gain[c] - gain[best]
            if lead == 0:
                lead = sign * (open_pairs[c] - open_pairs[best])
            if lead < 0:
                continue
            if lead == 0:
                ties += 1
                if below(state, ties) != 0:
                    continue
                best = c
                continue
        best = c
        ties = 1
    return best


@kernel(steps=lambda counts, size, times, *_: times * 8 * len(counts) ** 3 // size)
def extend(
    counts: NDArray[np.int16], size: int, times: int, sign: int, limit: int, state: State
) -> NDArray[np.int32]:
    """Add blocks until every pair counts `times` (or `limit` blocks are there); `counts` is updated.

    The first class of a block is the one with most open pairs; each further one closes most pairs with the
    block so far.
    """
    v = counts.shape[0]
    open_pairs = np.zeros(v, np.int32)
    for x in range(v):
        for y in range(v):
            if x != y and counts[x, y] < times:
                open_pairs[x] += 1
    left = open_pairs.sum()
    blocks = np.empty((16, size), np.int32)
    b = 0
    gain = np.zeros(v, np.int32)
    taken = np.zeros(v, np.bool_)
    while left > 0 and b < limit:
        if b == len(blocks):
            blocks = np.concatenate((blocks, np.empty((b, size), np.int32)))
        gain[:] = 0
        taken[:] = False
        for s in range(size):
            c = best_class(gain, open_pairs, 1 if s == 0 else sign, taken, state)
            taken[c] = True
            for t in range(s):
                w = blocks[b, t]
                counts[c, w] += 1
                counts[w, c] += 1
                if counts[c, w] == times:
                    open_pairs[c] -= 1
                    open_pairs[w] -= 1
                    left -= 2
            blocks[b, s] = c
            for w in range(v):
                gain[w] += counts[c, w] < times
        b += 1
    return blocks[:b].copy()
