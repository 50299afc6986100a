"""Tables: accuracy of the paper's greedy covers, R = 2, 4, 6, 8, and of the centralised model, R = 10.

On MNIST, on CIFAR-10, and on CIFAR-10 with 500 training images per class and less training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from covote.files.report.charts import bars
from covote.reproduction import paper_values
from covote.reproduction.datasets import TITLES
from covote.reproduction.experiment import (
    DEFAULT,
    EVERYTHING,
    METHODS,
    PAPER,
    SIZES,
    Context,
    panel_accuracies,
    paper_panel,
    paper_subsets,
    subsets_of,
)
from covote.reproduction.paper_values import Accuracies
from covote.reproduction.sections import Cell, Grid, Measured, Picture, Section, by_size
from covote.reproduction.store import SPLITS, Experts
from covote.reproduction.trainers import Subset

NETWORKS = {
    "mnist": "the mnist_cnn network of the Keras examples, 12 epochs",
    "cifar10": "ResNet20 v1, 200 epochs",
}
"""What the paper trained."""
FEW = 500
"""Images per class in the table with less data."""
EFFORT = 0.5
"""100 epochs instead of 200."""
EVERY_LINE = tuple((split, method) for method in METHODS for split in SPLITS)


def wanted() -> list[Subset]:
    """Return the centralised model and the 62 experts of the greedy covers, the fewest first."""
    return [EVERYTHING, *reversed(paper_subsets())]


def measure(experts: Experts, lines: Iterable[tuple[str, str]] = EVERY_LINE) -> tuple[Measured, ...]:
    """Return the accuracies for every size whose experts are there, by splits and ways to decode."""
    panels = {size: subsets_of(paper_panel(size)) for size in SIZES} | {10: [EVERYTHING]}
    there = {size: subsets for size, subsets in panels.items() if experts.has(subsets)}
    return tuple(
        Measured(experts.data.name, split, method, size, accuracy)
        for split, method in lines
        for size, accuracy in zip(
            there, panel_accuracies(experts, there.values(), split, method), strict=True
        )
    )


def accuracy_table(context: Context, images: str) -> Section:
    """Return the table of an image set: train and test accuracy for every size, by each way to decode."""
    paper = paper_values.MNIST if images == "mnist" else paper_values.CIFAR10
    experts = context.experts(images, wanted(), partly=True)
    found = measure(experts)
    caption = f"Test accuracy of the greedy covers on {TITLES[images]}; the axis does not begin at 0."
    note = "Ties count what a fair draw would give."
    return Section(
        (cover_grid(f"{TITLES[images]}: accuracy in percent", found, paper, note),),
        (_picture(images, found, paper["test"], caption),),
        findings(by_size(found, split="test", decoder=PAPER), paper["test"]),
        differences(experts, NETWORKS[images]),
        measured=found,
        **experts.about,
    )


def less_data(context: Context) -> Section:
    """Return the table of CIFAR-10 with few images per class."""
    paper = paper_values.LESS_DATA
    experts = context.experts("cifar10", wanted(), per_class=FEW, effort=EFFORT)
    found = measure(experts, [("train", PAPER), *(("test", method) for method in METHODS)])
    title = f"Accuracy in percent, {FEW} training images per class"
    caption = f"Test accuracy with {FEW} training images per class; the axis does not begin at 0."
    ours = by_size(found, split="test", decoder=PAPER)
    best = max(SIZES, key=lambda size: ours[size])
    order, theirs = (
        ", ".join(str(size) for size in sorted(SIZES, key=lambda size: values[size]))
        for values in (ours, paper["test"])
    )
    said = [*differences(experts, "ResNet20 v1, 100 epochs")]
    if context.profile == "quick":
        said.append(
            "The experts have no epochs (closed form), so only the images are fewer, not the training."
        )
    said.append(
        f"Our train accuracy is on the {FEW} images per class that the experts have seen. The paper's lies "
        "so near to its test accuracy that it seems to be on all 50,000 training images, most of them unseen."
    )
    return Section(
        (cover_grid(title, found, paper),),
        (_picture("lessdata", found, paper["test"], caption),),
        (
            f"With {FEW} images per class the best cover (R = {best}) reaches {ours[best]:.2f}%, the "
            f"centralised model {ours[10]:.2f}%.",
            f"Sizes from the worst to the best: R = {order} (paper: {theirs}).",
        ),
        tuple(said),
        measured=found,
        **experts.about,
    )


def cover_grid(
    title: str, found: Sequence[Measured], paper: Mapping[str, Accuracies], note: str = ""
) -> Grid:
    """Return the table: a row for every split and way to decode, a column for every size."""
    rows = []
    for split, method in dict.fromkeys((one.split, one.decoder) for one in found):
        ours = by_size(found, split=split, decoder=method)
        theirs = paper.get(split, {}) if method == PAPER else {}
        cells = tuple(Cell(ours.get(size), theirs.get(size)) for size in (*SIZES, 10))
        rows.append((f"{split}, {method}", cells))
    columns = (*(f"R = {size}" for size in SIZES), "R = 10, centralised")
    return Grid(title, columns, tuple(rows), note)


def _picture(name: str, found: Sequence[Measured], paper: Accuracies, caption: str) -> Picture:
    """Draw the test accuracies next to the paper's."""
    vote, default = (by_size(found, split="test", decoder=method) for method in (PAPER, DEFAULT))
    sizes = [size for size in vote if size in paper]
    series = {
        "paper": [paper[size] for size in sizes],
        "ours, the paper's vote": [vote[size] for size in sizes],
        "ours, covote's default": [default[size] for size in sizes],
    }
    return Picture(name, bars([f"R = {size}" for size in sizes], series, "test accuracy (%)"), caption)


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
        else f"Unlike in the paper, where R = {worst_there} is the worst size, here R = {worst} is"
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
