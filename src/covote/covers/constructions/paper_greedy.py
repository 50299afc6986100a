"""The paper's greedy set cover over all possible experts."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.blocks import Built
from covote.errors import InputError, TooLargeError

Ints = NDArray[np.int32]

CANDIDATES = 10_000_000
"""The most candidate experts, C(classes, size), for the paper's greedy cover."""


def paper_cover(classes: int, size: int, times: int = 1) -> Built:
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
    candidates = comb(classes, size)
    if candidates > CANDIDATES:
        raise TooLargeError(
            f"method 'paper' looks through all {candidates:,} possible experts of {size} out of {classes} "
            f'classes, and stops at {CANDIDATES:,}; use method="auto", which finds smaller panels faster'
        )
    blocks = greedy_sweeps(classes, size, times)
    return Built(list(blocks), "the paper's greedy set cover, first best in lexicographic order")


@helper
def _choose(depth: int, x: int, path: Ints, gain: Ints, links: Ints, need: Ints) -> None:
    """Put class `x` on the path, and count the pairs that it and every later class would cover."""
    path[depth] = x
    gain[depth + 1] = gain[depth] + links[depth, x]
    for y in range(x + 1, need.shape[0]):
        links[depth + 1, y] = links[depth, y] + (need[x, y] > 0)


@helper
def _hopeless(depth: int, path: Ints, gain: Ints, links: Ints, goal: int, size: int) -> bool:
    """Whether no expert that begins with the path can cover `goal` uncovered pairs."""
    v = links.shape[1]
    missing = size - depth
    most = 0
    for y in range(path[depth - 1] + 1, v):
        most = max(most, links[depth, y])
    return bool(gain[depth] + missing * most + missing * (missing - 1) // 2 < goal)


@helper
def _take(path: Ints, need: Ints) -> None:
    """Subtract the expert on the path from the need."""
    for i in range(len(path)):
        for j in range(i + 1, len(path)):
            x, y = path[i], path[j]
            if need[x, y] > 0:
                need[x, y] -= 1


@helper
def _sweep(goal: int, size: int, need: Ints, blocks: Ints, found: int) -> int:
    """Add every expert that still covers `goal` pairs, in lexicographic order; return how many there are.

    `goal` is the most that any expert can cover when the sweep begins. An expert that was skipped never
    covers `goal` pairs again, because the uncovered pairs only become fewer. So one sweep finds what the
    greedy algorithm would find by starting again after each expert.
    """
    v = need.shape[0]
    path = np.full(size, -1, dtype=np.int32)
    gain = np.zeros(size + 1, dtype=np.int32)
    links = np.zeros((size + 1, v), dtype=np.int32)
    depth = 0
    while depth >= 0:
        x = path[depth] + 1
        if x > v - (size - depth):
            depth -= 1
            continue
        if depth + 1 < size:
            _choose(depth, x, path, gain, links, need)
            if not _hopeless(depth + 1, path, gain, links, goal, size):
                depth += 1
                path[depth] = x
            continue
        path[depth] = x
        if gain[depth] + links[depth, x] < goal:
            continue
        blocks[found] = path
        found += 1
        _take(path, need)
        path[depth] = x - 1  # with times > 1 the same expert may be the best once more
        for i in range(size - 1):
            _choose(i, path[i], path, gain, links, need)
            if _hopeless(i + 1, path, gain, links, goal, size):
                depth = i
                break
    return found


@kernel(steps=lambda classes, size, times: times * classes * comb(classes, size))
def greedy_sweeps(classes: int, size: int, times: int) -> Ints:
    """Return the greedy cover: one sweep for each number of pairs that an expert may newly cover."""
    need = np.full((classes, classes), times, dtype=np.int32)
    most = times * classes * (classes - 1) // 2
    blocks = np.empty((most, size), dtype=np.int32)
    found = 0
    for goal in range(size * (size - 1) // 2, 0, -1):
        found = _sweep(goal, size, need, blocks, found)
    return blocks[:found].copy()
