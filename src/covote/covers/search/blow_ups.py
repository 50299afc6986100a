"""Weighted blow-ups: every point of a base design stands for some classes, or for none.

Two classes of different points meet on the line through these points. A line with more classes than an expert
can know is covered recursively. Induced covers (weights 0 and 1) and multiplication (all weights equal) are
special cases; annealing finds the weights.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound
from covote.compiled import helper, kernel
from covote.covers.blocks import Blocks, Cover, padded, relabelled
from covote.covers.constructions.finite_fields import prime_power
from covote.covers.constructions.planes import projective_plane
from covote.covers.constructions.recursions import build, in_table, table_for
from covote.covers.random_kernels import State, below, draw, random_state
from covote.covers.search.best_so_far import CoverSearch
from covote.covers.search.dual_annealing import RANDOM_HOT, anneal_sets, random_start

Ints = NDArray[np.int64]

LINE_MOVES = 2**32 // 20
"""Probability (times 2**32) of a move between lines."""


class Blowup(NamedTuple):
    """A base design whose points have weights.

    Attributes
    ----------
    lines
        The points of each line; -1 marks a free place.
    through, degree
        The lines on point p are ``through[p, :degree[p]]``.
    weights
        How many classes each point stands for.
    load, support
        Per line: the sum of its weights, and how many of its points have weight.
    cost
        How many experts a line of each load takes.
    limit
        The most classes of one point; fewer than all, so that at least two points have some.
    best, moved
        The best weights, and scratch space for the points of a move.
    """

    lines: Ints
    through: Ints
    degree: Ints
    weights: Ints
    load: Ints
    support: Ints
    cost: Ints
    best: Ints
    moved: Ints
    limit: int


@kernel(steps=lambda blowup, moves, *_: 80 * moves)
def anneal_weights(
    blowup: Blowup, moves: int, hot: float, cold: float, target: int, now: int, state: State
) -> None:
    """Anneal the weights, starting from the cost `now`; `blowup.best` gets the best weights.

    A move changes only the lines on its points. A move that raises the cost is undone unless it is accepted
    by chance.
    """
    weights = blowup.weights
    best = now
    found, moved = blowup.best, blowup.moved
    temperature = hot
    for step in range(moves):
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / moves)
        count = _draw_move(blowup, moved, state)
        change = _shift(blowup, moved, count)
        if change > 0 and draw(state) / 4294967296.0 >= exp(-change / temperature):
            for i in range(0, count, 2):
                moved[i], moved[i + 1] = moved[i + 1], moved[i]
            _shift(blowup, moved, count)
            continue
        now += change
        if now < best:
            best = now
            for p in range(len(weights)):
                found[p] = weights[p]
            if best <= target:
                break


@helper
def _draw_move(blowup: Blowup, moved: Ints, state: State) -> int:
    """Write points that give a unit of weight and points that take it, alternately; return how many, or 0.

    Mostly one point gives and one takes. Now and then all points of a line give to those of another line with
    as many points: in a plane this leaves the load of every other line unchanged, so it crosses ridges that
    single units cannot.
    """
    lines, weights = blowup.lines, blowup.weights
    by_line = draw(state) < LINE_MOVES
    choices = len(lines) if by_line else len(weights)
    give = below(state, choices)
    take = below(state, choices)
    if give == take:
        return 0
    count = 0
    for j in range(lines.shape[1] if by_line else 1):
        p = lines[give, j] if by_line else give
        q = lines[take, j] if by_line else take
        if (p < 0) != (q < 0):
            return 0
        if p >= 0:
            if weights[p] == 0 or weights[q] >= blowup.limit:
                return 0
            moved[count] = p
            moved[count + 1] = q
            count += 2
    return count


@helper
def _shift(blowup: Blowup, moved: Ints, count: int) -> int:
    """Move a unit from the first to the second point of every pair; return the change in cost."""
    _, through, degree, weights, load, support, cost, _, _, _ = blowup
    change = 0
    for i in range(count):
        point = moved[i]
        by = 2 * (i & 1) - 1
        before = weights[point]
        weights[point] = before + by
        flips = 0
        if before + by == 0 or before == 0:
            flips = by
        for t in range(degree[point]):
            line = through[point, t]
            if support[line] > 1:
                change -= cost[load[line]]
            load[line] += by
            support[line] += flips
            if support[line] > 1:
                change += cost[load[line]]
    return change


COLD = 0.15
"""Last temperature of the annealing of weights, in experts."""

MOST_PER_SIZE = 3.25
"""The ratio of classes to size (13 experts, the plane of order 3) up to which bounds are mostly met."""

FEW_MOVES, FEW_TRIES = 1_000_000, 3
"""Moves per attempt to cover a heavy line by few experts, and the number of attempts."""

STARTS = (("added", 0.4), ("even", 0.6), ("removed", 0.4), ("even", 1.5), ("added", 0.8), ("even", 1.0))
"""The initial weights of a plane, and the initial temperature."""


def anneal_blowup(
    lines: Blocks,
    classes: int,
    size: int,
    *,
    moves: int,
    seed: int,
    start: str = "even",
    hot: float = 0.6,
    target: int = 0,
) -> NDArray[np.int32]:
    """Return weights of the base points that sum to `classes` and need few experts.

    The search starts with weights that are as equal as possible. The points with more (or with fewer) classes
    lie anywhere ("even"), or fill one line after the other ("added", "removed").
    """
    points = int(lines.max()) + 1
    through, degree = _lines_through(lines, points)
    cost = hoped_sizes(classes, size).astype(np.int64)
    random = np.random.default_rng(seed)
    weights = _first_weights(lines, classes, points, start, random).astype(np.int64)
    on_line = np.where(lines >= 0, weights[lines], 0)
    load, support = on_line.sum(axis=1), (on_line > 0).sum(axis=1)
    now = int(cost[load[support > 1]].sum())  # a line with at most one point left is not needed
    best_weights, moved = weights.copy(), np.zeros(2 * lines.shape[1], np.int64)
    blowup = Blowup(
        lines.astype(np.int64), through, degree, weights, load, support, cost, best_weights, moved, size
    )
    anneal_weights(blowup, moves, hot, COLD, target, now, random_state(seed))
    return best_weights.astype(np.int32)


def _first_weights(
    lines: Blocks, classes: int, points: int, start: str, random: np.random.Generator
) -> NDArray[np.int32]:
    order = random.permutation(points).astype(np.int32)
    if start != "even":
        in_lines = lines[random.permutation(len(lines))].ravel()
        _, first = np.unique(in_lines[in_lines >= 0], return_index=True)
        order = in_lines[in_lines >= 0][np.sort(first)]
    if start == "removed":
        order = order[::-1]
    each, more = divmod(classes, points)
    weights = np.full(points, each, dtype=np.int32)
    weights[order[:more]] += 1
    return weights


def blow_up(lines: Blocks, weights: NDArray[np.int32], size: int, base: str) -> Cover:
    """Build the cover: each point stands for its classes, each line for as many experts as it takes."""
    start = np.concatenate([[0], np.cumsum(weights)])
    parts = []
    for line in lines:
        present = [p for p in line if p >= 0 and weights[p] > 0]
        if len(present) < 2:
            continue
        members = np.concatenate([np.arange(start[p], start[p + 1], dtype=np.int32) for p in present])
        parts.append(
            padded([members], size)
            if len(members) <= size
            else relabelled(few_experts(len(members), size).blocks, members)
        )
    return Cover(np.vstack(parts), f"{base} with weighted points")


def _lines_through(lines: Blocks, points: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    degree = np.bincount(lines[lines >= 0], minlength=points)
    through = np.zeros((points, int(degree.max())), dtype=np.int64)
    for point in range(points):
        on = np.flatnonzero((lines == point).any(axis=1))
        through[point, : len(on)] = on
    return through, degree


@lru_cache(maxsize=256)
def hoped_sizes(classes: int, size: int) -> NDArray[np.int32]:
    """Return how many experts cover w = 0..classes classes: proved if there are many, hoped for if few.

    Nearly all covers with up to 13 experts meet their lower bound; :func:`few_experts` tries to build them.
    """
    sizes = table_for(classes, size).size[size, : classes + 1].copy()
    for w in range(size + 1, min(classes, int(MOST_PER_SIZE * size)) + 1):
        sizes[w] = min(sizes[w], best_lower_bound(w, size)[0])
    return sizes


@lru_cache(maxsize=4096)
def few_experts(classes: int, size: int) -> Cover:
    """Return a cover with the fewest experts that a short search finds.

    >>> len(few_experts(9, 5).blocks)
    5
    """
    cover = build(classes, size)
    if classes <= size or classes > MOST_PER_SIZE * size or not in_table(classes, size):
        return cover
    random = np.random.default_rng(0)
    for experts in range(best_lower_bound(classes, size)[0], len(cover.blocks)):
        for attempt in range(FEW_TRIES):
            start = random_start(classes, experts, size, random)
            blocks = anneal_sets(
                start, experts, size, moves=FEW_MOVES, state=random_state(attempt), hot=RANDOM_HOT
            )
            if blocks is not None:
                return Cover(blocks, "annealing of intersecting sets of experts")
    return cover


def weighted_plane(search: CoverSearch, order: int, moves: int, run: int) -> Cover:
    """Anneal weights for the points of a plane, with another start in each run."""
    lines, (start, hot) = projective_plane(order), STARTS[run % len(STARTS)]
    weights = anneal_blowup(
        lines,
        search.classes,
        search.size,
        moves=moves,
        seed=search.seed * 1009 + run,
        start=start,
        hot=hot,
        target=search.lower,
    )
    return blow_up(lines, weights, search.size, f"projective plane of order {order}")


def nearest_planes(classes: int, size: int) -> list[int]:
    """List the orders of planes whose points may stand for the classes, the nearest first.

    Lines should carry about `size` classes when the classes are spread evenly.

    >>> nearest_planes(31, 6)[0]
    5
    """
    ratio = classes / size
    orders = [q for q in range(2, 17) if prime_power(q) and 0.5 * ratio - 1 <= q <= 1.6 * ratio + 2]
    return sorted(orders, key=lambda q: abs(q * q / (q + 1) + 0.7 - ratio))[:3]
