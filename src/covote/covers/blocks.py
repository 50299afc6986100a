"""Blocks of class indices, which every construction returns, and operations on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Blocks = NDArray[np.int32]

CHUNK = 1 << 22
"""Pairs to process at once; bounds the memory in addition to the pair counts."""

OWN = 16_000
"""The slack of a class with itself: always covered, never critical."""


class Cover(NamedTuple):
    """Blocks (experts x size, int32) of the classes 0..v-1, and the construction in words.

    While a cover is being built, -1 marks a free place.
    """

    blocks: Blocks
    construction: str


class UnequalBlocks(NamedTuple):
    """The class indices of each expert, in possibly unequal numbers, and the construction in words."""

    blocks: Sequence[Blocks]
    construction: str


def padded(blocks: Sequence[Blocks], size: int) -> Blocks:
    """Stack blocks of up to `size` classes; -1 marks free places."""
    stacked = np.full((len(blocks), size), -1, dtype=np.int32)
    for row, block in zip(stacked, blocks, strict=True):
        row[: len(block)] = block
    return stacked


def widened(blocks: Blocks, size: int) -> Blocks:
    """Add free places to every block until it has `size` places."""
    room = np.full((len(blocks), size - blocks.shape[1]), -1, dtype=np.int32)
    return np.hstack([blocks, room])


def relabelled(blocks: Blocks, classes: NDArray[np.int32]) -> Blocks:
    """Replace index i by classes[i]; free places stay free."""
    return np.where(blocks < 0, np.int32(-1), classes[blocks])


def without_room(blocks: Blocks, classes: int) -> Blocks:
    """Fill all free places with classes, in turn, and drop blocks of fewer than two classes.

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
    """Let every point of a cover stand for `times` classes, and the last point for fewer if necessary."""
    points = -(-classes // times)
    copies = np.hstack([np.where(cover.blocks < 0, -1, cover.blocks + i * points) for i in range(times)])
    blocks = np.where(copies >= classes, -1, copies).astype(np.int32)
    return Cover(widened(blocks, size), f"{cover.construction}, each point {times} classes")


def linking_experts(classes: int, known: int, size: int) -> int:
    """Return how many experts link further classes to the `known` ones, which have a cover."""
    hub = classes - known
    return 0 if hub <= 0 else -(-known // (size - hub)) if hub < size else 1 << 29


def resized(cover: Cover, classes: int, size: int) -> Cover:
    """Drop classes from a cover, or link a few more classes to all of its classes."""
    known = int(cover.blocks.max()) + 1
    if known >= classes:
        blocks = np.where(cover.blocks >= classes, np.int32(-1), cover.blocks)
        less = known - classes
        words = f" without {less} class{'es' * (less > 1)}" if less else ""
        return Cover(blocks, cover.construction + words)
    hub = np.arange(known, classes, dtype=np.int32)
    parts = np.array_split(np.arange(known, dtype=np.int32), linking_experts(classes, known, size))
    spokes = padded([np.concatenate([hub, part]) for part in parts], size)
    blocks = np.vstack([cover.blocks, spokes])
    return Cover(blocks, f"{cover.construction}, and {len(parts)} that link {len(hub)} more to them")


def pair_counts(blocks: ArrayLike, classes: int) -> NDArray[np.int32]:
    """Return how many blocks hold both classes of each pair (classes x classes); the diagonal is 0.

    >>> pair_counts([[0, 1, 2], [0, 1, 3]], 4)[0]
    array([0, 2, 1, 1], dtype=int32)
    """
    rows = np.array(blocks, dtype=np.int32, ndmin=2)
    counts = np.zeros(classes * classes, dtype=np.int32)
    if rows.size:
        for codes in _pair_codes(rows, classes):
            np.add.at(counts, codes.ravel(), 1)
    square = counts.reshape(classes, classes)
    square += square.T.copy()
    return square


def uniform_need(classes: int, times: int = 1) -> NDArray[np.int16]:
    """Return the need of a cover (classes x classes): every pair must lie in `times` blocks."""
    need = np.full((classes, classes), times, dtype=np.int16)
    np.fill_diagonal(need, 0)
    return need


def slack_of(need: NDArray[np.integer], blocks: Blocks) -> NDArray[np.int16]:
    """Return how many of the blocks, which may have free places, hold each pair, minus how many should."""
    classes = len(need)
    held = pair_counts(np.where(blocks < 0, classes, blocks), classes + 1)[:classes, :classes]
    slack = (held - need).astype(np.int16)
    np.fill_diagonal(slack, OWN)
    return slack


def _pair_codes(rows: NDArray[np.int32], classes: int) -> Iterator[NDArray[np.int64]]:
    """Yield the pairs of each block as x * classes + y, with x left of y, for some blocks at a time."""
    left, right = np.triu_indices(rows.shape[1], 1)
    step = max(1, CHUNK // max(1, len(left)))
    for at in range(0, len(rows), step):
        part = rows[at : at + step].astype(np.int64)
        yield part[:, left] * classes + part[:, right]


def prune(
    blocks: ArrayLike, classes: int, times: int = 1, covered: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Drop blocks whose pairs are all covered often enough without them, or by others (`covered`).

    Of several redundant blocks, the one whose pairs keep the most cover is dropped first: it is the least
    likely to make another one indispensable. Pairs that the blocks do not cover `times` times are ignored.

    >>> prune([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3], [0, 1, 2]], 4).tolist()
    [[0, 2, 3], [1, 2, 3], [0, 1, 2]]
    """
    rows = np.array(blocks, dtype=np.int32, ndmin=2)
    if rows.size == 0 or rows.shape[1] < 2:
        return rows
    counts = pair_counts(rows, classes)
    if covered is not None:
        counts += covered
    left, right = np.triu_indices(rows.shape[1], 1)
    spare = _redundant(rows, counts, times)
    gone: list[int] = []
    while len(spare):
        cover = counts[rows[spare][:, left], rows[spare][:, right]] - times
        free = (cover > 0).all(axis=1)
        spare, cover = spare[free], cover[free]
        if len(spare) == 0:
            break
        # Prefer the block that makes the fewest pairs critical, and the earliest one on ties.
        first = int((cover == 1).sum(axis=1).argmin())
        row = rows[spare[first]]
        gone.append(int(spare[first]))
        spare = np.delete(spare, first)
        counts[np.ix_(row, row)] -= 1
    return np.delete(rows, gone, axis=0)


def _redundant(rows: NDArray[np.int32], counts: NDArray[np.int32], times: int) -> NDArray[np.intp]:
    """Return the blocks that are redundant, each taken alone."""
    flat = counts.ravel()
    parts = [(flat[codes] > times).all(axis=1) for codes in _pair_codes(rows, len(counts))]
    return np.flatnonzero(np.concatenate(parts))


def without_least_needed(blocks: Blocks, need: NDArray[np.integer]) -> Blocks:
    """Drop the block without which the fewest pairs fall short of their need, the first one on ties.

    >>> without_least_needed(np.array([[0, 1, 2], [0, 1, 3], [2, 3, 0]]), np.ones((4, 4))).tolist()
    [[0, 1, 3], [2, 3, 0]]
    """
    slack = np.pad(slack_of(need, blocks), (0, 1), constant_values=OWN)  # free places (-1) are not critical
    left, right = np.triu_indices(blocks.shape[1], 1)
    critical = (slack[blocks[:, left], blocks[:, right]] <= 0).sum(axis=1)
    return np.delete(blocks, int(critical.argmin()), axis=0)


def prune_many(blocks: NDArray[np.int32], classes: int) -> NDArray[np.int32]:
    """Like :func:`prune`, for covers too large for a table of all pairs: drop the earliest blocks first.

    The pairs of one class are counted at a time, which proves that some of its blocks are needed. That stays
    true when other blocks are dropped, so in a tight cover a few classes prove that all blocks are needed.

    >>> prune_many(np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3], [0, 1, 2]]), 4).tolist()
    [[0, 2, 3], [1, 2, 3], [0, 1, 2]]
    """
    size = blocks.shape[1]
    spare = len(blocks) * size * (size - 1) - classes * (classes - 1)
    if spare < size * (size - 1):
        return blocks
    by_class = np.argsort(blocks.ravel(), kind="stable") // size
    ends = np.cumsum(np.bincount(blocks.ravel(), minlength=classes))
    owners = np.split(by_class, ends[:-1])
    remaining = np.ones(len(blocks), dtype=bool)
    needed = np.zeros(len(blocks), dtype=bool)
    for i, block in enumerate(blocks):
        for x in block:
            if needed[i]:
                break
            mine = owners[x] = owners[x][remaining[owners[x]]]
            rare = np.bincount(blocks[mine].ravel(), minlength=classes) <= 1
            rare[x] = False
            needed[mine] |= rare[blocks[mine]].any(axis=1)
        remaining[i] = needed[i]
    return blocks[remaining]
