"""Loops that make one probability of what several experts gave."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.scoring import Best
from covote.decoding.shares_kernels import grown, insert
from covote.labels import Ties
from covote.panel.layout import Lists
from covote.votes import Ragged

Array = NDArray[Any]

ONE = 1 << 30
"""A probability of 1 in scores: scores are whole numbers, so their order never depends on rounding."""

ALIKE = ONE >> 20
"""Mean probabilities that differ by a millionth at most are the same: single precision says no more."""

MEAN, COUPLED, BOTH, OWN = 0, 1, 2, 3
"""What to score by: the mean probability of the authorities, the coupled q, or N_k / d_k + 0.3 q_k, where q
is the coupled one, or what each expert's own curve makes of its probabilities."""


class Given(NamedTuple):
    """What experts gave: a probability per vote, or one per class that the expert knows.

    Those of vote p are ``per_class[class_start[p]:class_start[p + 1]]``; the arrays not in use are empty.
    """

    per_vote: Array
    per_class: Array
    class_start: Array


class Rule(NamedTuple):
    """How classes are scored.

    Probabilities are raised to `power` first. Beside N_k / d_k, q counts `weight` times. Where classes tie in
    N_k / d_k, their tie score counts `ties` times, or `silent` times where the probabilities themselves tie.
    """

    by: int
    power: float
    rounds: int
    weight: float
    ties: float
    silent: float


class Rivals(NamedTuple):
    """Classes with the best N_k / d_k of every item, and a number for each.

    For ``BOTH``: those that share the best one, and how far the tie score of each is behind. For ``OWN``: the
    best few, and how likely each is.
    """

    ties: Ties
    number: Array


@helper(inline="always")
def gave(given: Given, p: int, label: int, members: Array, out: Array) -> None:
    """Write what one expert gave to the classes it knows; they sum to 1, or to less with "none of mine"."""
    size, total = len(members), 0.0
    if len(given.per_class):
        for c in range(size):
            out[c] = given.per_class[given.class_start[p] + c]
            total += out[c]
        if total > 1 or (label >= 0 and total > 0):
            for c in range(size):
                out[c] /= total
        return
    sure = float(given.per_vote[p])
    for c in range(size):
        if label < 0:
            out[c] = (1 - sure) / size
        elif members[c] == label:
            out[c] = sure if size > 1 else 1.0
        else:
            out[c] = (1 - sure) / (size - 1)


@helper(inline="always")
def tempered(out: Array, size: int, power: float) -> None:
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
def _couple(bounds: Array, member: Array, given: Array, rounds: int, q: Array, room: Array) -> None:
    """Solve q_k <- sum_i p_i(k) / sum_i 1 / q(Y_i) over the experts i that know k.

    Expert i gave ``given[bounds[i]:bounds[i + 1]]`` to the classes ``member[...]`` of q. `room` is for three
    rows as long as q.
    """
    total, need, before = room[0], room[1], room[2]
    count = len(q)
    for c in range(count):
        total[c] = 0.0
        q[c] = 1.0 / count
        before[c] = q[c]
    for x in range(bounds[len(bounds) - 1]):
        total[member[x]] += given[x]
    for _ in range(rounds):
        for c in range(count):
            need[c] = 0.0
        for p in range(len(bounds) - 1):
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


def _steps(runs: Ragged, given: Given, known: Lists, rule: Rule, *_: Any) -> int:
    """Estimate the steps of `fuse`: the mean needs one pass over the probabilities, coupling many."""
    passes = rule.rounds if rule.by in (COUPLED, BOTH) else 1
    return int(passes * (len(given.per_class) + 2 * len(given.per_vote)))


