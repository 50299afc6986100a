"""Tables: accuracy of the paper's greedy covers, R = 2, 4, 6, 8, and of the centralised model, R = 10.

On MNIST, on CIFAR-10, and on CIFAR-10 with 500 training images per class and less training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paper import paper_values
from paper.charts import bars
from paper.datasets import TITLES
from paper.experiment import (
    ALL_CLASSES,
    CLASSES,
    DEFAULT,
    METHODS,
    PAPER,
    SIZES,
    Context,
    paired_gap,
    panel_accuracies,
    panel_chances,
    paper_panel,
    paper_subsets,
    subsets_of,
)
from paper.pages import stored_row
from paper.paper_values import Accuracies
from paper.sections import Cell, Claim, Grid, Measurement, Picture, Section, by_size, judge, verdict
from paper.store import SPLITS, Experts
from paper.trainers import Subset

NETWORKS = {
    "mnist": "the mnist_cnn network of the Keras examples, 12 epochs",
    "cifar10": "ResNet20 v1, 200 epochs",
}
"""What the paper trained."""
FEW = 500
"""Images per class in the table with less data."""
EVERY_LINE = tuple((split, method) for method in METHODS for split in SPLITS)


def wanted() -> list[Subset]:
    """Return the centralised model and the 62 experts of the greedy covers, the fewest first."""
    return [ALL_CLASSES, *reversed(paper_subsets())]


def panels_of(experts: Experts) -> dict[int, list[Subset]]:
    """Return the greedy covers and the centralised model, as far as their experts are stored."""
    every = {size: subsets_of(paper_panel(size)) for size in SIZES} | {CLASSES: [ALL_CLASSES]}
    return {size: subsets for size, subsets in every.items() if experts.has(subsets)}


def measure(experts: Experts) -> tuple[Measurement, ...]:
    """Return the accuracies for every size whose experts are stored, by split and method."""
    there = panels_of(experts)
    return tuple(
        Measurement(experts.data.name, split, method, size, accuracy)
        for split, method in EVERY_LINE
        for size, accuracy in zip(
            there, panel_accuracies(experts, there.values(), split, method), strict=True
        )
    )


def accuracy_table(context: Context, images: str) -> Section:
    """Return the table of an image set: train and test accuracy for every size, by each way to decode."""
    paper = paper_values.MNIST if images == "mnist" else paper_values.CIFAR10
    return _table(context.experts(images, wanted(), partly=True), paper, NETWORKS[images])


def _table(experts: Experts, paper: Mapping[str, Accuracies], nets: str) -> Section:
    name = TITLES[experts.data.name]
    found = measure(experts)
    caption = f"Test accuracy of the greedy covers on {name}; the axis does not begin at 0."
    note = "Ties count what a fair draw would give."
    chances = {
        size: panel_chances(experts, subsets, "test", PAPER) for size, subsets in panels_of(experts).items()
    }
    return Section(
        (cover_grid(f"{name}: accuracy in percent", found, paper, note), *_training(experts)),
        (_picture(experts.data.name, found, paper["test"], caption),),
        findings(chances, paper["test"]),
        claims=(judge_gaps(chances, paper["test"]),),
        differences=differences(experts, nets),
        measured=found,
        **experts.about,
    )


def _training(experts: Experts) -> tuple[Grid, ...]:
    """Return the centralised network's accuracy after each epoch, against CPU time."""
    everything = experts.by_subset.get(ALL_CLASSES)
    curve = () if everything is None else everything.curve
    if not curve:
        return ()
    rows = (
        ("CPU minutes", tuple(Cell(seconds / 60) for seconds, _ in curve)),
        ("test accuracy", tuple(Cell(100 * right) for _, right in curve)),
    )
    columns = tuple(f"epoch {n}" for n in range(1, len(curve) + 1))
    return (Grid("The centralised network against CPU time (one thread)", columns, rows, digits=1),)


def less_data(context: Context) -> Section:
    """Return the table of CIFAR-10 with few images per class."""
    experts = context.experts("cifar10", wanted(), per_class=FEW, partly=True)
    made = _table(experts, paper_values.LESS_DATA, "ResNet20 v1, 100 epochs")
    said = [f"{FEW} training images per class.", *made.differences]
    if context.profile == "quick":
        said.append(
            "The experts have no epochs (closed form), so only the images are fewer, not the training."
        )
    said.append(
        f"Our train accuracy is on the {FEW} images per class that the experts have seen. The paper's lies "
        "so near to its test accuracy that it seems to be on all 50,000 training images, most of them unseen."
    )
    pictures = tuple(replace(picture, name="lessdata") for picture in made.pictures)
    ours = by_size(made.measured, split="test", decoder=PAPER)
    of_table_2 = stored_row(context.page, "Table II", f"test, {PAPER}")
    claims = (
        judge_losses(ours, dict(zip((*SIZES, CLASSES), of_table_2, strict=False)), len(experts.data.test_y)),
    )
    return replace(made, pictures=pictures, claims=claims, differences=tuple(said))


