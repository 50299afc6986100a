"""Table: every decoder of covote on the paper's panels, whole and with two experts missing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding import DECODERS
from covote.errors import TooLargeError
from covote.reproduction.accuracy import decoded
from covote.reproduction.cores import in_threads
from covote.reproduction.datasets import TITLES
from covote.reproduction.experiment import SIZES, Context, paper_panel, subsets_of
from covote.reproduction.sections import Cell, Grid, Measured, picked
from covote.reproduction.store import Experts
from covote.reproduction.trainers import Subset

LABELLED = 20
"""Items of each class whose class `supervised` is told; they do not count."""
REMOVALS = 5
OPTIONS: dict[str, dict[str, Any]] = {"likelihood": {"accuracy": 0.95}}


class Line(NamedTuple):
    """A row of the table: a decoder, and what it is given."""

    name: str
    method: str
    soft: bool
    options: dict[str, Any]


def lines() -> list[Line]:
    """Return every decoder on what it can use."""
    soft_only, soft_too = ("coupling", "mean"), ("authority", "supervised")
    found = [Line("authority, ties left (the paper's vote)", "authority", False, {"ties": "report"})]
    for method in DECODERS:
        options = OPTIONS.get(method, {})
        if method not in soft_only:
            found.append(Line(method, method, False, options))
        if method in soft_only + soft_too:
            found.append(Line(f"{method}, with probabilities", method, True, options))
    return found


def measured_grid(context: Context, experts: Experts) -> tuple[tuple[Grid, ...], tuple[Measured, ...]]:
    """Return the test accuracy of every decoder on the four greedy covers, and with two experts removed."""
    columns = {(size, 0): [subsets_of(paper_panel(size))] for size in SIZES}
    for size in (4, 6):
        whole = subsets_of(paper_panel(size))
        removed = list(combinations(range(len(whole)), 2))
        chosen = np.random.default_rng([context.seed, size]).permutation(len(removed))[:REMOVALS]
        columns[size, 2] = [[subset for i, subset in enumerate(whole) if i not in removed[n]] for n in chosen]
    tasks = [(line, column) for line in lines() for column in columns]
    found: dict[tuple[str, int, int], Measured] = {}
    with warnings.catch_warnings():
        # Which decoders are dangerous on classifiers is what this table shows.
        warnings.simplefilter("ignore", UserWarning)
        accuracies = in_threads(lambda task: _accuracy(experts, task[0], columns[task[1]]), tasks)
        for n, ((line, (size, gone)), accuracy) in enumerate(zip(tasks, accuracies, strict=True), start=1):
            if accuracy is not None:
                one = Measured(experts.data.name, "test", line.name, size, accuracy, removed=gone)
                found[line.name, size, gone] = one
            context.progress(n, len(tasks), f"beyond: {experts.data.name}, {line.name}")
    note = (
        f"Test accuracy in percent; two removed: mean of {REMOVALS} random removals. `supervised` is told "
        f"the class of {LABELLED} items of each class, which do not count; `likelihood` assumes that experts "
        "are right 95% of the time about what they know."
    )
    rows = [
        (
            line.name,
            tuple(
                Cell(found[line.name, *column].accuracy)
                if (line.name, *column) in found
                else Cell(text="too large")
                for column in columns
            ),
        )
        for line in lines()
    ]
    names = tuple(f"R = {size}{', two removed' * (gone > 0)}" for size, gone in columns)
    grid = Grid(f"Every decoder on {TITLES[experts.data.name]}", names, tuple(rows), note)
    return (grid,), tuple(found.values())


def findings(found: Sequence[Measured]) -> tuple[str, ...]:
    """Name the decoder that is best on whole covers, and the one that is best with experts missing."""
    said = []
    for images in dict.fromkeys(one.images for one in found):
        means = {}
        for name in dict.fromkeys(line.name for line in lines() if line.method != "supervised"):
            whole, broken = (
                [one.accuracy for one in picked(found, images=images, decoder=name, removed=gone)]
                for gone in (0, 2)
            )
            if len(whole) == len(SIZES) and len(broken) == 2:
                means[name] = (sum(whole) / len(whole), sum(broken) / len(broken))
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
    counted, options = np.ones(len(truth), dtype=bool), line.options
    if line.method == "supervised":
        gold = known_items(truth)
        counted, options = gold < 0, {"gold": gold}
    found = []
    for subsets in panels:
        votes = experts.votes(subsets, "test", soft=line.soft)
        try:
            found.append(100 * decoded(votes, truth, line.method, counted=counted, **options))
        except TooLargeError:
            return None
    return float(np.mean(found))


def known_items(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the classes of the first items of each class, -1 for all others."""
    gold = np.full(len(truth), -1, dtype=np.int64)
    for k in np.unique(truth):
        gold[np.flatnonzero(truth == k)[:LABELLED]] = k
    return gold
