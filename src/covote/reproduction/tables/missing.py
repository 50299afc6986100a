"""Table: CIFAR-10 accuracy with one and with two experts of the greedy covers removed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from covote.reproduction import greedy_covers, paper_values
from covote.reproduction.accuracy import DEFAULT, PAPER, PLAIN, panel_accuracies, panel_accuracy
from covote.reproduction.context import SIZES, Context, paper_panel, subsets_of
from covote.reproduction.pictures import COLOURS
from covote.reproduction.result import Cell, Grid, Picture, Section
from covote.reproduction.store import SPLITS, Experts
from covote.reproduction.tables import TABLES, Needs
from covote.reproduction.trainers import Subset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 45
"""So many removals are decoded with covote's default; beyond that (R = 2, two removed) a random sample."""
Outcome = tuple[float, float]


def needs(context: Context) -> Needs:
    """Return the experts of the greedy covers."""
    return {"cifar10": greedy_covers.wanted()}


def removals(panel: Sequence[Subset], gone: int, most: int | None, seed: int) -> list[list[Subset]]:
    """Return what is left of a panel after every removal of `gone` experts, or after `most` random ones."""
    every = list(combinations(range(len(panel)), gone))
    if most is not None and len(every) > most:
        chosen = np.random.default_rng([seed, len(panel), gone]).permutation(len(every))[:most]
        every = [every[n] for n in sorted(chosen)]
    return [[subset for i, subset in enumerate(panel) if i not in lost] for lost in every]


def outcome(
    context: Context, experts: Experts, size: int, gone: int, split: str, method: str
) -> tuple[float, float]:
    """Return mean and standard deviation of the accuracy over the removals."""
    panel = subsets_of(paper_panel(size))
    left = removals(panel, gone, None if method == PAPER else MOST, context.seed)
    found = []
    for n, accuracy in enumerate(panel_accuracies(experts, left, split, method), start=1):
        found.append(accuracy)
        context.progress(n, len(left), f"missing: R = {size}, {gone} removed, {method}")
    return float(np.mean(found)), float(np.std(found))


def build(context: Context) -> Section:
    """Return the table."""
    experts = context.experts("cifar10", greedy_covers.wanted(), partly=True)
    sizes = [size for size in SIZES if experts.has(subsets_of(paper_panel(size)))]
    lines = [(split, PAPER) for split in SPLITS] + [("test", PLAIN), ("test", DEFAULT)]
    found: dict[tuple[int, str, str, int], Outcome] = {}
    for split, method in lines:
        whole = greedy_covers.measured(experts, split, method)
        for size in sizes:
            found[0, split, method, size] = (whole[size], 0.0)
            for gone in (1, 2):
                found[gone, split, method, size] = outcome(context, experts, size, gone, split, method)
    grids = tuple(_grid(gone, lines, found) for gone in (1, 2))
    return Section(
        "missing",
        TABLES["missing"],
        grids,
        (Picture("missing", _chart(found), "Test accuracy as experts are removed; the bars show sigma."),),
        (*_findings(found), *_orphaned(experts, sizes)),
        (
            *greedy_covers.differences(experts, "ResNet20 v1, 200 epochs"),
            f"For R = 2 and two removed, covote's decoders label {MOST} random removals of the 990; "
            "the paper's vote labels all.",
        ),
        experts.trainer.name,
        experts.trainer.surrogate,
        experts.seconds,
    )


def _grid(
    gone: int, lines: Sequence[tuple[str, str]], found: dict[tuple[int, str, str, int], Outcome]
) -> Grid:
    rows = []
    for split, method in lines:
        cells = []
        for size in SIZES:
            paper = paper_values.MISSING[gone][split][size] if method == PAPER else (None, None)
            ours = found.get((gone, split, method, size), (None, None))
            cells.append(Cell(ours[0], paper[0], ours[1], paper[1]))
        rows.append((f"{split}, {method}", tuple(cells)))
    title = f"{gone} expert{'s' * (gone > 1)} removed: accuracy in percent, mean and sigma over all removals"
    return Grid(title, tuple(f"R = {size}" for size in SIZES), tuple(rows))


