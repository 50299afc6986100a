"""The tables and figures, one file each, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from covote.reproduction.context import Context, Needs
from covote.reproduction.sections import Section
from covote.reproduction.tables import beyond, bounds, covers, fedavg, justification, missing, random


def _nothing(context: Context) -> Needs:
    return {}


@dataclass(frozen=True)
class Table:
    """A table or figure: its title, and how it is made from stored votes.

    `needs` says which experts it wants, so that those of all tables are trained together.
    """

    title: str
    build: Callable[[Context], Section]
    needs: Callable[[Context], Needs] = _nothing


TABLES: dict[str, Table] = {
    "mnist": Table(
        "Table I: MNIST, accuracy of the greedy covers",
        partial(covers.accuracy_table, images="mnist"),
        lambda context: {"mnist": covers.wanted()},
    ),
    "cifar10": Table(
        "Table II: CIFAR-10, accuracy of the greedy covers",
        partial(covers.accuracy_table, images="cifar10"),
        lambda context: {"cifar10": covers.wanted()},
    ),
    "fedavg": Table("Figures: learning curves of FedAvg beside one-shot votes", fedavg.build),
    "missing": Table(
        "Table III: CIFAR-10 with one and two experts missing",
        missing.build,
        lambda context: {"cifar10": covers.wanted()},
    ),
    "random": Table("Table IV: CIFAR-10 with random panels", random.build, random.needs),
    "lessdata": Table("Table V: CIFAR-10 with less data and less training", covers.less_data),
    "justification": Table(
        "Figures: answers about unfamiliar classes", justification.build, justification.needs
    ),
    "bounds": Table("Numerical claims: sizes of covers, Theorems 2 to 5", bounds.build),
    "beyond": Table("Beyond the paper: decoders, better covers, other data", beyond.build, beyond.needs),
}
"""Every table and figure by name, in the order of the page."""
