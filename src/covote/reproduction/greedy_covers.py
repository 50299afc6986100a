"""Accuracy of the paper's greedy covers on an image set: what the MNIST and CIFAR-10 tables share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from covote.reproduction.accuracy import DEFAULT, METHODS, PAPER, panel_accuracies
from covote.reproduction.context import EVERYTHING, SIZES, Context, paper_panel, paper_subsets, subsets_of
from covote.reproduction.datasets import TITLES
from covote.reproduction.pictures import bars
from covote.reproduction.result import Cell, Grid, Picture, Section
from covote.reproduction.store import SPLITS, Experts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from covote.reproduction.trainers import Subset

Accuracies = dict[int, float]
Found = dict[tuple[str, str], Accuracies]
"""Accuracies by split and way to decode, then by size."""
EVERY_LINE = tuple((split, method) for method in METHODS for split in SPLITS)


def wanted() -> list[Subset]:
    """Return the 62 experts of the greedy covers, and the centralised model."""
    return [*paper_subsets(), EVERYTHING]


def measured(experts: Experts, split: str, method: str) -> Accuracies:
    """Return the accuracy for every size R whose experts are there; R = 10 is the centralised model alone."""
    panels = {size: subsets_of(paper_panel(size)) for size in SIZES} | {10: [EVERYTHING]}
    there = {size: subsets for size, subsets in panels.items() if experts.has(subsets)}
    return dict(zip(there, panel_accuracies(experts, there.values(), split, method), strict=True))


def measured_lines(experts: Experts, lines: Iterable[tuple[str, str]]) -> Found:
    """Return the accuracies of several rows of a table, by split and way to decode."""
    return {(split, method): measured(experts, split, method) for split, method in lines}


def cover_grid(title: str, found: Found, paper: Mapping[str, Accuracies], note: str = "") -> Grid:
    """Return the table: a row for every split and way to decode, a column for every size."""
    rows = []
    for (split, method), ours in found.items():
        theirs = paper.get(split, {}) if method == PAPER else {}
        cells = tuple(Cell(ours.get(size), theirs.get(size)) for size in (*SIZES, 10))
        rows.append((f"{split}, {method}", cells))
    columns = (*(f"R = {size}" for size in SIZES), "R = 10, centralised")
    return Grid(title, columns, tuple(rows), note)


def cover_chart(found: Found, paper: Accuracies) -> Figure:
    """Draw the test accuracies beside the paper's."""
    sizes = [size for size in found["test", PAPER] if size in paper]
    series = {
        "paper": [paper[size] for size in sizes],
        "ours, the paper's vote": [found["test", PAPER][size] for size in sizes],
        "ours, covote's default": [found["test", DEFAULT][size] for size in sizes],
    }
    return bars([f"R = {size}" for size in sizes], series, "test accuracy (%)")


def accuracy_section(
    context: Context, images: str, title: str, paper: Mapping[str, Accuracies], nets: str
) -> Section:
    """Return the table of an image set: train and test accuracy for every size, by each way to decode."""
    experts = context.experts(images, wanted(), partly=True)
    found = measured_lines(experts, EVERY_LINE)
    caption = f"Test accuracy of the greedy covers on {TITLES[images]}; the axis does not begin at 0."
    note = "Ties count what a fair draw would give."
    return Section(
        images,
        title,
        (cover_grid(f"{TITLES[images]}: accuracy in percent", found, paper, note),),
        (Picture(images, cover_chart(found, paper["test"]), caption),),
        findings(found["test", PAPER], paper["test"]),
        differences(experts, nets),
        experts.trainer.name,
        experts.trainer.surrogate,
        experts.seconds,
    )


def findings(ours: Accuracies, paper: Accuracies) -> tuple[str, ...]:
    """Say how far the covers are from the centralised model, and whether the trend over R is the paper's."""
    sizes = [size for size in SIZES if size in ours]
    if not sizes or 10 not in ours:
        return ("Too few experts are trained yet to say anything.",)
    gap = max(ours[10] - ours[size] for size in sizes)
    theirs = max(paper[10] - paper[size] for size in sizes)
    if gap <= 0:
        first = "Every cover is at least as good as the centralised model"
    else:
        by = f"{gap:.2f}" if gap >= 0.01 else "less than 0.01"
        first = f"The worst cover is {by} points below the centralised model"
    if len(sizes) < len(SIZES):
        stored = ", ".join(f"R = {size}" for size in sizes)
        return (f"Covers trained so far: {stored}. {first}.",)
    worst, worst_there = min(sizes, key=lambda size: ours[size]), min(sizes, key=lambda size: paper[size])
    trend = (
        f"As in the paper, the cover of size R = {worst} is the worst"
        if worst == worst_there
        else f"Other than in the paper, where R = {worst_there} is the worst size, here R = {worst} is"
    )
    there = f"in the paper, the worst is {theirs:.2f} points below it" if theirs > 0 else "so is the paper's"
    return (f"{first} ({there}).", f"{trend} ({ours[worst]:.2f}%).")


def differences(experts: Experts, nets: str) -> tuple[str, ...]:
    """Say what is not as in the paper's set-up."""
    said = []
    if experts.trainer.surrogate:
        said.append(f"Experts are {experts.trainer.name}; the paper trained {nets}.")
    said += experts.trainer.remarks
    if experts.train_rows < len(experts.data.train_y):
        said.append(f"Train accuracy is measured on the first {experts.train_rows:,} training images.")
    return tuple(said)
