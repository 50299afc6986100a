"""Majority vote, the yardstick of every table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covote.decoding.loop import Decoder
from covote.decoding.scoring import label_pieces
from covote.decoding.shares import Shares, elect, shares_of
from covote.labels import Labels
from covote.votes import Votes
from covote.votes.patterns import AnswerPatterns


@dataclass(frozen=True)
class Majority(Decoder):
    """The class that most experts name, argmax_k N_k; everyone's answer counts equally.

    Who knows what plays no part, except that an expert can only name classes that it knows. Classes with
    equally many votes are tied; among "none of mine" alone, all classes that were asked about. Nothing is
    learned, so the confidence is NaN.
    """

    def score(self, votes: Votes, weights: None = None, evidence: bool = True) -> Labels:
        """Return the labels, with or without their evidence."""
        return label_pieces(votes, lambda rows: elect(rows, majority_shares(rows), evidence))


def majority_shares(rows: AnswerPatterns) -> Shares:
    """Return N_k and d_k, and as the score of every class its share of all answers."""
    vote, answers = shares_of(rows), np.diff(rows.ragged.indptr)
    share = vote.votes_for / np.maximum(answers, 1)[:, None]
    return vote._replace(share=np.where(vote.authorities > 0, share, -1.0))
