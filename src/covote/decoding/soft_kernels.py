"""Compiled loops for experts that give probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Array = NDArray[Any]

ONE = 1 << 30
"""A probability of 1 in scores: scores are whole numbers, so their order never depends on rounding."""

ALIKE = ONE >> 20
"""Mean probabilities that differ by a millionth at most are the same: single precision says no more."""

MEAN, COUPLED, BOTH = 0, 1, 2
"""What to score by: the mean probability of the authorities, the coupled q, or N_k / d_k + 0.3 q_k."""


@helper(inline="always")
def _given(
    vote: Array,
    per_class: Array,
    class_start: Array,
    p: int,
    size: int,
    label: int,
    members: Array,
    out: Array,
) -> None:
    """Write what one expert gave to the classes it knows; they sum to 1, or to less with "none of mine"."""
    if len(per_class):
        total = 0.0
        for c in range(size):
            out[c] = per_class[class_start[p] + c]
            total += out[c]
        if total > 1 or (label >= 0 and total > 0):
            for c in range(size):
                out[c] /= total
    elif label < 0:
        for c in range(size):
            out[c] = (1 - vote[p]) / size
    else:
        for c in range(size):
            if members[c] == label:
                out[c] = vote[p] if size > 1 else 1.0
            else:
                out[c] = (1 - vote[p]) / (size - 1)


@helper(inline="always")
def _tempered(out: Array, size: int, power: float) -> None:
    """Raise probabilities to a power and keep their sum: experts are surer than they should be."""
    before, after = 0.0, 0.0
    for c in range(size):
        before += out[c]
        out[c] = out[c] ** power if out[c] > 0 else 0.0
        after += out[c]
    if after > 0:
        for c in range(size):
            out[c] *= before / after


@helper(inline="always")
def _couple(
    begin: int, end: int, bounds: Array, member: Array, given: Array, count: int, rounds: int,
    total: Array, q: Array, need: Array, before: Array,
) -> None:  # fmt: skip
    """Solve q_k <- sum_i p_i(k) / sum_i 1 / q(Y_i) over the experts i that know k (theory.md section 9)."""
    for c in range(count):
        total[c] = 0.0
        q[c] = 1.0 / count
        before[c] = q[c]
    for p in range(end - begin):
        for x in range(bounds[p], bounds[p + 1]):
            total[member[x]] += given[x]
    for _ in range(rounds):
        for c in range(count):
            need[c] = 0.0
        for p in range(end - begin):
            inside = 0.0
            for x in range(bounds[p], bounds[p + 1]):
                inside += q[member[x]]
            share = 1.0 / max(inside, 1e-12)
            for x in range(bounds[p], bounds[p + 1]):
                need[member[x]] += share
        norm = 0.0
        for c in range(count):
            q[c] = total[c] / need[c]
            norm += q[c]
        if norm <= 0:
            for c in range(count):
                q[c] = 1.0 / count
            return
        moved = 0.0
        for c in range(count):
            q[c] /= norm
            moved = max(moved, abs(q[c] - before[c]))
            before[c] = q[c]
        if moved < 1e-11:  # far below the unit of scores
            return


@kernel
def soft_best(
    indptr: Array, expert: Array, label: Array, vote: Array, per_class: Array, class_start: Array,
    start: Array, known: Array, classes: int, by: int, power: float, weight: float, rounds: int,
    ties: float, silent: float, tie_first: Array, tie_class: Array, tie_lag: Array, table: Array,
    best: Array, shared: Array, confidence: Array, margin: Array, runner_up: Array, tied: Array,
) -> None:  # fmt: skip
    """Score the heard classes of every item.

    `table` (items x classes, or empty) gets the scores. `tied` says whether the bare authority vote ties.
    ``tie_class[tie_first[n]:tie_first[n + 1]]`` are the classes with the best authority score of item n (or
    all three are empty), `tie_lag` is how far the tie score of each is behind the best of them. It counts
    `ties` times, or `silent` times where their authorities are on average equally sure of the best two.
    """
    place = np.full(classes, -1, np.int64)
    touched = np.empty(classes, np.int64)
    total, q = np.empty(classes), np.empty(classes)
    need, before = np.empty(classes), np.empty(classes)
    hits, asked = np.empty(classes, np.int64), np.empty(classes, np.int64)
    mean, score = np.empty(classes, np.int64), np.empty(classes, np.int64)
    widest = 0
    for n in range(len(best)):
        width = 0
        for p in range(indptr[n], indptr[n + 1]):
            width += start[expert[p] + 1] - start[expert[p]]
        widest = max(widest, width)
    member, given = np.empty(widest, np.int64), np.empty(widest)
    for n in range(len(best)):
        begin, end = indptr[n], indptr[n + 1]
        bounds = np.zeros(end - begin + 1, np.int64)
        count, at = 0, 0
        for p in range(begin, end):
            low, high = start[expert[p]], start[expert[p] + 1]
            size = high - low
            out = given[at : at + size]
            _given(vote, per_class, class_start, p, size, label[p], known[low:high], out)
            for c in range(size):
                k = known[low + c]
                if place[k] < 0:
                    place[k] = count
                    touched[count] = k
                    hits[count], asked[count], mean[count] = 0, 0, 0
                    count += 1
                asked[place[k]] += 1
                mean[place[k]] += np.int64(np.rint(out[c] * ONE))
                member[at + c] = place[k]
            if label[p] >= 0:
                hits[place[label[p]]] += 1
            if by != MEAN:
                _tempered(out, size, power)
            at += size
            bounds[p - begin + 1] = at
        if by != MEAN:
            _couple(begin, end, bounds, member, given, count, rounds, total, q, need, before)
        if by == BOTH and len(tie_first):
            among, lag = tie_class[tie_first[n] : tie_first[n + 1]], tie_lag[tie_first[n] : tie_first[n + 1]]
            _reshared(among, lag, silent if _alike(among, place, mean, asked) else ties, place, q)
        for c in range(count):
            if by == MEAN:
                score[c] = np.int64(np.rint(mean[c] / asked[c]))
            elif by == COUPLED:
                score[c] = np.int64(np.rint(q[c] * ONE))
            else:
                score[c] = np.int64(np.rint(weight * q[c] * ONE)) + np.int64(
                    np.rint(hits[c] / asked[c] * ONE)
                )
        _decide(n, count, touched, score, best, shared, margin, runner_up)
        tied[n] = _authority_ties(count, hits, asked)
        confidence[n] = 0.0
        if best[n] >= 0:
            c = place[best[n]]
            confidence[n] = _sharpened(q, c, count, power) if by == COUPLED else mean[c] / asked[c] / ONE
        if len(table):
            for c in range(count):
                table[n, touched[c]] = score[c] / ONE
        for c in range(count):
            place[touched[c]] = -1


@kernel
def log_given(
    indptr: Array, expert: Array, label: Array, vote: Array, per_class: Array, class_start: Array,
    start: Array, known: Array, floor: float, out: Array,
) -> None:  # fmt: skip
    """Write log(p + floor) of what was given, each answer's less their mean; nothing if not asked."""
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            low, high = start[expert[p]], start[expert[p] + 1]
            given = np.empty(high - low)
            _given(vote, per_class, class_start, p, high - low, label[p], known[low:high], given)
            mean = 0.0
            for c in range(high - low):
                given[c] = np.log(given[c] + floor)
                mean += given[c] / (high - low)
            for c in range(high - low):
                out[n, low + c] = given[c] - mean


