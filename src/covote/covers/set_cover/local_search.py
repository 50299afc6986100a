"""Local search for cheap set covers, with weights on the rows.

Gao, Yao, Weise and Li (2015), "An efficient local search heuristic with row weighting for the unicost set
covering problem"; here columns have costs and rows demands.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.covers.set_cover.problem import PoolCover
from covote.progress import Work

STEP = 60_000_000
"""Most entries touched between two looks at the outside world."""


class Weighting:
    """A search that begins with the greedy cover, and can be continued.

    Attributes
    ----------
    best, total
        The cheapest cover seen (one flag per column), and its cost.
    made
        Steps made.
    """

    def __init__(self, problem: PoolCover, seed: int) -> None:
        from covote.covers.random_kernels import chance
        from covote.covers.set_cover import local_search_kernels as kernel

        columns, rows = len(problem.cost), len(problem.demand)
        row_start, row_columns = problem.by_row()
        self._kernel = kernel
        self._state = chance(seed)
        self._tables = kernel.CoverTables(
            problem.column_start,
            problem.column_rows,
            row_start,
            row_columns,
            problem.demand,
            problem.cost,
            np.zeros(columns, dtype=bool),
            np.diff(problem.column_start),
            np.zeros(columns, dtype=np.int64),
            np.zeros(rows, dtype=np.int32),
            np.ones(rows, dtype=np.int64),
            np.arange(rows, dtype=np.int32),
            np.arange(rows, dtype=np.int32),
            np.array([rows], dtype=np.int32),
            np.zeros(columns, dtype=bool),
            np.array([0, np.inf]),
            np.zeros(1, dtype=np.int64),
        )
        # A step moves a few columns: their rows, and the columns of those rows.
        entries = len(problem.column_rows)
        self._step_work = 2_000 + 2 * columns + int(entries / max(1, columns) * entries / max(1, rows))
        kernel.greedy(self._tables)
        self.best: NDArray[np.bool_] = self._tables.best.copy()

    @property
    def made(self) -> int:
        """Steps made."""
        return int(self._tables.clock[0])

    @property
    def total(self) -> float:
        """The cost of the cheapest cover."""
        return float(self._tables.cost[self.best].sum())

    def steps(self, work: int) -> int:
        """Return how many steps touch about that many entries."""
        return work // self._step_work

    def run(self, steps: int, work: Work) -> None:
        """Make `steps` steps; several times a second, `work` hears of them and may stop the search."""
        stretch = max(1, STEP // self._step_work)
        while steps > 0:
            self._kernel.search(self._tables, min(stretch, steps), self._state)
            made = min(stretch, steps)
            steps -= made
            self.offer(self._tables.best)
            if work.advance(made, f"looking for a cheaper choice; {self.total:g} so far"):
                break

    def offer(self, cover: NDArray[np.bool_]) -> None:
        """Keep a cover that was found, here or elsewhere, if it is cheaper than the best."""
        if self._tables.cost[cover].sum() < self.total:
            self.best = cover.copy()
            self._tables.totals[1] = min(self._tables.totals[1], self.total)