def _chart(found: dict[tuple[int, str, str, int], Outcome]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.0), layout="constrained")
    parts = figure.subplots(1, len(SIZES), sharey=True)
    for axes, size in zip(parts, SIZES, strict=True):
        theirs = [paper_values.CIFAR10["test"][size]]
        theirs += [paper_values.MISSING[gone]["test"][size][0] for gone in (1, 2)]
        axes.plot((0, 1, 2), theirs, "o--", color=COLOURS[0], markersize=4, label="paper")
        axes.set_title(f"R = {size}", fontsize=10)
        axes.set_xticks((0, 1, 2))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
        if (0, "test", PAPER, size) not in found:
            continue
        for method, colour in ((PAPER, COLOURS[1]), (PLAIN, COLOURS[3]), (DEFAULT, COLOURS[2])):
            means, spreads = zip(*(found[gone, "test", method, size] for gone in (0, 1, 2)), strict=True)
            axes.errorbar(
                (0, 1, 2), means, spreads, fmt="o-", color=colour, markersize=4, capsize=2, label=method
            )
    parts[0].set_ylabel("test accuracy (%)")
    figure.supxlabel("experts removed", fontsize=10)
    # Sizes without stored experts show the paper's line alone.
    handles, labels = max((axes.get_legend_handles_labels() for axes in parts), key=lambda pair: len(pair[1]))
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure


def _orphaned(experts: Experts, sizes: Sequence[int]) -> tuple[str, ...]:
    """Say what removals cost that leave a class without any expert, where no decoder can label it."""
    said = []
    for size in sizes:
        panel = subsets_of(paper_panel(size))
        left = removals(panel, 2, None, 0)
        known = [rest for rest in left if len(set().union(*rest)) == len(experts.data.classes)]
        if not known:
            said.append(f"R = {size}: every removal of two experts leaves a class that nobody knows.")
        elif len(known) < len(left):
            whole = panel_accuracy(experts, panel, "test", DEFAULT)
            rest_of = list(panel_accuracies(experts, known, "test", DEFAULT))
            said.append(
                f"R = {size}: {len(left) - len(known)} of the {len(left)} removals of two experts leave a "
                "class that nobody knows, which no decoder can label; over the others covote's default with "
                f"probabilities loses {whole - float(np.mean(rest_of)):.2f} points."
            )
    return tuple(said)


def _findings(found: dict[tuple[int, str, str, int], Outcome]) -> tuple[str, ...]:
    """Say how much removing experts costs with each way to decode."""
    sizes = [size for size in SIZES if (0, "test", PAPER, size) in found]

    def lost(method: str, gone: int, size: int) -> float:
        return found[0, "test", method, size][0] - found[gone, "test", method, size][0]

    def losses(method: str) -> str:
        return "; ".join(
            f"R = {size}: {lost(method, 1, size):.1f} and {lost(method, 2, size):.1f}" for size in sizes
        )

    theirs = "; ".join(
        f"R = {size}: "
        + " and ".join(
            f"{paper_values.CIFAR10['test'][size] - paper_values.MISSING[gone]['test'][size][0]:.1f}"
            for gone in (1, 2)
        )
        for size in sizes
    )
    middle = [size for size in (4, 6) if size in sizes]
    first = []
    if middle:
        worst = max(lost(DEFAULT, gone, size) for gone in (1, 2) for size in middle)
        first = [
            f"With the experts' probabilities, covote's default loses at most {worst:.2f} points when one or "
            f"two experts of R = {' or '.join(map(str, middle))} are missing."
        ]
    return (
        *first,
        f"Points lost by the paper's vote with one and with two experts removed: {losses(PAPER)} "
        f"(paper: {theirs}).",
        f"Points lost by covote's default with probabilities: {losses(DEFAULT)}.",
        f"Points lost by covote's default on votes alone: {losses(PLAIN)}.",
    )
