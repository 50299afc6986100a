"""ImageNet's thousand classes: experts cut from what twenty published networks answered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.covers import design
from covote.panel import Panel
from covote.reproduction.accuracy import decoded
from covote.reproduction.datasets import Predictions, load_predictions
from covote.reproduction.experiment import Context
from covote.reproduction.sections import Cell, Grid
from covote.votes import Votes

SIZES = (250, 400, 500)
ITEMS = 10_000
"""Images that are labelled; the others tell which classes are alike."""


def likeness(predictions: Predictions, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each class is among the best five of an image whose best is another (1000 x 1000)."""
    best = predictions.best[rows].astype(np.int64)
    K = predictions.classes
    counts = np.zeros(K * K, dtype=np.int64)
    for place in range(1, best.shape[2]):
        counts += np.bincount((best[:, :, 0] * K + best[:, :, place]).ravel(), minlength=K * K)
    return counts.reshape(K, K)


def cut_votes(
    predictions: Predictions, panel: Panel, rows: NDArray[np.int64], alike: NDArray[np.int64]
) -> NDArray[np.int16]:
    """Return what experts answer who know only some of the classes.

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
    asked, rest = order[:ITEMS], order[ITEMS:]
    truth, alike = predictions.truth[asked], likeness(predictions, rest)
    rows = []
    for n, size in enumerate(SIZES):
        context.progress(n, len(SIZES), f"beyond: ImageNet, experts of {size} classes")
        panel = design(predictions.classes, size, effort="fast", seed=context.seed)
        votes = Votes.from_dense(cut_votes(predictions, panel, asked, alike), panel)
        used = [i % len(predictions.networks) for i in range(len(panel))]
        alone = (predictions.best[asked][:, used, 0] == truth[:, None]).mean(axis=0)
        inside = panel.knows[:, truth].T
        right = votes.dense == truth[:, None]
        cells = (
            Cell(text=str(len(panel))),
            Cell(100 * float(alone.mean())),
            Cell(100 * float(right[inside].mean())),
            Cell(100 * decoded(votes, truth, ties="report")),
            Cell(100 * decoded(votes, truth)),
        )
        rows.append((f"R = {size}", cells))
    columns = (
        "experts", "networks uncut, mean", "experts on what they know", "paper's vote", "covote, votes alone"
    )  # fmt: skip
    note = (
        f"{ITEMS:,} validation images. Expert i is network i modulo {len(predictions.networks)}, cut to the "
        "classes it knows: the best of its five stored classes that it knows, else the class most like its "
        "best. Networks uncut: top-1 accuracy of the networks that take part, with all 1,000 classes."
    )
    return Grid("ImageNet, 1,000 classes: accuracy in percent", columns, tuple(rows), note)
