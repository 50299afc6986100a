"""A lower bound on the cost of a set cover: Lagrangian duality, climbed by subgradients.

Held and Karp (1971), "The traveling-salesman problem and minimum spanning trees: part II"; Beasley (1990), "A
Lagrangian heuristic for set-covering problems".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from covote.covers.set_cover.problem import PoolCover

SAFETY = 1e-12
"""Relative room for rounding: a bound is lowered by this much before it is used."""


def lagrangian_bound(
    problem: PoolCover, upper: float, rounds: int, tick: Callable[[], None] | None = None
) -> tuple[float, NDArray[np.float64]]:
    """Return a cost that no cover can undercut, and the reduced costs of the columns that prove it.

    Whatever prices u >= 0 are put on the rows, every cover costs at least sum(demand u) + sum of the negative
    reduced costs. `upper` is the cost of a known cover; it only guides the steps. A cover with column j costs
    at least the bound plus the reduced cost of j, if that is positive.
    """
    from covote.covers.set_cover.lagrangian_bound_kernels import PATIENCE, climb, reduced_costs

    start, rows, demand, cost = problem
    # Each row at first pays an equal part of what it would cost to have the whole demand.
    share = cost / np.maximum(np.diff(start), 1)
    price = np.full(len(demand), np.inf)
    np.minimum.at(price, rows, np.repeat(share, np.diff(start)))
    price[np.isinf(price)] = 0
    best = price.copy()
    course = np.zeros(len(demand))
    values = np.array([-np.inf, 0.5, PATIENCE])
    part = max(1, min(rounds, 20_000_000 // max(1, len(rows))))
    for _ in range(0, rounds, part):
        climb(start, rows, demand, cost, price, best, course, values, upper, part)
        if tick is not None:
            tick()
        if values[1] < 1e-4:
            break
    reduced = np.empty(len(cost))
    reduced_costs(start, rows, cost, best, reduced)
    terms = np.concatenate([demand * best, reduced[reduced < 0]])
    return math.fsum(terms) - SAFETY * math.fsum(np.abs(terms)), reduced
