"""Compiled counting of covered pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel

Ints = NDArray[np.int32]


@kernel(steps=lambda *_: 1 << 40)
def cover_pairs(blocks: Ints, counts: Ints, times: int, left: int) -> tuple[int, int]:
    """Add blocks to the pair counts until no pair has fewer than `times`.

    Only ``counts[x, y]`` with x < y is used, so each block must be sorted. `left` is how many pairs have
    fewer. Returns how many blocks were used, and how many pairs are left.
    """
    for i in range(blocks.shape[0]):
        if left == 0:
            return i, 0
        for a in range(blocks.shape[1]):
            x = blocks[i, a]
            for b in range(a + 1, blocks.shape[1]):
                y = blocks[i, b]
                counts[x, y] += 1
                left -= counts[x, y] == times
    return blocks.shape[0], left
