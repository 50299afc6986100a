"""Proofs that no cheaper cover exists: Lagrangian bounds for any pool, an integer program for small ones.

Held and Karp (1971), "The traveling-salesman problem and minimum spanning trees: part II"; Beasley (1990), "A
Lagrangian heuristic for set-covering problems".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from covote.covers.set_cover.problem import PoolCover
from covote.progress import Work

PATIENCE = 20
"""Rounds without a better bound after which the steps become smaller."""

COURSE = 0.7
"""The weight of the past in the running mean of the subgradients, which oscillates less than they do."""

REPORTED = 20_000_000
"""Entries to visit between two reports."""

SAFETY = 1e-12
"""Relative margin for rounding, by which a bound is lowered before it is used."""

OPTIMAL, INFEASIBLE = 0, 2
"""How an integer program ends; infeasible if there is no cheaper cover."""


def lagrangian_bound(problem: PoolCover, upper: float, rounds: int, work: Work) -> float:
    """Return a cost that no cover can undercut.

    For any prices u >= 0 of the rows, every cover costs at least sum(demand u) + sum of the negative reduced
    costs. The prices follow the subgradient of this bound. `upper` is the cost of a known cover; it only
    guides the steps.
    """
    demand, cost, pairs = problem.demand, problem.cost, problem.matrix()
    # Initially each row pays an equal share of its cheapest column.
    sizes = np.diff(problem.column_start)
    price = np.full(len(demand), np.inf)
    np.minimum.at(price, problem.column_rows, np.repeat(cost / np.maximum(sizes, 1), sizes))
    price[np.isinf(price)] = 0
    best, best_price = -np.inf, price
    course, step, patience = np.zeros(len(demand)), 0.5, PATIENCE
    part = 1 + REPORTED // max(1, len(problem.column_rows))
    for turn in range(rounds):
        reduced = cost - pairs.T @ price
        bound = float(demand @ price + reduced[reduced < 0].sum())
        patience -= 1
        if bound > best:
            best, best_price, patience = bound, price, PATIENCE
        if patience == 0:
            step, patience = step / 2, PATIENCE
        course = COURSE * course + (1 - COURSE) * (demand - pairs @ (reduced < 0))
        course[(course < 0) & (price == 0)] = 0
        length = float(course @ course)
        if length == 0 or (turn % part == 0 and (work.advance(0) or step < 1e-4)):
            break
        price = np.maximum(0, price + step * (upper - bound) / length * course)
    reduced = cost - pairs.T @ best_price
    terms = np.concatenate([demand * best_price, reduced[reduced < 0]])
    return math.fsum(terms) - SAFETY * math.fsum(np.abs(terms))


def cheaper_cover(
    problem: PoolCover, best: NDArray[np.bool_], unit: float, nodes: int
) -> tuple[NDArray[np.bool_], bool]:
    """Return the cheapest cover, and whether it is proved to be the cheapest.

    `best` is a known cover, which is returned unless a cheaper one is found. Costs are multiples of `unit`,
    so a cheaper cover is cheaper by at least that much. The integer program may visit `nodes` nodes.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    demand, cost, pairs = problem.demand, problem.cost, problem.matrix()
    total = float(cost[best].sum())
    less = total - (0.999 * unit if unit > 1e-6 * total else 1e-9 * total)
    answer = milp(
        cost,
        constraints=[LinearConstraint(pairs, lb=demand), LinearConstraint(cost[None], ub=less)],
        bounds=Bounds(0, 1),
        integrality=np.ones(len(cost)),
        options={"node_limit": nodes, "mip_rel_gap": 0},
    )
    if answer.x is not None:
        found = answer.x > 0.5
        if cost[found].sum() < total and (pairs @ found >= demand).all():
            best = found
    return best, answer.status in (OPTIMAL, INFEASIBLE)
