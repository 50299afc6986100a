"""Table: CIFAR-10 with 500 training images per class, and less training."""

from __future__ import annotations

from covote.reproduction import greedy_covers, paper_values
from covote.reproduction.accuracy import METHODS, PAPER
from covote.reproduction.context import SIZES, Context
from covote.reproduction.result import Picture, Section
from covote.reproduction.tables import TABLES, Needs

PER_CLASS = 500
EFFORT = 0.5
"""100 epochs instead of 200."""
TRAIN = (
    f"Our train accuracy is on the {PER_CLASS} images per class that the experts have seen. The paper's lies "
    "so near to its test accuracy that it seems to be on all 50,000 training images, most of them unseen."
)


def needs(context: Context) -> Needs:
    """Return nothing: these experts are trained on other images than those of the other tables."""
    return {}


def build(context: Context) -> Section:
    """Return the table."""
    experts = context.experts("cifar10", greedy_covers.wanted(), per_class=PER_CLASS, effort=EFFORT)
    lines = [("train", PAPER), *(("test", method) for method in METHODS)]
    found = greedy_covers.measured_lines(experts, lines)
    title = f"Accuracy in percent, {PER_CLASS} training images per class"
    caption = f"Test accuracy with {PER_CLASS} training images per class; the axis does not begin at 0."
    chart = greedy_covers.cover_chart(found, paper_values.LESS_DATA["test"])
    ours = found["test", PAPER]
    best = max(SIZES, key=lambda size: ours[size])
    epochs = (
        ("The experts have no epochs (closed form), so only the images are fewer, not the training.",)
        if context.profile == "quick"
        else ()
    )
    return Section(
        "lessdata",
        TABLES["lessdata"],
        (greedy_covers.cover_grid(title, found, paper_values.LESS_DATA),),
        (Picture("lessdata", chart, caption),),
        (
            f"With {PER_CLASS} images per class the best cover (R = {best}) reaches {ours[best]:.2f}%, the "
            f"centralised model {ours[10]:.2f}%.",
            _trend(ours),
        ),
        (*greedy_covers.differences(experts, "ResNet20 v1, 100 epochs"), *epochs, TRAIN),
        experts.trainer.name,
        experts.trainer.surrogate,
        experts.seconds,
    )


def _trend(ours: dict[int, float]) -> str:
    """Say whether larger experts are better, as in the paper."""
    order = sorted(SIZES, key=lambda size: ours[size])
    theirs = sorted(SIZES, key=lambda size: paper_values.LESS_DATA["test"][size])
    listed, listed_there = (", ".join(str(size) for size in sizes) for sizes in (order, theirs))
    return f"Sizes from the worst to the best: R = {listed} (paper: {listed_there})."
