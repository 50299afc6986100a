"""The vote N_k / d_k for every class, the labels that it elects, and the evidence for any label.

Paper: Eq. (2)-(4). N_k counts the votes for class k, d_k the authorities of k who answered.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.labels import NO_LABEL, Evidence, Labels, Ties, find_statuses
from covote.votes.arrays import smallest_int
from covote.votes.patterns import AnswerPatterns

Array = NDArray[Any]


class Shares(NamedTuple):
    """N_k, d_k and N_k / d_k (rows x classes), -1 for a class that no one who knows it has judged.

    Equal fractions are equal as floats.
    """

    votes_for: NDArray[np.int64]
    authorities: NDArray[np.int64]
    share: NDArray[np.float64]

    @property
    def best(self) -> NDArray[np.bool_]:
        """Which classes have the best share of their authorities' votes; none in a row without answers."""
        found: NDArray[np.bool_] = (self.share == self.share.max(axis=1)[:, None]) & (self.share >= 0)
        return found

    @property
    def proba(self) -> NDArray[np.float64]:
        """The probability of every class by the vote: equal for the best classes, 0 for the others."""
        q = self.best.astype(np.float64)
        q /= np.maximum(q.sum(axis=1), 1)[:, None]
        return q


def shares_of(rows: AnswerPatterns) -> Shares:
    """Return the scores of answer rows.

    >>> from covote import Panel, Votes
    >>> votes = Votes.from_dense([[0, 1], [0, -1]], Panel(3, [[1, 1, 0], [0, 1, 1]]))
    >>> shares_of(votes.rows).share
    array([[ 1. ,  0.5,  0. ],
           [ 1. ,  0. , -1. ]])
    """
    votes_for, d = linear.votes_for(rows), linear.authorities(rows)
    share = np.divide(votes_for, d, out=np.full(votes_for.shape, -1.0), where=d > 0)
    return Shares(votes_for, d, share)


def elect(rows: AnswerPatterns, vote: Shares, with_evidence: bool) -> Labels:
    """Return the class with the best score of every answer row; classes that share it are tied."""
    best = vote.best
    number = best.sum(axis=1)
    tied = number > 1
    index = np.where(number == 1, best.argmax(axis=1), NO_LABEL)
    index = index.astype(smallest_int(len(rows.votes.panel.classes)))
    found = Labels(rows.votes.panel, index, tied, ties_of(best[tied]))
    if not with_evidence:
        return found
    confidence = np.full(len(rows), np.nan)  # nothing was learned
    return replace(found, evidence_or_none=evidence_of(rows, vote, index, tied, confidence))


def ties_of(best: NDArray[np.bool_]) -> Ties:
    """Return the marked classes of a table (rows x classes), one row after another."""
    return Ties.of(best.sum(axis=1), np.nonzero(best)[1])


def evidence_of(
    rows: AnswerPatterns,
    vote: Shares,
    index: Array,
    tied: NDArray[np.bool_],
    confidence: Array,
    proba: Array | None = None,
) -> Evidence:
    """Return the evidence for the labels of answer rows that were found by the vote.

    The margin is the best score minus the next (theory: section 3). The runner-up is the best class apart
    from the label: by score, then by the number of authorities; -1 if several are equal, or if there is no
    label. `proba` are the probabilities of all classes, before the confidence was calibrated.
    """
    _, authorities, share = vote
    row, first, others = np.arange(len(index)), share.argmax(axis=1), share.copy()
    top = share[row, first]
    others[row, first] = -1
    second = others.max(axis=1)
    margin = np.where(second >= 0, top - second, np.nan)
    others[row, first] = top
    others[row[index >= 0], index[index >= 0]] = -1
    level = np.where((others == others.max(axis=1)[:, None]) & (others >= 0), authorities, 0)
    most = level.max(axis=1)
    alone = ((level == most[:, None]).sum(axis=1) == 1) & (most > 0) & (index >= 0)
    runner_up = np.where(alone, level.argmax(axis=1), -1).astype(index.dtype)
    outdone = None if proba is None else is_outdone(index, confidence, proba)
    behind = margin.astype(np.float32), runner_up, *violations_and_statuses(rows, vote, index, tied, outdone)
    return Evidence(confidence.astype(np.float32), *behind)


def violations_and_statuses(
    rows: AnswerPatterns, vote: Shares, index: Array, tied: NDArray[np.bool_], outdone: Array | None = None
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the fewest violations d_k - N_k of any class that someone knows, and the status of labels.

    A class that no one judged has no violations: it is consistent with any answers.
    """
    votes_for, authorities, _ = vote
    known = authorities[:, rows.votes.panel.layout.known_classes]
    fewest = (known - votes_for[:, rows.votes.panel.layout.known_classes]).min(
        axis=1, initial=len(rows.votes.panel)
    )
    answers = np.diff(rows.ragged.indptr)
    return fewest.astype(np.int32), find_statuses(votes_for, authorities, answers, index, tied, outdone)


def is_outdone(index: Array, confidence: Array, proba: Array) -> NDArray[np.bool_]:
    """Return where another class is more probable than the label.

    The other classes share what the calibrated confidence of the label leaves, in proportion to `proba`.
    """
    row, others = np.arange(len(index)), proba.copy()
    others[row, index] = 0
    rest = others.sum(axis=1)
    rival = np.divide(others.max(axis=1), rest, out=np.zeros(len(index)), where=rest > 0)
    return np.asarray((index >= 0) & (rival * (1 - confidence) > confidence))
