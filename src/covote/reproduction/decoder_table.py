"""Every decoder of covote on the paper's panels, whole and with experts missing."""

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
from covote.reproduction.context import SIZES, Context, paper_panel, subsets_of
from covote.reproduction.cores import in_threads
from covote.reproduction.datasets import TITLES
from covote.reproduction.result import Cell, Grid
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


def decoder_grid(context: Context, experts: Experts) -> Grid:
    """Return the test accuracy of every decoder on the four greedy covers, and with two experts removed."""
    panels = [[subsets_of(paper_panel(size))] for size in SIZES]
    for size in (4, 6):
        whole = panels[SIZES.index(size)][0]
        removed = list(combinations(range(len(whole)), 2))
        chosen = np.random.default_rng([context.seed, size]).permutation(len(removed))[:REMOVALS]
        panels.append([[subset for i, subset in enumerate(whole) if i not in removed[n]] for n in chosen])
    tasks = [(line, some) for line in lines() for some in panels]
    found: dict[str, list[Cell]] = {line.name: [] for line in lines()}
    with warnings.catch_warnings():
        # Which decoders are dangerous on classifiers is what this table shows.
        warnings.simplefilter("ignore", UserWarning)
        for n, cell in enumerate(in_threads(lambda task: _cell(experts, *task), tasks)):
            name = tasks[n][0].name
            found[name].append(cell)
            context.progress(n + 1, len(tasks), f"beyond: {experts.data.name}, {name}")
    columns = (*(f"R = {size}" for size in SIZES), "R = 4, two removed", "R = 6, two removed")
    note = (
        f"Test accuracy in percent; two removed: mean of {REMOVALS} random removals. `supervised` is told "
        f"the class of {LABELLED} items of each class, which do not count; `likelihood` assumes that experts "
        "are right 95% of the time about what they know."
    )
    title = f"Every decoder on {TITLES[experts.data.name]}"
    return Grid(title, columns, tuple((name, tuple(cells)) for name, cells in found.items()), note)


def _cell(experts: Experts, line: Line, panels: Sequence[Sequence[Subset]]) -> Cell:
    """Return the mean accuracy of a decoder over panels."""
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
            return Cell(text="too large")
    return Cell(float(np.mean(found)))


def known_items(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the classes of the first items of each class, -1 for all others."""
    gold = np.full(len(truth), -1, dtype=np.int64)
    for k in np.unique(truth):
        gold[np.flatnonzero(truth == k)[:LABELLED]] = k
    return gold