def judge_losses(few: Accuracies, many: Mapping[int, float | None], images: int) -> Claim:
    """Judge whether less data and less training cost accuracy, by intervals that are not paired."""
    falls = {}
    for size, accuracy in few.items():
        if (before := many.get(size)) is not None:
            variance = sum(share * (100 - share) for share in (accuracy, before)) / images
            falls[size] = (before - accuracy, 1.96 * variance**0.5)
    less, more = paper_values.LESS_DATA["test"], paper_values.CIFAR10["test"]
    told = (
        f"R = {size}: {fall:.2f} ± {half:.2f}"
        + (f" (paper: {more[size] - less[size]:.2f})" if size in less else "")
        for size, (fall, half) in falls.items()
    )
    return Claim(
        "a tenth of the images and half of the epochs cost accuracy",
        verdict({f"R = {size}": judge(*fall) for size, fall in falls.items()}),
        "points lost from Table II, 95%: " + ("; ".join(told) or "Table II is not on this page"),
    )


def cover_grid(
    title: str,
    found: Sequence[Measurement],
    paper: Mapping[str, Accuracies],
    note: str = "",
) -> Grid:
    """Return the table: a row for every split and way to decode, a column for every size."""
    rows = []
    for split, method in dict.fromkeys((one.split, one.decoder) for one in found):
        ours = by_size(found, split=split, decoder=method)
        theirs = paper.get(split, {}) if method == PAPER else {}
        cells = tuple(Cell(ours.get(size), theirs.get(size)) for size in (*SIZES, CLASSES))
        rows.append((f"{split}, {method}", cells))
    columns = (*(f"R = {size}" for size in SIZES), f"R = {CLASSES}, centralised")
    return Grid(title, columns, tuple(rows), note)


def _picture(name: str, found: Sequence[Measurement], paper: Accuracies, caption: str) -> Picture:
    """Draw the test accuracies, next to the paper's where it has them."""
    vote, default = (by_size(found, split="test", decoder=method) for method in (PAPER, DEFAULT))
    sizes = [size for size in vote if size in paper]
    series = {
        "paper": [paper[size] for size in sizes],
        "ours, the paper's vote": [vote[size] for size in sizes],
        "ours, covote's default": [default[size] for size in sizes],
    }
    return Picture(name, bars([f"R = {size}" for size in sizes], series, "test accuracy (%)"), caption)


def findings(chances: Mapping[int, NDArray[np.float64]], paper: Accuracies) -> tuple[str, ...]:
    """State the order of the sizes.

    `chances` has, by size, the probability that the paper's vote labels each test image right.
    """
    missing = [size for size in (*SIZES, CLASSES) if size not in chances]
    said = [f"Not trained yet: R = {', '.join(map(str, missing))}."] if missing else []
    if len(chances) > 1:
        order = sorted(chances, key=lambda size: float(chances[size].mean()))
        alike = [
            f"{low} and {high}"
            for low, high in pairwise(order)
            if (gap := paired_gap(chances[high], chances[low]))[0] <= gap[1]
        ]
        printed = sorted((size for size in chances if size in paper), key=lambda size: paper[size])
        said.append(
            f"From the worst to the best: R = {', '.join(map(str, order))}"
            + f" (paper: {', '.join(map(str, printed))})"
            + (f"; neighbours that these images do not tell apart: {', '.join(alike)}." if alike else ".")
        )
    return tuple(said) or ("Too few experts are trained yet to say anything.",)


MAX_GAP = 1.0
"""Points behind the centralised model that still count as nearly as accurate."""


def judge_gaps(chances: Mapping[int, NDArray[np.float64]], paper: Accuracies) -> Claim:
    """Judge whether the covers are nearly as accurate as the centralised model, by the paper's vote."""
    gaps = {
        size: paired_gap(one, chances[CLASSES]) for size, one in chances.items() if size < CLASSES in chances
    }
    told = (
        f"R = {size}: {ahead:+z.2f} ± {half:.2f}"
        + (f" (paper: {paper[size] - paper[CLASSES]:+.2f})" if CLASSES in paper else "")
        for size, (ahead, half) in gaps.items()
    )
    return Claim(
        f"panels are nearly as accurate as the centralised model (at most {MAX_GAP:g} point behind)",
        verdict({f"R = {size}": judge(ahead, half, -MAX_GAP) for size, (ahead, half) in gaps.items()}),
        "points ahead of it, 95% intervals paired over the test images: "
        + ("; ".join(told) or "not trained yet"),
    )


def differences(experts: Experts, nets: str) -> tuple[str, ...]:
    """State what differs from the paper's set-up."""
    said = []
    if experts.trainer.surrogate:
        said.append(f"Experts are {experts.trainer.name}; the paper trained {nets}.")
    said += experts.trainer.remarks
    if experts.train_rows < len(experts.data.train_y):
        said.append(f"Train accuracy is measured on the first {experts.train_rows:,} training images.")
    return tuple(said)
