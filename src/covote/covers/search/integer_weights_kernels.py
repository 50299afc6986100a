"""Sets of experts that meet all of some sets of experts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Masks = NDArray[np.uint64]


@kernel(steps=lambda core, experts, most, found, steps: 10 * min(steps, 1 << experts))
def minimal_hits(core: Masks, experts: int, most: int, found: Masks, steps: int) -> int:
    """Collect the sets of up to `most` experts that meet every set of `core`, and need all of their experts.

    A set is two words (core and found: sets x 2). Returns how many were found; the search ends when `found`
    is full or after so many steps.
    """
    low = np.zeros(most + 1, np.uint64)  # the set so far, per depth
    high = np.zeros(most + 1, np.uint64)
    closed = np.zeros((most + 1, 2), np.uint64)  # experts that other branches have tried
    target = np.zeros(most + 1, np.int64)  # which set of the core is to be met
    at = np.zeros(most + 1, np.int64)  # the next expert to try
    count = depth = 0
    target[0] = _missed(core, np.uint64(0), np.uint64(0))
    for _ in range(steps):
        if target[depth] < 0 and count < len(found) and _needed(core, low[depth], high[depth], experts):
            found[count, 0] = low[depth]
            found[count, 1] = high[depth]
            count += 1
        j = at[depth]
        if target[depth] < 0 or depth == most or j == experts:
            if depth == 0 or count == len(found):
                return count
            depth -= 1
            continue
        at[depth] += 1
        word = j >> 6
        bit = np.uint64(1) << np.uint64(j & 63)
        if core[target[depth], word] & bit == np.uint64(0) or closed[depth, word] & bit != np.uint64(0):
            continue
        closed[depth, word] |= bit
        closed[depth + 1] = closed[depth]
        low[depth + 1] = low[depth] | (bit if word == 0 else np.uint64(0))
        high[depth + 1] = high[depth] | (bit if word == 1 else np.uint64(0))
        depth += 1
        target[depth] = _missed(core, low[depth], high[depth])
        at[depth] = 0
    return count


@helper
def _missed(core: Masks, low: int, high: int) -> int:
    """Return the first set of the core that has none of the given experts, or -1."""
    for i in range(len(core)):
        if (core[i, 0] & low) | (core[i, 1] & high) == np.uint64(0):
            return i
    return -1


@helper
def _needed(core: Masks, low: int, high: int, experts: int) -> bool:
    """Whether every expert is the only one to meet some set of the core."""
    for j in range(experts):
        bit = np.uint64(1) << np.uint64(j & 63)
        one = bit if j < 64 else np.uint64(0)
        two = bit if j >= 64 else np.uint64(0)
        if (low & one) | (high & two) != np.uint64(0) and _missed(core, low & ~one, high & ~two) < 0:
            return False
    return True
