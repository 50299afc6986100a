"""The paper's decoder, the authority vote."""

from __future__ import annotations

from dataclasses import dataclass

from covote.decoding.loop import Decoder
from covote.decoding.scoring import label_pieces
from covote.decoding.shares import elect, shares_of
from covote.labels import Labels
from covote.votes import Votes


@dataclass(frozen=True)
class Authority(Decoder):
    """The class with the largest share of its authorities' votes, argmax_k N_k / d_k.

    N_k is the number of votes for class k and d_k the number of experts who know k; where an item was not
    answered by everyone, those who answered it. Equal fractions are equal as floats, so ties are exact;
    classes that share the largest fraction are reported as tied. Nothing is learned, so the confidence is
    NaN.

    Paper: Eq. (2)-(4).
    """

    def score(self, votes: Votes, weights: None = None, evidence: bool = True) -> Labels:
        """Return the labels, with or without their evidence."""
        return label_pieces(votes, lambda rows: elect(rows, shares_of(rows), evidence))
