"""Decoders of votes with probabilities alone: coupling and mean (theory.md section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import fusion
from covote.decoding.linear import softmax
from covote.decoding.loop import Decoder
from covote.decoding.scoring import labels_of_rows
from covote.errors import InputError
from covote.labels import Labels, joined
from covote.votes import Votes
from covote.votes.rows import each_row


@dataclass(frozen=True)
class Mean(Decoder):
    """Mean probability of the authorities outright; it is also the confidence (theory.md section 9)."""

    by: ClassVar[int] = fusion.MEAN
    power: ClassVar[float] = 1.0
    needs_probabilities: ClassVar[bool] = True

    def score(self, votes: Votes, weights: None, evidence: bool = True) -> Labels:
        """Return the labels."""
        found = []
        for piece, _ in fusion.pieces(votes):
            best, tied, ties = fusion.fused(piece, self.by, self.power)
            found.append(labels_of_rows(each_row(piece), best, ties, evidence, tied))
        return joined(found, votes.ids, votes.start)

    def table(self, votes: Votes) -> NDArray[np.float64]:
        """Return the scores (items x classes); -inf for a class that was not heard."""
        table = np.full((len(votes), len(votes.panel.classes)), -np.inf)
        for piece, span in fusion.pieces(votes):
            fusion.fused(piece, self.by, self.power, table[span])
        return table

    def proba(self, votes: Votes, weights: object) -> NDArray[np.float64]:
        """Return the probability of every class: its share of all scores."""
        score = np.maximum(self.table(votes), 0)  # -inf for a class that was not heard
        total = score.sum(axis=1, keepdims=True)
        found: NDArray[np.float64] = np.divide(score, total, out=np.zeros_like(score), where=total > 0)
        return found


@dataclass(frozen=True)
class Coupling(Mean):
    """Pairwise coupling generalised to experts of any size: argmax q_k.

    The confidence is q_k, sharpened again by as much as the probabilities were tempered. With ``power=1``
    they are taken as they are (theory.md section 9).
    """

    by: ClassVar[int] = fusion.COUPLED
    power: float = fusion.POWER  # type: ignore[misc]

    def __post_init__(self) -> None:
        if not 0 < self.power <= 1:
            raise InputError(f"power must be above 0 and at most 1, not {self.power}")

    def proba(self, votes: Votes, weights: object) -> NDArray[np.float64]:
        """Return q, sharpened again by as much as the probabilities were tempered."""
        with np.errstate(divide="ignore"):
            return softmax(np.log(np.maximum(self.table(votes), 0)) / self.power)
