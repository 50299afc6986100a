"""Anchored: what the answers say inside and outside expertise, learned once from the authority labels.

theory.md section 9: I + O outright, a single re-estimation. It replaces the authority score, so it is less
safe on intact covers than deciding only the ties by it (:mod:`tie_score`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import scoring, tie_score
from covote.decoding.gold import Gold
from covote.decoding.statistics import Statistics
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import Votes


@dataclass(frozen=True)
class Anchored:
    """Learn from authority labels how experts answer, then let every answer speak about every class.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        What was learned from earlier votes of the same panel, to go on from.
    """

    gold: Gold | None = None
    past: Statistics | None = None
    needs_probabilities: ClassVar[bool] = False
    only_for_ties: ClassVar[bool] = False
    has_proba: ClassVar[bool] = True

    @property
    def rounds(self) -> int:
        """One pass: a second one does harm (theory.md section 9)."""
        return 1

    def start(self, panel: Panel) -> None:
        """Begin without weights: the first pass uses authority labels."""

    def count(self, votes: Votes, weights: object) -> Statistics:
        """Count answers by authority label."""
        return tie_score.statistics(votes, self.gold)

    def learn(self, panel: Panel, counts: Statistics, weights: object) -> tie_score.Weights:
        """Return what each answer says about each class."""
        return tie_score.learn(counts if self.past is None else self.past + counts)

    def score(self, votes: Votes, weights: tie_score.Weights, evidence: bool = True) -> Labels:
        """Return the labels; the confidence is tempered by the number of authorities."""
        column = tie_score.remembered(weights)
        return scoring.apply(votes, column, temperature=tie_score.temperature(votes.panel), evidence=evidence)

    def proba(self, votes: Votes, weights: tie_score.Weights) -> NDArray[np.float64]:
        """Return how likely every class is, tempered like the confidence."""
        column = tie_score.remembered(weights)
        return scoring.chances(votes, column, temperature=tie_score.temperature(votes.panel))
