"""The authority vote: a class is as good as the share of its authorities that voted for it.

Paper: Eq. (2)-(4), argmax_k N_k / d_k.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from covote.decoding import confidence, shares, tie_score
from covote.decoding.gold import Gold
from covote.decoding.methods.soft import Soft
from covote.decoding.statistics import Statistics
from covote.labels import NO_TIES, Labels, Ties
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import row_parts
from covote.votes.vote_checks import check_choice

Array = NDArray[Any]


@dataclass(frozen=True)
class TieWeights:
    """What decides ties, if something was learned, and whether there was `enough` to learn from.

    `powers` are those that make the experts' probabilities mean the same.
    """

    score: tie_score.Weights | None = None
    statistics: Statistics | None = None
    enough: bool = False
    powers: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Authority:
    """The paper's decoder: a vote for k weighs 1 / d_k.

    Scores are compared in whole numbers, so the same votes tie on every machine. Where an item was not
    answered by everybody, d_k counts the authorities of k that answered it.

    Parameters
    ----------
    ties
        ``"report"``: classes that share the best score stay tied. ``"default"``: votes with probabilities are
        decided by :class:`Soft`; other ties by how the experts answer (:mod:`tie_score`), which is learned
        from the votes if there are enough of them, where it says so clearly; what is left goes to the class
        with most authorities: with perfect experts of equal size this is the most likely class (theory:
        section 4). What still ties is reported.

        What was learned also gives the confidence (:mod:`covote.decoding.confidence`); where ties are only
        reported, nothing is learned and the confidence is NaN.
    gold
        Items whose class is known, to learn from: ``{item: class}``.
    past
        What was learned from earlier votes of the same panel, to go on from.
    """

    ties: Literal["default", "report"] = "default"
    gold: Gold | None = None
    past: Statistics | None = None
    needs_probabilities: ClassVar[bool] = False
    only_for_ties: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, ("default", "report"))

    @property
    def has_proba(self) -> bool:
        """Whether it says how likely every class is: what it learns does."""
        return self.ties == "default"

    @property
    def rounds(self) -> int:
        """One pass, to learn what decides ties."""
        return 1 if self.ties == "default" else 0

    def start(self, panel: Panel) -> TieWeights:
        """Return that nothing is known about ties: the vote itself needs no data."""
        return TieWeights()

    def count(self, votes: Votes, weights: TieWeights) -> Statistics:
        """Count answers by authority label, and how well probabilities fit these labels."""
        found = tie_score.statistics(votes, self.gold)
        return replace(found, power_fit=confidence.power_fit(votes, self.gold)) if votes.soft else found

    def learn(self, panel: Panel, counts: Statistics, weights: TieWeights) -> TieWeights:
        """Return what decides ties."""
        if self.past is not None:
            counts = self.past + counts
        enough = counts.items >= tie_score.ENOUGH * len(panel.classes)
        powers = confidence.fitted_powers(counts.power_fit if enough else None, len(panel))
        return TieWeights(tie_score.learn(counts), counts, enough, powers)

    def score(self, votes: Votes, weights: TieWeights, evidence: bool = True) -> Labels:
        """Return the labels."""
        if self.ties == "default" and votes.soft:
            return self._soft(votes, weights, evidence)
        index, tied = shares.label(votes)
        ties = NO_TIES
        if index.min(initial=0) < 0 and tied.any():
            index[tied], ties = self._decided(votes.subset(np.flatnonzero(tied)), weights)
        behind = None
        if evidence:
            chance = None if weights.score is None else confidence.of_votes(votes, index, weights.score)
            behind = shares.authority_evidence(votes, index, tied, chance)
        return Labels(votes.panel, index, tied, ties, behind, votes._ids, votes.start)

    def proba(self, votes: Votes, weights: TieWeights) -> NDArray[np.float64]:
        """Return how likely every class is by all answers."""
        assert weights.score is not None
        return confidence.table(votes, weights.score, weights.powers)

    def _soft(self, votes: Votes, weights: TieWeights, evidence: bool) -> Labels:
        """Return the labels of votes with probabilities.

        The confidence is halfway between the mean probability that the authorities gave to the label, and its
        chance by all answers.
        """
        labels = Soft().score(votes, weights.score, evidence)
        if not evidence or weights.score is None or weights.powers is None:
            return labels
        chance = confidence.with_probabilities(votes, labels.index, weights.score, weights.powers)
        halfway = ((labels.confidence + chance) / 2).astype(np.float32)
        return replace(labels, _evidence=labels.evidence._replace(confidence=halfway))

    def _decided(self, votes: Votes, weights: TieWeights) -> tuple[Array, Ties]:
        """Return the choice (or -1) and the classes with the best score of items that are all tied."""
        chosen, start, index = [], [np.zeros(1, np.int64)], []
        for patterns, _ in row_parts(votes):
            ties = shares.best_classes(patterns.runs, votes.panel)
            choice = np.full(len(patterns), -1)
            if self.ties == "default":
                choice = tie_score.decided(
                    patterns, ties, votes.panel, weights.score if weights.enough else None
                )
            chosen.append(patterns.spread_values(choice))
            ties = ties if patterns.inverse is None else ties.take(patterns.inverse)
            start.append(ties.start[1:] + start[-1][-1])
            index.append(ties.classes)
        return np.concatenate(chosen), Ties(np.concatenate(start), np.concatenate(index))
