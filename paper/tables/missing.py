"""Table: CIFAR-10 accuracy with one and with two experts of the greedy covers removed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from covote.colours import SERIES
from paper import paper_values
from paper.charts import legend_above, side_by_side
from paper.experiment import (
    DEFAULT,
    PAPER,
    PLAIN,
    SIZES,
    Context,
    panel_accuracies,
    panel_accuracy,
    paper_panel,
    subsets_of,
)
from paper.sections import (
    FAILS,
    HOLDS,
    Cell,
    Claim,
    Grid,
    Measurement,
    Picture,
    Section,
    by_size,
    select,
    verdict,
)
from paper.store import Experts
from paper.tables import greedy_covers
from paper.trainers import Subset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = (("train", PAPER), ("test", PAPER), ("test", PLAIN), ("test", DEFAULT))
MOST = 45
"""The most removals decoded with covote's default; of more (R = 2, two removed), a random sample."""


def reduced_panels(panel: Sequence[Subset], gone: int, most: int | None, seed: int) -> list[list[Subset]]:
    """Return what is left of a panel after every removal of `gone` experts, or after `most` random ones."""
    every = list(combinations(range(len(panel)), gone))
    if most is not None and len(every) > most:
        chosen = np.random.default_rng([seed, len(panel), gone]).permutation(len(every))[:most]
        every = [every[n] for n in sorted(chosen)]
    return [[subset for i, subset in enumerate(panel) if i not in lost] for lost in every]


def measure(context: Context, experts: Experts, size: int, gone: int, split: str, method: str) -> Measurement:
    """Return mean and standard deviation of the accuracy over the removals."""
    panel = subsets_of(paper_panel(size))
    left = reduced_panels(panel, gone, None if method == PAPER else MOST, context.seed)
    found = []
    for n, accuracy in enumerate(panel_accuracies(experts, left, split, method), start=1):
        found.append(accuracy)
        context.progress(n, len(left), f"missing: R = {size}, {gone} removed, {method}")
    mean, spread = float(np.mean(found)), float(np.std(found))
    return Measurement(experts.data.name, split, method, size, mean, spread, removed=gone)


def build(context: Context) -> Section:
    """Return the table."""
    experts = context.experts("cifar10", greedy_covers.wanted(), partly=True)
    sizes = [size for size in SIZES if experts.has(subsets_of(paper_panel(size)))]
    found = tuple(
        measure(context, experts, size, gone, split, method)
        for split, method in LINES
        for size in sizes
        for gone in (0, 1, 2)
    )
    return Section(
        tuple(_grid(gone, found) for gone in (1, 2)),
        (Picture("missing", _chart(found), "Test accuracy as experts are removed; the bars show sigma."),),
        _unknown_classes(experts, sizes),
        _claims(found),
        (
            *greedy_covers.differences(experts, greedy_covers.NETWORKS["cifar10"]),
            f"For R = 2 and two removed, covote's decoders label {MOST} random removals of the 990; "
            "the paper's vote labels all.",
        ),
        measured=found,
        **experts.about,
    )


def _grid(gone: int, found: Sequence[Measurement]) -> Grid:
    rows = []
    for split, method in LINES:
        ours = {one.size: one for one in select(found, removed=gone, split=split, decoder=method)}
        cells = []
        for size in SIZES:
            paper = paper_values.MISSING[gone][split][size] if method == PAPER else (None, None)
            mine = (ours[size].accuracy, ours[size].spread) if size in ours else (None, None)
            cells.append(Cell(mine[0], paper[0], mine[1], paper[1]))
        rows.append((f"{split}, {method}", tuple(cells)))
    title = f"{gone} expert{'s' * (gone > 1)} removed: accuracy in percent, mean and sigma over all removals"
    return Grid(title, tuple(f"R = {size}" for size in SIZES), tuple(rows))


