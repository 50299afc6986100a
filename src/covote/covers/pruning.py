"""Blocks that a cover can do without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

CHUNK = 1 << 22
"""Pairs that are looked at together; bounds the memory beside the pair counts."""


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


def _pair_codes(rows: NDArray[np.int32], classes: int) -> Iterator[NDArray[np.int64]]:
    """Yield the pairs of each block as x * classes + y, with x left of y, a part of the blocks at a time."""
    left, right = np.triu_indices(rows.shape[1], 1)
    step = max(1, CHUNK // max(1, len(left)))
    for at in range(0, len(rows), step):
        part = rows[at : at + step].astype(np.int64)
        yield part[:, left] * classes + part[:, right]


def prune(
    blocks: ArrayLike, classes: int, times: int = 1, covered: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Drop blocks whose pairs are all covered often enough without them, or by others (`covered`).

    Among several that could go, the one goes first whose pairs would be left with most cover: it is the least
    likely to make another one indispensable. Pairs that the blocks do not cover `times` times are left as
    they are.

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
        # Few pairs that become critical first; the earliest block on ties.
        first = int((cover == 1).sum(axis=1).argmin())
        row = rows[spare[first]]
        gone.append(int(spare[first]))
        spare = np.delete(spare, first)
        counts[np.ix_(row, row)] -= 1
    return np.delete(rows, gone, axis=0)


def _redundant(rows: NDArray[np.int32], counts: NDArray[np.int32], times: int) -> NDArray[np.intp]:
    """Return the blocks of which each one alone could go."""
    flat = counts.ravel()
    parts = [(flat[codes] > times).all(axis=1) for codes in _pair_codes(rows, len(counts))]
    return np.flatnonzero(np.concatenate(parts))


def without_least_needed(
    blocks: NDArray[np.int32], classes: int, times: int = 1, *, last: bool = False
) -> NDArray[np.int32]:
    """Drop the block without which fewest pairs are short of cover; the first (or last) where several are.

    >>> without_least_needed(np.array([[0, 1, 2], [0, 1, 3], [2, 3, 0]]), 4).tolist()
    [[0, 1, 3], [2, 3, 0]]
    """
    counts = pair_counts(blocks, classes)
    left, right = np.triu_indices(blocks.shape[1], 1)
    critical = (counts[blocks[:, left], blocks[:, right]] <= times).sum(axis=1)
    least = len(blocks) - 1 - int(critical[::-1].argmin()) if last else int(critical.argmin())
    return np.delete(blocks, least, axis=0)


def prune_many(blocks: NDArray[np.int32], classes: int, times: int = 1) -> NDArray[np.int32]:
    """As :func:`prune`, for so many blocks that a table of all pairs is too large: the earliest go first.

    One class at a time is counted with all others. What it proves of the blocks that know it, that they are
    needed, stays true when others go; so in a cover with little to spare, a few classes prove it of all.

    >>> prune_many(np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3], [0, 1, 2]]), 4).tolist()
    [[0, 2, 3], [1, 2, 3], [0, 1, 2]]
    """
    size = blocks.shape[1]
    spare = len(blocks) * size * (size - 1) - times * classes * (classes - 1)
    if spare < size * (size - 1):
        return blocks
    by_class = np.argsort(blocks.ravel(), kind="stable") // size
    ends = np.cumsum(np.bincount(blocks.ravel(), minlength=classes))
    owners = np.split(by_class, ends[:-1])
    kept = np.ones(len(blocks), dtype=bool)
    needed = np.zeros(len(blocks), dtype=bool)
    for i, block in enumerate(blocks):
        for x in block:
            if needed[i]:
                break
            mine = owners[x] = owners[x][kept[owners[x]]]
            rare = np.bincount(blocks[mine].ravel(), minlength=classes) <= times
            rare[x] = False
            needed[mine] |= rare[blocks[mine]].any(axis=1)
        kept[i] = needed[i]
    return blocks[kept]
