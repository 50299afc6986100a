"""Compiled loops of the pairwise comparison, item by item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.evidence_kernels import heard

Array = NDArray[Any]


@helper
def _most(indptr: Array, expert: Array, label: Array, start: Array) -> tuple[int, int]:
    """Return the most votes for classes that an item has, and the most classes that their experts know."""
    votes, entries = 0, 0
    for n in range(len(indptr) - 1):
        here, known = 0, 0
        for p in range(indptr[n], indptr[n + 1]):
            if label[p] >= 0:
                here += 1
                known += start[expert[p] + 1] - start[expert[p]]
        votes, entries = max(votes, here), max(entries, known)
    return votes, entries


@helper(inline="always")
def _compare(
    expert: Array, label: Array, begin: int, end: int, start: Array, known: Array, touched: Array, count: int,
    place: Array, beats: Array, entries: Array, points: Array,
) -> None:  # fmt: skip
    """Give every heard class its points: 2 for a won comparison, 1 for a draw.

    ``beats[place[k], j]`` counts the votes for k of experts that know j as well, and is all zero before and
    after. Most pairs of many classes are compared by nobody: a draw. So everybody begins with draws only, and
    the pairs that have votes, listed in `entries`, are looked at.
    """
    voted, found = 0, 0
    for c in range(count):
        place[touched[c]] = -1
        points[touched[c]] = count - 1
    for p in range(begin, end):
        k = label[p]
        if k < 0:
            continue
        if place[k] < 0:
            place[k] = voted
            voted += 1
        for q in range(start[expert[p]], start[expert[p] + 1]):
            j = known[q]
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
def _order(k: int, j: int, points: Array, hits: Array, asked: Array) -> int:
    """Return 1 if k comes before j, -1 if after, 0 if nothing separates them."""
    if points[k] != points[j]:
        return 1 if points[k] > points[j] else -1
    left, right = hits[k] * asked[j], hits[j] * asked[k]
    if left != right:
        return 1 if left > right else -1
    if asked[k] != asked[j]:
        return 1 if asked[k] > asked[j] else -1
    return 0


@kernel
def tournament(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int,
    index: Array, tied: Array, margin: Array, runner_up: Array,
) -> None:  # fmt: skip
    """Label ragged votes by pairwise majority."""
    hits, asked, touched = (
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.empty(classes, np.int64),
    )
    place, points = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    votes, most = _most(indptr, expert, label, start)
    beats = np.zeros((min(votes, classes), classes), np.int32)
    entries = np.empty((most, 2), np.int64)
    for n in range(len(index)):
        begin, end = indptr[n], indptr[n + 1]
        count = heard(expert, label, begin, end, start, known, hits, asked, touched)
        _compare(expert, label, begin, end, start, known, touched, count, place, beats, entries, points)
        best, second, shared, several = -1, -1, False, False
        for c in range(count):
            k = touched[c]
            versus_best = _order(k, best, points, hits, asked) if best >= 0 else 1
            if versus_best > 0:
                second, several = best, shared
                best, shared = k, False
            elif versus_best == 0:
                shared = True
            else:
                versus_second = _order(k, second, points, hits, asked) if second >= 0 else 1
                if versus_second > 0:
                    second, several = k, False
                elif versus_second == 0:
                    several = True
        index[n] = -1 if shared else best
        tied[n] = shared
        runner_up[n] = -1 if shared or several else second
        margin[n] = np.nan
        if shared:
            margin[n] = 0
        elif second >= 0:
            margin[n] = (points[best] - points[second]) / (2 * (count - 1))
        for c in range(count):
            hits[touched[c]] = 0
            asked[touched[c]] = 0


@kernel
def winners(indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int) -> Array:
    """List the classes of the first item that nothing separates from the best."""
    hits, asked, touched = (
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.empty(classes, np.int64),
    )
    place, points = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    votes, most = _most(indptr[:2], expert, label, start)
    beats = np.zeros((min(votes, classes), classes), np.int32)
    entries = np.empty((most, 2), np.int64)
    end = indptr[1]
    count = heard(expert, label, 0, end, start, known, hits, asked, touched)
    _compare(expert, label, 0, end, start, known, touched, count, place, beats, entries, points)
    best = -1
    for c in range(count):
        if best < 0 or _order(touched[c], best, points, hits, asked) > 0:
            best = touched[c]
    return np.sort(
        np.array([k for k in touched[:count] if _order(k, best, points, hits, asked) == 0], np.int64)
    )
