"""What the answers prove about an item: five statuses, each defined here and nowhere else.

Let d_k of the experts who answered know class k, and N_k of them name it. Class k is *possible* if no one
who knows it contradicts it, N_k = d_k; it is *unjudged* if no one who knows it has answered, d_k = 0.

    given       a gold item: its class was known
    incomplete  with a label: a class is unjudged, or a single expert knows the label, and names it
                without: there are fewer answers than classes in question, which are named or unjudged
    tied        several classes share the best score, or another judged class is possible as well
    conflict    someone is wrong about a class that they know, or another class is more probable
    agreed      none of these: two experts or more know the label, all of them name it, and nothing else fits

The first that applies is the status. If experts are right about what they know, the label of an item that is
agreed is right (Paper: Corollary 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

STATUSES = ("agreed", "tied", "conflict", "incomplete", "given")
AGREED, TIED, CONFLICT, INCOMPLETE, GIVEN = range(5)
MEANINGS = {
    "agreed": "every expert who knows the class and answered (2 or more) agrees, and no other class fits",
    "tied": "several classes are equally good",
    "conflict": "an expert is wrong about a class they know, or another class is more probable",
    "incomplete": "too few answers from experts who know the class or its rivals",
    "given": "a gold item: its class was known",
}
"""The meaning of each status, worded the same on every page and in every report and summary."""


def find_statuses(
    votes_for: Array,
    authorities: Array,
    answers: Array,
    index: Array,
    tied: Array,
    outdone: Array | None = None,
) -> NDArray[np.uint8]:
    """Return the status of every row.

    Parameters
    ----------
    votes_for, authorities
        N_k and d_k (rows x classes).
    answers
        How many experts answered.
    index
        The class of every row, -1 without a label.
    tied
        Where several classes share the best score.
    outdone
        Where another class is more probable than the label (default: nowhere).

    >>> votes_for, authorities = np.array([[2, 0, 0], [1, 0, 0]]), np.array([[2, 1, 2], [1, 1, 1]])
    >>> found = find_statuses(votes_for, authorities, np.array([3, 2]), np.zeros(2, int), np.zeros(2, bool))
    >>> [STATUSES[status] for status in found]
    ['agreed', 'incomplete']
    """
    row, labelled = np.arange(len(index)), index >= 0
    unjudged = (authorities == 0).sum(axis=1)
    violations = authorities - votes_for
    fitting = ((violations == 0) & (authorities > 0)).sum(axis=1)
    in_question = (votes_for > 0).sum(axis=1) + unjudged
    against = violations[row, index]
    conflict = ~labelled | (against > 0)
    if outdone is not None:
        conflict |= outdone
    single = (authorities[row, index] < 2) & (against == 0)
    few = np.where(labelled, (unjudged > 0) | single, in_question > answers)
    status = np.full(len(index), AGREED, dtype=np.uint8)
    status[conflict] = CONFLICT
    status[tied | (fitting > 1)] = TIED
    status[few] = INCOMPLETE
    return status