@kernel(steps=_steps)
def fuse(
    runs: Ragged, given: Given, known: Lists, rule: Rule, rivals: Rivals, table: Array, found: Best,
    tie_sizes: Array,
) -> Array:  # fmt: skip
    """Score the heard classes of every item; return the classes of all tied items.

    `table` (items x classes) gets the scores, if it has rows. `tie_sizes` gets how many classes share the
    best score; where one has it alone and the rule is BOTH or OWN, how many share the best N_k / d_k.
    """
    classes = table.shape[1]
    place = np.full(classes, -1, np.int64)
    heard = np.empty(classes, np.int64)
    whole_q, room = np.empty(classes), np.empty((3, classes))
    votes, asked = np.empty(classes, np.int64), np.empty(classes, np.int64)
    mean, score = np.empty(classes, np.int64), np.empty(classes, np.int64)
    widest = 0
    for n in range(len(tie_sizes)):
        width = 0
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            width += known.start[runs.expert[p] + 1] - known.start[runs.expert[p]]
        widest = max(widest, width)
    member, given_all = np.empty(widest, np.int64), np.empty(widest)
    ties, end = np.empty(16, np.int64), 0
    for n in range(len(tie_sizes)):
        first, last = runs.indptr[n], runs.indptr[n + 1]
        bounds = np.zeros(last - first + 1, np.int64)
        count, at = 0, 0
        for p in range(first, last):
            members = known.members[known.start[runs.expert[p]] : known.start[runs.expert[p] + 1]]
            label = runs.label[p]
            out = given_all[at : at + len(members)]
            gave(given, p, label, members, out)
            for c in range(len(members)):
                k = members[c]
                if place[k] < 0:
                    place[k] = count
                    heard[count] = k
                    votes[count], asked[count], mean[count] = 0, 0, 0
                    count += 1
                asked[place[k]] += 1
                mean[place[k]] += np.int64(np.rint(out[c] * ONE))
                member[at + c] = place[k]
            if label >= 0:
                votes[place[label]] += 1
            if rule.by == COUPLED or rule.by == BOTH:
                tempered(out, len(members), rule.power)
            at += len(members)
            bounds[p - first + 1] = at
        q = whole_q[:count]
        if rule.by == COUPLED or rule.by == BOTH:
            _couple(bounds, member, given_all, rule.rounds, q, room)
        if rule.by >= BOTH and len(rivals.number):
            span = slice(rivals.ties.start[n], rivals.ties.start[n + 1])
            among, number = rivals.ties.classes[span], rivals.number[span]
            if rule.by == OWN:
                q[:] = 0.0
                for b in range(len(among)):
                    q[place[among[b]]] = number[b]
            else:
                strength = rule.silent if _alike(among, place, mean, asked) else rule.ties
                _reshared(among, number, strength, place, q)
        for c in range(count):
            if rule.by == MEAN:
                score[c] = np.int64(np.rint(mean[c] / asked[c]))
            elif rule.by == COUPLED:
                score[c] = np.int64(np.rint(q[c] * ONE))
            else:
                share = np.int64(np.rint(votes[c] / asked[c] * ONE))
                score[c] = np.int64(np.rint(rule.weight * q[c] * ONE)) + share
        top = _decide(n, count, heard, score, found)
        if found.chosen[n] >= 0:
            c = place[found.chosen[n]]
            found.confidence[n] = (
                _sharpened(q, c, rule.power) if rule.by == COUPLED else mean[c] / asked[c] / ONE
            )
        begin, ties = end, grown(ties, end + count)
        for c in range(count if found.shared[n] > 1 else 0):
            if score[c] == top:
                end = insert(ties, begin, end, heard[c])
        if rule.by >= BOTH and found.shared[n] == 1:
            end = _list_authorities(count, heard, votes, asked, ties, end)
        tie_sizes[n] = end - begin
        if len(table):
            for c in range(count):
                table[n, heard[c]] = score[c] / ONE
        for c in range(count):
            place[heard[c]] = -1
    return ties[:end].copy()


@kernel
def log_given(runs: Ragged, given: Given, known: Lists, floor: float, out: Array) -> None:
    """Write log(p + floor) of what was given, each answer's less their mean; nothing if not asked."""
    for n in range(len(runs.indptr) - 1):
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            low, high = known.start[runs.expert[p]], known.start[runs.expert[p] + 1]
            mine = np.empty(high - low)
            gave(given, p, runs.label[p], known.members[low:high], mine)
            mean = 0.0
            for c in range(high - low):
                mine[c] = math.log(mine[c] + floor)
                mean += mine[c] / (high - low)
            for c in range(high - low):
                out[n, low + c] = mine[c] - mean


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
        q[c] *= math.exp(-strength * lag[b])
        after += q[c]
    if after > 0:
        for b in range(len(among)):
            q[place[among[b]]] *= before / after


@helper(inline="always")
def _sharpened(q: Array, best: int, power: float) -> float:
    """Return the coupled probability of a class as if probabilities had not been tempered."""
    total = 0.0
    for c in range(len(q)):
        total += (q[c] / q[best]) ** (1 / power)
    return 1 / total


@helper(inline="always")
def _decide(n: int, count: int, heard: Array, score: Array, found: Best) -> Any:
    """Find the best class of item n, how many share its score, and the next; return the best score."""
    first, second, many, several = np.int64(-1), np.int64(-1), 0, False
    best, runner_up = -1, -1
    for c in range(count):
        s = score[c]
        if s > first:
            second, runner_up, several = first, best, many > 1
            first, best, many = s, heard[c], 1
        elif s == first:
            many += 1
            second = s
        elif s > second:
            second, runner_up, several = s, heard[c], False
        elif s == second:
            several = True
    found.chosen[n], found.shared[n] = best, many
    found.runner_up[n] = -1 if several else runner_up
    if second >= 0:
        found.margin[n] = (first - second) / ONE
    return first


@helper(inline="always")
def _list_authorities(count: int, heard: Array, votes: Array, asked: Array, ties: Array, at: int) -> int:
    """List the classes that share the best N_k / d_k in `ties` from `at` on, if several; return the end."""
    top_n, top_d, many, begin = np.int64(-1), np.int64(1), 0, at
    for c in range(count):
        left, right = votes[c] * top_d, top_n * asked[c]
        if left > right:
            top_n, top_d, many = votes[c], asked[c], 1
        elif left == right:
            many += 1
    for c in range(count if many > 1 else 0):
        if votes[c] * top_d == top_n * asked[c]:
            at = insert(ties, begin, at, heard[c])
    return at
