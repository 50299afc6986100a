"""The naive decoder: a table from every answer vector to the class whose output set has it.

Paper: Thm 1 and the table lookup. It is the oracle against which the other decoders are tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.evidence import evidence
from covote.errors import InputError, TooLargeError
from covote.labels import NO_LABEL, Labels
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.vote_checks import smallest_int

LARGEST = 1 << 22
"""The most answer vectors a table may have."""


@dataclass(frozen=True)
class Lookup:
    """The class k with the answer vector in S_k: all authorities of k said k, the others anything they know.

    A vector in no output set gets no label (somebody erred), one in several is tied. Every expert must answer
    every item, and the panel must be small.
    """

    rounds: int = 0

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

    def statistics(self, part: Votes, weights: NDArray[np.bool_]) -> int:
        """Return how many items there are; the table is given by the panel."""
        return len(part)

    def learn(self, panel: Panel, counts: int, weights: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the table unchanged."""
        return weights

    def score(self, part: Votes, weights: NDArray[np.bool_]) -> Labels:
        """Return the labels of a part."""
        sets = weights[vector_numbers(part)]
        # A class that nobody knows is in every set; it cannot win.
        sets &= part.panel.knows.any(axis=0)
        found = sets.sum(axis=1)
        index = np.where(found == 1, sets.argmax(axis=1), NO_LABEL).astype(smallest_int(sets.shape[1]))
        tied = found > 1
        blank = np.full(len(part), np.nan, dtype=np.float32)
        confidence = np.divide(1, found, out=np.zeros(len(part), np.float32), where=found > 0)
        return Labels(
            part.panel, index, tied,
            lambda: evidence(part, index, tied, confidence, blank, np.full_like(index, NO_LABEL)),
            lambda rows: [np.flatnonzero(sets[row]) for row in rows], part._ids, part.start,
        )  # fmt: skip


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
