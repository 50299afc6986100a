"""Probabilities of several experts into one, where each expert speaks of the classes that it knows.

An expert's probability p_i(k) holds if the class is among those it knows, Y_i: p_i(k) = q_k / q(Y_i). The q
that fits all experts best solves q_k = sum p_i(k) / sum 1 / q(Y_i), both over the experts i that know k.
Where every expert knows two classes, this is pairwise coupling: T. Hastie and R. Tibshirani (1998),
"Classification by pairwise coupling"; T.-F. Wu, C.-J. Lin and R. C. Weng (2004), "Probability estimates for
multi-class classification by pairwise coupling". theory.md section 9 has the general case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.linear import Best
from covote.errors import InputError
from covote.labels import Ties
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.arrays import frozen

Array = NDArray[Any]

POWER = 0.3
"""Probabilities are raised to this power first: real experts are too sure (benchmarks/accuracy.py)."""

FLOOR = 1e-3
"""Added to probabilities before their logarithm: what is less likely than that is all the same."""

ROUNDS = 60
PART = 1 << 15

ONE = 1 << 30
"""A probability of 1 in scores: scores are whole numbers, so their order never depends on rounding."""

MEAN, COUPLED = 0, 1
"""What to score by: the mean probability of the authorities, or the coupled q."""


class Given(NamedTuple):
    """What experts gave: a probability per vote, or one per class that the expert knows.

    Those of vote p are ``per_class[class_start[p]:class_start[p + 1]]``; the arrays not in use are empty.
    """

    per_vote: Array
    per_class: Array
    class_start: Array


class Fused(NamedTuple):
    """The best class of every item, which items are tied, and between which classes."""

    best: Best
    tied: NDArray[np.bool_]
    ties: Ties


def fused(piece: Votes, by: int, power: float, table: Array | None = None) -> Fused:
    """Score the classes of a piece of the votes by the probabilities that their authorities gave.

    Parameters
    ----------
    piece
        Ragged votes with probabilities; see :func:`pieces`.
    by
        ``MEAN``: the mean probability of the authorities. ``COUPLED``: q.
    power
        To which power probabilities are raised first; 1 takes them as they are.
    table
        Gets the scores (items x classes), if given.
    """
    classes = len(piece.panel.classes)
    best, sizes = Best.empty(len(piece)), np.zeros(len(piece), np.int64)
    found = _fuse(
        piece.ragged, given(piece), piece.panel.layout.known, by, float(power),
        np.empty((0, classes)) if table is None else table, best, sizes,
    )  # fmt: skip
    tied = sizes > 1
    return Fused(best, tied, Ties(np.concatenate([[0], np.cumsum(sizes[tied])]), found))


def coupled(votes: Votes, power: float = POWER) -> NDArray[np.float64]:
    """Return the q (items x classes) that fit what the experts gave; 0 for a class that was not heard.

    >>> from covote import Panel
    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> votes = Votes.from_dense([[0, 1, 0]], panel, probabilities=[[0.9, 0.5, 0.9]])
    >>> coupled(votes, power=1).round(2).tolist()
    [[0.82, 0.09, 0.09]]
    """
    table = np.zeros((len(votes), len(votes.panel.classes)))
    for piece, span in pieces(votes):
        fused(piece, COUPLED, power, table=table[span])
    return table


def log_given(votes: Votes) -> NDArray[np.float32]:
    """Return the logarithms of what the experts gave to the classes they know, expert by expert.

    Those of one answer have the mean 0, and all are 0 of an expert that was not asked.

    >>> from covote import Panel
    >>> votes = Votes.from_dense([[1, -1]], Panel(2, [[1, 1], [1, 1]]), probabilities=[[0.9, 0.5]])
    >>> log_given(votes).astype(int).tolist()
    [[-1, 1, 0, 0]]
    """
    known = votes.panel.layout.known
    table = np.zeros((len(votes), len(known.members)), dtype=np.float32)
    for piece, span in pieces(votes):
        _log_given(piece.ragged, given(piece), known, table[span])
    return table


def pieces(votes: Votes) -> Iterator[tuple[Votes, slice]]:
    """Yield (ragged votes with probabilities, which items they are)."""
    if not votes.soft:
        raise InputError(
            "these votes carry no probabilities; give them in a column 'probability' or 'probabilities' "
            "(Votes.from_dense: probabilities=...), or choose a method for plain votes, such as 'authority'"
        )
    for first in range(0, max(len(votes), 1), PART):
        span = slice(first, min(first + PART, len(votes)))
        yield votes.part(span.start, span.stop).to_ragged(), span


def given(piece: Votes) -> Given:
    """Return what the experts gave in ragged votes, as it counts from 0."""
    assert piece.runs is not None
    begin, end = int(piece.runs.indptr[0]), int(piece.runs.indptr[-1])
    none = frozen(np.empty(0, dtype=np.float32))
    if piece.class_probability is not None and piece.class_start is not None:
        return Given(none, piece.class_probability, piece.class_start[begin : end + 1])
    assert piece.vote_probability is not None
    return Given(piece.vote_probability[begin:end], none, frozen(np.empty(0, dtype=np.int64)))


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
def _couple(bounds: Array, member: Array, given: Array, q: Array, room: Array) -> None:
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
    for _ in range(ROUNDS):
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


@helper(inline="always")
def _decide(listed: Array, score: Array) -> tuple[int, int, int, Any, Any]:
    """Find the best of some classes by whole scores.

    Returns the class, how many share its score, the next class (-1 if there are several), and the two best
    scores, which are equal in a tie. It takes no :class:`Best`: numba would count references to its arrays.
    """
    best, runner_up, shared, several = -1, -1, 0, False
    top, second = np.int64(0), np.int64(0)
    for c in range(len(listed)):
        k = listed[c]
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
    return best, shared, -1 if several else runner_up, top, top if shared > 1 else second


@helper
def _list_equal(listed: Array, score: Array, top: int, ties: Array, at: int) -> tuple[Array, int]:
    """Write the listed classes with the best score into `ties` from `at` on; return it and the new end."""
    ties, begin = _grown(ties, at + len(listed)), at
    for c in range(len(listed)):
        if score[listed[c]] == top:
            at = _insert(ties, begin, at, listed[c])
    return ties, at


@helper
def _grown(array: Array, size: int) -> Array:
    """Return the array, or a longer one with the same beginning, if it has room for fewer than `size`."""
    if size <= len(array):
        return array
    longer = np.empty(2 * size, array.dtype)
    for n in range(len(array)):  # numba takes seconds to compile the assignment of a slice
        longer[n] = array[n]
    return longer


@helper(inline="always")
def _insert(listed: Array, begin: int, end: int, k: int) -> int:
    """Insert k into listed[begin:end], which is ascending and short; return the new end."""
    place = end
    while place > begin and listed[place - 1] > k:
        listed[place] = listed[place - 1]
        place -= 1
    listed[place] = k
    return end + 1


def _steps(runs: Ragged, given: Given, known: Lists, by: int, *_: Any) -> int:
    """Estimate the steps of `_fuse`: the mean needs one pass over the probabilities, coupling many."""
    passes = ROUNDS if by == COUPLED else 1
    return int(passes * (len(given.per_class) + 2 * len(given.per_vote)))


@kernel(steps=_steps)
def _fuse(
    runs: Ragged, given: Given, known: Lists, by: int, power: float, table: Array,
    found: Best, tie_sizes: Array,
) -> Array:  # fmt: skip
    """Score the heard classes of every item; return the classes of all tied items.

    `table` (items x classes) gets the scores, if it has rows. `tie_sizes` gets how many classes share the
    best score.
    """
    classes = table.shape[1]
    place = np.full(classes, -1, np.int64)
    heard = np.empty(classes, np.int64)
    whole_q, room = np.empty(classes), np.empty((3, classes))
    asked = np.empty(classes, np.int64)
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
                    asked[count], mean[count] = 0, 0
                    count += 1
                asked[place[k]] += 1
                mean[place[k]] += np.int64(np.rint(out[c] * ONE))
                member[at + c] = place[k]
            if by == COUPLED:
                tempered(out, len(members), power)
            at += len(members)
            bounds[p - first + 1] = at
        q = whole_q[:count]
        if by == COUPLED:
            _couple(bounds, member, given_all, q, room)
        for c in range(count):
            if by == MEAN:
                score[heard[c]] = np.int64(np.rint(mean[c] / asked[c]))
            else:
                score[heard[c]] = np.int64(np.rint(q[c] * ONE))
        begin = end
        found.chosen[n], found.shared[n], found.runner_up[n], top, second = _decide(heard[:count], score)
        if count > 1:
            found.margin[n] = (top - second) / ONE
        if found.chosen[n] >= 0:
            c = place[found.chosen[n]]
            found.confidence[n] = _sharpened(q, c, power) if by == COUPLED else mean[c] / asked[c] / ONE
        if found.shared[n] > 1:
            ties, end = _list_equal(heard[:count], score, top, ties, end)
        tie_sizes[n] = end - begin
        if len(table):
            for c in range(count):
                table[n, heard[c]] = score[heard[c]] / ONE
        for c in range(count):
            place[heard[c]] = -1
    return ties[:end].copy()


@kernel
def _log_given(runs: Ragged, given: Given, known: Lists, out: Array) -> None:
    """Write log(p + FLOOR) of what was given, each answer's less their mean; nothing if not asked."""
    for n in range(len(runs.indptr) - 1):
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            low, high = known.start[runs.expert[p]], known.start[runs.expert[p] + 1]
            mine = np.empty(high - low)
            gave(given, p, runs.label[p], known.members[low:high], mine)
            mean = 0.0
            for c in range(high - low):
                mine[c] = math.log(mine[c] + FLOOR)
                mean += mine[c] / (high - low)
            for c in range(high - low):
                out[n, low + c] = mine[c] - mean


@helper(inline="always")
def _sharpened(q: Array, best: int, power: float) -> float:
    """Return the coupled probability of a class as if probabilities had not been tempered."""
    total = 0.0
    for c in range(len(q)):
        total += (q[c] / q[best]) ** (1 / power)
    return 1 / total
