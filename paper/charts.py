"""Charts of the tables: groups of bars, and axes side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covote.colours import SERIES
from covote.files.charts import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bars(groups: Sequence[str], series: Mapping[str, Sequence[float]], what: str) -> Figure:
    """Draw groups of bars, one bar per series, with their values; the axis begins below the lowest."""
    figure, axes = new_figure()
    width = 0.8 / len(series)
    for n, (name, values) in enumerate(series.items()):
        places = np.arange(len(groups)) + (n - (len(series) - 1) / 2) * width
        drawn = axes.bar(places, values, width * 0.92, label=name, color=SERIES[n % len(SERIES)])
        axes.bar_label(drawn, fmt="%.1f", fontsize=7, padding=1)
    every = [value for values in series.values() for value in values if np.isfinite(value)]
    low, high = min(every), max(every)
    margin = max(high - low, 1.0)
    axes.set_ylim(max(0.0, low - margin), min(103.0, high + 0.35 * margin))
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(what)
    axes.legend(frameon=False, fontsize=8, ncols=len(series), loc="upper center", bbox_to_anchor=(0.5, 1.14))
    return figure


def side_by_side(number: int, across: str, up: str) -> tuple[Figure, Any]:
    """Return a figure of several axes in a row that share what goes up."""
    figure, axes = new_figure(8.4, 3.1, columns=number, sharey=True)
    for one in axes:
        one.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel(up)
    figure.supxlabel(across, fontsize=10)
    return figure, axes


def legend_above(figure: Figure) -> Figure:
    """Give a figure one legend for all its axes: that of the axes with the most series."""
    handles, labels = max(
        (axes.get_legend_handles_labels() for axes in figure.axes), key=lambda pair: len(pair[1])
    )
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure
