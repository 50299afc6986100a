"""The inner loop of :mod:`covote.covers.set_cover.lagrangian_bound`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

PATIENCE = 20
"""Rounds without a better bound after which the steps become smaller."""

COURSE = 0.7
"""How much of the last course is kept."""


@kernel
def reduced_costs(
    column_start: Longs, column_rows: Ints, cost: Floats, price: Floats, reduced: Floats
) -> None:
    """Write what each column costs beyond the prices of its rows."""
    for j in range(len(cost)):
        paid = 0.0
        for at in range(column_start[j], column_start[j + 1]):
            paid += price[column_rows[at]]
        reduced[j] = cost[j] - paid


@kernel(steps=lambda start, rows, *rest: rest[-1] * 3 * len(rows))
def climb(
    column_start: Longs,
    column_rows: Ints,
    demand: Ints,
    cost: Floats,
    price: Floats,
    best_price: Floats,
    course: Floats,
    values: Floats,
    upper: float,
    rounds: int,
) -> None:
    """Follow the subgradient for so many rounds; `values` is the best bound, the step, and the patience left.

    The bound of prices u is sum(demand u) + sum of the negative reduced costs. The `course` is a running mean
    of the subgradients, which sways less from side to side.
    """
    reduced = np.empty(len(cost))
    slope = np.empty(len(demand))
    for _ in range(rounds):
        reduced_costs(column_start, column_rows, cost, price, reduced)
        bound = 0.0
        for r in range(len(demand)):
            bound += demand[r] * price[r]
            slope[r] = demand[r]
        for j in range(len(cost)):
            if reduced[j] < 0:
                bound += reduced[j]
                for at in range(column_start[j], column_start[j + 1]):
                    slope[column_rows[at]] -= 1
        if bound > values[0]:
            values[0], values[2] = bound, PATIENCE
            best_price[:] = price
        else:
            values[2] -= 1
            if values[2] == 0:
                values[1], values[2] = values[1] / 2, PATIENCE
        length = 0.0
        for r in range(len(demand)):
            course[r] = COURSE * course[r] + (1 - COURSE) * slope[r]
            if course[r] < 0 and price[r] == 0:
                course[r] = 0
            length += course[r] * course[r]
        if length == 0:
            return
        step = values[1] * (upper - bound) / length
        for r in range(len(demand)):
            price[r] = max(0.0, price[r] + step * course[r])
