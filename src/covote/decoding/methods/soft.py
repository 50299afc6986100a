"""Decoders of votes with probabilities: soft (the default), coupling and mean (theory.md section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import fusion, shares, tie_score
from covote.decoding.linear import UNIT, softmax
from covote.decoding.scoring import labels_of_rows
from covote.errors import InputError
from covote.labels import Labels, joined
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import each_row

Array = NDArray[Any]


@dataclass(frozen=True)
class Soft:
    """The authority vote and the experts' probabilities together: argmax N_k / d_k + 0.3 q_k.

    q is what the experts' probabilities say together (:mod:`covote.decoding.fusion`). Where classes tie in
    N_k / d_k, what they have of q is shared out anew among them, by q_k exp(0.1 H_k), H being the tie score
    of plain votes (:mod:`tie_score`), unless that is in doubt and matters much. Experts that are always
    certain say nothing by their probabilities: q is then an accident of who knows what. So H counts 0.3
    times where the best two also have the same mean probability among their authorities.

    `tied` of the labels says where the authority vote alone would tie. The confidence is the mean probability
    that the authorities gave to the label; the default goes on from there
    (:mod:`covote.decoding.confidence`).
    """

    power: float = fusion.POWER
    by: ClassVar[int] = fusion.BOTH
    rounds: ClassVar[int] = 0
    needs_probabilities: ClassVar[bool] = True
    has_proba: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.power <= 1:
            raise InputError(f"power must be above 0 and at most 1, not {self.power}")

    def start(self, panel: Panel) -> None:
        """Begin without weights; none are needed."""

    def score(self, votes: Votes, weights: tie_score.Weights | None, evidence: bool = True) -> Labels:
        """Return the labels; `weights` give the tie score, if it was learned."""
        found = []
        for piece, _ in fusion.pieces(votes):
            best, tied, ties = self.fused(piece, weights)
            found.append(labels_of_rows(piece.ragged, piece.panel, best, ties, evidence, tied))
        return joined(found, votes.ids, votes.start)

    def fused(self, piece: Votes, weights: tie_score.Weights | None) -> fusion.Fused:
        """Return the best class of every item of a piece of the votes."""
        return fusion.fused(piece, self.by, self.power, _rivals(piece, weights))

    def table(self, votes: Votes, weights: tie_score.Weights | None = None) -> NDArray[np.float64]:
        """Return the scores (items x classes); -inf for a class that was not heard."""
        table = np.full((len(votes), len(votes.panel.classes)), -np.inf)
        for piece, span in fusion.pieces(votes):
            fusion.fused(piece, self.by, self.power, _rivals(piece, weights), table[span])
        return table

    def proba(self, votes: Votes, weights: tie_score.Weights | None) -> NDArray[np.float64]:
        """Return how likely every class is: its share of the scores of all."""
        score = np.maximum(self.table(votes, weights), 0)  # -inf for a class that was not heard
        total = score.sum(axis=1, keepdims=True)
        found: NDArray[np.float64] = np.divide(score, total, out=np.zeros_like(score), where=total > 0)
        return found


@dataclass(frozen=True)
class Coupling(Soft):
    """Pairwise coupling generalised to experts of any size: argmax q_k.

    The confidence is q_k, sharpened again by as much as the probabilities were tempered. With ``power=1``
    they are taken as they are (theory.md section 9).
    """

    by: ClassVar[int] = fusion.COUPLED

    def proba(self, votes: Votes, weights: object) -> NDArray[np.float64]:
        """Return q, sharpened again by as much as the probabilities were tempered."""
        with np.errstate(divide="ignore"):
            return softmax(np.log(np.maximum(self.table(votes), 0)) / self.power)


@dataclass(frozen=True)
class Mean(Soft):
    """Mean probability of the authorities outright; it is also the confidence (theory.md section 9)."""

    by: ClassVar[int] = fusion.MEAN


def _rivals(piece: Votes, weights: tie_score.Weights | None) -> fusion.Rivals:
    """Return the classes with the best N_k / d_k, and how far the tie score of each is behind."""
    if weights is None:
        return fusion.NO_RIVALS
    patterns = each_row(piece)
    ties = shares.best_classes(patterns.runs, piece.panel)
    ahead, _, large = tie_score.compared(patterns, ties, weights)
    return fusion.Rivals(ties, np.where(large, 0.0, ahead / UNIT))
