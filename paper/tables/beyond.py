"""Beyond the paper: other covers, Fashion-MNIST, ImageNet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from covote.covers import complete, design
from covote.errors import DataError
from covote.panel import Panel
from covote.votes import Votes
from paper.datasets import Predictions, load_predictions
from paper.experiment import (
    CLASSES,
    DEFAULT,
    PAPER,
    Context,
    Needs,
    label_accuracy,
    panel_accuracy,
    paper_panel,
    subsets_of,
)
from paper.sections import Cell, Grid, Section
from paper.store import Experts
from paper.tables import greedy_covers

SMALLER = (5, 6)
"""Sizes for which covote's design has fewer experts than the greedy cover."""
REDUNDANT = ((6, 2), (8, 2), (8, 3))
"""Sizes of greedy covers to which experts are added, and how often they then cover every pair."""


def needs(context: Context) -> Needs:
    """Return the experts of all parts."""
    greedy = greedy_covers.wanted()
    others = [
        subset for pair in panels(context.seed).values() for panel in pair for subset in subsets_of(panel)
    ]
    return {"mnist": greedy, "fashion": greedy, "cifar10": [*greedy, *others]}


def build(context: Context) -> Section:
    """Return the tables of all parts; a part that lacks its data is named, and the others run."""
    wanted = needs(context)
    parts: dict[str, Callable[[], Grid]] = {
        "other covers of CIFAR-10": lambda: covers_grid(
            context, context.experts("cifar10", wanted["cifar10"], partly=True)
        ),
        "Fashion-MNIST": lambda: _fashion(context, wanted),
        "ImageNet": lambda: imagenet_grid(context),
    }
    grids: list[Grid] = []
    left_out = {}
    for name, part in parts.items():
        try:
            grids.append(part())
        except DataError as error:
            left_out[name] = str(error)
    if not grids:
        raise DataError(next(iter(left_out.values())))
    return Section(
        tuple(grid for grid in grids if grid.rows),
        models="as in the tables above; ImageNet as its note says",
        surrogate=context.profile == "quick",
        left_out=left_out,
    )


def _fashion(context: Context, wanted: Needs) -> Grid:
    experts = context.experts("fashion", wanted["fashion"])
    note = f"Experts: {experts.trainer.name}; the settings are those of MNIST, nothing was tuned here."
    title = "Fashion-MNIST, greedy covers: accuracy in percent"
    return greedy_covers.cover_grid(title, greedy_covers.measure(experts), {}, note)


def panels(seed: int) -> dict[str, tuple[Panel, Panel]]:
    """Return pairs of panels to compare: the greedy cover, and one that is smaller or more redundant."""
    found = {
        f"R = {size}, smallest cover": (paper_panel(size), design(CLASSES, size, seed=seed))
        for size in SMALLER
    }
    for size, redundancy in REDUNDANT:
        greedy = paper_panel(size)
        more = complete(greedy, size, redundancy=redundancy, seed=seed)
        found[f"R = {size}, greedy cover completed to redundancy {redundancy}"] = (greedy, more)
    return found


def covers_grid(context: Context, experts: Experts) -> Grid:
    """Return accuracies of the greedy cover and of the other panel."""
    rows = []
    for name, (greedy, other) in panels(context.seed).items():
        if not experts.has([*subsets_of(greedy), *subsets_of(other)]):
            continue
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


# ImageNet's thousand classes: experts cut from the predictions of twenty published networks

IMAGENET_SIZES = (250, 400, 500)
IMAGENET_ITEMS = 10_000
"""Images that are labelled; the others tell which classes are alike."""


def likeness(predictions: Predictions, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each class is among the best five of an image whose best is another (1000 x 1000)."""
    best = predictions.best[rows].astype(np.int64)
    K = predictions.classes
    counts = np.zeros(K * K, dtype=np.int64)
    for place in range(1, best.shape[2]):
        counts += np.bincount((best[:, :, 0] * K + best[:, :, place]).ravel(), minlength=K * K)
    return counts.reshape(K, K)


def restricted_votes(
    predictions: Predictions, panel: Panel, rows: NDArray[np.int64], alike: NDArray[np.int64]
) -> NDArray[np.int16]:
    """Return the answers of experts who know only some of the classes.

    Expert i is network i modulo 20. It answers the best of the network's five classes that it knows; if it
    knows none of them, the class it knows that is most like the network's best.
    """
    votes = np.empty((len(rows), len(panel)), dtype=np.int16)
    for i, known in enumerate(panel.knows):
        five = predictions.best[rows, i % len(predictions.networks)].astype(np.int64)
        inside = known[five]
        nearest = np.where(known, alike, -1).argmax(axis=1)
        first = five[np.arange(len(rows)), inside.argmax(axis=1)]
        votes[:, i] = np.where(inside.any(axis=1), first, nearest[five[:, 0]])
    return votes


def imagenet_grid(context: Context) -> Grid:
    """Return the accuracy of covers of the thousand classes."""
    predictions = load_predictions(context.source)
    order = np.random.default_rng([context.seed, 1000]).permutation(len(predictions.truth))
    asked, rest = order[:IMAGENET_ITEMS], order[IMAGENET_ITEMS:]
    truth, alike = predictions.truth[asked], likeness(predictions, rest)
    rows = []
    for n, size in enumerate(IMAGENET_SIZES):
        context.progress(n, len(IMAGENET_SIZES), f"beyond: ImageNet, experts of {size} classes")
        panel = design(predictions.classes, size, effort="fast", seed=context.seed)
        votes = Votes.from_dense(restricted_votes(predictions, panel, asked, alike), panel)
        used = [i % len(predictions.networks) for i in range(len(panel))]
        alone = (predictions.best[asked][:, used, 0] == truth[:, None]).mean(axis=0)
        inside = panel.knows[:, truth].T
        right = votes.dense == truth[:, None]
        cells = (
            Cell(text=str(len(panel))),
            Cell(100 * float(alone.mean())),
            Cell(100 * float(right[inside].mean())),
            Cell(100 * label_accuracy(votes, truth, "authority")),
            Cell(100 * label_accuracy(votes, truth)),
        )
        rows.append((f"R = {size}", cells))
    columns = (
        "experts", "networks uncut, mean", "experts on what they know", "paper's vote", "covote, votes alone"
    )  # fmt: skip
    note = (
        f"{IMAGENET_ITEMS:,} validation images. Expert i is network i modulo {len(predictions.networks)}, "
        "cut to the classes it knows: the best of its five stored classes that it knows, else the class most "
        "like its best. Networks uncut: top-1 accuracy of the networks that take part, with all 1,000 "
        "classes."
    )
    return Grid("ImageNet, 1,000 classes: accuracy in percent", columns, tuple(rows), note)
