"""Which experts a run asks: all about everything, or expensive ones only where doubt remains."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covote.decoding.methods.authority import Authority
from covote.errors import InputError
from covote.labels import AGREED
from covote.models.expert import folder_of, panel_of_models
from covote.panel import Panel
from covote.votes import Votes

WAYS = ("everyone", "doubtful")


@dataclass(frozen=True)
class Asking:
    """How the models of a panel are asked.

    Parameters
    ----------
    ask
        ``"everyone"`` about everything, or ``"doubtful"``: experts in the order of their cost, each only
        about the items on which cheaper ones do not agree.
    budget
        What the calls of language models with prices may cost, in all runs with the same file of answers.
    batch
        Items per batch.
    strict
        Whether a run stops if an expert has no usable answer to its first batch, once all were asked about
        one: that is mostly a mistake in the panel. Later failures of an expert never stop a run.
    refresh
        Ask those experts again whose kept answers belong to other data or another model.
    responses
        A file of a batch service with the answers of language models, which are then not asked themselves;
        :func:`covote.labelling.request_file` writes the requests.
    models
        Where the paths of models start (default: the folder of the panel file, else this one).
    """

    ask: str = "everyone"
    budget: float | None = None
    batch: int = 1024
    strict: bool = True
    refresh: bool = False
    models: str | os.PathLike[str] | None = None
    responses: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.ask not in WAYS:
            raise InputError(f"unknown ask={self.ask!r}; choose from {', '.join(WAYS)}")
        if isinstance(self.batch, bool) or self.batch < 1:
            raise InputError(f"batch must be at least 1, not {self.batch}")
        if self.budget is not None and not self.budget >= 0:
            raise InputError(f"budget must be 0 or more, not {self.budget:g}")

    def open_panel(self, panel: Panel | str | os.PathLike[str]) -> tuple[Panel, Path]:
        """Return the panel, and the folder in which the paths of its models start."""
        if isinstance(panel, Panel):
            return panel, Path(self.models or ".")
        return panel_of_models(panel), Path(self.models or folder_of(panel))


EVERYONE = Asking()
"""All experts about everything: the default."""


def by_cost(panel: Panel) -> list[list[int]]:
    """Return the experts in groups of equal cost, the cheapest first.

    >>> by_cost(Panel(2, [[1, 1]] * 3, cost=[5, 1, 5]))
    [[1], [0, 2]]
    """
    return [np.flatnonzero(panel.cost == cost).tolist() for cost in np.unique(panel.cost)]


def doubtful(votes: Votes) -> NDArray[np.bool_]:
    """Return the items on which not all agree: another class is possible, or an expert is wrong."""
    doubt: NDArray[np.bool_] = Authority().score(votes).evidence.status != AGREED
    return doubt
