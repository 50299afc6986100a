"""Questions to a bank and to an assistant: experts are silos that hold some of the domains."""

from __future__ import annotations

import numpy as np

from covote.covers import design
from covote.reproduction.accuracy import DEFAULT, METHODS, PAPER, panel_accuracies, panel_accuracy
from covote.reproduction.datasets import TextSet, load_text
from covote.reproduction.experiment import Context
from covote.reproduction.sections import Cell, Grid
from covote.reproduction.trainers import Subset
from covote.reproduction.trainers.ridge import WordRidge

SETS = {"clinc150": (10, 4), "banking77": (11, 5)}
"""Domains of each set, and how many of them a silo holds."""
COLUMNS = (
    "silos", "intents each", "centralised", *METHODS, "one silo lost, paper's vote", "one silo lost, covote"
)  # fmt: skip


def silos(data: TextSet, domains: int, held: int, seed: int) -> list[Subset]:
    """Return the intents of each silo: a cover of the domains, so that every pair of intents is covered.

    A set without domains gets groups of alphabetically neighbouring intents, whose names begin alike.
    """
    domain_of = data.domains
    if domain_of is None:
        domain_of = np.arange(len(data.classes)) * domains // len(data.classes)
    panel = design(domains, held, seed=seed)
    return [tuple(int(k) for k in np.flatnonzero(row[domain_of])) for row in panel.knows]


def silo_row(context: Context, name: str) -> tuple[Cell, ...]:
    """Return the row of a text set."""
    domains, held = SETS[name]
    data = load_text(name, context.source)
    subsets = silos(data, domains, held, context.seed)
    everything: Subset = tuple(range(len(data.classes)))
    experts = context.experts_by(WordRidge(), data, [*subsets, everything])
    whole = {method: panel_accuracy(experts, subsets, "test", method) for method in METHODS}
    lost = {}
    rests = [[other for other in subsets if other != subset] for subset in subsets]
    for method in (PAPER, DEFAULT):
        found = list(panel_accuracies(experts, rests, "test", method))
        lost[method] = Cell(float(np.mean(found)), spread=float(np.std(found)))
    sizes = sorted({len(subset) for subset in subsets})
    return (
        Cell(text=str(len(subsets))),
        Cell(text=f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"),
        Cell(100 * experts.alone(everything, "test")),
        *(Cell(whole[method]) for method in METHODS),
        lost[PAPER],
        lost[DEFAULT],
    )


def silo_grid(context: Context) -> Grid:
    """Return the table of the text sets."""
    rows = {name: silo_row(context, name) for name in SETS}
    note = (
        f"Experts: {WordRidge().name}. clinc150: 150 intents in 10 domains, every silo holds 4 domains; "
        "banking77: 77 intents in 11 groups of neighbouring names, every silo holds 5. One silo lost: mean "
        "and sigma over all silos."
    )
    return Grid("Domain silos: test accuracy in percent", COLUMNS, tuple(rows.items()), note)
