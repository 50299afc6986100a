"""Exact set cover for small pools: branch and bound with Lagrangian bounds from subgradient ascent.

Held and Karp (1971), "The traveling-salesman problem and minimum spanning trees: part II"; Beasley (1990), "A
Lagrangian heuristic for set-covering problems".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.set_cover.problem import PoolCover
from covote.progress import Work

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

FREE, IN, OUT = 0, 1, 2
ROUNDS = 12
"""Steps of the subgradient at each node."""

PATIENCE = 20
"""Rounds without a better bound after which the steps become smaller."""

COURSE = 0.7
"""The weight of the past in the running mean of the subgradients."""


class Tree(NamedTuple):
    """The problem and the path from the root to the current node."""

    column_start: Longs
    column_rows: Ints
    row_start: Longs
    row_columns: Ints
    cost: Floats
    residual: Ints  # per row: the demand that the columns of the path leave open
    choices: Ints  # per row: columns that are still free
    status: NDArray[np.int8]  # per column: FREE, IN or OUT
    trail: Ints  # the columns that are not free, in the order in which they were fixed
    decisions: Ints  # per depth: the place of its decision in the trail
    length: Ints  # of the trail, and of the decisions
    price: Floats  # per row; every node begins with the prices of the last one
    best_price: Floats
    reduced: Floats  # per column
    totals: (
        Floats  # the cost of the path; what a cover must cost to be better, at most; the best cover's cost
    )
    best: NDArray[np.bool_]  # per column: in the best cover


@helper
def fix(j: int, status: int, t: Tree) -> None:
    """Fix the status of a free column."""
    t.status[j] = status
    t.trail[t.length[0]] = j
    t.length[0] += 1
    if status == IN:
        t.totals[0] += t.cost[j]
    for at in range(t.column_start[j], t.column_start[j + 1]):
        r = t.column_rows[at]
        t.choices[r] -= 1
        if status == IN:
            t.residual[r] -= 1


@helper
def undo(length: int, t: Tree) -> None:
    """Undo all decisions after the first `length`."""
    while t.length[0] > length:
        t.length[0] -= 1
        j = t.trail[t.length[0]]
        if t.status[j] == IN:
            t.totals[0] -= t.cost[j]
        for at in range(t.column_start[j], t.column_start[j + 1]):
            r = t.column_rows[at]
            t.choices[r] += 1
            if t.status[j] == IN:
                t.residual[r] += 1
        t.status[j] = FREE


@helper
def relax(t: Tree, slope: Floats) -> float:
    """Return the bound of the current prices, and write the reduced costs and the slope of the bound."""
    bound = float(t.totals[0])
    for r in range(len(t.price)):
        slope[r] = max(0, t.residual[r])
        bound += slope[r] * t.price[r]
    for j in range(len(t.cost)):
        if t.status[j] != FREE:
            continue
        value = t.cost[j]
        for at in range(t.column_start[j], t.column_start[j + 1]):
            r = t.column_rows[at]
            if t.residual[r] > 0:
                value -= t.price[r]
        t.reduced[j] = value
        if value < 0:
            bound += value
            for at in range(t.column_start[j], t.column_start[j + 1]):
                slope[t.column_rows[at]] -= 1
    return bound


@helper
def bounded(t: Tree, slope: Floats) -> float:
    """Return the best bound near the current prices; fix columns that no better cover can have, or lack."""
    best = -np.inf
    goal = t.totals[1]
    for turn in range(ROUNDS):
        bound = relax(t, slope)
        if bound > best:
            best = bound
            for r in range(len(t.price)):
                t.best_price[r] = t.price[r]
            if bound > goal:
                return float(bound)
            for j in range(len(t.cost)):
                if t.status[j] == FREE and bound + t.reduced[j] > goal:
                    fix(j, OUT, t)
                elif t.status[j] == FREE and bound - t.reduced[j] > goal:
                    fix(j, IN, t)
                    return -np.inf  # the residual demand has changed
        length = 0.0
        for r in range(len(t.price)):
            if t.residual[r] <= 0 or (slope[r] < 0 and t.price[r] == 0):
                slope[r] = 0
            length += slope[r] * slope[r]
        if length == 0:
            break
        step = (1.0 if turn < ROUNDS // 2 else 0.4) * (1.02 * goal - bound + 1e-9) / length
        for r in range(len(t.price)):
            t.price[r] = max(0.0, t.price[r] + step * slope[r])
    for r in range(len(t.price)):
        t.price[r] = t.best_price[r]
    relax(t, slope)
    return best


@helper
def tightest(t: Tree) -> int:
    """Return the open row with the fewest spare columns; -1 if none is open, -2 if one is infeasible."""
    best, spare = -1, 0
    for r in range(len(t.residual)):
        if t.residual[r] <= 0:
            continue
        here = t.choices[r] - t.residual[r]
        if here < 0:
            return -2
        if best < 0 or here < spare:
            best, spare = r, here
    return best


@helper
def back(t: Tree) -> bool:
    """Reverse the last decision; return False if there is none left."""
    if t.length[1] == 0:
        return False
    t.length[1] -= 1
    at = t.decisions[t.length[1]]
    j = t.trail[at]
    undo(at, t)
    fix(j, OUT, t)
    return True


@kernel(steps=lambda t, unit, nodes: nodes * ROUNDS * len(t.column_rows))
def explore(t: Tree, unit: float, nodes: int) -> bool:
    """Visit `nodes` nodes; return whether the whole tree has been visited.

    The search branches on the most promising column of the tightest row, first with it and then without it. A
    better cover is cheaper by at least `unit`.
    """
    slope = np.empty(len(t.price))
    while nodes > 0:
        nodes -= 1
        row = tightest(t)
        if row == -1:
            t.totals[2] = t.totals[0]
            t.totals[1] = t.totals[0] - unit
            for j in range(len(t.cost)):
                t.best[j] = t.status[j] == IN
        elif row >= 0:
            bound = bounded(t, slope)
            if bound == -np.inf:
                continue
            if bound <= t.totals[1]:
                row = tightest(t)
                if row >= 0:
                    chosen = -1
                    for s in range(t.row_start[row], t.row_start[row + 1]):
                        j = t.row_columns[s]
                        if t.status[j] == FREE and (chosen < 0 or t.reduced[j] < t.reduced[chosen]):
                            chosen = j
                    t.decisions[t.length[1]] = t.length[0]
                    t.length[1] += 1
                    fix(chosen, IN, t)
                    continue
                if row == -1:
                    continue
        if not back(t):
            return True
    return False


@kernel
def reduced_costs(
    column_start: Longs, column_rows: Ints, cost: Floats, price: Floats, reduced: Floats
) -> None:
    """Write the reduced costs: the cost of each column minus the prices of its rows."""
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
    """Follow the subgradient for `rounds` rounds; `values` is the best bound, the step, the patience left.

    The bound of prices u is sum(demand u) + sum of the negative reduced costs. The `course` is a running mean
    of the subgradients, which oscillates less.
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


