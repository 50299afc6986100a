"""Pairwise majority: two classes are compared by the experts that know both.

theory: section 3. With f wrong answers about an item the true class still beats every other one if every pair
has at least 2f + 1 common experts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.linear import Best
from covote.decoding.scoring import label_rows
from covote.decoding.shares import Counters, counters, forget, grown, hear, insert
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows

Array = NDArray[Any]


@dataclass(frozen=True)
class Pairwise:
    """The class that wins most comparisons with other classes.

    A class beats another one if more of the experts that know both vote for it. A win counts 1, a draw (also
    for want of a common expert) 1/2. Equal numbers are decided by the authority vote (share of authorities,
    then their number); what still ties is reported.

    The margin is the difference of won comparisons, divided by the number of other classes that were heard.
    This method gives no probabilities: the confidence is NaN.
    """

    rounds: ClassVar[int] = 0
    needs_probabilities: ClassVar[bool] = False
    has_proba: ClassVar[bool] = False

    def start(self, panel: Panel) -> None:
        """Return nothing: comparisons need no weights."""

    def score(self, votes: Votes, weights: None, evidence: bool = True) -> Labels:
        """Return the labels."""
        panel = votes.panel

        def find(patterns: Rows, best: Best) -> Array:
            best.confidence[:] = np.nan
            classes: Array = _tournament(patterns.runs, panel.layout.known, len(panel.classes), best)
            return classes

        return label_rows(votes, find, evidence)


@helper
def _most(runs: Ragged, known: Lists) -> tuple[int, int]:
    """Return the most votes for classes that an item has, and the most classes that their experts know."""
    votes, entries = 0, 0
    for n in range(len(runs.indptr) - 1):
        here, there = 0, 0
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            if runs.label[p] >= 0:
                here += 1
                there += known.start[runs.expert[p] + 1] - known.start[runs.expert[p]]
        votes, entries = max(votes, here), max(entries, there)
    return votes, entries


@helper(inline="always")
def _compare(
    runs: Ragged,
    n: int,
    known: Lists,
    heard: Array,
    place: Array,
    beats: Array,
    entries: Array,
    points: Array,
) -> None:
    """Give every heard class its points: 2 for a won comparison, 1 for a draw.

    ``beats[place[k], j]`` counts the votes for k of experts that know j as well, and is all zero before and
    after. Most pairs of many classes are compared by nobody: a draw. So everybody begins with draws only, and
    the pairs that have votes, listed in `entries`, are looked at.
    """
    voted, found = 0, 0
    for c in range(len(heard)):
        place[heard[c]] = -1
        points[heard[c]] = len(heard) - 1
    for p in range(runs.indptr[n], runs.indptr[n + 1]):
        k = runs.label[p]
        if k < 0:
            continue
        if place[k] < 0:
            place[k] = voted
            voted += 1
        for q in range(known.start[runs.expert[p]], known.start[runs.expert[p] + 1]):
            j = known.members[q]
            if beats[place[k], j] == 0 and j != k:
                entries[found, 0], entries[found, 1] = k, j
                found += 1
            beats[place[k], j] += j != k
    for e in range(found):
        k, j = entries[e, 0], entries[e, 1]
        if place[j] < 0 or beats[place[k], j] > beats[place[j], k]:
            points[k] += 1
            points[j] -= 1
    for e in range(found):
        beats[place[entries[e, 0]], entries[e, 1]] = 0


@helper(inline="always")
def _order(k: int, j: int, points: Array, counts: Counters) -> int:
    """Return 1 if k comes before j, -1 if after, 0 if nothing separates them."""
    if points[k] != points[j]:
        return 1 if points[k] > points[j] else -1
    left, right = counts.votes[k] * counts.asked[j], counts.votes[j] * counts.asked[k]
    if left != right:
        return 1 if left > right else -1
    if counts.asked[k] != counts.asked[j]:
        return 1 if counts.asked[k] > counts.asked[j] else -1
    return 0


@kernel
def _tournament(runs: Ragged, known: Lists, classes: int, found: Best) -> Array:
    """Find the best class of every row by pairwise majority; return the classes of all tied rows."""
    counts = counters(classes)
    place, points = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    votes, most = _most(runs, known)
    beats = np.zeros((min(votes, classes), classes), np.int32)
    entries = np.empty((most, 2), np.int64)
    ties, at = np.empty(16, np.int64), 0
    for n in range(len(found.chosen)):
        number = hear(runs, n, known, counts)
        heard = counts.heard[:number]
        _compare(runs, n, known, heard, place, beats, entries, points)
        best, second, shared, several = -1, -1, 0, False
        for c in range(number):
            k = heard[c]
            versus_best = _order(k, best, points, counts) if best >= 0 else 1
            if versus_best > 0:
                second, several = best, shared > 1
                best, shared = k, 1
            elif versus_best == 0:
                shared += 1
            else:
                versus_second = _order(k, second, points, counts) if second >= 0 else 1
                if versus_second > 0:
                    second, several = k, False
                elif versus_second == 0:
                    several = True
        found.chosen[n], found.shared[n] = best, shared
        found.runner_up[n] = -1 if several else second
        if shared > 1:
            found.margin[n] = 0
            ties, begin = grown(ties, at + shared), at
            for c in range(number):
                if _order(heard[c], best, points, counts) == 0:
                    at = insert(ties, begin, at, heard[c])
        elif second >= 0:
            found.margin[n] = (points[best] - points[second]) / (2 * (number - 1))
        forget(counts, number)
    return ties[:at].copy()
