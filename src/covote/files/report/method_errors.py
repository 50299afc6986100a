"""A picture of simulated error rates of methods, against the accuracy of the experts."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from covote.simulation.method_errors import MethodErrors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METHODS = ("#1f6f8b", "#b5532a", "#5b7f3a", "#7a3e9d", "#c2850c", "#444444", "#b0306a")


def plot_method_errors(found: MethodErrors, ax: Axes | None = None) -> Axes:
    """Draw one line for each method, with 95% intervals; return the axes."""
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(7.5, 4.8), layout="constrained").add_subplot()
    for (method, errors), colour in zip(found.errors.items(), cycle(_METHODS)):
        error, low, high = errors.T
        ax.errorbar(
            found.accuracies, error, yerr=[error - low, high - error], fmt="o-", markersize=4, capsize=3,
            color=colour, label=method,
        )  # fmt: skip
    ax.set_xlabel("how often experts are right about what they know")
    ax.set_ylabel("error probability")
    ax.set_ylim(bottom=0)
    ax.set_title(found.model, fontsize=11)
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=9)
    return ax
