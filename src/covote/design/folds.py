"""Covers in which every pair lies in several blocks: redundancy against errors and outages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound

from .annealing import Pause, anneal
from .cyclic import cyclic
from .greedy import greedy
from .pruning import prune

Ints = NDArray[np.int32]

FEWEST_MOVES = 400_000
"""With a smaller budget nothing is searched."""

TWINS = 2
"""How many numbers of classes per point are tried."""


class Folded(NamedTuple):
    """Blocks, and in words how they were found."""

    blocks: Ints
    how: str


class _Task(NamedTuple):
    """What to fold, and how hard to try."""

    single: Ints
    classes: int
    times: int
    moves: int
    seed: int
    lower: int
    pause: Pause | None


def fold(
    single: Ints,
    classes: int,
    times: int,
    *,
    moves: int,
    seed: int = 0,
    lower: int = 0,
    pause: Pause | None = None,
) -> Folded:
    """Return blocks that cover every pair `times` times, never more than so many copies of a single cover.

    Tried are these copies, a greedy cover, the sum of two smaller folds, smaller covers whose points stand
    for several classes, and covers with a symmetry; the best of them is annealed.

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

    >>> blocks, how = fold(greedy(10, 4), 10, 2, moves=4_000_000, lower=15)
    >>> len(blocks)
    15
    """
    best = Folded(prune(np.tile(single, (times, 1)), classes, times), f"{times} copies of a cover")
    if times == 1:
        return Folded(best.blocks, "a cover")
    start = greedy(classes, single.shape[1], times, seed=seed)
    if len(start) < len(best.blocks):
        best = Folded(start, "greedy")
    if moves < FEWEST_MOVES:
        return best
    for stage, share in STAGES:
        if len(best.blocks) <= lower:
            break
        found = stage(_Task(single, classes, times, int(share * moves), seed, lower, pause), best)
        if len(found.blocks) < len(best.blocks):
            best = found
    return best


def _sum(task: _Task, best: Folded) -> Folded:
    """Put a smaller fold and the rest of it together."""
    if task.times == 2:
        return best
    parts = [
        fold(task.single, task.classes, times, moves=task.moves // 2, seed=task.seed, pause=task.pause)
        for times in (task.times // 2, task.times - task.times // 2)
    ]
    blocks = np.concatenate([part.blocks for part in parts])
    return Folded(prune(blocks, task.classes, task.times), " and ".join(part.how for part in parts))


def _twins(task: _Task, best: Folded) -> Folded:
    """Let every point of a smaller cover stand for some classes, which then share all their blocks."""
    size = best.blocks.shape[1]
    shapes = [(twins, -(-task.classes // twins), size // twins) for twins in range(2, size // 2 + 1)]
    bounds = [
        (best_lower_bound(points, room, task.times)[0], twins, points, room)
        for twins, points, room in shapes
        if room < points
    ]
    for bound, twins, points, room in sorted(bounds)[:TWINS]:
        if bound >= len(best.blocks):
            break
        part = fold(
            greedy(points, room, seed=task.seed),
            points,
            task.times,
            moves=task.moves // TWINS,
            seed=task.seed,
            lower=bound,
            pause=task.pause,
        )
        blocks = prune(_multiplied(part.blocks, points, task.classes, size), task.classes, task.times)
        if len(blocks) < len(best.blocks):
            best = Folded(blocks, f"{part.how} of {points} points, each of them {twins} classes")
    return best


def _multiplied(blocks: Ints, points: int, classes: int, size: int) -> Ints:
    """Put the classes x, x + points, x + 2 points, ... wherever point x is; fill the blocks up."""
    rows = []
    for block in blocks.tolist():
        row = [x for point in block for x in range(point, classes, points)]
        others = (x for x in range(classes) if x not in row)
        rows.append(row + [next(others) for _ in range(size - len(row))])
    return np.array(rows, np.int32)


def _symmetric(task: _Task, best: Folded) -> Folded:
    found = cyclic(
        task.classes,
        best.blocks.shape[1],
        task.times,
        target=len(best.blocks) - 1,
        moves=task.moves,
        seed=task.seed,
        lower=task.lower,
        twists=1,
        pause=task.pause,
    )
    return best if found is None else Folded(found, "a cover with a symmetry")


def _annealed(task: _Task, best: Folded) -> Folded:
    blocks = anneal(
        best.blocks,
        task.classes,
        task.times,
        moves=task.moves,
        seed=task.seed,
        lower=task.lower,
        pause=task.pause,
    )
    return Folded(blocks, f"{best.how}, annealed")


STAGES = ((_sum, 0.15), (_twins, 0.25), (_symmetric, 0.35), (_annealed, 0.25))
"""What is tried, in turn, and its share of the moves."""
