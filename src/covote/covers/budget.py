"""Choose the experts of a pool with the smallest bound on the error within a budget (theory: section 7).

The reduction of the bound on the error is submodular: an expert reduces it by less, the more other experts
there are. So choosing the experts that reduce it most, or most for their cost, comes close to the best
choice, and exchanges come closer. The most that all others could still reduce it bounds the gap; in small
pools it leaves few choices to examine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.bounds.statistical import apply, confusion, pair_weights
from covote.covers.search.efforts import effort_named
from covote.panel import Panel
from covote.progress import Progress, Work

Array = NDArray[Any]
Flags = NDArray[np.bool_]

FREE = 1e-12
"""Replaces a cost of 0, to divide by it."""


@dataclass(frozen=True)
class BudgetChoice:
    """The chosen experts, their bound on the error, and a lower bound for all choices within the budget."""

    chosen: Flags
    error: float
    lower: float


class Pool:
    """A pool of experts of given accuracy, and a budget."""

    def __init__(
        self, panel: Panel, budget: float, accuracy: NDArray[np.float64], prior: NDArray[np.float64]
    ) -> None:
        self._knows = panel.knows
        self._float = panel.knows.astype(np.float64)
        self.cost, self.budget = panel.cost, budget
        self._both, self._one = confusion(panel, accuracy)
        self._weights = pair_weights(prior)
        self.touched = 0

    def weights(self, chosen: Flags) -> Array:
        """Return the weight of every pair that remains after the chosen experts."""
        left = self._weights.copy()
        for i in np.flatnonzero(chosen).tolist():
            self.add(left, i)
        return left

    def add(self, left: Array, i: int) -> None:
        """Subtract an expert's share from the weights, in place."""
        apply(left, self._knows[i], self._both[i], self._one[i])

    def gains(self, left: Array) -> Array:
        """Return by how much every expert would reduce the error."""
        self.touched += self._float.size * len(left)
        inside = np.einsum("ik,ik->i", self._float @ left, self._float) / 2
        across = self._float @ left.sum(axis=1) - 2 * inside
        found: Array = (1 - self._both) * inside + (1 - self._one) * across
        return found

    def fits(self, chosen: Flags) -> Flags:
        """Return the experts whom the remaining budget can pay."""
        spent = float(self.cost[chosen].sum())
        found: Flags = ~chosen & (self.cost <= (self.budget - spent) * (1 + 1e-12))
        return found


def afford(pool: Pool, required: Flags, effort: str, progress: Progress | None = None) -> BudgetChoice:
    """Choose experts within the budget, including those in `required`."""
    empty = np.zeros_like(required)
    ways = [_greedy(pool, required, required, empty, by_cost) for by_cost in (True, False)]
    best = min(ways, key=lambda way: way.error)
    lower = max(way.lower for way in ways)
    with Work(pool.touched + effort_named(effort).exchanging, progress) as work:
        better: BudgetChoice | None = best
        while better is not None:
            best, better = better, _exchange(pool, better, required, work)
        best, all_seen = _branch(pool, best, required, work)
        lower = best.error if all_seen else lower
    return BudgetChoice(best.chosen, best.error, min(lower, best.error))


def _greedy(pool: Pool, chosen: Flags, required: Flags, barred: Flags, by_cost: bool) -> BudgetChoice:
    """Repeatedly add the expert that reduces the error most (for its cost), except the barred ones."""
    chosen, left, lower = chosen.copy(), pool.weights(chosen), 0.0
    while True:
        gains = pool.gains(left)
        error = float(left.sum() / 2)
        lower = max(lower, error - _most_gain(pool, gains, chosen, required))
        can = pool.fits(chosen) & (gains > 0) & ~barred
        if not can.any():
            return BudgetChoice(chosen, error, lower)
        worth = gains / np.maximum(pool.cost, FREE) if by_cost else gains
        i = int(np.argmax(np.where(can, worth, -1.0)))
        chosen[i] = True
        pool.add(left, i)


def _most_gain(pool: Pool, gains: Array, chosen: Flags, required: Flags) -> float:
    """Return the most that any other experts could reduce the error by, if fractions could be hired.

    Whichever are chosen, each reduces the error by at most its gain next to the chosen ones (submodularity),
    and together they cost at most the budget that the experts who must stay leave over.
    """
    return _fractional_gain(
        np.where(chosen, 0.0, gains), pool.cost, pool.budget - float(pool.cost[required].sum())
    )


def _fractional_gain(gains: Array, cost: Array, money: float) -> float:
    """Return the largest total gain that the money can buy, if fractions of experts could be hired."""
    order = np.argsort(-gains / np.maximum(cost, FREE), kind="stable")
    gains, cost = gains[order], cost[order]
    share = np.clip((money - (np.cumsum(cost) - cost)) / np.maximum(cost, FREE), 0, 1)
    return float((np.where(cost > 0, share, 1.0) * gains).sum())


def _is_over(pool: Pool, best: BudgetChoice, work: Work) -> bool:
    """Report the entries touched; return whether the budget of entries is used up, or work was stopped."""
    stopped = work.advance(pool.touched - work.done, f"error at most {best.error:.4g} so far")
    return stopped or work.done >= work.total


def _exchange(pool: Pool, best: BudgetChoice, required: Flags, work: Work) -> BudgetChoice | None:
    """Replace one expert by others for the same money; return the first better choice, or None."""
    for i in np.flatnonzero(best.chosen & ~required):
        barred, without = np.zeros_like(required), best.chosen.copy()
        barred[i], without[i] = True, False
        for by_cost in (True, False):
            if _is_over(pool, best, work):
                return None
            found = _greedy(pool, without, required, barred, by_cost)
            if found.error < best.error * (1 - 1e-12):
                return found
    return None


def _branch(pool: Pool, best: BudgetChoice, required: Flags, work: Work) -> tuple[BudgetChoice, bool]:
    """Examine every choice that could be better while work remains; return the best, and if it is proved."""
    open_choices = [(required, np.zeros_like(required))]
    while open_choices:
        if _is_over(pool, best, work):
            return best, False
        chosen, barred = open_choices.pop()
        left = pool.weights(chosen)
        gains, error = pool.gains(left), float(left.sum() / 2)
        if error < best.error:
            best = BudgetChoice(chosen, error, 0.0)
        can = pool.fits(chosen) & (gains > 0) & ~barred
        money = pool.budget - float(pool.cost[chosen].sum())
        if not can.any() or error - _fractional_gain(gains[can], pool.cost[can], money) >= best.error * (
            1 - 1e-12
        ):
            continue
        i = int(np.argmax(np.where(can, gains / np.maximum(pool.cost, FREE), -1.0)))
        with_it, without = chosen.copy(), barred.copy()
        with_it[i] = without[i] = True
        open_choices += [(chosen, without), (with_it, barred)]
    return best, True
