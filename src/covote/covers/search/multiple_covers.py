"""Covers in which every pair lies in several blocks, for redundancy against errors and outages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound
from covote.covers.blocks import (
    Cover,
    multiplied,
    padded,
    prune,
    uniform_need,
    without_least_needed,
    without_room,
)
from covote.covers.random_kernels import random_state
from covote.covers.search.best_so_far import annealed
from covote.covers.search.block_annealing import anneal
from covote.covers.search.dual_annealing import (
    MOST_EXPERTS,
    RANDOM_HOT,
    RANDOM_SETS,
    Start,
    anneal_from_starts,
    masks_of,
    random_start,
)
from covote.covers.search.greedy import greedy
from covote.covers.search.symmetric_covers import symmetric_cover
from covote.progress import Work

Ints = NDArray[np.int32]

FEWEST_MOVES = 400_000
"""The smallest budget for a search."""

WARM = 0.4
"""First temperature when sets of experts start from a cover."""

FIRST_LENGTH = 1_000_000
"""Moves of the first two attempts to let sets of experts meet; they double after every two failures."""

TWINS = 2
"""How many numbers of classes per point are tried, and how many proportions."""

LARGEST_BASE = 12
"""The largest size of experts in smaller covers of the same proportions."""

NODES = 300
"""The most nodes of an integer programme."""


class _Task(NamedTuple):
    """A case to solve, and its budget."""

    single: Ints
    classes: int
    times: int
    moves: int
    seed: int
    lower: int
    work: Work | None


def fold(
    single: Ints,
    classes: int,
    times: int,
    *,
    moves: int,
    seed: int = 0,
    lower: int = 0,
    work: Work | None = None,
) -> Cover:
    """Return blocks that cover every pair `times` times, never more than `times` copies of a single cover.

    The candidates are these copies, a greedy cover, the sum of two smaller folds, smaller covers whose points
    stand for several classes, and covers with a symmetry; the best of them is annealed.

    Parameters
    ----------
    single
        A cover (b x size).
    moves
        The budget of all searches together.
    lower
        A lower bound on the number of blocks, at which the search stops.
    work
        Gets reports of the moves between stretches, and may stop the search.

    >>> blocks, how = fold(greedy(10, 4), 10, 2, moves=4_000_000, lower=15)
    >>> len(blocks)
    15
    """
    best = Cover(prune(np.tile(single, (times, 1)), classes, times), f"{times} copies of a cover")
    if times == 1:
        return Cover(best.blocks, "a cover")
    start = greedy(classes, single.shape[1], times, seed=seed)
    if len(start) < len(best.blocks):
        best = Cover(start, "greedy")
    if moves < FEWEST_MOVES:
        return best
    for stage, share in STAGES:
        if len(best.blocks) <= lower:
            break
        found = stage(_Task(single, classes, times, int(share * moves), seed, lower, work), best)
        if len(found.blocks) < len(best.blocks):
            best = found
    return best


def _sum(task: _Task, best: Cover) -> Cover:
    """Combine two folds of about half the redundancy."""
    if task.times == 2:
        return best
    parts = [
        fold(task.single, task.classes, times, moves=task.moves // 2, seed=task.seed, work=task.work)
        for times in (task.times // 2, task.times - task.times // 2)
    ]
    blocks = np.concatenate([part.blocks for part in parts])
    return Cover(prune(blocks, task.classes, task.times), " and ".join(part.construction for part in parts))


def _twins(task: _Task, best: Cover) -> Cover:
    """Let every point of a smaller cover stand for several classes, which then share all their blocks."""
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
            work=task.work,
        )
        rows = without_room(multiplied(part, twins, task.classes, size).blocks, task.classes)
        blocks = prune(rows, task.classes, task.times)
        if len(blocks) < len(best.blocks):
            best = Cover(blocks, f"{part.construction} of {points} points, each of them {twins} classes")
    return best


def _proportions(task: _Task, best: Cover) -> Cover:
    """Let the points of a smaller cover of the same proportions stand for as many classes as fit."""
    size = best.blocks.shape[1]
    bounds = []
    for room in range(3, min(size, LARGEST_BASE + 1)):
        points = -(-task.classes * room // size)
        bounds.append((best_lower_bound(points, room, task.times)[0], points, room))
    for bound, points, room in sorted(bounds)[:TWINS]:
        if bound >= len(best.blocks):
            break
        single, moves = greedy(points, room, seed=task.seed), task.moves // TWINS
        part = fold(single, points, task.times, moves=moves, seed=task.seed, lower=bound, work=task.work)
        if len(part.blocks) < len(best.blocks):
            weights = fitting_weights(part.blocks, points, task.classes, size)
            if weights is not None:
                blocks = prune(_weighted(part.blocks, weights, size), task.classes, task.times)
                best = Cover(blocks, f"{part.construction} of {points} weighted points")
    return best


def fitting_weights(blocks: Ints, points: int, classes: int, size: int) -> NDArray[np.int32] | None:
    """Return the number of classes for which each point of a cover may stand; None if they do not fit.

    >>> fitting_weights(np.array([[0, 1], [0, 2], [1, 2]]), 3, 6, 4).tolist()
    [2, 2, 2]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    on = np.zeros((len(blocks) + 1, points))
    on[np.arange(len(blocks))[:, None], blocks] = 1
    on[-1] = 1
    limits = np.repeat([float(size), float(classes)], [len(blocks), 1])
    answer = milp(
        -np.ones(points),
        constraints=LinearConstraint(on, ub=limits),
        bounds=Bounds(0, size),
        integrality=np.ones(points),
        options={"node_limit": NODES},
    )
    if answer.x is None or -answer.fun < classes - 1e-6:
        return None
    weights: NDArray[np.int32] = np.rint(answer.x).astype(np.int32)
    return weights