@helper(inline="always")
def _alike(among: Array, place: Array, mean: Array, asked: Array) -> bool:
    """Whether the authorities of the best two of some classes gave them the same probability on average."""
    first, second = -1.0, -1.0
    for b in range(len(among)):
        c = place[among[b]]
        given = mean[c] / asked[c]
        first, second = max(first, given), max(second, min(first, given))
    return first - second <= ALIKE


@helper(inline="always")
def _reshared(among: Array, lag: Array, strength: float, place: Array, q: Array) -> None:
    """Share out anew what some classes have of q together."""
    before, after = 0.0, 0.0
    for b in range(len(among)):
        c = place[among[b]]
        before += q[c]
        q[c] *= np.exp(-strength * lag[b])
        after += q[c]
    if after > 0:
        for b in range(len(among)):
            q[place[among[b]]] *= before / after


@helper(inline="always")
def _sharpened(q: Array, best: int, count: int, power: float) -> float:
    """Return the coupled probability of a class as if probabilities had not been tempered."""
    total = 0.0
    for c in range(count):
        total += (q[c] / q[best]) ** (1 / power)
    return 1 / total


@helper(inline="always")
def _decide(
    n: int, count: int, touched: Array, score: Array, best: Array, shared: Array, margin: Array,
    runner_up: Array,
) -> None:  # fmt: skip
    """Find the best class of item n, how many share its score, and the next."""
    first, second, many, several = np.int64(-1), np.int64(-1), 0, False
    best[n], runner_up[n] = -1, -1
    for c in range(count):
        s = score[c]
        if s > first:
            second, runner_up[n], several = first, best[n], many > 1
            first, best[n], many = s, touched[c], 1
        elif s == first:
            many += 1
            second = s
        elif s > second:
            second, runner_up[n], several = s, touched[c], False
        elif s == second:
            several = True
    if several:
        runner_up[n] = -1
    shared[n] = many
    margin[n] = (first - second) / ONE if second >= 0 else np.nan


@helper(inline="always")
def _authority_ties(count: int, hits: Array, asked: Array) -> bool:
    """Whether several classes share the best N_k / d_k."""
    top_n, top_d, many = np.int64(-1), np.int64(1), 0
    for c in range(count):
        left, right = hits[c] * top_d, top_n * asked[c]
        if left > right:
            top_n, top_d, many = hits[c], asked[c], 1
        elif left == right:
            many += 1
    return many > 1
