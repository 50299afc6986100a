"""The authority score N_k / d_k of every class, and what it says about a label.

Paper: Eq. (2)-(4). N_k counts the votes for class k, d_k the authorities of k that answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import shares_kernels as kernels
from covote.labels import AGREED, CONFLICT, TIED, UNHEARD, Ties
from covote.panel import Panel
from covote.votes import Ragged, Votes
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]

MOST = 181
"""The most authorities of a class for loops in 16 bits: a product of two counts must fit."""


def label(votes: Votes) -> tuple[Array, NDArray[np.bool_]]:
    """Return (class with the best score or -1, whether several share it) for every item."""
    panel = votes.panel
    index = np.empty(len(votes), dtype=smallest_int(len(panel.classes)))
    authorities = panel.layout.authorities
    if votes.columns is not None and _narrow(votes):
        if votes.complete and authorities.common < 255:
            kernels.label_complete(votes.columns, votes.start, authorities, index)
            # Pages of zeros cost nothing until they are read: votes without ties stay fast.
            return index, index < 0 if index.min(initial=0) < 0 else np.zeros(len(votes), dtype=np.bool_)
        tied = np.empty(len(votes), dtype=np.bool_)
        kernels.label_columns(votes.columns, votes.start, authorities, votes.complete, index, tied)
        return index, tied
    tied = np.empty(len(votes), dtype=np.bool_)
    for runs, span in ragged_parts(votes):
        kernels.label_runs(runs, panel.layout.bits, index[span], tied[span])
    return index, tied


def best_classes(runs: Ragged, panel: Panel, most: int = 1) -> Ties:
    """Return the classes with the `most` best scores, of every item; none of an item without answers."""
    return Ties(*kernels.leading(runs, panel.layout.known, len(panel.classes), most))


def tied_classes(votes: Votes) -> Ties:
    """Return the classes that share the best score, of every item."""
    found = [best_classes(runs, votes.panel) for runs, _ in ragged_parts(votes)]
    sizes = np.concatenate([np.diff(ties.start) for ties in found])
    return Ties(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([ties.classes for ties in found]))


def examined(runs: Ragged, panel: Panel, index: Array) -> kernels.Found:
    """Return what the scores say about the labels of ragged votes, whichever method found them."""
    layout, size = panel.layout, len(index)
    found = kernels.Found(
        np.empty(size, np.float32), np.empty_like(index), np.empty(size, np.int32),
        np.empty(size, np.int16), np.empty(size, np.int16), np.empty(size, np.bool_),
    )  # fmt: skip
    kernels.examine(runs, layout.known, len(panel.classes), len(layout.heard), index, found)
    return found


def status(index: Array, tied: NDArray[np.bool_], found: kernels.Found) -> NDArray[np.uint8]:
    """Return what the votes prove, as status codes; see :attr:`covote.Labels.status`.

    A class that was not heard has no violations: it explains any votes.
    """
    codes = np.full(len(index), AGREED, dtype=np.uint8)
    codes[(found.fewest > 0) | (found.own > 0) | (index < 0)] = CONFLICT
    codes[found.unheard] = UNHEARD
    codes[tied | (found.clean > 1)] = TIED
    return codes


def ragged_parts(votes: Votes) -> Iterator[tuple[Ragged, slice]]:
    """Yield (ragged votes, which items they are), one part after another."""
    if votes.runs is not None:
        yield votes.runs, slice(0, len(votes))
        return
    at = 0
    for part in votes.parts(1 << 16):
        yield part.ragged, slice(at, at + len(part))
        at += len(part)


def _narrow(votes: Votes) -> bool:
    """Whether dense votes suit the loops over blocks of items."""
    assert votes.columns is not None
    return votes.columns.dtype == np.int8 and int(votes.panel.layout.authorities.counts.max()) <= MOST