def _weighted(blocks: Ints, weights: Ints, size: int) -> Ints:
    """Replace each point by its classes, even if no other point of the block has any, and fill the blocks."""
    members = np.split(np.arange(weights.sum(), dtype=np.int32), np.cumsum(weights)[:-1])
    rows = [np.concatenate([members[point] for point in block]) for block in blocks]
    return without_room(padded(rows, size), int(weights.sum()))


def _symmetric(task: _Task, best: Cover) -> Cover:
    found = symmetric_cover(
        task.classes,
        best.blocks.shape[1],
        task.times,
        target=len(best.blocks) - 1,
        moves=task.moves,
        seed=task.seed,
        lower=task.lower,
        twists=1,
        work=task.work,
    )
    return best if found is None else Cover(found, "a cover with a symmetry")


def _dual_annealed(task: _Task, best: Cover) -> Cover:
    """Anneal sets of experts, any two of which share `times`, from the best cover and from random sets."""
    size, state, made = best.blocks.shape[1], random_state(task.seed), 0
    random = np.random.default_rng(task.seed)
    while made < task.moves and task.lower < len(best.blocks) <= MOST_EXPERTS + 1:
        cover, used = anneal_from_starts(
            _starts(task, best, random),
            len(best.blocks) - 1,
            size,
            moves=task.moves - made,
            state=state,
            times=task.times,
            work=task.work,
        )
        made += used
        if cover is None:
            break
        blocks = prune(without_room(cover.blocks, task.classes), task.classes, task.times)
        best = Cover(blocks, cover.construction)
    return best


def _starts(task: _Task, best: Cover, random: np.random.Generator) -> Iterator[Start]:
    """Yield the best cover without one expert and random sets alternately, indefinitely."""
    experts, size = len(best.blocks) - 1, best.blocks.shape[1]
    left = without_least_needed(best.blocks, uniform_need(task.classes, task.times))
    for turn in count():
        length = FIRST_LENGTH << turn
        yield Start(masks_of(left, task.classes), WARM, length, annealed(best.construction))
        yield Start(random_start(task.classes, experts, size, random), RANDOM_HOT, length, RANDOM_SETS)


def _annealed(task: _Task, best: Cover) -> Cover:
    blocks = anneal(
        best.blocks,
        task.classes,
        task.times,
        moves=task.moves,
        seed=task.seed,
        lower=task.lower,
        work=task.work,
    )
    return Cover(blocks, annealed(best.construction))


STAGES = (
    (_sum, 0.15),
    (_twins, 0.25),
    (_proportions, 0.25),
    (_symmetric, 0.35),
    (_dual_annealed, 1.0),
    (_annealed, 0.25),
)
"""The stages, in order, and their shares of the moves."""
