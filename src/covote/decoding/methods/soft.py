"""Decoders of votes with probabilities alone: coupling and mean (theory.md section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import fusion, linear
from covote.decoding.linear import ONE, UNHEARD, UNIT, softmax
from covote.decoding.loop import Decoder
from covote.decoding.scoring import label_pieces, labels_of_rows, table_of
from covote.errors import InputError
from covote.labels import Labels
from covote.votes import Votes
from covote.votes.rows import Rows


@dataclass(frozen=True)
class Mean(Decoder):
    """The class with the highest mean probability among its authorities; that mean is the confidence.

    Theory: section 9.
    """

    needs_probabilities: ClassVar[bool] = True

    def q(self, votes: Votes) -> NDArray[np.float64]:
        """Return the scores (items x classes); 0 for a class that was not heard."""
        return fusion.mean(votes)

    def confidence(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the confidence in every class, given the scores."""
        return q

    def score(self, votes: Votes, weights: None, evidence: bool = True) -> Labels:
        """Return the labels."""
        _check_soft(votes)

        def label(rows: Rows) -> Labels:
            q = self.q(rows.votes)
            # Scores are whole numbers, so their order never depends on rounding.
            whole = np.where(linear.heard(rows), np.rint(q * ONE).astype(np.int64), UNHEARD)
            best, tied = linear.best(whole, self.confidence(q))
            return labels_of_rows(rows, best._replace(margin=best.margin * (UNIT / ONE)), tied, evidence)

        return label_pieces(votes, label, fusion.soft_parts)

    def proba(self, votes: Votes, weights: object) -> NDArray[np.float64]:
        """Return the probability of every class: its share of all confidences."""
        _check_soft(votes)

        def chances(rows: Rows) -> NDArray[np.float64]:
            found = self.confidence(self.q(rows.votes))
            total = found.sum(axis=1, keepdims=True)
            share: NDArray[np.float64] = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
            return share

        return table_of(votes, chances, fusion.soft_parts)


@dataclass(frozen=True)
class Coupling(Mean):
    """Pairwise coupling generalised to experts who know any number of classes: argmax q_k.

    The confidence is q_k, sharpened by as much as the probabilities were tempered. With ``power=1`` they are
    taken as they are. Theory: section 9.
    """

    power: float = fusion.POWER

    def __post_init__(self) -> None:
        if not 0 < self.power <= 1:
            raise InputError(f"power must be above 0 and at most 1, not {self.power}")

    def q(self, votes: Votes) -> NDArray[np.float64]:
        """Return the coupled probabilities (items x classes)."""
        return fusion.coupled(votes, self.power)

    def confidence(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q, sharpened by as much as the probabilities were tempered."""
        with np.errstate(divide="ignore"):
            return softmax(np.log(q) / self.power)


def _check_soft(votes: Votes) -> None:
    if not votes.soft:
        raise InputError(
            "these votes carry no probabilities; give them in a column 'probability' or 'probabilities' "
            "(Votes.from_dense: probabilities=...), or choose a method for plain votes, such as 'authority'"
        )
