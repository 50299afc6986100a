"""Panels of random experts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.covers.blocks import UnequalBlocks
from covote.errors import InputError

CHUNK = 2**21
"""How many class indices to draw at a time."""


def random_panel(
    classes: int, size: int, times: int = 1, experts: int | None = None, seed: int = 0
) -> UnequalBlocks:
    """Return independent, uniformly random experts.

    By default they are drawn until every pair of classes is covered `times` times; a given number of
    `experts` need not cover.

    Paper: Thm 3 (how many of them cover with probability 1 - delta).

    >>> blocks, how = random_panel(10, 4, experts=3, seed=1)
    >>> [len(block) for block in blocks], how
    ([4, 4, 4], '3 random experts')
    """
    if not 2 <= size <= classes:
        raise InputError(f"size {size} for {classes} classes; give a size from 2 to {classes}")
    if times < 1:
        raise InputError(f"redundancy={times}; every pair must be known by at least 1 expert")
    if experts is not None and experts < 1:
        raise InputError(f"experts={experts}; a panel needs at least 1 expert")
    rng = np.random.default_rng(seed)
    if experts is not None:
        return UnequalBlocks(list(random_blocks(rng, experts, classes, size)), f"{experts} random experts")
    return UnequalBlocks(list(_until_covered(rng, classes, size, times)), "random experts, until they cover")


def random_blocks(rng: np.random.Generator, experts: int, classes: int, size: int) -> NDArray[np.int32]:
    """Draw uniformly random subsets of equal size, each sorted (Floyd's method, all experts at once)."""
    if 2 * size > classes and size < classes:
        left_out = random_blocks(rng, experts, classes, classes - size)
        known = np.ones((experts, classes), dtype=bool)
        np.put_along_axis(known, left_out, False, axis=1)
        return np.nonzero(known)[1].astype(np.int32).reshape(experts, size)
    blocks = np.empty((experts, size), dtype=np.int32)
    for column, largest in enumerate(range(classes - size, classes)):
        drawn = rng.integers(0, largest + 1, size=experts, dtype=np.int32)
        taken = (blocks[:, :column] == drawn[:, None]).any(axis=1)
        blocks[:, column] = np.where(taken, largest, drawn)
    blocks.sort(axis=1)
    return blocks


def _until_covered(rng: np.random.Generator, classes: int, size: int, times: int) -> NDArray[np.int32]:
    counts = np.zeros((classes, classes), dtype=np.int32)
    left = classes * (classes - 1) // 2
    parts: list[NDArray[np.int32]] = []
    while left:
        part = random_blocks(rng, max(1, CHUNK // classes), classes, size)
        used, left = cover_pairs(part, counts, times, left)
        parts.append(part[:used])
    return np.concatenate(parts)


@kernel(steps=lambda blocks, *_: blocks.size * blocks.shape[1])
def cover_pairs(
    blocks: NDArray[np.int32], counts: NDArray[np.int32], times: int, left: int
) -> tuple[int, int]:
    """Add blocks to the pair counts until no pair has fewer than `times`.

    Only ``counts[x, y]`` with x < y is used, so each block must be sorted. `left` is the number of pairs that
    have fewer. Returns the number of blocks used, and the number of pairs left.
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
