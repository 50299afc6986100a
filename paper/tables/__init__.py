"""The tables and figures, one file each, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from paper.experiment import Context, Needs
from paper.sections import Section
from paper.tables import beyond, bounds, fedavg, greedy_covers, justification, missing, random


def _nothing(context: Context) -> Needs:
    return {}


@dataclass(frozen=True)
class Experiment:
    """A table or figure: its title, and how it is made from stored votes.

    `needs` returns the experts it uses, so that those of all tables are trained together.
    """

    title: str
    build: Callable[[Context], Section]
    needs: Callable[[Context], Needs] = _nothing


TABLES: dict[str, Experiment] = {
    "mnist": Experiment(
        "Table I: MNIST, accuracy of the greedy covers",
        partial(greedy_covers.accuracy_table, images="mnist"),
        lambda context: {"mnist": greedy_covers.wanted()},
    ),
    "cifar10": Experiment(
        "Table II: CIFAR-10, accuracy of the greedy covers",
        partial(greedy_covers.accuracy_table, images="cifar10"),
        lambda context: {"cifar10": greedy_covers.wanted()},
    ),
    "fedavg": Experiment("Figures 2 and 3: learning curves of FedAvg and one-shot votes", fedavg.build),
    "missing": Experiment(
        "Table III: CIFAR-10 with one and two experts missing",
        missing.build,
        lambda context: {"cifar10": greedy_covers.wanted()},
    ),
    "random": Experiment("Table IV: CIFAR-10 with random panels", random.build, random.needs),
    "lessdata": Experiment("Table V: CIFAR-10 with less data and less training", greedy_covers.less_data),
    "justification": Experiment(
        "Figure 1: answers about unfamiliar classes", justification.build, justification.needs
    ),
    "bounds": Experiment("Numerical claims: sizes of covers, Theorems 2 to 5", bounds.build),
    "beyond": Experiment("Beyond the paper: better covers, other data", beyond.build, beyond.needs),
}
"""Every table and figure by name, in the order of the page."""
