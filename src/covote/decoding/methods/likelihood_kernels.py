"""Compiled loops that add up log-likelihood ratios, item by item."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Array = NDArray[Any]


@helper(inline="always")
def _add_up(
    expert: Array, label: Array, begin: int, end: int, start: Array, known: Array,
    hit: Array, miss: Array, none: Array, prior: Array, possible: Array,
    score: Array, seen: Array, touched: Array,
) -> int:  # fmt: skip
    """Score the classes that were heard, list them in `touched`, and return how many are possible."""
    count = 0
    for p in range(begin, end):
        i = expert[p]
        other = none[i] if label[p] < 0 else miss[i]
        for q in range(start[i], start[i + 1]):
            k = known[q]
            if possible[k]:
                if not seen[k]:
                    seen[k] = True
                    score[k] = prior[k]
                    touched[count] = k
                    count += 1
                score[k] += hit[i] if k == label[p] else other
    for c in range(count):
        seen[touched[c]] = False
    return count


@helper(inline="always")
def _posterior(
    score: Array, touched: Array, count: int, best: int, prior: Array, certain: int, scale: float
) -> float:
    """Return the posterior probability of a class; a class that was not heard keeps its prior.

    A gap beyond half of `certain` is an infinite one.
    """
    top = score[best]
    total, heard_prior = 0.0, 0.0
    for c in range(count):
        k = touched[c]
        if 2 * (top - score[k]) < certain:
            total += math.exp((score[k] - top) / scale)
        heard_prior += math.exp(prior[k] / scale)
    if heard_prior < 1 - 1e-9:
        if 2 * -top > certain:
            return 0.0
        total += math.exp(math.log(1 - heard_prior) - top / scale)
    return 1 / total


@kernel
def most_likely(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array,
    hit: Array, miss: Array, none: Array, prior: Array, possible: Array, certain: int, scale: float,
    index: Array, tied: Array, confidence: Array, margin: Array, runner_up: Array,
) -> None:  # fmt: skip
    """Label ragged votes. Each addend is rounded to a whole number, hence the slack when comparing sums."""
    classes = len(prior)
    score, seen = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    touched = np.empty(classes, np.int64)
    for n in range(len(index)):
        begin, end = indptr[n], indptr[n + 1]
        count = _add_up(
            expert, label, begin, end, start, known, hit, miss, none, prior, possible, score, seen, touched
        )
        index[n], runner_up[n], tied[n], confidence[n], margin[n] = -1, -1, False, 0, np.nan
        if count == 0:
            continue
        slack = end - begin + 1
        best = touched[0]
        for c in range(1, count):
            if score[touched[c]] > score[best]:
                best = touched[c]
        second, sharing, close = -1, 0, 0
        for c in range(count):
            k = touched[c]
            sharing += score[k] >= score[best] - slack
            if k != best and (second < 0 or score[k] > score[second]):
                second = k
        tied[n] = sharing > 1
        confidence[n] = _posterior(score, touched, count, best, prior, certain, scale)
        if second >= 0:
            gap = score[best] - score[second]
            margin[n] = 0 if tied[n] else (np.inf if 2 * gap > certain else gap / scale)
            for c in range(count):
                close += touched[c] != best and score[touched[c]] >= score[second] - slack
        if not tied[n]:
            index[n] = best
            runner_up[n] = second if close == 1 else -1


@kernel
def likeliest(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array,
    hit: Array, miss: Array, none: Array, prior: Array, possible: Array, certain: int, scale: float,
) -> Array:  # fmt: skip
    """List the classes of the first item that share the best score."""
    classes = len(prior)
    score, seen = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    touched = np.empty(classes, np.int64)
    count = _add_up(
        expert, label, 0, indptr[1], start, known, hit, miss, none, prior, possible, score, seen, touched
    )
    top = -certain * (len(expert) + 2)
    for c in range(count):
        top = max(top, score[touched[c]])
    return np.sort(np.array([k for k in touched[:count] if score[k] >= top - indptr[1] - 1], np.int64))