def _chart(found: Sequence[Measurement]) -> Figure:
    figure, parts = side_by_side(len(SIZES), "experts removed", "test accuracy (%)")
    for axes, size in zip(parts, SIZES, strict=True):
        theirs = [paper_values.CIFAR10["test"][size]]
        theirs += [paper_values.MISSING[gone]["test"][size][0] for gone in (1, 2)]
        axes.plot((0, 1, 2), theirs, "o--", color=SERIES[0], markersize=4, label="paper")
        axes.set_title(f"R = {size}", fontsize=10)
        axes.set_xticks((0, 1, 2))
        for method, colour in ((PAPER, SERIES[1]), (PLAIN, SERIES[3]), (DEFAULT, SERIES[2])):
            mine = select(found, split="test", decoder=method, size=size)
            if mine:
                axes.errorbar(
                    [one.removed for one in mine], [one.accuracy for one in mine],
                    [one.spread or 0.0 for one in mine],
                    fmt="o-", color=colour, markersize=4, capsize=2, label=method,
                )  # fmt: skip
    return legend_above(figure)


def _unknown_classes(experts: Experts, sizes: Sequence[int]) -> tuple[str, ...]:
    """State the cost of removals that leave a class without any expert: no decoder can label it."""
    said = []
    for size in sizes:
        panel = subsets_of(paper_panel(size))
        left = reduced_panels(panel, 2, None, 0)
        known = [rest for rest in left if len(set().union(*rest)) == len(experts.data.classes)]
        if not known:
            said.append(f"R = {size}: every removal of two experts leaves a class that no expert knows.")
        elif len(known) < len(left):
            whole = panel_accuracy(experts, panel, "test", DEFAULT)
            rest_of = list(panel_accuracies(experts, known, "test", DEFAULT))
            said.append(
                f"R = {size}: {len(left) - len(known)} of the {len(left)} removals of two experts leave a "
                "class that no expert knows, which no decoder can label; over the others covote's default "
                f"with probabilities loses {whole - float(np.mean(rest_of)):.2f} points."
            )
    return tuple(said)


MAX_LOSS = 5.0
"""Points lost that still count as an accuracy quite like that of the whole cover."""


def _claims(found: Sequence[Measurement]) -> tuple[Claim, ...]:
    """Judge what the paper says about single removals, with its vote; and state what covote loses."""
    printed, missing = paper_values.CIFAR10["test"], paper_values.MISSING

    def losses(method: str) -> dict[int, tuple[float, float]]:
        whole, *rest = (by_size(found, split="test", decoder=method, removed=n) for n in (0, 1, 2))
        return {size: (whole[size] - rest[0][size], whole[size] - rest[1][size]) for size in whole}

    def told(method: str) -> str:
        return "; ".join(
            f"R = {size}: {one:.1f} and {two:.1f}" for size, (one, two) in losses(method).items()
        )

    lost = losses(PAPER)
    theirs = "; ".join(
        f"R = {size}: "
        + " and ".join(f"{printed[size] - missing[gone]['test'][size][0]:.1f}" for gone in (1, 2))
        for size in lost
    )
    single = select(found, split="test", decoder=PAPER, removed=1)
    smallest = min(single, key=lambda one: one.spread or 0.0).size
    first = min(lost, key=lambda size: lost[size][0])
    sigmas = ", ".join(f"R = {one.size}: {one.spread:.2f}" for one in single)
    return (
        Claim(
            f"one expert removed: accuracy stays quite similar (at most {MAX_LOSS:g} points lost)",
            verdict({f"R = {size}": HOLDS if one <= MAX_LOSS else FAILS for size, (one, _) in lost.items()}),
            f"points lost with one and with two removed, mean of all removals: {told(PAPER)} (paper: "
            f"{theirs}); covote's default with probabilities: {told(DEFAULT)}; on votes alone: {told(PLAIN)}",
        ),
        Claim(
            "one expert removed: R = 2 stays closest to the cover, and varies least",
            HOLDS if smallest == first == SIZES[0] else FAILS,
            f"sigma over the removals: {sigmas}",
        ),
    )
