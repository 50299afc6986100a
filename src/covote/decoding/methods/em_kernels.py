"""Loops for one accuracy per expert: only classes that were heard are touched."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.scoring import Best
from covote.decoding.shares_kernels import Counters, counters, forget, grown, hear, insert
from covote.panel.layout import Lists
from covote.votes import Ragged

Array = NDArray[Any]

MODEL, SHARES, AUTHORITY = 0, 1, 2
"""How to share an item out among the classes: by the model, by vote shares N_k / d_k, by the best of them."""


class Coins(NamedTuple):
    """What a right and a wrong answer and "none of mine" weigh inside expertise, per expert, in `scale`s."""

    right: Array
    wrong: Array
    none: Array
    scale: float


@helper(inline="always")
def _add_up(runs: Ragged, n: int, known: Lists, coins: Coins, heard: Array, score: Array) -> None:
    """Add up the weights of all answers for every heard class."""
    for c in range(len(heard)):
        score[heard[c]] = 0
    for p in range(runs.indptr[n], runs.indptr[n + 1]):
        i = runs.expert[p]
        other = coins.wrong[i] if runs.label[p] >= 0 else coins.none[i]
        for x in range(known.start[i], known.start[i + 1]):
            score[known.members[x]] += other
        if runs.label[p] >= 0:
            score[runs.label[p]] += coins.right[i] - coins.wrong[i]


@helper(inline="always")
def _shared_out(
    how: int, heard: Array, counts: Counters, score: Array, scale: float, one: int, q: Array
) -> None:
    """Give every heard class its part of the item, as a whole number out of `one`."""
    total = 0.0
    count = len(heard)
    if how == MODEL:
        top = score[heard[0]]
        for c in range(1, count):
            top = max(top, score[heard[c]])
        for c in range(count):
            q[c] = math.exp((score[heard[c]] - top) * scale)
            total += q[c]
    else:
        for c in range(count):
            q[c] = counts.votes[heard[c]] / counts.asked[heard[c]]
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


@helper(inline="always")
def _note(found: Array, i: int, none: bool, inside: int, outside: int) -> None:
    """Count an answer: how much of the item is of classes that the expert knows, and how much of others."""
    found[2 if none and len(found) > 2 else 1, i] += inside
    if len(found) > 2:
        found[3 if none else 4, i] += outside


@kernel
def coin_counts(
    runs: Ragged, times: Array, known: Lists, how: int, coins: Coins, one: int, share: Array, found: Array
) -> None:
    """Count right answers and all answers inside expertise: the two rows of `found`.

    With three more rows, "none of mine" is no such answer: they count it inside and outside expertise, and
    other answers outside.
    """
    classes = len(share)
    counts, score = counters(classes), np.zeros(classes, np.int64)
    q, part = np.empty(classes), np.zeros(classes, np.int64)
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        number = hear(runs, n, known, counts)
        heard = counts.heard[:number]
        if how == MODEL:
            _add_up(runs, n, known, coins, heard, score)
        _shared_out(how, heard, counts, score, coins.scale, one, q)
        whole = np.int64(0)
        for c in range(number):
            part[heard[c]] = np.int64(q[c]) * times[n]
            share[heard[c]] += part[heard[c]]
            whole += part[heard[c]]
        for p in range(begin, end):
            i = runs.expert[p]
            inside = np.int64(0)
            if known.start[i + 1] - known.start[i] == number:
                inside = whole  # it knows every class that was heard
            else:
                for x in range(known.start[i], known.start[i + 1]):
                    inside += part[known.members[x]]
            _note(found, i, runs.label[p] < 0, inside, whole - inside)
            if runs.label[p] >= 0:
                found[0, i] += part[runs.label[p]]
        forget(counts, number)


@kernel
def complete_counts(
    runs: Ragged, times: Array, known: Lists, coins: Coins, ratio: Array, one: int, share: Array, found: Array
) -> None:
    """Do the same where everybody answered every item, and no product of `ratio`, right to wrong, overflows.

    A class without votes then has the same chance in all rows, up to a factor: `silent`. Every vote for it
    multiplies that by the ratio of its expert. And all answers of an expert inside its expertise are all
    items of the classes it knows.
    """
    classes = len(share)
    base, is_heard = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    for i in range(len(ratio)):
        for x in range(known.start[i], known.start[i + 1]):
            base[known.members[x]] += coins.wrong[i]
            is_heard[known.members[x]] = True
    ground = base[known.members[0]]
    for k in range(classes):
        ground = max(ground, base[k]) if is_heard[k] else ground
    silent, everything, most = np.zeros(classes), 0.0, 0.0
    for k in range(classes):
        if is_heard[k]:
            silent[k] = math.exp((base[k] - ground) * coins.scale)
        everything += silent[k]
        most = max(most, silent[k])
    voted, part = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    q = silent.copy()
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0:
            continue
        count = 0
        for p in range(begin, end):
            k = runs.label[p]
            if k >= 0:
                if q[k] >= 0:  # its first vote: the sign marks it
                    voted[count] = k
                    count += 1
                    q[k] = -q[k]
                q[k] *= ratio[runs.expert[p]]
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
            if runs.label[p] >= 0:
                found[0, runs.expert[p]] += np.int64(q[runs.label[p]] * norm + 0.5) * times[n]
        for c in range(count):
            q[voted[c]] = silent[voted[c]]
    for k in range(classes):
        share[k] += part[k]
    for i in range(len(ratio)):
        for x in range(known.start[i], known.start[i + 1]):
            found[1, i] += part[known.members[x]]


@kernel
def known_counts(runs: Ragged, truth: Array, knows: Array, one: int, share: Array, found: Array) -> None:
    """Count the answers to items whose class is known."""
    for n in range(len(truth)):
        share[truth[n]] += one
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            inside = one if knows[runs.expert[p], truth[n]] else 0
            _note(found, runs.expert[p], runs.label[p] < 0, inside, one - inside)
            if inside and runs.label[p] == truth[n]:
                found[0, runs.expert[p]] += one


@kernel
def coin_best(runs: Ragged, known: Lists, classes: int, coins: Coins, found: Best) -> Array:
    """Find the best class of every answer row, how probable it is, and the next.

    Returns the classes of all tied rows.
    """
    counts, score = counters(classes), np.zeros(classes, np.int64)
    ties, at = np.empty(16, np.int64), 0
    for n in range(len(found.chosen)):
        number = hear(runs, n, known, counts)
        heard = counts.heard[:number]
        _add_up(runs, n, known, coins, heard, score)
        best, runner_up, shared, several = -1, -1, 0, False
        top, second = np.int64(0), np.int64(0)
        for c in range(number):
            k = heard[c]
            s = score[k]
            if best < 0 or s > top:
                several = shared > 1
                second, runner_up = top, best
                top, best, shared = s, k, 1
            elif s == top:
                shared += 1
                second = s
            elif runner_up < 0 or s > second:
                second, runner_up, several = s, k, False
            elif s == second:
                several = True
        found.chosen[n], found.shared[n] = best, shared
        found.runner_up[n] = -1 if several else runner_up
        if number > 1:
            found.margin[n] = (top - (top if shared > 1 else second)) * coins.scale
        total = 0.0
        for c in range(number):
            total += math.exp((score[heard[c]] - top) * coins.scale)
        found.confidence[n] = 1 / total if number else 0.0
        if shared > 1:
            ties, begin = grown(ties, at + shared), at
            for c in range(number):
                if score[heard[c]] == top:
                    at = insert(ties, begin, at, heard[c])
        forget(counts, number)
    return ties[:at].copy()
