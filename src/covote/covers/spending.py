"""What the next unit of money buys: the bound on the error against what is spent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_prior
from covote.covers.set_cover.budget import FREE, Pool
from covote.panel import Name, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Spending:
    """Experts in the order in which to hire them.

    Attributes
    ----------
    names
        The experts, the one that takes away most of the error for its cost first.
    cost
        What those before cost together, from nobody to all of them: one entry more than names.
    error
        Their bound on the error, at most 1.
    """

    names: tuple[Name, ...]
    cost: NDArray[np.float64]
    error: NDArray[np.float64]

    @property
    def worth(self) -> NDArray[np.float64]:
        """How much error each expert takes away per unit of cost."""
        found: NDArray[np.float64] = -np.diff(self.error) / np.maximum(np.diff(self.cost), FREE)
        return found

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bound on the error against what is spent; return the axes."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(7.5, 4.8), layout="constrained").add_subplot()
        left = np.maximum(self.error, 1e-6)
        ax.step(self.cost, left, where="post", color="#2a6fb5", marker="o", markersize=3)
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
    """Return in which order to hire the experts of a pool, and what each of them buys.

    It is the greedy order of ``select(panel, budget=...)`` without exchanges: the next expert is the one that
    takes away most of the bound on the error for its cost (theory: section 7).

    Parameters
    ----------
    panel
        The pool, with its costs.
    keep
        Experts that are there already; their cost counts.
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
