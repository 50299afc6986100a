"""Compiled loops of the pairwise comparison, item by item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .evidence_kernels import heard

Array = NDArray[Any]


@njit(cache=True, nogil=True, inline="always")
def _compare(
    expert: Array, label: Array, begin: int, end: int, start: Array, known: Array, touched: Array, count: int,
    hits: Array, place: Array, beats: Array, points: Array,
) -> None:  # fmt: skip
    """Give every heard class its points: 2 for a won comparison, 1 for a draw.

    ``beats[place[k], j]`` counts the votes for k of experts that know j as well. Only classes with votes can
    beat another one, so only they get a row.
    """
    voted = 0
    for c in range(count):
        k = touched[c]
        place[k] = -1
        if hits[k] > 0:
            place[k] = voted
            voted += 1
            for e in range(count):
                beats[place[k], touched[e]] = 0
    for p in range(begin, end):
        if label[p] >= 0:
            i = expert[p]
            for q in range(start[i], start[i + 1]):
                beats[place[label[p]], known[q]] += 1
    for c in range(count):
        # A class without votes draws with all others without votes, and can win against nobody.
        points[touched[c]] = count - voted - 1 if place[touched[c]] < 0 else 0
    for c in range(count):
        k = touched[c]
        if place[k] < 0:
            continue
        for e in range(count):
            j = touched[e]
            mine = beats[place[k], j]
            if place[j] < 0:
                points[j] += mine == 0
                points[k] += 1 + (mine > 0)
            elif j != k:
                theirs = beats[place[j], k]
                points[k] += (mine >= theirs) + (mine > theirs)


@njit(cache=True, nogil=True, inline="always")
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


@njit(cache=True, nogil=True)
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
    longest = 0
    for n in range(len(index)):
        longest = max(longest, indptr[n + 1] - indptr[n])
    beats = np.empty((min(longest, classes), classes), np.int32)
    for n in range(len(index)):
        begin, end = indptr[n], indptr[n + 1]
        count = heard(expert, label, begin, end, start, known, hits, asked, touched)
        _compare(expert, label, begin, end, start, known, touched, count, hits, place, beats, points)
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


@njit(cache=True, nogil=True)
def winners(indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int) -> Array:
    """List the classes of the first item that nothing separates from the best."""
    hits, asked, touched = (
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.empty(classes, np.int64),
    )
    place, points = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    beats = np.empty((min(len(expert), classes), classes), np.int32)
    end = indptr[1]
    count = heard(expert, label, 0, end, start, known, hits, asked, touched)
    _compare(expert, label, 0, end, start, known, touched, count, hits, place, beats, points)
    best = -1
    for c in range(count):
        if best < 0 or _order(touched[c], best, points, hits, asked) > 0:
            best = touched[c]
    return np.sort(
        np.array([k for k in touched[:count] if _order(k, best, points, hits, asked) == 0], np.int64)
    )
