"""The error of random panels against their number of experts, measured and bounded.

Paper: the statistical setting (Thm 4, Thm 5), random experts that are perfect inside their expertise and
uniform outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covote.bounds import random_panel_error
from covote.colours import SERIES
from covote.decoding.gold import wilson
from covote.files.charts import new_figure
from covote.panel import Panel
from covote.progress import Progress
from covote.simulation.method_errors import error_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHOD = "likelihood"
"""The most likely class under the paper's model."""


@dataclass(frozen=True)
class ErrorCurve:
    """How often the label is wrong, for several numbers of experts.

    Attributes
    ----------
    classes, size
        K and R.
    experts
        The numbers of experts (m).
    error, low, high
        Measured error probability and its 95% interval (over items and panels).
    """

    classes: int
    size: int
    experts: Sequence[int]
    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @cached_property
    def bounds(self) -> dict[str, NDArray[np.float64]]:
        """For every number of experts, the least error of any panel, and the most of random panels."""
        return {
            name: np.array([bound(self.classes, self.size, m) for m in self.experts])
            for name, bound in BOUNDS.items()
        }


def error_curve(
    classes: int,
    size: int,
    experts: Sequence[int],
    *,
    panels: int,
    items: int,
    seed: int,
    progress: Progress = lambda done, total, message: None,
) -> ErrorCurve:
    """Measure the error of random panels of several numbers of experts, who know `size` random classes each.

    A tie counts as an error with the probability of picking another of the tied classes.

    >>> curve = error_curve(10, 4, [5, 20], panels=5, items=100, seed=0)
    >>> bool(curve.error[1] < curve.error[0])
    True
    """
    measured = np.empty((len(experts), 3))
    for n, m in enumerate(experts):
        progress(n, len(experts), f"{m} experts")
        rates = [
            error_rate(random_panel(classes, size, m, [seed, m, p]), items, METHOD, [seed, m, p, 1])
            for p in range(panels)
        ]
        measured[n] = clustered_interval(np.array(rates), items)
    return ErrorCurve(classes, size, experts, *measured.T)


def random_panel(classes: int, size: int, experts: int, seed: list[int]) -> Panel:
    """Return experts that each know `size` classes, all subsets equally likely (the model of Thm 5)."""
    return Panel(classes, random_knowledge(classes, size, experts, seed))


def random_knowledge(classes: int, size: int, experts: int, seed: list[int]) -> NDArray[np.bool_]:
    """Return who knows what in such a panel (experts x classes)."""
    return np.random.default_rng(seed).random((experts, classes)).argsort(axis=1) < size


def clustered_interval(rates: NDArray[np.float64], items: int) -> tuple[float, float, float]:
    """Return the mean of the panels' error rates and its 95% interval.

    Items of one panel are alike, so they count for less than independent ones: Wilson's interval with the
    number of independent items that would scatter as the panels do.
    """
    mean, panels = float(rates.mean()), len(rates)
    number = float(panels * items)
    scatter = float(rates.var(ddof=1)) / panels if panels > 1 else 0.0
    if scatter > 0:
        number = min(number, mean * (1 - mean) / scatter)
    number = max(number, 1.0)
    low, high = wilson(mean * number, number)
    return mean, min(mean, float(low)), max(mean, float(high))


def fano_error(classes: int, size: int, experts: int) -> float:
    """No panel has a smaller error: Thm 4 solved for the error, 1 - (m R/K ln R + ln 2) / ln K.

    >>> round(fano_error(100, 12, 10), 3)
    0.202
    """
    information = experts * size / classes * math.log(size) + math.log(2)
    return max(0.0, 1 - information / math.log(classes)) if classes > 1 else 0.0


def converse_error(classes: int, size: int, experts: int) -> float:
    """No panel has a smaller error: the best of 1 - R^t/K - m R / (K (t+1)) over t >= 0 (theory: section 5).

    >>> round(converse_error(100, 12, 10), 3)
    0.28
    """
    best, t = 0.0, 0
    while size**t < classes:
        best = max(best, 1 - size**t / classes - experts * size / (classes * (t + 1)))
        t += 1
    return best


def paper_error(classes: int, size: int, experts: int) -> float:
    """Random panels have less error on average: Thm 5 solved for it, K exp(-m (K-R)(R-1) / (K(K-1))).

    >>> round(paper_error(100, 12, 95), 3)
    0.009
    """
    if size == classes:
        return 0.0
    rate = (classes - size) * (size - 1) / (classes * (classes - 1))
    return min(1.0, classes * math.exp(-experts * rate))


BOUNDS = {
    "at least (Theorem 4)": fano_error,
    "at least (covote)": converse_error,
    "at most (covote)": random_panel_error,
    "at most (Theorem 5)": paper_error,
}
"""Bounds on the error, by name; theory: section 5."""


def plot_error_curve(curve: ErrorCurve) -> Figure:
    """Draw the curve between its bounds, on a logarithmic scale."""
    figure, axes = new_figure(7.5, 4.8)
    grid = range(1, max(curve.experts) + 1)
    for (name, bound), style, colour in zip(BOUNDS.items(), ("--", "-", "-", "--"), "3322", strict=True):
        values = np.array([bound(curve.classes, curve.size, m) for m in grid])
        axes.plot(grid, np.where(values > 0, values, np.nan), style, color=SERIES[int(colour)], label=name)
    seen = np.where(curve.error > 0, curve.error, np.nan)
    ends = [np.where(np.isnan(seen), 0, gap) for gap in (seen - curve.low, curve.high - seen)]
    axes.errorbar(
        curve.experts, seen, ends, fmt="o-", color=SERIES[1], markersize=4, capsize=3,
        label="measured, with 95% interval",
    )  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(min(np.nanmin(seen) / 3, 1e-2), 1.3)
    axes.set_xlabel("experts (m)")
    axes.set_ylabel("error probability")
    axes.set_title(f"Random panels: {curve.classes} classes, experts know {curve.size}", fontsize=11)
    axes.grid(which="both", alpha=0.25)
    axes.legend(frameon=False, fontsize=9)
    return figure
