"""Annealing of the weights of a blow-up. Compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw

Ints = NDArray[np.int32]

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
    """

    lines: Ints
    through: Ints
    degree: Ints
    weights: Ints
    load: Ints
    support: Ints
    cost: NDArray[np.float64]
    limit: int


@helper
def line_loads(blowup: Blowup) -> None:
    """Sum the weights on each line, and count its points that have any."""
    lines, weights = blowup.lines, blowup.weights
    for i in range(lines.shape[0]):
        blowup.load[i] = 0
        blowup.support[i] = 0
        for j in range(lines.shape[1]):
            p = lines[i, j]
            if p >= 0:
                blowup.load[i] += weights[p]
                blowup.support[i] += 1 if weights[p] > 0 else 0


@helper
def total_cost(blowup: Blowup) -> float:
    """Sum what the lines cost; a line with one point left, or none, is not needed."""
    total = 0.0
    for i in range(blowup.load.shape[0]):
        if blowup.support[i] > 1:
            total += blowup.cost[blowup.load[i]]
    return total


@kernel(steps=lambda *_: 1 << 40)
def anneal_weights(blowup: Blowup, moves: int, hot: float, cold: float, target: float, state: State) -> float:
    """Move units of weight; leave the best weights and return their cost.

    A move changes only the lines on one of its two points.
    """
    line_loads(blowup)
    now = total_cost(blowup)
    best = now
    kept = blowup.weights.copy()
    temperature = hot
    for step in range(moves):
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / moves)
        if draw(state) < LINE_MOVES:
            now += _shift_lines(blowup, temperature, state)
        else:
            now += _shift_points(blowup, temperature, state)
        if now < best - 1e-9:
            best = now
            kept[:] = blowup.weights
            if best <= target + 1e-9:
                break
    blowup.weights[:] = kept
    return float(best)


@helper
def _shift(blowup: Blowup, point: int, by: int) -> Any:
    """Change the weight of a point by one unit, and return the change in cost."""
    _, through, degree, weights, load, support, cost, _ = blowup
    before = weights[point]
    weights[point] = before + by
    flips = (1 if weights[point] > 0 else 0) - (1 if before > 0 else 0)
    change = 0.0
    for i in range(degree[point]):
        line = through[point, i]
        if support[line] > 1:
            change -= cost[load[line]]
        load[line] += by
        support[line] += flips
        if support[line] > 1:
            change += cost[load[line]]
    return change


@helper
def _shift_points(blowup: Blowup, temperature: float, state: State) -> Any:
    """Try to move a unit of weight from one point to another; return the change in cost."""
    weights = blowup.weights
    p = below(state, weights.shape[0])
    q = below(state, weights.shape[0])
    if p == q or weights[p] == 0 or weights[q] >= blowup.limit:
        return 0.0
    change = _shift(blowup, p, -1)
    change += _shift(blowup, q, 1)
    if change <= 0.0 or draw(state) / 4294967296.0 < np.exp(-change / temperature):
        return change
    _shift(blowup, q, -1)
    _shift(blowup, p, 1)
    return 0.0


@helper
def _shift_lines(blowup: Blowup, temperature: float, state: State) -> Any:
    """Try to move a unit of weight from every point of a line to the points of another of as many points.

    In a plane this leaves the load of every other line as it is, so it crosses ridges that single units
    cannot.
    """
    lines, weights = blowup.lines, blowup.weights
    give = below(state, lines.shape[0])
    take = below(state, lines.shape[0])
    width = lines.shape[1]
    if give == take:
        return 0.0
    for j in range(width):
        if (lines[give, j] < 0) != (lines[take, j] < 0):
            return 0.0
        if lines[give, j] >= 0 and (weights[lines[give, j]] == 0 or weights[lines[take, j]] >= blowup.limit):
            return 0.0
    change = 0.0
    for j in range(width):
        if lines[give, j] >= 0:
            change += _shift(blowup, lines[give, j], -1)
            change += _shift(blowup, lines[take, j], 1)
    if change <= 0.0 or draw(state) / 4294967296.0 < np.exp(-change / temperature):
        return change
    for j in range(width):
        if lines[give, j] >= 0:
            _shift(blowup, lines[take, j], -1)
            _shift(blowup, lines[give, j], 1)
    return 0.0
