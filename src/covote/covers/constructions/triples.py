"""Smallest covers by blocks of three, for every number of classes, by hill climbing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.blocks import pair_counts
from covote.covers.random_kernels import State, below, chance

Ints = NDArray[np.int32]

RESTARTS = 50


def triples(classes: int, seed: int = 0) -> NDArray[np.int32] | None:
    """Return a cover by triples that meets the Schonheim bound, or None if the climbing fails.

    The pairs that are covered more than once are chosen beforehand, so that the remaining graph can be split
    into triangles (Fort and Hedlund 1958): none for 1 or 3 modulo 6 (a Steiner triple system); four triples
    on five classes for 5; a perfect matching twice for 0; a star of three pairs and a matching twice for 2
    and 4.

    >>> [len(triples(v)) for v in (3, 4, 5, 6, 7, 8, 9)]
    [1, 3, 4, 6, 7, 11, 12]
    """
    uses, ready = _graph(classes)
    state = chance(seed)
    steps = 40 * classes * classes + 1000
    wanted = int(np.triu(uses).sum()) // 3
    for _ in range(RESTARTS):
        blocks = np.concatenate([ready, climb(uses.copy(), steps, state)])
        if len(blocks) == len(ready) + wanted and _covers(blocks, classes):
            return blocks
    return None


def _graph(classes: int) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Return how often each pair has to be in a triangle, and the triples that are already chosen."""
    uses = np.ones((classes, classes), np.int8)
    np.fill_diagonal(uses, 0)
    ready: list[tuple[int, ...]] = []
    twice: list[tuple[int, int]] = []
    if classes % 6 == 5:
        uses[:5, :5] = 0
        ready = [(0, 1, 2), (0, 3, 4), (1, 2, 3), (1, 2, 4)]
    elif classes % 6 == 0:
        twice = [(x, x + 1) for x in range(0, classes, 2)]
    elif classes % 2 == 0:
        twice = [(0, 1), (0, 2), (0, 3), *((x, x + 1) for x in range(4, classes, 2))]
    for x, y in twice:
        uses[x, y] += 1
        uses[y, x] += 1
    return uses, np.array(ready, np.int32).reshape(-1, 3)


def _covers(blocks: NDArray[np.int32], classes: int) -> bool:
    return bool((pair_counts(blocks, classes)[np.triu_indices(classes, 1)] > 0).all())


@helper
def _use(x: int, y: int, left: NDArray[np.int8], open_to: Ints, place: Ints, degree: Ints) -> None:
    """Use the pair once; remove y from the list of x when no use is left."""
    left[x, y] -= 1
    if left[x, y] == 0:
        degree[x] -= 1
        last = open_to[x, degree[x]]
        open_to[x, place[x, y]] = last
        place[x, last] = place[x, y]


@helper
def _free(x: int, y: int, left: NDArray[np.int8], open_to: Ints, place: Ints, degree: Ints) -> None:
    """Give back one use of the pair."""
    if left[x, y] == 0:
        open_to[x, degree[x]] = y
        place[x, y] = degree[x]
        degree[x] += 1
    left[x, y] += 1


@helper
def _replace_third(third: Ints, x: int, y: int, old: int, new: int) -> None:
    """Replace the third class of the pair, `old`, by `new`; -1 stands for none."""
    for c in range(third.shape[2]):
        if third[x, y, c] == old:
            third[x, y, c] = new
            return


@helper
def _mark(x: int, y: int, z: int, old: bool, new: bool, third: Ints) -> None:
    """Enter the triple at all its ordered pairs, or remove it."""
    for a, b, c in ((x, y, z), (y, x, z), (x, z, y), (z, x, y), (y, z, x), (z, y, x)):
        _replace_third(third, a, b, c if old else -1, c if new else -1)


@kernel(steps=lambda left, steps, state: 100 * left.size)
def climb(left: NDArray[np.int8], steps: int, state: State) -> Ints:
    """Split a graph (uses left of each pair) into triangles, by hill climbing.

    Stinson (1985), "Hill-climbing algorithms for the construction of combinatorial designs".

    Choose a class with two open pairs (x, y), (x, z). If (y, z) is open as well, the triangle closes them
    all; otherwise it takes the pair (y, z) from the triangle that has it. The number of triangles never
    falls. Returns the triangles after `steps` steps, or when no pair is open.
    """
    v = left.shape[0]
    folds = max(1, left.max())
    uses = left.copy()
    third = np.full((v, v, folds), -1, np.int32)
    open_to = np.empty((v, v), np.int32)
    place = np.zeros((v, v), np.int32)
    degree = np.zeros(v, np.int32)
    live = np.empty(v, np.int32)
    lives = 0
    for x in range(v):
        for y in range(v):
            if left[x, y] > 0:
                open_to[x, degree[x]] = y
                place[x, y] = degree[x]
                degree[x] += 1
    for _ in range(steps):
        # List the classes with two open neighbours; the list changes rarely, so scanning costs little.
        if lives == 0:
            for x in range(v):
                if degree[x] >= 2:
                    live[lives] = x
                    lives += 1
            if lives == 0:
                break
        at = below(state, lives)
        x = live[at]
        if degree[x] < 2:
            lives -= 1
            live[at] = live[lives]
            continue
        i = below(state, degree[x])
        j = below(state, degree[x] - 1)
        j += j >= i
        y = open_to[x, i]
        z = open_to[x, j]
        if uses[y, z] == 0:
            continue
        if left[y, z] == 0:
            w = third[y, z, below(state, uses[y, z])]
            if w == x:
                continue
            _mark(y, z, w, True, False, third)
            for a, b in ((y, z), (z, y), (y, w), (w, y), (z, w), (w, z)):
                _free(a, b, left, open_to, place, degree)
            # The freed pairs may reopen classes that are no longer on the list.
            lives = 0
        _mark(x, y, z, False, True, third)
        for a, b in ((x, y), (y, x), (x, z), (z, x), (y, z), (z, y)):
            _use(a, b, left, open_to, place, degree)
    triangles: Ints = _triangles(third)
    return triangles


@helper
def _triangles(third: Ints) -> Ints:
    """Return each triangle once, its classes in order."""
    v = third.shape[0]
    number = 0
    for x in range(v):
        for y in range(x + 1, v):
            for c in range(third.shape[2]):
                number += third[x, y, c] > y
    blocks = np.empty((number, 3), np.int32)
    at = 0
    for x in range(v):
        for y in range(x + 1, v):
            for c in range(third.shape[2]):
                if third[x, y, c] > y:
                    blocks[at, 0] = x
                    blocks[at, 1] = y
                    blocks[at, 2] = third[x, y, c]
                    at += 1
    return blocks
