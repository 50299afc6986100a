"""Annealing of the weights of a blow-up. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .chance_kernel import State, below, draw

Ints = NDArray[np.int32]

LINE_MOVES = 2**32 // 20
"""Odds (of 2**32) of a move between lines."""


@njit(cache=True)
def line_loads(lines: Ints, weights: Ints, load: Ints, support: Ints) -> None:
    """Sum the weights on each line, and count its points that have any."""
    for i in range(lines.shape[0]):
        load[i] = 0
        support[i] = 0
        for j in range(lines.shape[1]):
            p = lines[i, j]
            if p >= 0:
                load[i] += weights[p]
                support[i] += 1 if weights[p] > 0 else 0


@njit(cache=True)
def total_cost(load: Ints, support: Ints, cost: NDArray[np.float64]) -> float:
    """Sum what the lines cost; a line with one point left, or none, is not needed."""
    total = 0.0
    for i in range(load.shape[0]):
        if support[i] > 1:
            total += cost[load[i]]
    return total


@njit(cache=True)
def anneal_weights(
    lines: Ints,
    through: Ints,
    degree: Ints,
    weights: Ints,
    cost: NDArray[np.float64],
    limit: int,
    moves: int,
    hot: float,
    cold: float,
    target: float,
    state: State,
) -> float:
    """Move units of weight; leave the best weights in `weights` and return their cost.

    through[p, :degree[p]] are the lines on point p. A move changes only the lines on one of its two points.
    No point gets more than `limit`, so that at least two points have weight.
    """
    load = np.zeros(lines.shape[0], np.int32)
    support = np.zeros(lines.shape[0], np.int32)
    line_loads(lines, weights, load, support)
    now = total_cost(load, support, cost)
    best = now
    kept = weights.copy()
    temperature = hot
    for step in range(moves):
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / moves)
        if draw(state) < LINE_MOVES:
            change = _shift_lines(
                lines, through, degree, weights, load, support, cost, limit, temperature, state
            )
        else:
            change = _shift_points(through, degree, weights, load, support, cost, limit, temperature, state)
        now += change
        if now < best - 1e-9:
            best = now
            kept[:] = weights
            if best <= target + 1e-9:
                break
    weights[:] = kept
    return float(best)


@njit(cache=True)
def _shift(
    through: Ints,
    degree: Ints,
    weights: Ints,
    load: Ints,
    support: Ints,
    cost: NDArray[np.float64],
    point: int,
    by: int,
) -> Any:
    """Change the weight of a point by one unit, and return the change in cost."""
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


@njit(cache=True)
def _shift_points(
    through: Ints,
    degree: Ints,
    weights: Ints,
    load: Ints,
    support: Ints,
    cost: NDArray[np.float64],
    limit: int,
    temperature: float,
    state: State,
) -> Any:
    """Try to move a unit of weight from one point to another; return the change in cost."""
    p = below(state, weights.shape[0])
    q = below(state, weights.shape[0])
    if p == q or weights[p] == 0 or weights[q] >= limit:
        return 0.0
    change = _shift(through, degree, weights, load, support, cost, p, -1)
    change += _shift(through, degree, weights, load, support, cost, q, 1)
    if change <= 0.0 or draw(state) / 4294967296.0 < np.exp(-change / temperature):
        return change
    _shift(through, degree, weights, load, support, cost, q, -1)
    _shift(through, degree, weights, load, support, cost, p, 1)
    return 0.0


@njit(cache=True)
def _shift_lines(
    lines: Ints,
    through: Ints,
    degree: Ints,
    weights: Ints,
    load: Ints,
    support: Ints,
    cost: NDArray[np.float64],
    limit: int,
    temperature: float,
    state: State,
) -> Any:
    """Try to move a unit of weight from every point of a line to the points of another of as many points.

    In a plane this leaves the load of every other line as it is, so it crosses ridges that single units
    cannot.
    """
    give = below(state, lines.shape[0])
    take = below(state, lines.shape[0])
    width = lines.shape[1]
    if give == take:
        return 0.0
    for j in range(width):
        if (lines[give, j] < 0) != (lines[take, j] < 0):
            return 0.0
        if lines[give, j] >= 0 and (weights[lines[give, j]] == 0 or weights[lines[take, j]] >= limit):
            return 0.0
    change = 0.0
    for j in range(width):
        if lines[give, j] >= 0:
            change += _shift(through, degree, weights, load, support, cost, lines[give, j], -1)
            change += _shift(through, degree, weights, load, support, cost, lines[take, j], 1)
    if change <= 0.0 or draw(state) / 4294967296.0 < np.exp(-change / temperature):
        return change
    for j in range(width):
        if lines[give, j] >= 0:
            _shift(through, degree, weights, load, support, cost, lines[take, j], -1)
            _shift(through, degree, weights, load, support, cost, lines[give, j], 1)
    return 0.0
