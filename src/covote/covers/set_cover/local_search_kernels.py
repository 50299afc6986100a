"""The local search of :mod:`covote.covers.set_cover.local_search`.

The search carries a weight per row (pair of classes). A column (expert) outside the solution gains the
weights of its rows in need; a column inside loses the weights of its rows that would be in need without it.
Rows that stay in need grow heavier, which leads the search out of every corner (row weighting local search).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WAIT = 3
"""Most steps that a column which moved waits before it moves back."""


class CoverTables(NamedTuple):
    """The problem, both ways round, and the state of the search.

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
    place: Ints  # per row: where it stands in `needy`
    needs: Ints
    best: Flags  # per column: in the cheapest cover seen
    totals: Floats  # the cost of the solution, and of the cheapest cover
    clock: Longs  # steps made


@helper
def add(j: int, t: CoverTables) -> None:
    """Take column `j` into the solution, and bring all scores up to date."""
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
        if spare == 0:  # no longer in need: nobody outside gains from it
            t.needs[0] -= 1
            last = t.needy[t.needs[0]]
            t.needy[t.place[r]] = last
            t.place[last] = t.place[r]
            for s in range(t.row_start[r], t.row_start[r + 1]):
                if not t.inside[t.row_columns[s]]:
                    t.score[t.row_columns[s]] -= t.weight[r]
        elif spare == 1:  # no longer critical: nobody inside loses it
            for s in range(t.row_start[r], t.row_start[r + 1]):
                if t.inside[t.row_columns[s]] and t.row_columns[s] != j:
                    t.score[t.row_columns[s]] -= t.weight[r]


@helper
def remove(j: int, t: CoverTables) -> None:
    """Take column `j` out of the solution, and bring all scores up to date."""
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
    """Return the column inside that loses least per cost, the oldest on ties; -1 if all moved since."""
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
    """Return the column outside with row `r` that gains most per cost, the oldest on ties; -1 if none."""
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
    """Add the column that gains most per cost, the first on ties, until no row is in need."""
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

    A step drops one or two columns that lose least per cost, then covers rows in need, drawn by chance, with
    the column that gains most per cost, as long as the cost stays below the best. What was just moved waits
    for a few steps before it moves back. Rows that are still in need grow heavier.
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
