"""Table: CIFAR-10 accuracy of random panels, m* to m* + 3 experts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from covote.reproduction import greedy_covers, paper_values
from covote.reproduction.accuracy import DEFAULT, PAPER, panel_accuracies, panel_accuracy
from covote.reproduction.context import CLASSES, Context, paper_panel, subsets_of
from covote.reproduction.pictures import COLOURS
from covote.reproduction.result import Cell, Grid, Picture, Section
from covote.reproduction.store import Experts
from covote.reproduction.tables import TABLES, Needs
from covote.reproduction.trainers import Subset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (4, 6, 8)
EXTRA = (0, 1, 2, 3)
DRAWS = {"quick": 6, "medium": 2, "full": 2}
"""Independent draws; the paper has two."""
Found = dict[tuple[str, str, int, int], list[float]]
"""Accuracies of the draws by split, decoder, size and number of experts."""


def draws(size: int, profile: str, seed: int) -> list[list[Subset]]:
    """Return several draws of m* + 3 different random experts; its first m are a random panel of m."""
    number = paper_values.GREEDY_SIZES[size] + max(EXTRA)
    found = []
    for draw in range(DRAWS[profile]):
        rng = np.random.default_rng([seed, size, draw])
        panel: list[Subset] = []
        while len(panel) < number:
            subset = tuple(sorted(int(k) for k in rng.choice(CLASSES, size, replace=False)))
            if subset not in panel:
                panel.append(subset)
        found.append(panel)
    return found


def needs(context: Context) -> Needs:
    """Return the experts of the greedy covers and of every draw."""
    random = [
        subset for size in SIZES for panel in draws(size, context.profile, context.seed) for subset in panel
    ]
    return {"cifar10": [*greedy_covers.wanted(), *random]}


def build(context: Context) -> Section:
    """Return the table."""
    experts = context.experts("cifar10", needs(context)["cifar10"])
    lines = (("train", PAPER), ("test", PAPER), ("test", DEFAULT))
    found: Found = {}
    for n, size in enumerate(SIZES):
        panels = draws(size, context.profile, context.seed)
        for extra in EXTRA:
            context.progress(4 * n + extra, 4 * len(SIZES), f"random: R = {size}")
            m = paper_values.GREEDY_SIZES[size] + extra
            for split, method in lines:
                some = [panel[:m] for panel in panels]
                found[split, method, size, m] = list(panel_accuracies(experts, some, split, method))
    covers = {method: {size: _cover(experts, size, method) for size in SIZES} for method in (PAPER, DEFAULT)}
    return Section(
        "random",
        TABLES["random"],
        tuple(_grid(size, lines, found, covers) for size in SIZES),
        (Picture("random", _chart(found, covers), "Test accuracy of random panels; bars: 95% intervals."),),
        _findings(found, covers),
        (
            *greedy_covers.differences(experts, "ResNet20 v1, 200 epochs"),
            f"{DRAWS[context.profile]} independent draws (paper: 2). Within a draw, the panel of m + 1 "
            "experts is the panel of m and one more; every panel is uniformly random all the same.",
        ),
        experts.trainer.name,
        experts.trainer.surrogate,
        experts.seconds,
    )


def _cover(experts: Experts, size: int, method: str) -> float:
    return panel_accuracy(experts, subsets_of(paper_panel(size)), "test", method)


def interval(values: list[float]) -> float:
    """Return half the width of the 95% interval of a mean (Student's t); 0 for a single value.

    >>> round(interval([1.0, 2.0, 3.0]), 3)
    2.484
    """
    from scipy.stats import t

    if len(values) < 2:
        return 0.0
    return float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))


def _numbers(size: int) -> list[int]:
    return [paper_values.GREEDY_SIZES[size] + extra for extra in EXTRA]


def _grid(
    size: int, lines: tuple[tuple[str, str], ...], found: Found, covers: dict[str, dict[int, float]]
) -> Grid:
    rows = []
    for split, method in lines:
        cells = []
        for m in _numbers(size):
            values = found[split, method, size, m]
            paper = paper_values.RANDOM[size][split][m] if method == PAPER else None
            cells.append(Cell(float(np.mean(values)), paper, interval(values)))
        whole = Cell(covers[method][size]) if split == "test" else Cell()
        rows.append((f"{split}, {method}", (*cells, whole)))
    columns = (*(f"m = {m}" for m in _numbers(size)), "greedy cover")
    title = f"R = {size}: accuracy in percent, mean of the draws and 95% interval of the mean"
    return Grid(title, columns, tuple(rows))


def _chart(found: Found, covers: dict[str, dict[int, float]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    parts = figure.subplots(1, len(SIZES), sharey=True)
    for axes, size in zip(parts, SIZES, strict=True):
        numbers = _numbers(size)
        theirs = [paper_values.RANDOM[size]["test"][m] for m in numbers]
        axes.plot(numbers, theirs, "o--", color=COLOURS[0], markersize=4, label="paper")
        for method, colour in ((PAPER, COLOURS[1]), (DEFAULT, COLOURS[2])):
            values = [found["test", method, size, m] for m in numbers]
            means, spreads = [np.mean(v) for v in values], [interval(v) for v in values]
            axes.errorbar(
                numbers, means, spreads, fmt="o-", color=colour, markersize=4, capsize=2, label=method
            )
            axes.axhline(covers[method][size], color=colour, linewidth=1, linestyle=":")
        axes.set_title(f"R = {size} (dotted: greedy cover)", fontsize=9)
        axes.set_xticks(numbers)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
    parts[0].set_ylabel("test accuracy (%)")
    figure.supxlabel("random experts (m)", fontsize=10)
    handles, labels = parts[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    return figure


def _findings(found: Found, covers: dict[str, dict[int, float]]) -> tuple[str, ...]:
    """Say how random panels of m* + 3 experts do beside the greedy cover."""

    def ahead(method: str) -> str:
        parts = []
        for size in SIZES:
            mean = float(np.mean(found["test", method, size, _numbers(size)[-1]]))
            parts.append(f"R = {size}: {mean - covers[method][size]:+z.2f}")
        return ", ".join(parts)

    theirs = ", ".join(
        f"R = {size}: {paper_values.RANDOM[size]['test'][_numbers(size)[-1]] - cover:+z.2f}"
        for size, cover in ((size, paper_values.CIFAR10["test"][size]) for size in SIZES)
    )
    return (
        f"Random panels of m* + 3 experts beside the greedy cover, covote's default with probabilities, "
        f"points: {ahead(DEFAULT)}.",
        f"The same with the paper's vote: {ahead(PAPER)} (paper: {theirs}).",
    )
