"""Exact set cover for small pools: branch and bound with Lagrangian bounds, climbed by subgradients.

Held and Karp (1971), "The traveling-salesman problem and minimum spanning trees: part II"; Beasley (1990), "A
Lagrangian heuristic for set-covering problems".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from covote.covers.set_cover.branch_and_bound_kernels import (
    PATIENCE,
    ROUNDS,
    Tree,
    climb,
    explore,
    reduced_costs,
)
from covote.covers.set_cover.problem import PoolCover
from covote.progress import Work

FIRST, STEP = 300_000, 30_000_000
"""Entries looked at before a first look at the outside world, and most entries between two looks."""

SAFETY = 1e-12
"""Relative room for rounding: a bound is lowered by this much before it is used."""


def lagrangian_bound(
    problem: PoolCover, upper: float, rounds: int, work: Work
) -> tuple[float, NDArray[np.float64]]:
    """Return a cost that no cover can undercut, and the reduced costs of the columns that prove it.

    Whatever prices u >= 0 are put on the rows, every cover costs at least sum(demand u) + sum of the negative
    reduced costs. `upper` is the cost of a known cover; it only guides the steps. A cover with column j costs
    at least the bound plus the reduced cost of j, if that is positive.
    """
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
        if work.advance(0) or values[1] < 1e-4:
            break
    reduced = np.empty(len(cost))
    reduced_costs(start, rows, cost, best, reduced)
    terms = np.concatenate([demand * best, reduced[reduced < 0]])
    return math.fsum(terms) - SAFETY * math.fsum(np.abs(terms)), reduced


def branch(
    problem: PoolCover, best: NDArray[np.bool_], unit: float, entries: int, work: Work
) -> tuple[NDArray[np.bool_], bool]:
    """Return the cheapest cover found, and whether it is proved to be the cheapest.

    `best` is a known cover. Costs are multiples of `unit`, so a better cover is cheaper by that much. So
    many `entries` of the problem may be looked at; several times a second, `work` may stop the search.
    """
    columns, rows = len(problem.cost), len(problem.demand)
    total = float(problem.cost[best].sum())
    row_start, row_columns = problem.by_row()
    tree = Tree(
        problem.column_start,
        problem.column_rows,
        row_start,
        row_columns,
        problem.cost,
        problem.demand.copy(),
        np.diff(row_start).astype(np.int32),
        np.zeros(columns, dtype=np.int8),
        np.zeros(columns, dtype=np.int32),
        np.zeros(columns, dtype=np.int32),
        np.zeros(2, dtype=np.int32),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(columns),
        np.array([0, total - _better(unit, total), total]),
        best.copy(),
    )
    each = ROUNDS * (len(problem.column_rows) + rows)
    proved = False
    step = FIRST
    while entries > 0 and not proved and not work.advance(0):
        proved = explore(tree, _better(unit, total), max(1, min(step, entries) // each))
        entries -= step
        step = min(STEP, 10 * step)
    return tree.best, proved


def _better(unit: float, total: float) -> float:
    """How much cheaper a better cover must be; somewhat less, to leave room for rounding."""
    return 0.999 * unit if unit > 1e-6 * total else 1e-9 * total
