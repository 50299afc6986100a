"""How often methods err on one panel, against how often its experts are right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.errors import InputError
from covote.panel import Panel
from covote.simulation.error_curve import Progress, clustered_interval, error_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""How often experts are right about what they know, unless it is given."""


@dataclass(frozen=True)
class MethodErrors:
    """How often the labels of several methods are wrong, for several accuracies of the experts.

    Attributes
    ----------
    accuracies
        How often the experts are right about what they know.
    errors
        For each method (accuracies x 3): the error and its 95% interval.
    """

    accuracies: tuple[float, ...]
    errors: Mapping[str, NDArray[np.float64]]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per accuracy, with the error of every method and its interval."""
        return [
            {
                "accuracy": accuracy,
                **{
                    method: dict(zip(("error", "low", "high"), map(float, errors[n]), strict=True))
                    for method, errors in self.errors.items()
                },
            }
            for n, accuracy in enumerate(self.accuracies)
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one line for each method, with 95% intervals; return the axes."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(7.5, 4.8), layout="constrained").add_subplot()
        for method, errors in self.errors.items():
            error, low, high = errors.T
            spread = [error - low, high - error]
            ax.errorbar(self.accuracies, error, yerr=spread, fmt="o-", markersize=4, capsize=3, label=method)
        ax.set_xlabel("how often experts are right about what they know")
        ax.set_ylabel("error probability")
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=9)
        return ax


def method_errors(
    panel: Panel,
    methods: Iterable[str],
    accuracies: Iterable[float] = ACCURACIES,
    *,
    items: int = 5000,
    seed: int = 0,
    progress: Progress | None = None,
    **model: Any,
) -> MethodErrors:
    """Measure how often methods err on votes of one panel; all of them see the same votes.

    Parameters
    ----------
    panel
        The experts.
    methods
        The methods, as :func:`covote.decode` has them.
    accuracies
        How often experts are right about what they know.
    items
        How many items are labelled for each accuracy.
    seed
        Same seed, same votes.
    model
        Passed to :func:`covote.simulation.simulate`: noise, missing, ...

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> found = method_errors(panel, ["authority"], [0.6, 1.0], items=500)
    >>> bool(found.errors["authority"][0, 0] > found.errors["authority"][1, 0])
    True
    """
    names, rates = tuple(dict.fromkeys(methods)), tuple(accuracies)
    if not names or not rates:
        raise InputError("nothing to measure; give at least one method and one accuracy")
    check_count(items, "the number of items")
    plain = Panel(len(panel.classes), panel.knows)
    found = {method: np.empty((len(rates), 3)) for method in names}
    for n, accuracy in enumerate(rates):
        for m, method in enumerate(names):
            error = error_rate(plain, items, method, [seed, n], accuracy=accuracy, **model)
            found[method][n] = clustered_interval(np.array([error]), items)
            if progress is not None:
                progress(n * len(names) + m + 1, len(rates) * len(names), method)
    return MethodErrors(rates, found)
