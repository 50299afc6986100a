"""covote's default: the authority vote, with ties and confidence by what the votes teach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import confidence, fusion, shares, tie_score, tuning
from covote.decoding.gold import Gold
from covote.decoding.methods.soft import Soft
from covote.decoding.scoring import labels_of_rows
from covote.decoding.statistics import Statistics
from covote.labels import NO_TIES, Labels, Ties, joined
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import Rows, each_row, row_parts
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]


@dataclass(frozen=True)
class TieWeights:
    """What decides ties, if something was learned, and whether there was `enough` to learn from.

    `curves` say how each expert's probabilities are to be read, and `own` that this is a better reading than
    to take all experts' probabilities alike.
    """

    score: tie_score.Weights | None = None
    statistics: Statistics | None = None
    enough: bool = False
    curves: confidence.Curves | None = None
    own: bool = False
    settled: bool = True


@dataclass(frozen=True)
class LearnedVote:
    """The authority vote; where classes tie, what was learned from the votes decides.

    Scores are compared in whole numbers, so the same votes tie on every machine. Where an item was not
    answered by everybody, d_k counts the authorities of k that answered it.

    Ties are decided by how the experts answer (:mod:`tie_score`), which is learned from the votes if there
    are enough of them, where it says so clearly; what is left goes to the class with most authorities: with
    perfect experts of equal size this is the most likely class (theory: section 4). What still ties is
    reported.

    Votes with probabilities are decided by N_k / d_k + 0.3 q_k. There are two readings of the probabilities:
    q may be coupled from them as they are, which is best where all experts are of one make (:class:`Soft`),
    or be what each expert's own curve makes of them (:mod:`covote.decoding.confidence`), which is best where
    one expert's "certain" is another's "perhaps". The one is taken that confirms more of the labels that the
    authority vote gives clearly. What was learned also gives the confidence.

    Parameters
    ----------
    gold
        Items whose class is known, to learn from: ``{item: class}``.
    past
        What was learned from earlier votes of the same panel, to go on from.
    """

    gold: Gold | None = None
    past: Statistics | None = None
    needs_probabilities: ClassVar[bool] = False
    only_for_ties: ClassVar[bool] = True
    has_proba: ClassVar[bool] = True
    rounds: ClassVar[int] = 2

    def start(self, panel: Panel) -> TieWeights:
        """Return that nothing is known about ties: the vote itself needs no data."""
        return TieWeights()

    def count(self, votes: Votes, weights: TieWeights) -> Statistics | Array:
        """Count answers and probabilities by authority label; then which reading confirms more labels."""
        if weights.score is not None and weights.curves is not None:
            return (
                confidence.count_wins(votes, weights.score, weights.curves)
                if votes.soft
                else np.zeros(2, int)
            )
        found = tie_score.statistics(votes, self.gold)
        return replace(found, probabilities=confidence.count(votes, self.gold)) if votes.soft else found

    def learn(self, panel: Panel, counts: Statistics | Array, weights: TieWeights) -> TieWeights:
        """Return what decides ties; then how to read probabilities."""
        if not isinstance(counts, Statistics):
            assert weights.statistics is not None
            assert weights.statistics.probabilities is not None
            seen = weights.statistics.probabilities
            seen = seen._replace(wins=seen.wins + counts)
            known = replace(weights.statistics, probabilities=seen)
            return replace(weights, statistics=known, own=bool(seen.wins[1] > seen.wins[0]), settled=True)
        if self.past is not None:
            counts = self.past + counts
        enough = counts.items >= tuning.ENOUGH * len(panel.classes)
        found = TieWeights(tie_score.learn(counts), counts, enough)
        if counts.probabilities is None:
            return found
        if not enough:
            return replace(found, curves=confidence.as_given(len(panel)))
        return replace(found, curves=confidence.learn_curves(counts.probabilities), settled=False)

    def score(self, votes: Votes, weights: TieWeights, evidence: bool = True) -> Labels:
        """Return the labels."""
        if votes.soft:
            return self._soft(votes, weights, evidence)
        if evidence:
            return self._by_rows(votes, weights, evidence)
        # Loops that find the label alone are many times as fast as those that list classes.
        index, tied = shares.label(votes)
        ties: Ties | partial[Ties] = NO_TIES
        if index.min(initial=0) < 0 and tied.any():
            doubtful = votes.subset(np.flatnonzero(tied))
            ties = partial(shares.tied_classes, doubtful)
            index[tied] = self._by_rows(doubtful, weights, evidence).index
        return Labels(votes.panel, index, tied, ties, None, votes.ids, votes.start)

    def _by_rows(self, votes: Votes, weights: TieWeights, evidence: bool) -> Labels:
        """Return the labels of votes, from those of their different answer rows."""
        found = [rows.spread(self._of_rows(rows, weights, evidence)) for rows, _ in row_parts(votes)]
        return joined(found, votes.ids, votes.start)

    def _of_rows(self, patterns: Rows, weights: TieWeights, evidence: bool) -> Labels:
        """Return the labels of answer rows."""
        panel = patterns.votes.panel
        best = shares.best_classes(patterns.runs, panel)
        number = np.diff(best.start)
        alone, tied = number == 1, number > 1
        index = np.full(len(patterns), -1, smallest_int(len(panel.classes)))
        index[alone] = best.classes[best.start[:-1][alone]]
        ties = best.take(np.flatnonzero(tied))
        if len(ties.classes):
            doubtful = each_row(patterns.votes.subset(np.flatnonzero(tied)))
            index[tied] = tie_score.decided(doubtful, ties, weights.score if weights.enough else None)
        if not evidence:
            return Labels(panel, index, tied, ties)
        chance = np.full(len(patterns), np.nan)
        if weights.score is not None:
            chance = confidence.of_rows(patterns, index, weights.score)
        return Labels(panel, index, tied, ties, shares.evidence(patterns.runs, panel, index, tied, chance))

    def proba(self, votes: Votes, weights: TieWeights) -> NDArray[np.float64]:
        """Return how likely every class is by all answers."""
        assert weights.score is not None
        return confidence.table(votes, weights.score, weights.curves)

    def _soft(self, votes: Votes, weights: TieWeights, evidence: bool) -> Labels:
        """Return the labels of votes with probabilities.

        The confidence is halfway between the mean probability that the authorities gave to the label, and its
        chance by all answers.
        """
        if weights.score is None or weights.curves is None:
            return Soft().score(votes, weights.score, evidence)
        found = []
        for piece, _ in fusion.pieces(votes):
            rivals = confidence.with_probabilities(piece, weights.score, weights.curves)
            best, tied, ties = (
                fusion.fused(piece, fusion.OWN, fusion.POWER, rivals)
                if weights.own
                else Soft().fused(piece, weights.score)
            )
            labels = labels_of_rows(piece.ragged, piece.panel, best, ties, evidence, tied)
            if evidence:
                chance = confidence.of_label(rivals, labels.index)
                halfway = ((labels.confidence + chance) / 2).astype(np.float32)
                labels = labels.with_confidence(halfway)
            found.append(labels)
        return joined(found, votes.ids, votes.start)


def soft_scores(votes: Votes, weights: TieWeights) -> NDArray[np.float64]:
    """Return the scores of votes with probabilities (items x classes); -inf for a class not heard."""
    if not weights.own:
        return Soft().table(votes, weights.score)
    assert weights.score is not None
    assert weights.curves is not None
    table = np.full((len(votes), len(votes.panel.classes)), -np.inf)
    for piece, span in fusion.pieces(votes):
        rivals = confidence.with_probabilities(piece, weights.score, weights.curves)
        fusion.fused(piece, fusion.OWN, fusion.POWER, rivals, table[span])
    return table
