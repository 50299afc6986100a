"""Anchored: the meaning of answers inside and outside expertise, learned once from the authority labels.

The authority vote divides every item equally among its best classes, Q = B / |B|. The counts n_i(v, k) of
expert i's answers v to items of class k then show how the expert answers (:mod:`covote.decoding.answering`).
The label is the class with the highest likelihood of all answers. A second round of learning does harm
(theory.md section 9). The likelihood replaces the authority score, so this method is less safe on full covers
than the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import answering, linear, scoring
from covote.decoding.gold import Gold, counted
from covote.decoding.linear import Weights
from covote.decoding.loop import Decoder
from covote.decoding.shares import shares_of
from covote.decoding.statistics import Statistics
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import Rows

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class AnswerWeights:
    """The weight of every answer for every class, and the counts behind the weights."""

    statistics: Statistics
    weights: Weights
    temperature: float

    def scores(self, rows: Rows) -> NDArray[np.int64]:
        """Return I + O (rows x classes)."""
        return linear.scores(rows, self.weights)


@dataclass(frozen=True)
class Anchored(Decoder):
    """Learn from authority labels how experts answer; then every answer counts for or against every class.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        Statistics of earlier votes of the same panel, to which these votes are added.
    """

    gold: Gold | None = None
    past: Statistics | None = None

    @property
    def passes(self) -> tuple[Anchored]:
        """One pass; a second one does harm (theory.md section 9)."""
        return (self,)

    def count(self, votes: Votes, weights: None) -> Statistics:
        """Count answers by authority label."""
        return counted(votes, "authority", self.gold, lambda rows: shares_of(rows).winners)

    def learn(self, panel: Panel, counts: Statistics, weights: None) -> AnswerWeights:
        """Return the weight of each answer for each class."""
        counts = counts if self.past is None else self.past + counts
        return AnswerWeights(counts, answering.fit(counts).table, temperature(panel))

    def score(self, votes: Votes, weights: AnswerWeights, evidence: bool = True) -> Labels:
        """Return the labels; the confidence is tempered by the number of authorities."""
        return scoring.label_by(votes, weights.scores, evidence, weights.temperature)

    def proba(self, votes: Votes, weights: AnswerWeights) -> NDArray[np.float64]:
        """Return the probability of every class, tempered like the confidence."""
        return scoring.table_of(
            votes, lambda rows: linear.posterior(weights.scores(rows), weights.temperature)
        )


def temperature(panel: Panel) -> float:
    """Return sqrt(mean d): experts make the same mistakes, so d answers count for about sqrt(d)."""
    known = panel.knows.sum(axis=0)
    return float(np.sqrt(known[known > 0].mean())) if known.any() else 1.0
