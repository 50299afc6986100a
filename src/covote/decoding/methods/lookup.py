"""The naive decoder: a table from every answer vector to the class whose output set has it.

Paper: Thm 1 and the table lookup. The other decoders are tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.linear import Best
from covote.decoding.loop import Decoder
from covote.decoding.scoring import labels_of_rows
from covote.errors import InputError, TooLargeError
from covote.labels import NO_LABEL, Labels, joined
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import each_row

LARGEST = 1 << 22
"""The most answer vectors a table may have."""


@dataclass(frozen=True)
class Lookup(Decoder):
    """The class k whose output set S_k contains the answer vector: every authority of k named k.

    A vector in no output set gets no label (an expert is wrong); one in several sets is tied. Every expert
    must answer every item, and the panel must be small.
    """

    def start(self, panel: Panel) -> NDArray[np.bool_]:
        """Return the table (answer vectors x classes): which output sets each vector is in."""
        vectors = prod(int(size) for size in panel.sizes)
        if vectors * len(panel.classes) > LARGEST:
            raise TooLargeError(
                f"the table would have {vectors} answer vectors; method='authority' gives the same labels"
            )
        table = np.ones((vectors, len(panel.classes)), dtype=bool)
        answers = np.unravel_index(np.arange(vectors), tuple(panel.sizes))
        for known, answer in zip(panel.knows, answers, strict=True):
            members = np.flatnonzero(known)
            table[:, members] &= members[answer][:, None] == members
        return table

    def score(self, votes: Votes, weights: NDArray[np.bool_], evidence: bool = True) -> Labels:
        """Return the labels."""
        sets = weights[vector_numbers(votes)]
        # The output set of a class that no one knows has every vector; such a class cannot win.
        sets &= votes.panel.knows.any(axis=0)
        found, size = sets.sum(axis=1), len(votes)
        best = Best(
            np.where(found > 0, sets.argmax(axis=1), NO_LABEL),
            found,
            np.divide(1, found, out=np.zeros(size), where=found > 0),
            np.full(size, np.nan),
            np.full(size, NO_LABEL),
        )
        labels = labels_of_rows(each_row(votes), best, np.nonzero(sets[found > 1])[1], evidence)
        return joined([labels], votes.ids, votes.start)


def vector_numbers(part: Votes) -> NDArray[Any]:
    """Return the number of every item's answer vector in the table."""
    dense = part.dense
    if len(dense) and dense.min() < 0:
        n, i = np.argwhere(dense < 0)[0]
        raise InputError(
            f"item {n}: expert {part.panel.names[i]!r} named no class, and the table needs every answer; "
            "use method='authority'"
        )
    digits = [np.cumsum(known)[column] - 1 for known, column in zip(part.panel.knows, dense.T, strict=True)]
    numbers: NDArray[Any] = np.ravel_multi_index(tuple(digits), tuple(part.panel.sizes))
    return numbers
