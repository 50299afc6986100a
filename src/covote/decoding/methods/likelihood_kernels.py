"""The loop that adds up log-likelihood ratios, row by row."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.scoring import Best
from covote.decoding.shares_kernels import grown, insert
from covote.panel.layout import Lists
from covote.votes import Ragged

Array = NDArray[Any]


class LogWeights(NamedTuple):
    """Log-likelihood ratios in whole numbers of 1 / scale, so that their sums do not depend on an order.

    An answer of expert i adds to every class it knows: `hit` to the class it named, `miss` to the others,
    `none` to all if it named none. `certain` stands for an infinite ratio: it outweighs all finite ones.
    """

    hit: NDArray[np.int64]
    miss: NDArray[np.int64]
    none: NDArray[np.int64]
    prior: NDArray[np.int64]
    possible: NDArray[np.bool_]
    certain: int
    scale: float


@helper(inline="always")
def _add_up(
    runs: Ragged, n: int, known: Lists, weights: LogWeights, score: Array, seen: Array, touched: Array
) -> int:
    """Score the classes that were heard, list them in `touched`, and return how many are possible."""
    count = 0
    for p in range(runs.indptr[n], runs.indptr[n + 1]):
        i, label = runs.expert[p], runs.label[p]
        other = weights.none[i] if label < 0 else weights.miss[i]
        for q in range(known.start[i], known.start[i + 1]):
            k = known.members[q]
            if weights.possible[k]:
                if not seen[k]:
                    seen[k] = True
                    score[k] = weights.prior[k]
                    touched[count] = k
                    count += 1
                score[k] += weights.hit[i] if k == label else other
    for c in range(count):
        seen[touched[c]] = False
    return count


@helper(inline="always")
def _posterior(score: Array, touched: Array, count: int, best: int, weights: LogWeights) -> float:
    """Return the posterior probability of a class; a class that was not heard keeps its prior.

    A gap beyond half of `certain` is an infinite one.
    """
    prior, certain, scale = weights.prior, weights.certain, weights.scale
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
def most_likely(runs: Ragged, known: Lists, weights: LogWeights, found: Best) -> Array:
    """Find the most likely class of every row; return the classes of all tied rows.

    Each addend is rounded to a whole number, hence the slack when comparing sums.
    """
    classes, certain = len(weights.prior), weights.certain
    score, seen = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    touched = np.empty(classes, np.int64)
    ties, at = np.empty(16, np.int64), 0
    for n in range(len(found.chosen)):
        count = _add_up(runs, n, known, weights, score, seen, touched)
        if count == 0:
            continue
        slack = runs.indptr[n + 1] - runs.indptr[n] + 1
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
        found.chosen[n], found.shared[n] = best, sharing
        found.confidence[n] = _posterior(score, touched, count, best, weights)
        if second >= 0:
            gap = score[best] - score[second]
            for c in range(count):
                close += touched[c] != best and score[touched[c]] >= score[second] - slack
            found.margin[n] = 0 if sharing > 1 else (np.inf if 2 * gap > certain else gap / weights.scale)
            found.runner_up[n] = second if close == 1 else -1
        if sharing > 1:
            ties, begin = grown(ties, at + sharing), at
            for c in range(count):
                if score[touched[c]] >= score[best] - slack:
                    at = insert(ties, begin, at, touched[c])
    return ties[:at].copy()
