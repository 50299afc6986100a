"""What every construction returns: blocks of class indices, and in words how they were built."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Blocks = NDArray[np.int32]


class Cover(NamedTuple):
    """Blocks (experts x size, int32) of the classes 0..v-1, and the construction in words.

    While a cover is being built, -1 marks room that no class has taken yet.
    """

    blocks: Blocks
    construction: str


def padded(blocks: list[NDArray[np.int32]], size: int) -> Blocks:
    """Stack blocks of up to `size` classes; -1 marks the room that is left."""
    stacked = np.full((len(blocks), size), -1, dtype=np.int32)
    for row, block in zip(stacked, blocks, strict=True):
        row[: len(block)] = block
    return stacked


def widened(blocks: Blocks, size: int) -> Blocks:
    """Add room to every block until it has `size` places."""
    room = np.full((len(blocks), size - blocks.shape[1]), -1, dtype=np.int32)
    return np.hstack([blocks, room])


def relabelled(blocks: Blocks, classes: NDArray[np.int32]) -> Blocks:
    """Replace index i by classes[i]; room stays room."""
    return np.where(blocks < 0, np.int32(-1), classes[blocks])


def without_room(blocks: Blocks, classes: int) -> Blocks:
    """Give all room to classes, in turn, so that every block is full; blocks of fewer than two classes go.

    >>> without_room(np.array([[0, 1, -1], [2, -1, -1]], dtype=np.int32), 4)
    array([[0, 1, 2]], dtype=int32)
    """
    filled: Blocks = blocks[(blocks >= 0).sum(axis=1) > 1]
    following = 0
    for row in filled:
        for slot in np.flatnonzero(row < 0):
            known = set(row.tolist())
            while following in known:
                following = (following + 1) % classes
            row[slot] = following
    return filled


def multiplied(cover: Cover, times: int, classes: int, size: int) -> Cover:
    """Let every point of a cover stand for `times` classes; the last point for fewer, if need be."""
    points = -(-classes // times)
    copies = np.hstack([np.where(cover.blocks < 0, -1, cover.blocks + i * points) for i in range(times)])
    blocks = np.where(copies >= classes, -1, copies).astype(np.int32)
    return Cover(widened(blocks, size), f"{cover.construction}, each point {times} classes")


def linking(classes: int, known: int, size: int) -> int:
    """Return how many experts link the classes beyond the `known` ones, of which a cover exists."""
    hub = classes - known
    return 0 if hub <= 0 else -(-known // (size - hub)) if hub < size else 1 << 29


def resized(cover: Cover, classes: int, size: int) -> Cover:
    """Drop classes from a cover, or link a few more to all that it has."""
    known = int(cover.blocks.max()) + 1
    if known >= classes:
        blocks = np.where(cover.blocks >= classes, np.int32(-1), cover.blocks)
        less = known - classes
        words = f" without {less} class{'es' * (less > 1)}" if less else ""
        return Cover(blocks, cover.construction + words)
    hub = np.arange(known, classes, dtype=np.int32)
    parts = np.array_split(np.arange(known, dtype=np.int32), linking(classes, known, size))
    spokes = padded([np.concatenate([hub, part]) for part in parts], size)
    blocks = np.vstack([cover.blocks, spokes])
    return Cover(blocks, f"{cover.construction}, and {len(parts)} that link {len(hub)} more to them")