FIRST, STEP = 300_000, 30_000_000
"""Entries to visit before the first report, and the most entries between two reports."""

SAFETY = 1e-12
"""Relative margin for rounding, by which a bound is lowered before it is used."""


def lagrangian_bound(problem: PoolCover, upper: float, rounds: int, work: Work) -> float:
    """Return a cost that no cover can undercut.

    For any prices u >= 0 of the rows, every cover costs at least sum(demand u) + sum of the negative reduced
    costs. `upper` is the cost of a known cover; it only guides the steps.
    """
    start, rows, demand, cost = problem
    # Initially each row pays an equal share of its cheapest column.
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
    return math.fsum(terms) - SAFETY * math.fsum(np.abs(terms))


def branch(
    problem: PoolCover, best: NDArray[np.bool_], unit: float, entries: int, work: Work
) -> tuple[NDArray[np.bool_], bool]:
    """Return the cheapest cover found, and whether it is proved to be the cheapest.

    `best` is a known cover. Costs are multiples of `unit`, so a better cover is cheaper by at least that
    much. `entries` is the most entries of the problem to visit; several times a second, `work` may stop the
    search.
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
    """Return how much cheaper a better cover must be, slightly less to allow for rounding."""
    return 0.999 * unit if unit > 1e-6 * total else 1e-9 * total
