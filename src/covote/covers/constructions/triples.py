"""Blocks of three: a smallest cover for every number of classes, by hill climbing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.covers.blocks import pair_counts

RESTARTS = 50


def triples(classes: int, seed: int = 0) -> NDArray[np.int32] | None:
    """Return a cover by triples that meets the Schonheim bound, or None if the climbing fails.

    The pairs that are covered more than once are chosen beforehand, so that what remains can be split into
    triangles (Fort and Hedlund 1958): none for 1 or 3 modulo 6 (a Steiner triple system); four triples
    on five classes for 5; a perfect matching twice for 0; a star of three pairs and a matching twice for
    2 and 4.

    >>> [len(triples(v)) for v in (3, 4, 5, 6, 7, 8, 9)]
    [1, 3, 4, 6, 7, 11, 12]
    """
    from covote.covers.constructions.triples_kernels import climb
    from covote.covers.random_kernels import chance

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
    """Return how often each pair has to be in a triangle, and the triples that are chosen already."""
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
