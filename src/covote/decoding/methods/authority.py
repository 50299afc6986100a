"""The paper's decoder, the authority vote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covote.decoding import shares
from covote.decoding.linear import across
from covote.decoding.loop import Decoder
from covote.decoding.scoring import label_pieces
from covote.labels import Labels
from covote.votes import Votes
from covote.votes.arrays import smallest_int
from covote.votes.rows import Rows


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

        def label(rows: Rows) -> Labels:
            vote = shares.shares_of(rows)  # N_k, d_k and N_k / d_k
            best = vote.best  # the classes with the largest share (rows x classes)
            number = across(np.add, best.astype(np.int64))
            tied = number > 1
            index = np.where(number == 1, best.argmax(axis=1), -1)
            index = index.astype(smallest_int(len(votes.panel.classes)))
            ties = shares.listed(best[tied])
            if not evidence:
                return Labels(votes.panel, index, tied, ties)
            confidence = np.full(len(rows), np.nan)
            return Labels(
                votes.panel, index, tied, ties, shares.evidence(rows, vote, index, tied, confidence)
            )

        return label_pieces(votes, label)
