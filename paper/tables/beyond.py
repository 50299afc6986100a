"""Beyond the paper: every decoder, other covers, adaptive asking, mixed panels, Fashion-MNIST, ImageNet."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.asking.replay import replay
from covote.covers import complete, design
from covote.decoding import DECODERS
from covote.errors import DataError, TooLargeError
from covote.panel import Panel
from covote.votes import Votes
from paper.cores import in_threads
from paper.datasets import TITLES, Predictions, load_predictions
from paper.experiment import (
    CLASSES,
    DEFAULT,
    METHODS,
    PAPER,
    SIZES,
    Context,
    Needs,
    decoded,
    panel_accuracy,
    paper_panel,
    subsets_of,
)
from paper.sections import Cell, Grid, Measured, Section, picked
from paper.store import Experts
from paper.tables import greedy_covers
from paper.trainers import Subset, ridge

SMALLER = (5, 6)
"""Sizes for which covote's design has fewer experts than the greedy cover."""
REDUNDANT = ((6, 2), (8, 2), (8, 3))
"""Sizes of greedy covers to which experts are added, and how often they then cover every pair."""
Part = tuple[tuple[Grid, ...], tuple[Measured, ...]]
"""Tables, and the measurements of decoders behind them."""


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
    parts: dict[str, Callable[[], Part]] = {
        "decoders on CIFAR-10, other covers": lambda: _cifar10(context, wanted),
        "decoders on MNIST": lambda: decoder_grid(context, context.experts("mnist", wanted["mnist"])),
        "Fashion-MNIST": lambda: _fashion(context, wanted),
        "ImageNet": lambda: ((imagenet_grid(context),), ()),
    }
    grids: list[Grid] = []
    found: list[Measured] = []
    left_out = {}
    for name, part in parts.items():
        try:
            made, measured = part()
        except DataError as error:
            left_out[name] = str(error)
        else:
            grids += made
            found += measured
    if not grids:
        raise DataError(next(iter(left_out.values())))
    return Section(
        tuple(grids),
        findings=findings(found),
        models="as in the tables above; ImageNet as its note says",
        surrogate=context.profile == "quick",
        left_out=left_out,
        measured=tuple(found),
    )


def _cifar10(context: Context, wanted: Needs) -> Part:
    experts = context.experts("cifar10", wanted["cifar10"], partly=True)
    grids, found = decoder_grid(context, experts)
    more = [covers_grid(context, experts), asking_grid(experts)]
    more += [] if context.profile == "quick" else [mixed_grid(context, experts)]
    return (*grids, *(grid for grid in more if grid.rows)), found


def _fashion(context: Context, wanted: Needs) -> Part:
    experts = context.experts("fashion", wanted["fashion"])
    note = f"Experts: {experts.trainer.name}; the settings are those of MNIST, nothing was tuned here."
    title = "Fashion-MNIST, greedy covers: accuracy in percent"
    table = greedy_covers.cover_grid(title, greedy_covers.measure(experts), {}, note)
    grids, found = decoder_grid(context, experts)
    return (table, *grids), found


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


def covers_there(experts: Experts) -> dict[int, list[Subset]]:
    """Return the greedy covers whose experts are stored."""
    return {size: cover for size, cover in greedy_covers.panels_of(experts).items() if size in SIZES}


def asking_grid(experts: Experts) -> Grid:
    """Return the answers needed per image, and the accuracy, when experts are asked one at a time."""
    truth = dict(enumerate(experts.truth("test").tolist()))
    rows = []
    for size, subsets in covers_there(experts).items():
        rules = replay(experts.votes(subsets, "test", soft=False), truth).to_dict()["rules"]
        cells = [Cell(text=str(len(subsets))), Cell(100 * rules["vote"]["accuracy_all"])]
        for rule in ASKED:
            cells += [Cell(rules[rule]["answers_per_item"]), Cell(100 * rules[rule]["accuracy"])]
        rows.append((f"R = {size}", tuple(cells)))
    asked = (f"{rule}: {what}" for rule in ASKED for what in ("answers per image", "accuracy"))
    note = (
        "`vote` stops when no further answer can change the paper's vote; `elimination` when one class is "
        "left. Labels are those of covote's default from the answers; an image that stays open counts as "
        "wrong here."
    )
    columns = ("experts", "all experts: accuracy", *asked)
    return Grid("Adaptive asking on CIFAR-10", columns, tuple(rows), note)


def mixed_grid(context: Context, experts: Experts) -> Grid:
    """Return the accuracy of panels in which every second expert has another architecture."""
    rows = []
    for size, subsets in covers_there(experts).items():
        ridges = context.experts_by(ridge.cifar10(), experts.data, subsets)
        half = {subset: ridges.by_subset[subset] for subset in subsets[::2]}
        panels_ = (experts, ridges, replace(experts, by_subset=experts.by_subset | half))
        cells = [
            Cell(panel_accuracy(panel, subsets, "test", method)) for method in METHODS for panel in panels_
        ]
        rows.append((f"R = {size}", tuple(cells)))
    kinds = ("networks", "ridge regressions", "every second a ridge regression")
    columns = tuple(f"{method}: {kind}" for method in METHODS for kind in kinds)
    return Grid("Mixed architectures on CIFAR-10: test accuracy in percent", columns, tuple(rows))


