"""Exact set cover for small pools: branch and bound with Lagrangian bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from covote.covers.set_cover.problem import PoolCover

FIRST, STEP = 300_000, 30_000_000
"""Entries looked at before a first look at the outside world, and most entries between two looks."""


def branch(
    problem: PoolCover, best: NDArray[np.bool_], unit: float, work: int, tick: Callable[[], None]
) -> tuple[NDArray[np.bool_], bool]:
    """Return the cheapest cover found, and whether it is proved to be the cheapest.

    `best` is a known cover. Costs are multiples of `unit`, so a better cover is cheaper by that much. `work`
    is how many entries of the problem may be looked at; `tick` is called several times a second.
    """
    from covote.covers.set_cover.branch_and_bound_kernels import ROUNDS, Tree, explore

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
    while work > 0 and not proved:
        proved = explore(tree, _better(unit, total), max(1, min(step, work) // each))
        work -= step
        step = min(STEP, 10 * step)
        tick()
    return tree.best, proved


def _better(unit: float, total: float) -> float:
    """How much cheaper a better cover must be; somewhat less, to leave room for rounding."""
    return 0.999 * unit if unit > 1e-6 * total else 1e-9 * total
