"""The charts of the pages."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#b8b8b8", "#1f6f8b", "#b5532a", "#5b7f3a", "#7a4f9a")


def new_figure(width: float = 7.0, height: float = 3.6) -> tuple[Figure, Any]:
    """Return an empty figure and its axes, in the style of the pages."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def bars(groups: Sequence[str], series: Mapping[str, Sequence[float]], what: str) -> Figure:
    """Draw groups of bars, one bar per series, with their values; the axis begins below the lowest."""
    figure, axes = new_figure()
    width = 0.8 / len(series)
    for n, (name, values) in enumerate(series.items()):
        places = np.arange(len(groups)) + (n - (len(series) - 1) / 2) * width
        drawn = axes.bar(places, values, width * 0.92, label=name, color=COLOURS[n % len(COLOURS)])
        axes.bar_label(drawn, fmt="%.1f", fontsize=7, padding=1)
    every = [value for values in series.values() for value in values if np.isfinite(value)]
    low, high = min(every), max(every)
    margin = max(high - low, 1.0)
    axes.set_ylim(max(0.0, low - margin), min(103.0, high + 0.35 * margin))
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(what)
    axes.legend(frameon=False, fontsize=8, ncols=len(series), loc="upper center", bbox_to_anchor=(0.5, 1.14))
    return figure


def svg(figure: Figure | str) -> str:
    """Return a figure as SVG text, the same for the same figure."""
    import matplotlib

    if isinstance(figure, str):
        return figure

    # Text stays text: small files, and the reader's own font.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "covote"}):
        opened = io.StringIO()
        figure.savefig(opened, format="svg", metadata={"Date": None, "Creator": None})
    return opened.getvalue()