# Every decoder on the paper's panels, whole and with two experts missing

REMOVALS = 5
ASKED = ("vote", "elimination")
"""Rules of adaptive asking."""
OPTIONS: dict[str, dict[str, Any]] = {"likelihood": {"accuracy": 0.95}}


class Line(NamedTuple):
    """A row of the table: a decoder, and what it is given."""

    name: str
    method: str
    soft: bool
    options: dict[str, Any]


def lines() -> list[Line]:
    """Return every decoder with the kinds of votes it can use."""
    found = []
    for method in DECODERS:
        options = OPTIONS.get(method, {})
        name = "authority (the paper's vote)" if method == "authority" else method
        found.append(Line(name, method, False, options))
        if method == "learned":
            found.append(Line(f"{method}, with probabilities", method, True, options))
    return found


def decoder_grid(context: Context, experts: Experts) -> tuple[tuple[Grid, ...], tuple[Measured, ...]]:
    """Return the test accuracy of every decoder on the four greedy covers, and with two experts removed."""
    covers_ = covers_there(experts)
    columns = {(size, 0): [subsets] for size, subsets in covers_.items()}
    for size, whole in covers_.items():
        if size not in (4, 6):
            continue
        removed = list(combinations(range(len(whole)), 2))
        chosen = np.random.default_rng([context.seed, size]).permutation(len(removed))[:REMOVALS]
        columns[size, 2] = [[subset for i, subset in enumerate(whole) if i not in removed[n]] for n in chosen]
    tasks = [(line, column) for line in lines() for column in columns]
    found: list[Measured] = []
    cells: dict[str, list[Cell]] = {line.name: [] for line in lines()}
    with warnings.catch_warnings():
        # This table shows which decoders are dangerous on classifiers.
        warnings.simplefilter("ignore", UserWarning)
        accuracies = in_threads(lambda task: _accuracy(experts, task[0], columns[task[1]]), tasks)
        for n, ((line, (size, gone)), accuracy) in enumerate(zip(tasks, accuracies, strict=True), start=1):
            cells[line.name].append(Cell(text="too large") if accuracy is None else Cell(accuracy))
            if accuracy is not None:
                found.append(Measured(experts.data.name, "test", line.name, size, accuracy, removed=gone))
            context.progress(n, len(tasks), f"beyond: {experts.data.name}, {line.name}")
    note = (
        f"Test accuracy in percent; two removed: mean of {REMOVALS} random removals. `likelihood` "
        "assumes that experts are right 95% of the time about what they know."
    )
    rows = tuple((name, tuple(row)) for name, row in cells.items())
    names = tuple(f"R = {size}{', two removed' * (gone > 0)}" for size, gone in columns)
    grid = Grid(f"Every decoder on {TITLES[experts.data.name]}", names, rows, note)
    return (grid,), tuple(found)


def findings(found: Sequence[Measured]) -> tuple[str, ...]:
    """Name the decoder that is best on whole covers, and the one that is best with experts missing."""
    said = []
    for images in dict.fromkeys(one.images for one in found):
        means = {}
        columns = len({(one.size, one.removed) for one in picked(found, images=images)})
        for name in dict.fromkeys(line.name for line in lines()):
            whole, broken = (
                [one.accuracy for one in picked(found, images=images, decoder=name, removed=gone)]
                for gone in (0, 2)
            )
            if broken and len(whole) + len(broken) == columns:
                means[name] = (sum(whole) / len(whole), sum(broken) / len(broken))
        if not means:
            continue
        best, most_robust = (max(means, key=lambda name: means[name][place]) for place in (0, 1))
        worst = min(means, key=lambda name: means[name][0])
        said.append(
            f"{TITLES[images]}: on whole covers `{best}` is best ({means[best][0]:.2f}% on average), with "
            f"two experts removed `{most_robust}` ({means[most_robust][1]:.2f}%); the worst on whole covers "
            f"is `{worst}` ({means[worst][0]:.2f}%)."
        )
    return tuple(said)


def _accuracy(experts: Experts, line: Line, panels: Sequence[Sequence[Subset]]) -> float | None:
    """Return the mean accuracy of a decoder over panels; None where they are too large for it."""
    truth = experts.truth("test")
    try:
        found = [
            decoded(experts.votes(subsets, "test", soft=line.soft), truth, line.method, **line.options)
            for subsets in panels
        ]
    except TooLargeError:
        return None
    return 100 * float(np.mean(found))


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


def cut_votes(
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
        votes = Votes.from_dense(cut_votes(predictions, panel, asked, alike), panel)
        used = [i % len(predictions.networks) for i in range(len(panel))]
        alone = (predictions.best[asked][:, used, 0] == truth[:, None]).mean(axis=0)
        inside = panel.knows[:, truth].T
        right = votes.dense == truth[:, None]
        cells = (
            Cell(text=str(len(panel))),
            Cell(100 * float(alone.mean())),
            Cell(100 * float(right[inside].mean())),
            Cell(100 * decoded(votes, truth, "authority")),
            Cell(100 * decoded(votes, truth)),
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
