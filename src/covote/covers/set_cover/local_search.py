"""Local search for cheap set covers, with weights on the rows.

Gao, Yao, Weise and Li (2015), "An efficient local search heuristic with row weighting for the unicost set
covering problem"; here columns have costs and rows demands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, random_state
from covote.covers.set_cover.problem import PoolCover
from covote.progress import Work

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WAIT = 3
"""The most steps for which a column that moved may not move back."""


class CoverTables(NamedTuple):
    """The problem, by column and by row, and the state of the search.

    ``column_rows[column_start[j] : column_start[j + 1]]`` are the rows of column j; `row_columns` likewise.
    """

    column_start: Longs
    column_rows: Ints
    row_start: Longs
    row_columns: Ints
    demand: Ints
    cost: Floats
    inside: Flags  # per column: in the solution
    score: Longs  # per column: the weight gained by adding it, or lost by dropping it
    stamp: Longs  # per column: the step of its last move
    held: Ints  # per row: how many columns inside have it
    weight: Longs  # per row
    needy: Ints  # the rows in need are the first needs[0] of these
    place: Ints  # per row: its place in `needy`
    needs: Ints
    best: Flags  # per column: in the cheapest cover seen
    totals: Floats  # the cost of the solution, and of the cheapest cover
    clock: Longs  # steps made


@helper
def add(j: int, t: CoverTables) -> None:
    """Add column `j` to the solution, and update all scores."""
    t.inside[j] = True
    t.score[j] = 0
    t.totals[0] += t.cost[j]
    t.stamp[j] = t.clock[0]
    for at in range(t.column_start[j], t.column_start[j + 1]):
        r = t.column_rows[at]
        t.held[r] += 1
        spare = t.held[r] - t.demand[r]
        if spare <= 0:
            t.score[j] += t.weight[r]
        if spare == 0:  # no longer in need: no column outside gains from it
            t.needs[0] -= 1
            last = t.needy[t.needs[0]]
            t.needy[t.place[r]] = last
            t.place[last] = t.place[r]
            for s in range(t.row_start[r], t.row_start[r + 1]):
                if not t.inside[t.row_columns[s]]:
                    t.score[t.row_columns[s]] -= t.weight[r]
        elif spare == 1:  # no longer critical: no column inside loses it
            for s in range(t.row_start[r], t.row_start[r + 1]):
                if t.inside[t.row_columns[s]] and t.row_columns[s] != j:
                    t.score[t.row_columns[s]] -= t.weight[r]


@helper
def remove(j: int, t: CoverTables) -> None:
    """Remove column `j` from the solution, and update all scores."""
    t.inside[j] = False
    t.score[j] = 0
    t.totals[0] -= t.cost[j]
    t.stamp[j] = t.clock[0]
    for at in range(t.column_start[j], t.column_start[j + 1]):
        r = t.column_rows[at]
        t.held[r] -= 1
        spare = t.held[r] - t.demand[r]
        if spare < 0:
            t.score[j] += t.weight[r]
        if spare == -1:  # now in need
            t.place[r] = t.needs[0]
            t.needy[t.needs[0]] = r
            t.needs[0] += 1
            for s in range(t.row_start[r], t.row_start[r + 1]):
                if not t.inside[t.row_columns[s]] and t.row_columns[s] != j:
                    t.score[t.row_columns[s]] += t.weight[r]
        elif spare == 0:  # now critical
            for s in range(t.row_start[r], t.row_start[r + 1]):
                if t.inside[t.row_columns[s]]:
                    t.score[t.row_columns[s]] += t.weight[r]


@helper
def cheapest_loss(t: CoverTables, since: int) -> int:
    """Return the column inside that loses the least per cost, the oldest on ties; -1 if all moved since."""
    best = -1
    for j in range(len(t.inside)):
        if not t.inside[j] or t.stamp[j] > since:
            continue
        if best < 0:
            best = j
            continue
        lead = t.score[j] * t.cost[best] - t.score[best] * t.cost[j]
        if lead < 0 or (lead == 0 and t.stamp[j] < t.stamp[best]):
            best = j
    return best


@helper
def best_gain(r: int, t: CoverTables, since: int) -> int:
    """Return the column outside with row `r` that gains the most per cost, the oldest on ties; -1 if none."""
    best = -1
    for s in range(t.row_start[r], t.row_start[r + 1]):
        j = t.row_columns[s]
        if t.inside[j] or t.stamp[j] > since:
            continue
        if best < 0:
            best = j
            continue
        lead = t.score[j] * t.cost[best] - t.score[best] * t.cost[j]
        if lead > 0 or (lead == 0 and t.stamp[j] < t.stamp[best]):
            best = j
    return best


@kernel(steps=lambda t: len(t.row_columns) * 4 + len(t.cost) ** 2)
def greedy(t: CoverTables) -> None:
    """Add the column that gains the most per cost, the first on ties, until no row is in need."""
    while t.needs[0] > 0:
        best = -1
        for j in range(len(t.cost)):
            if not t.inside[j] and (best < 0 or t.score[j] * t.cost[best] > t.score[best] * t.cost[j]):
                best = j
        add(best, t)
    t.best[:] = t.inside
    t.totals[1] = t.totals[0]


@kernel(steps=lambda t, steps, state: steps * (100 + 10 * len(t.cost)))
def search(t: CoverTables, steps: int, state: State) -> None:
    """Walk for `steps` steps.

    A step drops one or two columns that lose the least per cost, then covers random rows in need with the
    column that gains the most per cost, as long as the cost stays below the best. A column that just moved
    may not move back for a few steps. The weights of rows that are still in need grow.
    """
    for _ in range(steps):
        t.clock[0] += 1
        now = t.clock[0]
        drops = 1 + below(state, 2)
        while drops > 0:
            complete = t.needs[0] == 0
            if complete and t.totals[0] < t.totals[1]:
                t.totals[1] = t.totals[0]
                t.best[:] = t.inside
            j = cheapest_loss(t, now if complete else now - 1 - below(state, WAIT))
            if j < 0:
                break
            remove(j, t)
            drops -= t.needs[0] > 0
        while t.needs[0] > 0:
            r = t.needy[below(state, t.needs[0])]
            j = best_gain(r, t, now - 1 - below(state, WAIT))
            if j < 0 or t.totals[0] + t.cost[j] >= t.totals[1]:
                break
            add(j, t)
        for i in range(t.needs[0]):
            r = t.needy[i]
            t.weight[r] += 1
            for s in range(t.row_start[r], t.row_start[r + 1]):
                t.score[t.row_columns[s]] += 1


STEP = 60_000_000
"""The most entries to touch between two reports."""


class WeightedSearch:
    """A search that starts with the greedy cover, and can be continued.

    Attributes
    ----------
    best, total
        The cheapest cover seen (one flag per column), and its cost.
    made
        Steps made.
    """

    def __init__(self, problem: PoolCover, seed: int) -> None:
        columns, rows = len(problem.cost), len(problem.demand)
        row_start, row_columns = problem.by_row()
        self._state = random_state(seed)
        self._tables = CoverTables(
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
        greedy(self._tables)
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
        """Return the number of steps that touch about `work` entries."""
        return work // self._step_work

    def run(self, steps: int, work: Work) -> None:
        """Make `steps` steps; several times a second, `work` gets a report and may stop the search."""
        stretch = max(1, STEP // self._step_work)
        while steps > 0:
            search(self._tables, min(stretch, steps), self._state)
            made = min(stretch, steps)
            steps -= made
            self.offer(self._tables.best)
            if work.advance(made, f"looking for a cheaper choice; {self.total:g} so far"):
                break

    def offer(self, cover: NDArray[np.bool_]) -> None:
        """Keep a cover, found here or elsewhere, if it is cheaper than the best."""
        if self._tables.cost[cover].sum() < self.total:
            self.best = cover.copy()
            self._tables.totals[1] = min(self._tables.totals[1], self.total)
