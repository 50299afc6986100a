"""The tables and figures, one file each; each has `build`, and says in `needs` which experts it wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from covote.reproduction.context import Context
from covote.reproduction.result import Section
from covote.reproduction.trainers import Subset

__all__ = ["TABLES", "Needs", "TableFile", "table_file"]

Needs = Mapping[str, Sequence[Subset]]
"""The experts that a table wants, by image set."""


class TableFile(Protocol):
    """What the module of a table or figure has."""

    def needs(self, context: Context) -> Needs:
        """Return the experts that are wanted, so that those of all tables are trained together."""

    def build(self, context: Context) -> Section:
        """Return the numbers and pictures, from stored votes."""


TABLES: dict[str, str] = {
    "mnist": "Table I: MNIST, accuracy of the greedy covers",
    "cifar10": "Table II: CIFAR-10, accuracy of the greedy covers",
    "fedavg": "Figures: learning curves of FedAvg beside one-shot votes",
    "missing": "Table III: CIFAR-10 with one and two experts missing",
    "random": "Table IV: CIFAR-10 with random panels",
    "lessdata": "Table V: CIFAR-10 with less data and less training",
    "justification": "Figures: answers about unfamiliar classes",
    "bounds": "Numerical claims: sizes of covers, Theorems 2 to 5",
    "beyond": "Beyond the paper: decoders, better covers, other data",
}
"""Every table and figure by name, in the order of the page, with its title."""


def table_file(name: str) -> TableFile:
    """Return the module of a table or figure."""
    return cast("TableFile", import_module(f"{__name__}.{name}"))
