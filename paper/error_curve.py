"""The error of random panels against their number of experts, measured and bounded.

Paper: the statistical setting (Thm 4, Thm 5), random experts that are perfect inside their expertise and
uniform outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from covote.arguments import check_count, check_size
from covote.bounds import random_panel_error, random_panel_experts
from covote.decoding.gold import wilson
from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.progress import Progress
from covote.simulation.method_errors import error_rate

IDEAL: dict[str, Any] = {"noise": "uniform", "accuracy": 1.0, "missing": 0.0}
"""The model for which the bounds hold."""


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
    fano, converse
        No panel can have a smaller error (Thm 4; theory: section 5).
    random_panels, paper
        Random panels have a smaller error on average (theory: section 5; Thm 5).
    ideal
        Whether the bounds hold here: for perfect experts that answer every item, and uniform noise.
    model
        The method, for the title of a picture.
    """

    classes: int
    size: int
    experts: tuple[int, ...]
    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    fano: NDArray[np.float64]
    converse: NDArray[np.float64]
    random_panels: NDArray[np.float64]
    paper: NDArray[np.float64]
    ideal: bool = True
    model: str = ""

    def rows(self) -> list[dict[str, float]]:
        """Return one dict per number of experts; without bounds where these do not hold."""
        names = ["error", "low", "high"]
        names += ["fano", "converse", "random_panels", "paper"] if self.ideal else []
        return [
            {"experts": m, **{name: float(getattr(self, name)[n]) for name in names}}
            for n, m in enumerate(self.experts)
        ]


def error_curve(
    classes: int,
    size: int,
    experts: Iterable[int] | None = None,
    *,
    panels: int = 100,
    items: int = 500,
    method: str = "likelihood",
    seed: int = 0,
    progress: Progress | None = None,
    **model: Any,
) -> ErrorCurve:
    """Measure the error of random panels against their number of experts.

    Parameters
    ----------
    classes, size
        K and R: every expert knows R random classes.
    experts
        The numbers of experts to try (default: from where errors are frequent to where they are rare).
    panels, items
        How many random panels for each number, and how many items for each panel.
    method
        How to decode; the default is the most likely class under the paper's model.
    seed
        Same seed, same curve.
    model
        Passed to :func:`covote.simulation.simulate`: noise, accuracy, missing, ... The bounds hold for the
        default.

    A tie counts as an error with the probability of picking another of the tied classes.

    >>> curve = error_curve(10, 4, [5, 20], panels=5, items=100)
    >>> bool(curve.error[1] < curve.error[0])
    True
    """
    check_size(classes, size)
    if experts is None:
        most = random_panel_experts(classes, size, 0.001) if size < classes else 4
        experts = sorted({max(1, round(most * step / 8)) for step in range(1, 9)})
    sizes = tuple(check_count(m, "the number of experts") for m in experts)
    if not sizes:
        raise InputError("no numbers of experts; give at least one")
    check_count(panels, "the number of panels")
    check_count(items, "the number of items")
    measured = np.empty((len(sizes), 3))
    for n, m in enumerate(sizes):
        rates = []
        for p in range(panels):
            panel = random_panel(classes, size, m, [seed, m, p])
            rates.append(error_rate(panel, items, method, [seed, m, p, 1], **model))
            if progress is not None:
                progress(n * panels + p + 1, len(sizes) * panels, f"{m} experts")
        measured[n] = clustered_interval(np.array(rates), items)
    return ErrorCurve(
        classes, size, sizes, measured[:, 0], measured[:, 1], measured[:, 2],
        np.array([fano_error(classes, size, m) for m in sizes]),
        np.array([converse_error(classes, size, m) for m in sizes]),
        np.array([random_panel_error(classes, size, m) for m in sizes]),
        np.array([paper_error(classes, size, m) for m in sizes]),
        all(name in IDEAL and np.all(np.asarray(value) == IDEAL[name]) for name, value in model.items()),
        method,
    )  # fmt: skip


def random_panel(classes: int, size: int, experts: int, seed: list[int]) -> Panel:
    """Return experts that each know `size` classes, all subsets equally likely (the model of Thm 5)."""
    return Panel(classes, random_knowledge(classes, size, experts, seed))


def random_knowledge(classes: int, size: int, experts: int, seed: list[int]) -> NDArray[np.bool_]:
    """Return who knows what in such a panel (experts x classes)."""
    if experts * classes > 1 << 40:
        raise TooLargeError(f"{experts} experts by {classes} classes are too many for memory; take fewer")
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
    told = experts * size / classes * math.log(size) + math.log(2)
    return max(0.0, 1 - told / math.log(classes)) if classes > 1 else 0.0


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


def plot_error_curve(curve: ErrorCurve, ax: Axes | None = None) -> Axes:
    """Draw the curve, between its bounds where these hold, on a logarithmic scale; return the axes."""
    if ax is None:
        ax = Figure(figsize=(7.5, 4.8), layout="constrained").add_subplot()
    m, grid = curve.experts, range(1, max(curve.experts) + 1)
    drawn = (
        (paper_error, "--", "#b5532a", "upper bound, Thm 5"),
        (random_panel_error, "-", "#b5532a", "upper bound, exact over pairs"),
        (converse_error, "-", "#5b7f3a", "lower bound, converse"),
        (fano_error, "--", "#5b7f3a", "lower bound, Thm 4 (Fano)"),
    )
    for bound, style, colour, text in drawn if curve.ideal else ():
        values = np.array([bound(curve.classes, curve.size, n) for n in grid])
        ax.plot(grid, np.where(values > 0, values, np.nan), style, color=colour, label=text, linewidth=1.4)
    seen = np.where(curve.error > 0, curve.error, np.nan)
    below = np.where(np.isnan(seen), 0, seen - curve.low)
    above = np.where(np.isnan(seen), 0, curve.high - seen)
    ax.errorbar(
        m,
        seen,
        yerr=[below, above],
        fmt="o-",
        color="#1f6f8b",
        markersize=4,
        capsize=3,
        label="measured, with 95% interval",
    )
    ax.set_yscale("log")
    positive = seen[np.isfinite(seen)]
    ax.set_ylim(min(positive.min() / 3 if len(positive) else 1e-4, 1e-2), 1.3)
    ax.set_xlabel("experts (m)")
    ax.set_ylabel("error probability")
    ax.set_title(
        f"Random panels: {curve.classes} classes, experts know {curve.size}; {curve.model}", fontsize=11
    )
    ax.grid(which="both", alpha=0.25)
    ax.legend(frameon=False, fontsize=9)
    return ax
