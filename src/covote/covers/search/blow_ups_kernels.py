"""Annealing of the weights of a blow-up."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw

Ints = NDArray[np.int64]

LINE_MOVES = 2**32 // 20
"""Odds (of 2**32) of a move between lines."""


class Blowup(NamedTuple):
    """A base design whose points have weights.

    Attributes
    ----------
    lines
        The points of each line; -1 marks room.
    through, degree
        The lines on point p are ``through[p, :degree[p]]``.
    weights
        How many classes each point stands for.
    load, support
        Per line: the sum of its weights, and how many of its points have any.
    cost
        How many experts a line of each load takes.
    limit
        Most classes of one point; less than all, so that at least two points have some.
    kept, moved
        The best weights, and room for the points of a move.
    """

    lines: Ints
    through: Ints
    degree: Ints
    weights: Ints
    load: Ints
    support: Ints
    cost: Ints
    kept: Ints
    moved: Ints
    limit: int


@kernel(steps=lambda blowup, moves, *_: 80 * moves)
def anneal_weights(
    blowup: Blowup, moves: int, hot: float, cold: float, target: int, now: int, state: State
) -> None:
    """Move units of weight from the cost `now`; `blowup.kept` are the best weights.

    A move changes only the lines on its points. It is undone unless the cost falls, or chance accepts that it
    grows.
    """
    weights = blowup.weights
    best = now
    kept, moved = blowup.kept, blowup.moved
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
                kept[p] = weights[p]
            if best <= target:
                break


@helper
def _draw_move(blowup: Blowup, moved: Ints, state: State) -> int:
    """Write points that give a unit of weight and points that take it, in turn; return how many, or 0.

    Mostly one gives and one takes. Now and then all points of a line give to those of another of as many
    points: in a plane this leaves the load of every other line as it is, so it crosses ridges that single
    units cannot.
    """
    lines, weights = blowup.lines, blowup.weights
    whole = draw(state) < LINE_MOVES
    choices = len(lines) if whole else len(weights)
    give = below(state, choices)
    take = below(state, choices)
    if give == take:
        return 0
    count = 0
    for j in range(lines.shape[1] if whole else 1):
        p = lines[give, j] if whole else give
        q = lines[take, j] if whole else take
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
    """Move a unit from every first of two points to the second; return the change in cost."""
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
