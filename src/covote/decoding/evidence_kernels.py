"""Compiled loops that count, item by item, what the votes prove."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel

Array = NDArray[Any]


@kernel(inline="always")
def heard(
    expert: Array, label: Array, begin: int, end: int, start: Array, known: Array, hits: Array, asked: Array,
    touched: Array,
) -> int:  # fmt: skip
    """Count votes (`hits`, N_k) and answering authorities (`asked`, d_k) of every class that was heard.

    The heard classes are listed in `touched`; returns how many there are. The caller sets the two counters
    back to zero with :func:`forget`.
    """
    count = 0
    for p in range(begin, end):
        i = expert[p]
        for q in range(start[i], start[i + 1]):
            k = known[q]
            if asked[k] == 0:
                touched[count] = k
                count += 1
            asked[k] += 1
        if label[p] >= 0:
            hits[label[p]] += 1
    return count


@kernel(inline="always")
def forget(touched: Array, count: int, hits: Array, asked: Array) -> None:
    """Set the counters of one item back to zero."""
    for c in range(count):
        hits[touched[c]] = 0
        asked[touched[c]] = 0


@kernel
def examine(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int, with_authority: int,
    index: Array, fewest: Array, own: Array, consistent: Array, unheard: Array,
) -> None:  # fmt: skip
    """Count violations V_k = d_k - N_k; see :func:`covote.decoding.evidence.examined`."""
    hits, asked, touched = (
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.empty(classes, np.int64),
    )
    for n in range(len(index)):
        count = heard(expert, label, indptr[n], indptr[n + 1], start, known, hits, asked, touched)
        least, clean = len(expert), 0
        for c in range(count):
            v = asked[touched[c]] - hits[touched[c]]
            least = min(least, v)
            clean += v == 0
        unheard[n] = count < with_authority
        fewest[n] = 0 if unheard[n] else least
        own[n] = 0 if index[n] < 0 else asked[index[n]] - hits[index[n]]
        consistent[n] = clean
        forget(touched, count, hits, asked)


@kernel
def authority_margin(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int,
    index: Array, margin: Array, runner_up: Array, shared: Array,
) -> None:  # fmt: skip
    """Find the margin, the runner-up and how many classes share the best score N_k / d_k.

    The runner-up is the best class apart from the label: by score, then by more authorities; -1 if that
    leaves several, or if there is no label.
    """
    hits, asked, touched = (
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.empty(classes, np.int64),
    )
    for n in range(len(index)):
        count = heard(expert, label, indptr[n], indptr[n + 1], start, known, hits, asked, touched)
        top_n, top_d, top_count, next_n, next_d = -1, 1, 0, -1, 1
        other, other_n, other_d, several = -1, -1, 1, False
        for c in range(count):
            k = touched[c]
            h, d = hits[k], asked[k]
            if h * top_d > top_n * d:
                next_n, next_d = top_n, top_d
                top_n, top_d, top_count = h, d, 1
            elif h * top_d == top_n * d:
                top_count += 1
                next_n, next_d = top_n, top_d
            elif h * next_d > next_n * d:
                next_n, next_d = h, d
            if k != index[n]:
                left, right = h * other_d, other_n * d
                if left > right or (left == right and d > other_d):
                    other, other_n, other_d, several = k, h, d, False
                elif left == right and d == other_d:
                    several = True
        margin[n] = top_n / top_d - next_n / next_d if next_n >= 0 else np.nan
        runner_up[n] = -1 if several or index[n] < 0 else other
        shared[n] = top_count
        forget(touched, count, hits, asked)


@kernel
def most_authorities(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int, index: Array
) -> None:
    """Choose by score N_k / d_k, then by d_k; -1 if that leaves several classes."""
    hits, asked, touched = (
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.empty(classes, np.int64),
    )
    for n in range(len(index)):
        count = heard(expert, label, indptr[n], indptr[n + 1], start, known, hits, asked, touched)
        best, top_n, top_d = -1, -1, 1
        for c in range(count):
            k = touched[c]
            left, right = hits[k] * top_d, top_n * asked[k]
            if left > right or (left == right and asked[k] > top_d):
                best, top_n, top_d = k, hits[k], asked[k]
            elif left == right and asked[k] == top_d:
                best = -1
        index[n] = best
        forget(touched, count, hits, asked)
