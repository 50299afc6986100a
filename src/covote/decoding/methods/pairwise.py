"""Pairwise majority: the experts who know both of two classes decide between them.

Theory: section 3. With f wrong answers about an item, the true class still beats every other class if every
pair has at least 2f + 1 common experts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.linear import UNHEARD, Best
from covote.decoding.loop import Decoder
from covote.decoding.scoring import label_pieces, labels_of_rows
from covote.labels import Labels
from covote.votes import Votes
from covote.votes.arrays import gather
from covote.votes.rows import Rows

Array = NDArray[Any]


@dataclass(frozen=True)
class Pairwise(Decoder):
    """The class that wins the most comparisons with other classes.

    A class beats another one if more of the experts who know both vote for it. A win counts 1; a draw, or a
    pair without a common expert, counts 1/2. Equal numbers are decided by the authority vote (share of
    authorities, then their number); classes that still tie are reported.

    The margin is the difference in comparisons won, divided by the number of other classes that were heard.
    This method gives no probabilities: the confidence is NaN.
    """

    def score(self, votes: Votes, weights: None, evidence: bool = True) -> Labels:
        """Return the labels."""
        return label_pieces(votes, lambda rows: labels_of_rows(rows, *_tournament(rows), evidence))


def _tournament(rows: Rows) -> tuple[Best, Array]:
    """Find the best class of every row by comparisons won, then by the authority vote."""
    asked = linear.asked(rows)
    heard = asked > 0
    points = np.where(heard, linear.across(np.add, heard.astype(np.int64))[:, None] - 1 + _won(rows), 0)
    place, places = _vote_places(linear.named(rows), asked)
    score = np.where(heard, points * places + place, UNHEARD)
    best, tied = linear.best(score, np.full(score.shape, np.nan))
    row, first, second = np.arange(len(rows)), best.chosen, _second(score, best.chosen)
    lead = (points[row, first] - points[row, second]) / np.maximum(2 * (heard.sum(axis=1) - 1), 1)
    margin = np.where(np.isnan(best.margin), np.nan, np.where(best.shared > 1, 0, lead))
    return best._replace(margin=margin, confidence=np.full(len(rows), np.nan)), tied


def _second(score: Array, first: Array) -> Array:
    """Return a class with the best score apart from the first."""
    rest = score.copy()
    rest[np.arange(len(score)), first] = UNHEARD
    return np.asarray(rest.argmax(axis=1))


def _won(rows: Rows) -> NDArray[np.int64]:
    """Return the number of comparisons that each class won minus those that it lost (rows x classes).

    With many classes most pairs have no votes, so only pairs with votes are visited.
    """
    panel, (indptr, expert, label) = rows.votes.panel, rows.runs
    classes, known = len(panel.classes), panel.layout.known
    row = np.repeat(np.arange(len(rows)), np.diff(indptr))[label >= 0]
    expert, label = expert[label >= 0], label[label >= 0]
    # Pair every vote with every class that its expert knows: a vote for `one` by an expert who knows `two`.
    bounds, places = gather(known.start, expert)
    two, sizes = known.members[places], np.diff(bounds)
    one, row = np.repeat(label.astype(np.int64), sizes), np.repeat(row, sizes)
    pairs, count = np.unique(((row * classes + one) * classes + two)[one != two], return_counts=True)
    row, one, two = pairs // classes**2, pairs // classes % classes, pairs % classes
    other = (row * classes + two) * classes + one
    at = np.minimum(np.searchsorted(pairs, other), max(len(pairs) - 1, 0))
    won = count > np.where(pairs[at] == other, count[at], 0)
    size = len(rows) * classes
    gained, lost = (np.bincount((row * classes + k)[won], minlength=size) for k in (one, two))
    return np.asarray((gained - lost).reshape(-1, classes))


def _vote_places(named: Array, asked: Array) -> tuple[Array, int]:
    """Rank classes by the authority vote, N_k / d_k and then d_k; return ranks (higher is better), number."""
    pairs, which = np.unique(named * (asked.max(initial=0) + 1) + asked, return_inverse=True)
    hits, authorities = np.divmod(pairs, asked.max(initial=0) + 1)
    share = hits / np.maximum(authorities, 1)  # equal fractions are equal as floats
    place = np.empty(len(pairs), np.int64)
    place[np.lexsort((authorities, share))] = np.arange(len(pairs))
    return place[which].reshape(asked.shape), len(pairs)
