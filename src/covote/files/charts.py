"""Pictures for pages: drawn by matplotlib, which is imported when a picture is drawn.

A picture is drawn in the colours of :data:`covote.colours.LIGHT`. In a page it takes the colours of
the page, light or dark (:func:`inline`); as a separate file it keeps them (:func:`svg`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound, random_cover_bound, two_group_bound
from covote.colours import LIGHT, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from covote.asking.replay import Replay
    from covote.decoding.comparing import Comparison
    from covote.simulation.method_errors import MethodErrors

_USUAL = 0.05
"""The share of answers that differ without being remarkable."""
MOST = 60
"""Most rows or columns of a matrix that can still be told apart."""
_TIP = "tip:"
_DEFAULTS = {"#000000": "ink", "#b0b0b0": "line"}  # matplotlib's own black text and grey grids


@contextmanager
def own_settings() -> Iterator[None]:
    """Draw under matplotlib's defaults: a `matplotlibrc`, also one in the working folder, changes nothing.

    Names never reach TeX, which would run what is in them.
    """
    import matplotlib

    names = [name for name in matplotlib.rcParamsDefault if "backend" not in name]
    settings: dict[Any, Any] = {name: matplotlib.rcParamsDefault[name] for name in names}
    # In an SVG, text stays text: small files, and the reader's own font.
    with matplotlib.rc_context(settings | {"svg.fonttype": "none", "svg.hashsalt": "covote"}):
        yield


# From a figure to a page


def svg(figure: Figure) -> str:
    """Return a figure as SVG text, the same for the same figure."""
    with own_settings():
        opened = io.StringIO()
        figure.savefig(opened, format="svg", metadata={"Date": None, "Creator": None})
    return opened.getvalue()


def inline(picture: Figure | str, label: str) -> str:
    """Return a figure (or its SVG) as an element of a page, in the page's colours and font."""
    text = picture if isinstance(picture, str) else svg(picture)
    text = text[text.index("<svg") :]
    names = {value: name for name, value in LIGHT.items()} | _DEFAULTS
    text = re.sub(
        "#[0-9a-f]{6}", lambda found: f"var(--{names[found[0]]})" if found[0] in names else found[0], text
    )
    text = re.sub(r"(font: (?:[a-z]+ )?[\d.]+px) [^;\"]*", r"\1 system-ui, sans-serif", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    # A page knows what an svg element is: no namespaces, and no addresses in it.
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href=", "href=")
    text = re.sub(rf'<g id="{_TIP}([^"]*)">', r"<g><title>\1</title>", text)
    # Ids of parts that nothing refers to; a page has several pictures, and ids must differ.
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def new_figure(
    width: float = 7.0, height: float = 3.6, *, rows: int = 1, columns: int = 1, **sharing: Any
) -> tuple[Figure, Any]:
    """Return an empty figure and its axes (an array of them, if there are several), in the pages' style."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, **sharing)
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


# Charts of votes and labels


def histogram(counts: NDArray[np.int64]) -> Figure:
    """Draw how many items have which confidence, in equal bins; heights are shares of the items."""
    figure, axes = new_figure(4.9, 2.3)
    edges = np.linspace(0, 1, len(counts) + 1)
    shares = 100 * counts / max(int(counts.sum()), 1)
    # A bin that is not empty stays visible.
    heights = np.where(counts > 0, np.maximum(shares, shares.max(initial=0) / 100), 0)
    drawn = axes.bar(edges[:-1], heights, 0.9 / len(counts), align="edge", color=LIGHT["main"])
    for bar, low, high, count in zip(drawn, edges, edges[1:], counts.tolist(), strict=False):
        bar.set_gid(f"{_TIP}confidence {low:.2f} to {high:.2f}: {count:,} items")
    first = int(np.argmax(counts > 0)) if counts.any() else 0
    axes.set_xlim(min(edges[first], 0.9), 1)
    axes.set_xlabel("confidence")
    axes.yaxis.set_major_formatter("{x:.0f}%")
    axes.locator_params(axis="y", nbins=4)
    _quiet(axes)
    axes.grid(axis="y", alpha=0.6)
    axes.set_axisbelow(True)
    return figure


def review_curve(looked: NDArray[Any], right: NDArray[Any], goals: Sequence[float]) -> Figure:
    """Draw the share of labels expected to be right against the items looked at, most doubtful first."""
    figure, axes = new_figure(4.9, 2.5)
    # Beyond the point at which nearly all are right, the curve is flat.
    last = max(int(looked[np.searchsorted(right, min(0.9995, right[-1]))]), 1)
    axes.plot(looked, 100 * right, color=LIGHT["main"], linewidth=2)
    low = 100 * float(right[0])
    for goal in goals:
        if low < 100 * goal:
            axes.axhline(100 * goal, color=LIGHT["soft"], linewidth=0.8, linestyle=(0, (4, 3)))
            axes.text(0, 100 * goal, f" {goal:.0%} right", va="bottom", fontsize=8, color=LIGHT["soft"])
    axes.set_xlim(0, last)
    axes.set_ylim(max(0.0, low - 0.05 * (100 - low) - 0.1), 100 + 0.03 * (100 - low) + 0.1)
    axes.set_xlabel("items looked at, the most doubtful first")
    axes.yaxis.set_major_formatter("{x:.4g}%")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.locator_params(nbins=5)
    _quiet(axes)
    axes.grid(axis="y", alpha=0.6)
    axes.set_axisbelow(True)
    return figure


def cover_bounds(K: int, R: int) -> Figure:
    """Draw how many experts cover every pair, against K for fixed R and against R for fixed K."""
    figure, axes = new_figure(8.4, 3.6, columns=2)
    many = sorted({round(value) for value in np.geomspace(max(R, 2), 4 * K, 24)})
    large = sorted({round(value) for value in np.geomspace(2, K, 24)})
    for ax, name, at, points in (
        (axes[0], f"classes (experts who know {R})", K, [(k, R) for k in many]),
        (axes[1], f"classes per expert (of {K})", R, [(K, r) for r in large]),
    ):
        across = [k for k, _ in points] if ax is axes[0] else [r for _, r in points]
        for label, bound, colour in (
            ("at least", lambda k, r: best_lower_bound(k, r)[0], SERIES[1]),
            ("at most, chosen well", two_group_bound, SERIES[2]),
            ("at most, chosen by chance", random_cover_bound, SERIES[3]),
        ):
            ax.plot(across, [bound(k, r) for k, r in points], color=colour, label=label)
        ax.axvline(at, color=SERIES[0], linewidth=1)
        ax.set(yscale="log", xlabel=name)
    axes[0].set_ylabel("experts who cover every pair")
    figure.suptitle(f"How many experts cover every pair: around {K:,} classes, {R:,} per expert", fontsize=11)
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def error_curves(found: MethodErrors) -> Figure:
    """Draw simulated error rates against the accuracy of the experts: a line per method."""
    figure, axes = new_figure(7.5, 4.8)
    for (method, errors), colour in zip(found.errors.items(), cycle(SERIES[1:]), strict=False):
        error, low, high = errors.T
        axes.errorbar(
            found.accuracies, error, yerr=[error - low, high - error], fmt="o-", markersize=4, capsize=3,
            color=colour, label=method,
        )  # fmt: skip
    axes.set_xlabel("how often experts are right about what they know")
    axes.set_ylabel("error probability")
    axes.set_ylim(bottom=0)
    axes.set_title(found.model, fontsize=11)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9)
    return figure


def quality_curves(replay: Replay) -> Figure:
    """Draw the quality of the labels against the answers per item: a line per rule."""
    figure, axes = new_figure()
    for colour, (name, points) in zip(SERIES[1:], replay.curve.items(), strict=False):
        answers, quality = zip(*points, strict=True)
        axes.plot(answers, [100 * value for value in quality], marker="o", color=colour, label=name)
    axes.set_xlabel("answers per item")
    axes.set_ylabel("right, %" if replay.gold else "agreement with all, %")
    axes.legend(frameon=False)
    return figure


def whiskers(names: Sequence[object], rates: NDArray[np.float64], doubtful: Sequence[bool]) -> Figure:
    """Draw a share and its interval for each expert: (experts x 3), share, low, high."""
    figure, axes = new_figure(6.4, 0.7 + 0.24 * len(names))
    for n, (name, (rate, low, high), doubt) in enumerate(zip(names, rates.tolist(), doubtful, strict=True)):
        if rate != rate:
            place = axes.get_yaxis_transform()
            axes.text(
                0.02, n, "no answer to compare", va="center", color=LIGHT["soft"], fontsize=8, transform=place
            )
            continue
        colour = LIGHT["conflict" if doubt else "main"]
        axes.plot((low, high), (n, n), color=colour, linewidth=2.5, solid_capstyle="round")
        (dot,) = axes.plot(rate, n, "o", color=colour, markersize=7, markeredgecolor=LIGHT["card"])
        dot.set_gid(f"{_TIP}{name}: {rate:.2%} (interval {low:.2%} to {high:.2%})")
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    # The axis begins a little below the lowest interval.
    lowest = min((low for rate, low, _ in rates.tolist() if rate == rate), default=0.0)
    start = min(np.floor(max(lowest - 0.02, 0.0) * 20) / 20, 0.9)
    axes.set_xlim(start, 1 + 0.02 * (1 - start))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    _quiet(axes)
    axes.grid(axis="x", alpha=0.6)
    axes.set_axisbelow(True)
    return figure


def method_comparison(found: Comparison) -> Figure:
    """Draw the share of right labels of each method with its interval, under what was found."""
    scored = [score for score in found.scores if not score.note]
    rates = np.array([(score.share, score.low, score.high) for score in scored])
    figure = whiskers([score.method for score in scored], rates, [False] * len(scored))
    figure.axes[0].set_xlabel("labels that are right on gold items, with 95% intervals", fontsize=8)
    figure.suptitle(f"{found.finding[0].upper()}{found.finding[1:]}", fontsize=10)
    return figure


def matrix(rows: Sequence[object], columns: Sequence[object], knows: NDArray[np.bool_]) -> Figure:
    """Draw who knows what, at most 60 x 60 of it."""
    shown = knows[:MOST, :MOST]
    colours = np.where(shown, LIGHT["main"], LIGHT["faint"])
    return _cells(rows, columns, colours, np.ones(shown.shape))


def heat(names: Sequence[object], agreement: NDArray[np.float64]) -> Figure:
    """Draw agreement per pair of classes (classes x classes): the redder, the more the pair is confused."""
    size = min(len(names), MOST)
    share = agreement[:size, :size]
    drawn = np.tri(size, k=-1, dtype=bool)
    known = drawn & ~np.isnan(share)
    # A few answers in a hundred that differ are what good experts do.
    lost = np.where(known, np.maximum(1 - np.nan_to_num(share) - _USUAL, 0.0), 0.0)
    colours = np.where(lost > 0, LIGHT["conflict"], np.where(known, LIGHT["agreed"], LIGHT["faint"]))
    # Agreement below one half is as bad as it gets; most pairs live near 1.
    strength = np.where(
        lost > 0, np.minimum(0.12 + 0.88 * np.sqrt(2 * lost), 1.0), np.where(known, 0.35, 1.0)
    )
    figure = _cells(names, names, colours, np.where(drawn, strength, 0.0))
    if size <= 12:
        for k, j in zip(*np.nonzero(known), strict=True):
            text = f"{100 * share[k, j]:.0f}"
            figure.axes[0].text(j + 0.46, k + 0.5, text, ha="center", va="center", fontsize=7)
    return figure


def _cells(
    rows: Sequence[object],
    columns: Sequence[object],
    colours: NDArray[np.str_],
    strength: NDArray[np.float64],
) -> Figure:
    """Draw a matrix of coloured cells with the names of rows and columns."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    high, wide = colours.shape
    cell = 0.24 if max(high, wide) <= 30 else 0.15
    longest = max((len(_short(name, 14)) for name in columns[:wide]), default=1)
    figure, axes = new_figure(1.6 + cell * wide, 0.3 + 0.075 * longest + cell * high)
    corners = np.array([(0.04, 0.04), (0.92, 0.04), (0.92, 0.92), (0.04, 0.92)])
    shown_cells = [(i, k) for i in range(high) for k in range(wide) if strength[i, k]]
    faces = [to_rgba(str(colours[i, k]), float(strength[i, k])) for i, k in shown_cells]
    squares = [corners + np.array((k, i)) for i, k in shown_cells]
    axes.add_collection(PolyCollection(squares, facecolors=faces, linewidths=0))
    axes.set_xlim(0, wide)
    axes.set_ylim(high, 0)
    size = 8 if cell > 0.2 else 6
    axes.set_yticks(np.arange(high) + 0.5, [_short(name, 16) for name in rows[:high]], fontsize=size)
    axes.set_xticks(
        np.arange(wide) + 0.5, [_short(name, 14) for name in columns[:wide]],
        rotation=60, ha="left", rotation_mode="anchor", fontsize=size,
    )  # fmt: skip
    axes.tick_params(length=0, bottom=False, top=False, labelbottom=False, labeltop=True)
    axes.spines[:].set_visible(False)
    return figure


def _quiet(axes: Any) -> None:
    """Tone down the ticks and lines around a chart."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8)
    axes.xaxis.label.set_size(8)


def _short(name: object, most: int = 18) -> str:
    text = str(name)
    # A dollar would begin a formula.
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")
