"""Choose the experts of a pool with the smallest bound on the error within a budget (theory: section 7).

The reduction of the bound on the error is submodular: an expert reduces it by less, the more other experts
there are. So choosing the experts that reduce it most, or most for their cost, comes close to the best
choice, and exchanges come closer. The most that all others could still reduce it bounds the gap; in small
pools it leaves few choices to examine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_prior
from covote.bounds.statistical import apply, confusion, pair_weights
from covote.colours import LIGHT
from covote.covers.search.efforts import effort_named
from covote.panel import Name, Panel
from covote.progress import Progress, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]
Flags = NDArray[np.bool_]

FREE = 1e-12
"""Replaces a cost of 0, to divide by it."""


@dataclass(frozen=True)
class Affordable:
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


def afford(pool: Pool, required: Flags, effort: str, progress: Progress | None = None) -> Affordable:
    """Choose experts within the budget, including those in `required`."""
    empty = np.zeros_like(required)
    ways = [_greedy(pool, required, required, empty, by_cost) for by_cost in (True, False)]
    best = min(ways, key=lambda way: way.error)
    lower = max(way.lower for way in ways)
    with Work(pool.touched + effort_named(effort).exchanging, progress) as work:
        better: Affordable | None = best
        while better is not None:
            best, better = better, _exchanged(pool, better, required, work)
        best, all_seen = _branched(pool, best, required, work)
        lower = best.error if all_seen else lower
    return Affordable(best.chosen, best.error, min(lower, best.error))


def _greedy(pool: Pool, chosen: Flags, required: Flags, barred: Flags, by_cost: bool) -> Affordable:
    """Repeatedly add the expert that reduces the error most (for its cost), except the barred ones."""
    chosen, left, lower = chosen.copy(), pool.weights(chosen), 0.0
    while True:
        gains = pool.gains(left)
        error = float(left.sum() / 2)
        lower = max(lower, error - _at_most(pool, gains, chosen, required))
        can = pool.fits(chosen) & (gains > 0) & ~barred
        if not can.any():
            return Affordable(chosen, error, lower)
        worth = gains / np.maximum(pool.cost, FREE) if by_cost else gains
        i = int(np.argmax(np.where(can, worth, -1.0)))
        chosen[i] = True
        pool.add(left, i)


def _at_most(pool: Pool, gains: Array, chosen: Flags, required: Flags) -> float:
    """Return the most that any other experts could reduce the error by, if fractions could be hired.

    Whichever are chosen, each reduces the error by at most its gain next to the chosen ones (submodularity),
    and together they cost at most the budget that the experts who must stay leave over.
    """
    return _parts(np.where(chosen, 0.0, gains), pool.cost, pool.budget - float(pool.cost[required].sum()))


def _parts(gains: Array, cost: Array, money: float) -> float:
    """Return the largest total gain that the money can buy, if fractions of experts could be hired."""
    order = np.argsort(-gains / np.maximum(cost, FREE), kind="stable")
    gains, cost = gains[order], cost[order]
    share = np.clip((money - (np.cumsum(cost) - cost)) / np.maximum(cost, FREE), 0, 1)
    return float((np.where(cost > 0, share, 1.0) * gains).sum())


def _over(pool: Pool, best: Affordable, work: Work) -> bool:
    """Report the entries touched; return whether the budget of entries is used up, or work was stopped."""
    stopped = work.advance(pool.touched - work.done, f"error at most {best.error:.4g} so far")
    return stopped or work.done >= work.total


def _exchanged(pool: Pool, best: Affordable, required: Flags, work: Work) -> Affordable | None:
    """Replace one expert by others for the same money; return the first better choice, or None."""
    for i in np.flatnonzero(best.chosen & ~required):
        barred, without = np.zeros_like(required), best.chosen.copy()
        barred[i], without[i] = True, False
        for by_cost in (True, False):
            if _over(pool, best, work):
                return None
            found = _greedy(pool, without, required, barred, by_cost)
            if found.error < best.error * (1 - 1e-12):
                return found
    return None


def _branched(pool: Pool, best: Affordable, required: Flags, work: Work) -> tuple[Affordable, bool]:
    """Examine every choice that could be better while work remains; return the best, and if it is proved."""
    open_choices = [(required, np.zeros_like(required))]
    while open_choices:
        if _over(pool, best, work):
            return best, False
        chosen, barred = open_choices.pop()
        left = pool.weights(chosen)
        gains, error = pool.gains(left), float(left.sum() / 2)
        if error < best.error:
            best = Affordable(chosen, error, 0.0)
        can = pool.fits(chosen) & (gains > 0) & ~barred
        money = pool.budget - float(pool.cost[chosen].sum())
        if not can.any() or error - _parts(gains[can], pool.cost[can], money) >= best.error * (1 - 1e-12):
            continue
        i = int(np.argmax(np.where(can, gains / np.maximum(pool.cost, FREE), -1.0)))
        with_it, without = chosen.copy(), barred.copy()
        with_it[i] = without[i] = True
        open_choices += [(chosen, without), (with_it, barred)]
    return best, True


@dataclass(frozen=True, eq=False)
class Spending:
    """Experts in the order in which to hire them.

    Attributes
    ----------
    names
        The experts, starting with the one that reduces the error most for its cost.
    cost
        The total cost of the first n experts, for n from 0 to all of them: one entry more than names.
    error
        Their bound on the error, at most 1.
    """

    names: tuple[Name, ...]
    cost: NDArray[np.float64]
    error: NDArray[np.float64]

    @property
    def worth(self) -> NDArray[np.float64]:
        """By how much each expert reduces the error per unit of cost."""
        found: NDArray[np.float64] = -np.diff(self.error) / np.maximum(np.diff(self.cost), FREE)
        return found

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bound on the error against the cost; return the axes."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(7.5, 4.8), layout="constrained").add_subplot()
        left = np.maximum(self.error, 1e-6)
        ax.step(self.cost, left, where="post", color=LIGHT["main"], marker="o", markersize=3)
        ax.set_yscale("log")
        ax.set_xlabel("spent")
        ax.set_ylabel("error at most")
        ax.grid(alpha=0.3)
        return ax


def spending(
    panel: Panel,
    *,
    keep: Iterable[Name] = (),
    accuracy: Any = None,
    prior: ArrayLike | None = None,
    until: float = math.inf,
) -> Spending:
    """Return the order in which to hire the experts of a pool, and by how much each reduces the error.

    This is the greedy order of ``select(panel, budget=...)`` without exchanges: the next expert is the one
    who reduces the bound on the error most for their cost (theory: section 7).

    Parameters
    ----------
    panel
        The pool, with its costs.
    keep
        Experts who are already hired; their cost counts.
    accuracy, prior
        As for :func:`covote.select`.
    until
        Stop when this much is spent.

    >>> pool = Panel.from_blocks(["a", "b", "c"], [["a", "b", "c"], ["a", "b"], ["b", "c"]], cost=[5, 1, 1])
    >>> found = spending(pool, accuracy=0.9)
    >>> found.names, found.cost.tolist(), found.error.round(2).tolist()
    (('expert-2', 'expert-3', 'expert-1'), [0.0, 1.0, 2.0, 7.0], [1.0, 0.8, 0.62, 0.3])
    """
    rates = check_accuracy(1.0 if accuracy is None else accuracy, panel)
    pool = Pool(panel, math.inf, rates, check_prior(prior, len(panel.classes)))
    chosen = np.zeros(len(panel), dtype=np.bool_)
    chosen[[panel.expert_index(name) for name in keep]] = True
    left = pool.weights(chosen)
    names: list[Name] = []
    cost, error = [float(panel.cost[chosen].sum())], [float(left.sum() / 2)]
    while not chosen.all() and cost[-1] < until:
        gains = np.where(chosen, -1.0, pool.gains(left) / np.maximum(panel.cost, FREE))
        i = int(np.argmax(gains))
        chosen[i] = True
        pool.add(left, i)
        names.append(panel.names[i])
        cost.append(cost[-1] + float(panel.cost[i]))
        error.append(float(left.sum() / 2))
    return Spending(tuple(names), np.array(cost), np.minimum(1.0, error))
