"""Compiled loops for one accuracy per expert: only classes that were heard are touched."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.evidence_kernels import forget, heard

Array = NDArray[Any]

MODEL, SHARES, AUTHORITY = 0, 1, 2
"""How to share an item out among the classes: by the model, by vote shares N_k / d_k, by the best of them."""


@helper(inline="always")
def _scores(
    expert: Array, label: Array, begin: int, end: int, start: Array, known: Array, right: Array,
    wrong: Array, touched: Array, count: int, score: Array,
) -> None:  # fmt: skip
    """Add up the weights of all answers for every heard class."""
    for c in range(count):
        score[touched[c]] = 0
    for p in range(begin, end):
        i = expert[p]
        for x in range(start[i], start[i + 1]):
            score[known[x]] += wrong[i]
        if label[p] >= 0:
            score[label[p]] += right[i] - wrong[i]


@helper(inline="always")
def _shared_out(
    how: int, touched: Array, count: int, hits: Array, asked: Array, score: Array, scale: float, one: int,
    q: Array,
) -> None:  # fmt: skip
    """Give every heard class its part of the item, as a whole number out of `one`."""
    total = 0.0
    if how == MODEL:
        top = score[touched[0]]
        for c in range(1, count):
            top = max(top, score[touched[c]])
        for c in range(count):
            q[c] = np.exp((score[touched[c]] - top) * scale)
            total += q[c]
    else:
        for c in range(count):
            q[c] = hits[touched[c]] / asked[touched[c]]
        if how == AUTHORITY:
            top = q[:count].max()
            for c in range(count):
                q[c] = 1.0 if q[c] == top else 0.0
        for c in range(count):
            total += q[c]
        if total == 0:  # only "none of mine": nothing is known
            for c in range(count):
                q[c] = 1.0
            total = count
    for c in range(count):
        q[c] = np.rint(q[c] / total * one)


@kernel
def coin_counts(
    indptr: Array, expert: Array, label: Array, times: Array, start: Array, known: Array, classes: int,
    how: int, right: Array, wrong: Array, scale: float, one: int, share: Array, coins: Array,
) -> None:  # fmt: skip
    """Count right answers and all answers inside expertise."""
    hits, asked = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    touched, score = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    q, part = np.empty(classes), np.zeros(classes, np.int64)
    for n in range(len(times)):
        begin, end = indptr[n], indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        count = heard(expert, label, begin, end, start, known, hits, asked, touched)
        if how == MODEL:
            _scores(expert, label, begin, end, start, known, right, wrong, touched, count, score)
        _shared_out(how, touched, count, hits, asked, score, scale, one, q)
        whole = np.int64(0)
        for c in range(count):
            part[touched[c]] = np.int64(q[c]) * times[n]
            share[touched[c]] += part[touched[c]]
            whole += part[touched[c]]
        for p in range(begin, end):
            i = expert[p]
            if start[i + 1] - start[i] == count:
                coins[1, i] += whole  # it knows every class that was heard
            else:
                for x in range(start[i], start[i + 1]):
                    coins[1, i] += part[known[x]]
            if label[p] >= 0:
                coins[0, i] += part[label[p]]
        forget(touched, count, hits, asked)


@kernel
def complete_counts(
    indptr: Array, expert: Array, label: Array, times: Array, start: Array, known: Array, classes: int,
    ratio: Array, wrong: Array, scale: float, one: int, share: Array, coins: Array,
) -> None:  # fmt: skip
    """Do the same where everybody answered every item, and no product of `ratio`, right to wrong, overflows.

    A class without votes then has the same chance in all rows, up to a factor: `silent`. Every vote for it
    multiplies that by the ratio of its expert. And all answers of an expert inside its expertise are all
    items of the classes it knows.
    """
    experts = len(start) - 1
    base, is_heard = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    for i in range(experts):
        for x in range(start[i], start[i + 1]):
            base[known[x]] += wrong[i]
            is_heard[known[x]] = True
    ground = base[known[0]]
    for k in range(classes):
        ground = max(ground, base[k]) if is_heard[k] else ground
    silent = np.where(is_heard, np.exp((base - ground) * scale), 0.0)
    everything, most = silent.sum(), silent.max()
    voted, part = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    q = silent.copy()
    for n in range(len(times)):
        begin, end = indptr[n], indptr[n + 1]
        if times[n] == 0:
            continue
        count = 0
        for p in range(begin, end):
            k = label[p]
            if k >= 0:
                if q[k] >= 0:  # its first vote: the sign marks it
                    voted[count] = k
                    count += 1
                    q[k] = -q[k]
                q[k] *= ratio[expert[p]]
        total = everything
        for c in range(count):
            k = voted[c]
            q[k] = -q[k]
            total += q[k] - silent[k]
        norm = one / total
        if most * norm >= 0.5:
            for k in range(classes):
                part[k] += np.int64(q[k] * norm + 0.5) * times[n]
        else:
            for c in range(count):
                part[voted[c]] += np.int64(q[voted[c]] * norm + 0.5) * times[n]
        for p in range(begin, end):
            if label[p] >= 0:
                coins[0, expert[p]] += np.int64(q[label[p]] * norm + 0.5) * times[n]
        for c in range(count):
            q[voted[c]] = silent[voted[c]]
    for k in range(classes):
        share[k] += part[k]
    for i in range(experts):
        for x in range(start[i], start[i + 1]):
            coins[1, i] += part[known[x]]


@kernel
def known_counts(
    indptr: Array, expert: Array, label: Array, truth: Array, knows: Array, one: int, share: Array,
    coins: Array,
) -> None:  # fmt: skip
    """Count the answers to items whose class is known."""
    for n in range(len(truth)):
        share[truth[n]] += one
        for p in range(indptr[n], indptr[n + 1]):
            if knows[expert[p], truth[n]]:
                coins[1, expert[p]] += one
                if label[p] == truth[n]:
                    coins[0, expert[p]] += one


@kernel
def coin_best(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int, right: Array,
    wrong: Array, scale: float, best: Array, shared: Array, confidence: Array, margin: Array,
    runner_up: Array,
) -> None:  # fmt: skip
    """Find the best class of every answer row, how probable it is, and the next."""
    hits, asked = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    touched, score = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    for n in range(len(best)):
        begin, end = indptr[n], indptr[n + 1]
        count = heard(expert, label, begin, end, start, known, hits, asked, touched)
        _scores(expert, label, begin, end, start, known, right, wrong, touched, count, score)
        several = False
        top, second = np.int64(0), np.int64(0)
        for c in range(count):
            k = touched[c]
            s = score[k]
            if best[n] < 0 or s > top:
                several = shared[n] > 1
                second, runner_up[n] = top, best[n]
                top, best[n], shared[n] = s, k, 1
            elif s == top:
                shared[n] += 1
                second = s
            elif runner_up[n] < 0 or s > second:
                second, runner_up[n], several = s, k, False
            elif s == second:
                several = True
        if count > 1:
            margin[n] = (top - (top if shared[n] > 1 else second)) * scale
        if several:
            runner_up[n] = -1
        total = 0.0
        for c in range(count):
            total += np.exp((score[touched[c]] - top) * scale)
        confidence[n] = 1 / total if count else 0.0
        forget(touched, count, hits, asked)


@kernel
def equal_best(
    indptr: Array, expert: Array, label: Array, start: Array, known: Array, classes: int, right: Array,
    wrong: Array, n: int,
) -> Array:  # fmt: skip
    """List the classes of one item that share the best score."""
    hits, asked = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    touched, score = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    begin, end = indptr[n], indptr[n + 1]
    count = heard(expert, label, begin, end, start, known, hits, asked, touched)
    _scores(expert, label, begin, end, start, known, right, wrong, touched, count, score)
    if count == 0:
        return touched[:0].copy()
    top = score[touched[:count]].max()
    return np.sort(np.array([k for k in touched[:count] if score[k] == top], np.int64))
