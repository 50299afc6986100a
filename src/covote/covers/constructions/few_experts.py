"""Covers by few experts: what a line of a blow-up costs when it carries more classes than an expert knows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound
from covote.covers.blocks import Cover
from covote.covers.constructions.large import build
from covote.covers.constructions.recursions import in_table, table
from covote.covers.search.dual_annealing import RANDOM_HOT, meet, random_start

MOST_PER_SIZE = 3.25
"""Up to this many classes per size (13 experts, the plane of order 3) bounds are nearly always met."""

MOVES = 1_000_000
TRIES = 3


@lru_cache(maxsize=256)
def hoped_sizes(classes: int, size: int) -> NDArray[np.int32]:
    """Return how many experts cover w = 0..classes classes: proved where many, hoped where few.

    Nearly all covers with up to 13 experts meet their lower bound; :func:`few_experts` tries to build them.
    """
    sizes = table().size[size, : classes + 1].copy()
    for w in range(size + 1, min(classes, int(MOST_PER_SIZE * size)) + 1):
        sizes[w] = min(sizes[w], best_lower_bound(w, size)[0])
    return sizes


@lru_cache(maxsize=4096)
def few_experts(classes: int, size: int) -> Cover:
    """Return a cover by the fewest experts that a short search finds.

    >>> len(few_experts(9, 5).blocks)
    5
    """
    cover = build(classes, size)
    if classes <= size or classes > MOST_PER_SIZE * size or not in_table(classes, size):
        return cover
    from covote.covers.random_kernels import chance

    random = np.random.default_rng(0)
    for experts in range(best_lower_bound(classes, size)[0], len(cover.blocks)):
        for attempt in range(TRIES):
            start = random_start(classes, experts, size, random)
            blocks = meet(start, experts, size, moves=MOVES, state=chance(attempt), hot=RANDOM_HOT)
            if blocks is not None:
                return Cover(blocks, "annealing of meeting sets of experts")
    return cover
