"""Table: CIFAR-10 accuracy of random panels, m* to m* + 3 experts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from covote.files.report.charts import COLOURS
from paper import paper_values
from paper.charts import legend_above, side_by_side
from paper.experiment import (
    CLASSES,
    DEFAULT,
    PAPER,
    Context,
    Needs,
    panel_accuracies,
    panel_accuracy,
    paper_panel,
    subsets_of,
)
from paper.sections import Cell, Grid, Measured, Picture, Section, by_size, picked
from paper.tables import greedy_covers
from paper.trainers import Subset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (4, 6, 8)
EXTRA = (0, 1, 2, 3)
DRAWS = {"quick": 10, "paper": 2}
"""Independent draws; the paper has two."""
LINES = (("train", PAPER), ("test", PAPER), ("test", DEFAULT))


def draws(size: int, profile: str, seed: int) -> list[list[Subset]]:
    """Return several draws of m* + 3 different random experts; the first m of a draw are a random panel."""
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
    found = []
    for n, size in enumerate(SIZES):
        panels = draws(size, context.profile, context.seed)
        for extra in EXTRA:
            context.progress(4 * n + extra, 4 * len(SIZES), f"random: R = {size}")
            m = paper_values.GREEDY_SIZES[size] + extra
            for split, method in LINES:
                values = list(panel_accuracies(experts, [panel[:m] for panel in panels], split, method))
                mean, half = float(np.mean(values)), interval(values)
                found.append(Measured("cifar10", split, method, size, mean, half, experts=m))
        cover = subsets_of(paper_panel(size))
        for method in (PAPER, DEFAULT):
            accuracy = panel_accuracy(experts, cover, "test", method)
            found.append(Measured("cifar10", "test", method, size, accuracy))
    return Section(
        tuple(_grid(size, picked(found, size=size)) for size in SIZES),
        (Picture("random", _chart(found), "Test accuracy of random panels; bars: 95% intervals."),),
        _findings(found),
        (
            *greedy_covers.differences(experts, greedy_covers.NETWORKS["cifar10"]),
            f"{DRAWS[context.profile]} independent draws (paper: 2). Within a draw, the panel of m + 1 "
            "experts is the panel of m and one more; every panel is uniformly random all the same.",
        ),
        measured=tuple(found),
        **experts.about,
    )


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


def against_cover(found: Iterable[Measured], method: str) -> dict[int, float]:
    """Return, by size, how far random panels of m* + 3 experts are ahead of the greedy cover on test data."""
    tested = picked(found, split="test", decoder=method)
    covers_ = by_size(tested, experts=None)
    return {
        size: by_size(tested, experts=_numbers(size)[-1])[size] - cover for size, cover in covers_.items()
    }


def _grid(size: int, found: Sequence[Measured]) -> Grid:
    rows = []
    for split, method in LINES:
        cells = []
        for one in picked(found, split=split, decoder=method):
            if one.experts is None:
                cells.append(Cell(one.accuracy))
            else:
                paper = paper_values.RANDOM[size][split][one.experts] if method == PAPER else None
                cells.append(Cell(one.accuracy, paper, one.spread))
        if split == "train":
            cells.append(Cell())
        rows.append((f"{split}, {method}", tuple(cells)))
    columns = (*(f"m = {m}" for m in _numbers(size)), "greedy cover")
    title = f"R = {size}: accuracy in percent, mean of the draws and 95% interval of the mean"
    return Grid(title, columns, tuple(rows))


def _chart(found: Sequence[Measured]) -> Figure:
    figure, parts = side_by_side(len(SIZES), "random experts (m)", "test accuracy (%)")
    for axes, size in zip(parts, SIZES, strict=True):
        numbers = _numbers(size)
        theirs = [paper_values.RANDOM[size]["test"][m] for m in numbers]
        axes.plot(numbers, theirs, "o--", color=COLOURS[0], markersize=4, label="paper")
        for method, colour in ((PAPER, COLOURS[1]), (DEFAULT, COLOURS[2])):
            *drawn, cover = picked(found, split="test", decoder=method, size=size)
            axes.errorbar(
                numbers, [one.accuracy for one in drawn], [one.spread or 0.0 for one in drawn],
                fmt="o-", color=colour, markersize=4, capsize=2, label=method,
            )  # fmt: skip
            axes.axhline(cover.accuracy, color=colour, linewidth=1, linestyle=":")
        axes.set_title(f"R = {size} (dotted: greedy cover)", fontsize=9)
        axes.set_xticks(numbers)
    return legend_above(figure)


def _findings(found: Sequence[Measured]) -> tuple[str, ...]:
    """Compare random panels of m* + 3 experts with the greedy cover."""

    def listed(ahead: dict[int, float]) -> str:
        return ", ".join(f"R = {size}: {points:+z.2f}" for size, points in ahead.items())

    theirs = {
        size: paper_values.RANDOM[size]["test"][_numbers(size)[-1]] - paper_values.CIFAR10["test"][size]
        for size in SIZES
    }
    return (
        f"Random panels of m* + 3 experts compared with the greedy cover, covote's default with "
        f"probabilities, points: {listed(against_cover(found, DEFAULT))}.",
        f"The same with the paper's vote: {listed(against_cover(found, PAPER))} (paper: {listed(theirs)}).",
    )
