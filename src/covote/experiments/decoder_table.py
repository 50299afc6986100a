"""Every decoder of covote on the paper's panels, whole and with experts missing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decode import DECODERS
from covote.errors import TooLargeError

from .accuracy import decoded
from .context import SIZES, Context, paper_panel, subsets_of
from .result import Cell, Grid
from .store import Experts
from .trainers import Subset

LABELLED = 20
"""Items of each class whose class `supervised` is told; they do not count."""
REMOVALS = 5
OPTIONS: dict[str, dict[str, Any]] = {"likelihood": {"accuracy": 0.95}}


def lines() -> list[tuple[str, str, bool, dict[str, Any]]]:
    """Return (row name, method, with probabilities, options): every decoder on what it can use."""
    soft_only, soft_too = ("coupling", "mean"), ("authority", "supervised")
    found: list[tuple[str, str, bool, dict[str, Any]]] = [
        ("authority, ties left (the paper's vote)", "authority", False, {"ties": "report"})
    ]
    for method in DECODERS:
        options = OPTIONS.get(method, {})
        if method not in soft_only:
            found.append((method, method, False, options))
        if method in soft_only + soft_too:
            found.append((f"{method}, with probabilities", method, True, options))
    return found


def decoder_grid(context: Context, experts: Experts, title: str) -> Grid:
    """Return the test accuracy of every decoder on the four greedy covers, and with two experts removed."""
    panels = [[subsets_of(paper_panel(size))] for size in SIZES]
    for size in (4, 6):
        whole = panels[SIZES.index(size)][0]
        removed = list(combinations(range(len(whole)), 2))
        chosen = np.random.default_rng([context.seed, size]).permutation(len(removed))[:REMOVALS]
        panels.append([[subset for i, subset in enumerate(whole) if i not in removed[n]] for n in chosen])
    rows = []
    for n, (name, method, soft, options) in enumerate(lines()):
        context.progress(n, len(lines()), f"beyond: {experts.data.name}, {name}")
        cells = tuple(_cell(experts, some, method, soft, options) for some in panels)
        rows.append((name, cells))
    columns = (*(f"R = {size}" for size in SIZES), "R = 4, two removed", "R = 6, two removed")
    note = (
        f"Test accuracy in percent; two removed: mean of {REMOVALS} random removals. `supervised` is told "
        f"the class of {LABELLED} items of each class, which do not count; `likelihood` assumes that experts "
        "are right 95% of the time about what they know."
    )
    return Grid(title, columns, tuple(rows), note)


def _cell(
    experts: Experts, panels: Sequence[Sequence[Subset]], method: str, soft: bool, options: dict[str, Any]
) -> Cell:
    """Return the mean accuracy of a decoder over panels."""
    truth = experts.truth("test")
    found = []
    for subsets in panels:
        votes = experts.votes(subsets, "test", soft=soft)
        counted = np.ones(len(truth), dtype=bool)
        if method == "supervised":
            gold = known_items(truth)
            counted, options = gold < 0, {"gold": gold}
        try:
            with warnings.catch_warnings():
                # Which decoders are dangerous on classifiers is what this table shows.
                warnings.simplefilter("ignore", UserWarning)
                found.append(100 * decoded(votes, truth, method, counted=counted, **options))
        except TooLargeError:
            return Cell(text="too large")
    return Cell(float(np.mean(found)))


def known_items(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the classes of the first items of each class, -1 for all others."""
    gold = np.full(len(truth), -1, dtype=np.int64)
    for k in np.unique(truth):
        gold[np.flatnonzero(truth == k)[:LABELLED]] = k
    return gold
