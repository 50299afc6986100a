"""Which experts a run asks: all, expensive ones only where doubt remains, or those an Asker chooses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covote.asking import Asker, Vote
from covote.decoding.methods.authority import Authority
from covote.errors import InputError
from covote.labelling.kept_votes import KeptVotes
from covote.labels import AGREED
from covote.models.expert import folder_of, panel_of_models
from covote.models.kind import Trust
from covote.panel import Panel

WAYS = ("everyone", "doubtful", "adaptive")


@dataclass(frozen=True)
class Asking:
    """How the models of a panel are asked.

    Parameters
    ----------
    ask
        ``"everyone"`` about everything; ``"doubtful"``: experts in the order of their cost, each only about
        what the cheaper ones leave in doubt; ``"adaptive"``: one expert after another about each item, the
        one that tells most for its cost first, until no further answer can change the vote; or a new
        :class:`covote.Asker` for the items, with its own rule, costs and limits.
    budget
        What all answers together may cost, if `ask` is ``"adaptive"``; where language models have prices,
        what their calls may cost, in all runs with the same file of answers.
    batch
        Items per batch.
    strict
        True stops at the first failure of an expert, False goes on without the answer. By default (None) a
        run stops only if an expert has no usable answer to its first batch, once all were asked about one:
        that is mostly a mistake in the panel.
    refresh
        Ask those experts again whose kept answers belong to other data or another model.
    responses
        A file of a batch service with the answers of language models, which are then not asked themselves;
        :func:`covote.labelling.request_file` writes the requests.
    models
        Where the paths of models start (default: the folder of the panel file, else this one).
    """

    ask: str | Asker = "everyone"
    budget: float | None = None
    batch: int = 1024
    strict: bool | None = None
    refresh: bool = False
    models: str | os.PathLike[str] | None = None
    responses: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.batch, bool) or self.batch < 1:
            raise InputError(f"batch must be at least 1, not {self.batch}")
        if self.budget is not None and not self.budget >= 0:
            raise InputError(f"budget must be 0 or more, not {self.budget:g}")

    def opened(self, panel: Panel | str | os.PathLike[str], trust: Trust) -> tuple[Panel, Path]:
        """Return the panel, and the folder in which the paths of its models start."""
        if isinstance(panel, Panel):
            return panel, Path(self.models or ".")
        return panel_of_models(panel, trust), Path(self.models or folder_of(panel))


EVERYONE = Asking()
"""All experts about everything: the default."""


def asker_for(ask: str | Asker, panel: Panel, items: int, budget: float | None) -> Asker | None:
    """Return the asker that chooses the questions; None if every expert is asked, or by cost.

    ``"adaptive"`` stops when no further answer can change the vote of all experts, whoever is wrong.
    """
    if isinstance(ask, Asker):
        if budget is not None:
            raise InputError("an Asker has its own budget; give it there, as Asker(..., total=...)")
        if ask.panel != panel:
            raise InputError("the Asker is for another panel; make it with the panel that labels the data")
        if len(ask) != items:
            raise InputError(f"the Asker is for {len(ask):,} items, and the data have {items:,}")
        if len(ask.waiting()) or ask.answers:
            raise InputError("the Asker has asked already; give a new one, kept answers are found again")
        return ask
    if ask not in WAYS:
        raise InputError(f"unknown ask={ask!r}; choose from {', '.join(WAYS)}, or give an Asker")
    if ask == "adaptive":
        return Asker(panel, items, Vote(), total=budget)
    if budget is not None:
        raise InputError(
            f"a budget cannot be kept with ask={ask!r}; use ask='adaptive' (--ask adaptive), or give the "
            "language models of the panel their input_price and output_price"
        )
    return None


def by_cost(panel: Panel) -> list[list[int]]:
    """Return the experts in groups of equal cost, the cheapest first.

    >>> by_cost(Panel(2, [[1, 1]] * 3, cost=[5, 1, 5]))
    [[1], [0, 2]]
    """
    return [np.flatnonzero(panel.cost == cost).tolist() for cost in np.unique(panel.cost)]


def doubtful(votes: KeptVotes) -> NDArray[np.bool_]:
    """Return the items on which not all agree: another class is possible, or an expert is wrong."""
    decoder = Authority()
    return np.concatenate([decoder.score(part).evidence.status != AGREED for part in votes.parts()])
