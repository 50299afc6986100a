"""Who is asked about what: everybody about everything, or the expensive ones only where doubt is left."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from covote.decoding.methods.authority import Authority
from covote.labelling.kept import Kept
from covote.labelling.votes import KeptVotes
from covote.labels import AGREED
from covote.panel import Panel


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
