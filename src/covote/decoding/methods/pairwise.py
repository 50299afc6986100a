"""Pairwise majority: two classes are compared by the experts that know both.

theory: section 3. With f wrong answers about an item the true class still beats every other one if every pair
has at least 2f + 1 common experts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covote.decoding.evidence import evidence, ragged_parts
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.known_lists import known_lists
from covote.votes import Votes
from covote.votes.vote_checks import smallest_int


@dataclass(frozen=True)
class Pairwise:
    """The class that wins most comparisons with other classes.

    A class beats another one if more of the experts that know both vote for it. A win counts 1, a draw (also
    for want of a common expert) 1/2. Equal numbers are decided by the authority vote (share of authorities,
    then their number); what still ties is reported.

    The margin is the difference of won comparisons, divided by the number of other classes that were heard.
    This method gives no probabilities: the confidence is NaN.
    """

    rounds: int = 0

    def start(self, panel: Panel) -> None:
        """Return nothing: comparisons need no weights."""

    def statistics(self, part: Votes, weights: None) -> int:
        """Return how many items there are; there is nothing to learn from them."""
        return len(part)

    def learn(self, panel: Panel, counts: int, weights: None) -> None:
        """Return nothing: comparisons need no weights."""

    def score(self, part: Votes, weights: None) -> Labels:
        """Return the labels of a part."""
        from covote.decoding.methods import pairwise_kernels

        panel, size = part.panel, len(part)
        index = np.empty(size, dtype=smallest_int(len(panel.classes)))
        runner_up, tied = np.empty_like(index), np.empty(size, dtype=np.bool_)
        margin = np.empty(size, np.float32)
        start, known = known_lists(panel)
        for runs, span in ragged_parts(part):
            pairwise_kernels.tournament(
                *runs,
                start,
                known,
                len(panel.classes),
                index[span],
                tied[span],
                margin[span],
                runner_up[span],
            )
        unknown = np.full(size, np.nan, dtype=np.float32)
        return Labels(
            panel, index, tied, lambda: evidence(part, index, tied, unknown, margin, runner_up),
            lambda rows: _winners(part, rows), part._ids, part.start,
        )  # fmt: skip


def _winners(part: Votes, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the classes that neither comparisons nor the authority vote can separate, for some items."""
    from covote.decoding.methods import pairwise_kernels

    start, known = known_lists(part.panel)
    found = []
    for row in rows:
        runs = part.part(int(row), int(row) + 1).ragged
        found.append(pairwise_kernels.winners(*runs, start, known, len(part.panel.classes)))
    return found
