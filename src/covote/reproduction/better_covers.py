"""Other panels than the paper's, of the same kind of experts: smaller covers, and covers that cover twice."""

from __future__ import annotations

from covote.covers import design
from covote.panel import Panel
from covote.reproduction.accuracy import DEFAULT, PAPER, panel_accuracy
from covote.reproduction.context import CLASSES, Context, paper_panel, subsets_of
from covote.reproduction.result import Cell, Grid
from covote.reproduction.store import Experts
from covote.reproduction.trainers import Subset

SMALLER = (5, 6)
"""Sizes for which covote's design has fewer experts than the greedy cover."""
TWICE = (6, 8)


def panels(seed: int) -> dict[str, tuple[Panel, Panel]]:
    """Return pairs of panels to compare: the greedy cover, and another one."""
    found = {
        f"R = {size}, smallest cover": (paper_panel(size), design(CLASSES, size, seed=seed))
        for size in SMALLER
    }
    for size in TWICE:
        twice = design(CLASSES, size, times=2, seed=seed)
        found[f"R = {size}, every pair twice"] = (paper_panel(size), twice)
    return found


def wanted(seed: int) -> list[Subset]:
    """Return the experts of all of them."""
    return [subset for pair in panels(seed).values() for panel in pair for subset in subsets_of(panel)]


def covers_grid(context: Context, experts: Experts) -> Grid:
    """Return accuracies of the greedy cover and of the other panel."""
    rows = []
    for name, (greedy, other) in panels(context.seed).items():
        cells = [Cell(text=str(len(greedy))), Cell(text=str(len(other)))]
        for method in (PAPER, DEFAULT):
            for panel in (greedy, other):
                cells.append(Cell(panel_accuracy(experts, subsets_of(panel), "test", method)))
        rows.append((name, tuple(cells)))
    columns = (
        "greedy: experts", "other: experts", "greedy, paper's vote", "other, paper's vote",
        "greedy, covote's default", "other, covote's default",
    )  # fmt: skip
    return Grid("Other covers of CIFAR-10: test accuracy in percent", columns, tuple(rows))
