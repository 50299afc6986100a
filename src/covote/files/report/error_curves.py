"""Pictures of simulated error rates: against the number of experts, and against their accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from covote.bounds import random_panel_error
from covote.simulation.error_curve import (
    ErrorCurve,
    MethodErrors,
    converse_error,
    fano_error,
    paper_error,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METHODS = ("#1f6f8b", "#b5532a", "#5b7f3a", "#7a3e9d", "#c2850c", "#444444", "#b0306a")
_FURTHER = ("#7a3e9d", "#c2850c", "#444444", "#b0306a")  # methods next to the bounds, which have others


def plot_error_curve(curve: ErrorCurve, ax: Axes | None = None) -> Axes:
    """Draw the curve, between its bounds where these hold, on a logarithmic scale; return the axes."""
    ax = ax or _axes()
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


def plot_error_curves(curves: Mapping[str, ErrorCurve]) -> Axes:
    """Draw the curves of several methods in one picture, and the bounds once; return the axes."""
    (first, curve), *others = curves.items()
    ax = plot_error_curve(curve)
    for (name, other), colour in zip(others, cycle(_FURTHER)):
        ax.plot(other.experts, other.error, "o-", markersize=4, color=colour, label=name)
    if others:
        ax.containers[0].set_label(first)  # instead of "measured"
        ax.set_title(ax.get_title().removesuffix(f", {first}"), fontsize=11)
        ax.legend(frameon=False, fontsize=9)
    return ax


def plot_method_errors(found: MethodErrors, ax: Axes | None = None) -> Axes:
    """Draw one line for each method, with 95% intervals; return the axes."""
    ax = ax or _axes()
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


def _axes() -> Axes:
    from matplotlib.figure import Figure

    return Figure(figsize=(7.5, 4.8), layout="constrained").add_subplot()
