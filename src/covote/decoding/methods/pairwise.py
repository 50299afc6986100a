"""Pairwise majority: two classes are compared by the experts that know both.

theory: section 3. With f wrong answers about an item the true class still beats every other one if every pair
has at least 2f + 1 common experts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from covote.decoding.methods import pairwise_kernels
from covote.decoding.scoring import Best, label_rows
from covote.labels import Labels, Ties
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import Rows


@dataclass(frozen=True)
class Pairwise:
    """The class that wins most comparisons with other classes.

    A class beats another one if more of the experts that know both vote for it. A win counts 1, a draw (also
    for want of a common expert) 1/2. Equal numbers are decided by the authority vote (share of authorities,
    then their number); what still ties is reported.

    The margin is the difference of won comparisons, divided by the number of other classes that were heard.
    This method gives no probabilities: the confidence is NaN.
    """

    rounds: ClassVar[int] = 0
    needs_probabilities: ClassVar[bool] = False
    has_proba: ClassVar[bool] = False

    def start(self, panel: Panel) -> None:
        """Return nothing: comparisons need no weights."""

    def score(self, votes: Votes, weights: None, evidence: bool = True) -> Labels:
        """Return the labels."""
        panel = votes.panel

        def find(patterns: Rows) -> tuple[Best, Ties]:
            best = Best.empty(len(patterns))
            best.confidence[:] = np.nan
            classes = pairwise_kernels.tournament(patterns.runs, panel.layout.known, len(panel.classes), best)
            return best, best.ties(classes)

        return label_rows(votes, find, evidence)
