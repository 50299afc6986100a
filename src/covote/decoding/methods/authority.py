"""The paper's decoder, the authority vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from covote.decoding import shares
from covote.decoding.linear import across
from covote.decoding.loop import Decoder
from covote.decoding.scoring import label_pieces
from covote.labels import NO_TIES, Labels, Ties
from covote.votes import Votes
from covote.votes.arrays import smallest_int
from covote.votes.rows import Rows


@dataclass(frozen=True)
class Authority(Decoder):
    """The class with the largest share of its authorities' votes, argmax_k N_k / d_k.

    N_k is the number of votes for class k and d_k the number of experts who know k; where an item was not
    answered by everyone, those who answered it. Shares are compared exactly, as whole numbers; classes that
    share the largest one are reported as tied. Nothing is learned, so the confidence is NaN.

    Paper: Eq. (2)-(4).
    """

    def score(self, votes: Votes, weights: None = None, evidence: bool = True) -> Labels:
        """Return the labels, with or without their evidence."""
        if evidence:
            return label_pieces(votes, _with_evidence)
        index, tied = shares.label(votes)
        ties: Ties | partial[Ties] = NO_TIES
        if index.min(initial=0) < 0 and tied.any():
            # Ties are listed on demand: loops that find only the label are many times as fast.
            ties = partial(shares.tied_classes, votes.subset(np.flatnonzero(tied)))
        return Labels(votes.panel, index, tied, ties, None, votes.ids, votes.start)


def _with_evidence(rows: Rows) -> Labels:
    """Return the labels of answer rows."""
    panel, vote = rows.votes.panel, shares.shares_of(rows)
    best = vote.best
    number = across(np.add, best.astype(np.int64))
    tied = number > 1
    index = np.where(number == 1, best.argmax(axis=1), -1).astype(smallest_int(len(panel.classes)))
    behind = shares.evidence(rows, vote, index, tied, np.full(len(rows), np.nan))
    return Labels(panel, index, tied, shares.listed(best[tied]), behind)
