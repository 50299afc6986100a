"""Who is asked about what: everybody about everything, the expensive ones only where doubt is left, or as an
Asker says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from covote.asking import Asker, Questions, Vote
from covote.decoding.methods.authority import Authority
from covote.errors import InputError
from covote.labelling.journal import Kept
from covote.labelling.kept_votes import KeptVotes
from covote.labels import AGREED
from covote.panel import Panel
from covote.votes import NONE_OF_MINE, NOT_ASKED

WAYS = ("everyone", "doubtful", "adaptive")


def by_cost(panel: Panel) -> list[list[int]]:
    """Return the experts in groups of equal cost, the cheapest first.

    >>> by_cost(Panel(2, [[1, 1]] * 3, cost=[5, 1, 5]))
    [[1], [0, 2]]
    """
    return [np.flatnonzero(panel.cost == cost).tolist() for cost in np.unique(panel.cost)]


def doubtful(votes: KeptVotes) -> NDArray[np.bool_]:
    """Return on which items not all agree: another class is possible if nobody erred, or somebody did."""
    decoder = Authority(ties="report")
    weights = decoder.start(votes.panel)
    return np.concatenate([decoder.score(part, weights).evidence.status != AGREED for part in votes.parts()])


def missing(
    kept: Kept, panel: Panel, expert: int, items: int, batch: int, wanted: NDArray[np.bool_] | None
) -> Iterator[tuple[int, int, NDArray[np.bool_] | None]]:
    """Yield the batches that an expert is still to be asked about: start, stop, which items (None: all)."""
    there = kept.parts(panel.names[expert])
    for start in range(0, items, batch):
        stop = min(start + batch, items)
        if there.whole(start, stop):
            continue
        due = np.ones(stop - start, dtype=bool) if wanted is None else wanted[start:stop]
        due = due & ~there.read(start, stop).asked
        if due.any():
            yield start, stop, None if due.all() else due


def asker_for(ask: str | Asker, panel: Panel, items: int, budget: float | None) -> Asker | None:
    """Return who says whom to ask; None if everybody is asked, or the doubtful are.

    ``"adaptive"`` stops when no answer still to come can change the vote of all experts, whoever errs.
    """
    if isinstance(ask, Asker):
        if budget is not None:
            raise InputError("an Asker has a budget of its own; give it there, as Asker(..., total=...)")
        if ask.panel != panel:
            raise InputError("the Asker is for another panel; make it with the panel that labels the data")
        if len(ask) != items:
            raise InputError(f"the Asker is for {len(ask):,} items, and the data have {items:,}")
        if len(ask.waiting()) or ask.answers:
            raise InputError("the Asker has asked already; give a new one, kept answers are found again")
        return ask
    if ask not in WAYS:
        raise InputError(f"ask={ask!r} is not known; use one of {', '.join(WAYS)}, or an Asker")
    if ask == "adaptive":
        return Asker(panel, items, Vote(), total=budget)
    if budget is not None:
        raise InputError(f"a budget cannot be kept with ask={ask!r}; use ask='adaptive'")
    return None


def answers_to(questions: Questions, kept: Kept, batch: int, items: int) -> NDArray[np.int64]:
    """Return what was said: class indices, -2 for "none of mine", -1 where there is no answer."""
    panel = questions.panel
    codes = np.full(len(questions), NOT_ASKED, dtype=np.int64)
    for i in np.unique(questions.expert).tolist():
        there, classes = kept.parts(panel.names[i]), np.flatnonzero(panel.knows[i])
        mine = np.flatnonzero(questions.expert == i)
        begins = questions.item[mine] // batch * batch
        for start in np.unique(begins).tolist():
            place = mine[begins == start]
            label = there.read(start, min(start + batch, items)).label[questions.item[place] - start]
            said = np.where(label >= 0, classes[np.maximum(label, 0)], label)
            codes[place] = np.where(label >= NONE_OF_MINE, said, NOT_ASKED)
    return codes
