"""Beyond the paper: every decoder, other covers, Fashion-MNIST, texts in silos, ImageNet."""

from __future__ import annotations

from collections.abc import Callable

from covote.covers import design
from covote.errors import DataError
from covote.panel import Panel
from covote.reproduction.accuracy import DEFAULT, PAPER, panel_accuracy
from covote.reproduction.experiment import CLASSES, Context, Needs, paper_panel, subsets_of
from covote.reproduction.sections import Cell, Grid, Measured, Section
from covote.reproduction.store import Experts
from covote.reproduction.tables import every_decoder, greedy_covers, imagenet, silos

SMALLER = (5, 6)
"""Sizes for which covote's design has fewer experts than the greedy cover."""
TWICE = (6, 8)
"""Sizes of covers that cover every pair twice."""
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
        "decoders on MNIST": lambda: every_decoder.measured_grid(
            context, context.experts("mnist", wanted["mnist"])
        ),
        "Fashion-MNIST": lambda: _fashion(context, wanted),
        "texts": lambda: ((silos.silo_grid(context),), ()),
        "ImageNet": lambda: ((imagenet.imagenet_grid(context),), ()),
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
        findings=every_decoder.findings(found),
        models="as in the tables above; texts and ImageNet as their notes say",
        surrogate=context.profile == "quick",
        left_out=left_out,
        measured=tuple(found),
    )


def _cifar10(context: Context, wanted: Needs) -> Part:
    experts = context.experts("cifar10", wanted["cifar10"])
    grids, found = every_decoder.measured_grid(context, experts)
    return (*grids, covers_grid(context, experts)), found


def _fashion(context: Context, wanted: Needs) -> Part:
    experts = context.experts("fashion", wanted["fashion"])
    note = f"Experts: {experts.trainer.name}; the settings are those of MNIST, nothing was tuned here."
    title = "Fashion-MNIST, greedy covers: accuracy in percent"
    table = greedy_covers.cover_grid(title, greedy_covers.measure(experts), {}, note)
    grids, found = every_decoder.measured_grid(context, experts)
    return (table, *grids), found


def panels(seed: int) -> dict[str, tuple[Panel, Panel]]:
    """Return pairs of panels to compare: the greedy cover, and one that is smaller or covers twice."""
    found = {
        f"R = {size}, smallest cover": (paper_panel(size), design(CLASSES, size, seed=seed))
        for size in SMALLER
    }
    for size in TWICE:
        twice = design(CLASSES, size, times=2, seed=seed)
        found[f"R = {size}, every pair twice"] = (paper_panel(size), twice)
    return found


def covers_grid(context: Context, experts: Experts) -> Grid:
    """Return accuracies of the greedy cover and of the other panel."""
    rows = []
    for name, (greedy, other) in panels(context.seed).items():
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
