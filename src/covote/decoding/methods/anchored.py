"""Anchored: what the answers say inside and outside expertise, learned once from the authority labels.

The authority vote shares every item out among its best classes, Q = B / |B|. The counts n_i(v, k) of expert
i's answers v to items of class k then say how the expert answers (:mod:`covote.decoding.answering`). The
label is the class with the highest likelihood of all answers, learned once: a second round does harm
(theory.md section 9). This replaces the authority score, so it is less safe on full covers than the default.
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
    """What every answer says about every class, and the counts behind it."""

    statistics: Statistics
    weights: Weights
    temperature: float

    def scores(self, rows: Rows) -> NDArray[np.int64]:
        """Return I + O (rows x classes)."""
        return linear.scores(rows, self.weights)


@dataclass(frozen=True)
class Anchored(Decoder):
    """Learn from authority labels how experts answer, then let every answer speak about every class.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        What was learned from earlier votes of the same panel, to continue from.
    """

    gold: Gold | None = None
    past: Statistics | None = None

    @property
    def passes(self) -> tuple[Anchored]:
        """One pass: a second one does harm (theory.md section 9)."""
        return (self,)

    def count(self, votes: Votes, weights: None) -> Statistics:
        """Count answers by authority label."""
        return counted(votes, "authority", self.gold, lambda rows: shares_of(rows).winners)

    def learn(self, panel: Panel, counts: Statistics, weights: None) -> AnswerWeights:
        """Return what each answer says about each class."""
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
    """Return sqrt(mean d): experts make mistakes together, so d answers are worth about sqrt(d) others."""
    known = panel.knows.sum(axis=0)
    return float(np.sqrt(known[known > 0].mean())) if known.any() else 1.0
