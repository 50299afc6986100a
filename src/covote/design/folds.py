"""Covers in which every pair lies in several blocks: redundancy against errors and outages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .annealing import Pause, anneal
from .cyclic import cyclic
from .greedy import greedy
from .pruning import prune

Ints = NDArray[np.int32]


def fold(
    single: Ints,
    classes: int,
    times: int,
    *,
    moves: int,
    seed: int = 0,
    lower: int = 0,
    pause: Pause | None = None,
) -> tuple[Ints, str]:
    """Return blocks that cover every pair `times` times, and how they were found.

    Never more than `times` copies of the single cover; starts are these copies, the sum of two smaller folds,
    a greedy cover and covers with a symmetry; the best of them is annealed.

    Parameters
    ----------
    single
        A cover (b x size).
    moves
        The budget of all searches together.
    lower
        No such cover has fewer blocks: stop there.
    pause
        Called between stretches with (moves made in one search, size of its best cover); True stops.

    >>> ten_by_four = greedy(10, 4)
    >>> blocks, how = fold(ten_by_four, 10, 2, moves=3_000_000, lower=15)
    >>> len(blocks)
    15
    """
    if times == 1:
        return single, "the cover itself"
    size = single.shape[1]
    best, how = prune(np.tile(single, (times, 1)), classes, times), f"{times} copies of a cover"
    if times > 2 and moves and len(best) > lower:
        halves = _sum(single, classes, times, moves // 4, seed, pause)
        if len(halves) < len(best):
            best, how = halves, f"a cover {times // 2}-fold and one {times - times // 2}-fold"
        moves -= moves // 4
    start = greedy(classes, size, times, seed=seed)
    if len(start) < len(best):
        best, how = start, "greedy"
    if moves and len(best) > lower:
        found = cyclic(
            classes,
            size,
            times,
            target=len(best) - 1,
            moves=moves // 2,
            seed=seed,
            lower=lower,
            twists=1,
            pause=pause,
        )
        if found is not None:
            best, how = found, "covers with a symmetry"
        annealed = anneal(best, classes, times, moves=moves - moves // 2, seed=seed, lower=lower, pause=pause)
        if len(annealed) < len(best):
            best, how = annealed, f"{how}, annealed"
    return best, how


def _sum(single: Ints, classes: int, times: int, moves: int, seed: int, pause: Pause | None) -> Ints:
    """Return a smaller fold, and the rest of it, together."""
    less = times // 2
    part, _ = fold(single, classes, less, moves=moves // 2, seed=seed, pause=pause)
    rest, _ = fold(single, classes, times - less, moves=moves - moves // 2, seed=seed, pause=pause)
    return prune(np.concatenate([part, rest]), classes, times)
