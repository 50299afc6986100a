"""Table: CIFAR-10 accuracies of the greedy covers, R = 2, 4, 6, 8, 10."""

from __future__ import annotations

from covote.reproduction import greedy_covers, paper_values
from covote.reproduction.context import Context
from covote.reproduction.result import Section
from covote.reproduction.tables import TABLES, Needs


def needs(context: Context) -> Needs:
    """Return the experts of the table."""
    return {"cifar10": greedy_covers.wanted()}


def build(context: Context) -> Section:
    """Return the table."""
    nets = "ResNet20 v1, 200 epochs"
    return greedy_covers.accuracy_section(context, "cifar10", TABLES["cifar10"], paper_values.CIFAR10, nets)
