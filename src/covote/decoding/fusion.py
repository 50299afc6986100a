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
from covote.decoding.scoring import decide, list_equal
from covote.decoding.shares import grown, insert
from covote.errors import InputError
from covote.labels import NO_TIES, Ties
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.vote_checks import frozen

Array = NDArray[Any]

POWER = 0.3
"""Probabilities are raised to this power first: real experts are too sure (benchmarks/accuracy.py)."""

WEIGHT = 0.3
"""Weight of q beside the authority vote N_k / d_k.

Shares of authorities are at least 1 / d_k apart if all classes have d_k authorities, so a weight below 1 /
d_k (0.3 for up to three authorities) lets q decide ties, and near ties only if it is very sure. On digits
and soybean the weights 0.1, 0.3 and 1 gain +10.4, +10.4 and +10.6 points with 30% of the experts removed;
the worst of all panels is at -0.9, -0.9 and -1.2. On the half of the data sets that was not used to choose
it, the worst is at -0.1 with 0.3 and at -0.7 with 1 (docs/decoders.md).
"""

TIES, SILENT = 0.1, 0.3
"""Weight of the tie score H of plain votes beside log q, and where the probabilities themselves tie.

Both H and log q are sums of log-likelihood ratios over nearly the same answers; H adds only what experts
say about classes that they do not know, hence little weight. 0.03, 0.1 and 0.3 gain +10.0, +10.0 and +9.4
points on random panels of digits and soybean, and any weight from 0.06 to 0.15 does as well as 0.1 on other
data (docs/decoders.md). Where the probabilities tie as well they say no more than the votes, so H counts
more there; 0.3 was the weight everywhere before, and was not tried apart.
"""

FLOOR = 1e-3
"""Added to probabilities before their logarithm: what is less likely than that is all the same."""

ROUNDS = 60
PART = 1 << 15

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


class Rivals(NamedTuple):
    """Classes with the best N_k / d_k of every item, and a number for each.

    For ``BOTH``: those that share the best one, and how far the tie score of each is behind. For ``OWN``: the
    best few, and how likely each is.
    """

    ties: Ties
    number: Array


NO_RIVALS = Rivals(NO_TIES, np.empty(0))


class Fused(NamedTuple):
    """The best class of every item, which items are tied, and between which classes."""

    best: Best
    tied: NDArray[np.bool_]
    ties: Ties


def fused(
    piece: Votes, by: int, power: float, rivals: Rivals = NO_RIVALS, table: Array | None = None
) -> Fused:
    """Score the classes of a piece of the votes by the probabilities that their authorities gave.

    Parameters
    ----------
    piece
        Ragged votes with probabilities; see :func:`pieces`.
    by
        ``MEAN``: the mean probability of the authorities. ``COUPLED``: q. ``BOTH``: N_k / d_k + 0.3 q_k.
        ``OWN``: the same with the chances of the `rivals` as q.
    power
        To which power probabilities are raised first; 1 takes them as they are.
    rivals
        For ``BOTH``: the classes with the best N_k / d_k, and how far the tie score of each is behind. For
        ``OWN``: how likely the best few are.
    table
        Gets the scores (items x classes), if given.
    """
    classes = len(piece.panel.classes)
    best, sizes = Best.empty(len(piece)), np.zeros(len(piece), np.int64)
    found = _fuse(
        piece.ragged, given(piece), piece.panel.layout.known, by, float(power), rivals,
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
    """Return the logarithms of what the experts gave to the classes they know, expert beside expert.

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


def _steps(runs: Ragged, given: Given, known: Lists, by: int, *_: Any) -> int:
    """Estimate the steps of `_fuse`: the mean needs one pass over the probabilities, coupling many."""
    passes = ROUNDS if by in (COUPLED, BOTH) else 1
    return int(passes * (len(given.per_class) + 2 * len(given.per_vote)))


@kernel(steps=_steps)
def _fuse(
    runs: Ragged, given: Given, known: Lists, by: int, power: float, rivals: Rivals, table: Array,
    found: Best, tie_sizes: Array,
) -> Array:  # fmt: skip
    """Score the heard classes of every item; return the classes of all tied items.

    `table` (items x classes) gets the scores, if it has rows. `tie_sizes` gets how many classes share the
    best score; where one has it alone and `by` is BOTH or OWN, how many share the best N_k / d_k.
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
            if by in (COUPLED, BOTH):
                tempered(out, len(members), power)
            at += len(members)
            bounds[p - first + 1] = at
        q = whole_q[:count]
        if by in (COUPLED, BOTH):
            _couple(bounds, member, given_all, q, room)
        if by >= BOTH and len(rivals.number):
            span = slice(rivals.ties.start[n], rivals.ties.start[n + 1])
            among, number = rivals.ties.classes[span], rivals.number[span]
            if by == OWN:
                q[:] = 0.0
                for b in range(len(among)):
                    q[place[among[b]]] = number[b]
            else:
                strength = SILENT if _alike(among, place, mean, asked) else TIES
                _reshared(among, number, strength, place, q)
        for c in range(count):
            if by == MEAN:
                score[heard[c]] = np.int64(np.rint(mean[c] / asked[c]))
            elif by == COUPLED:
                score[heard[c]] = np.int64(np.rint(q[c] * ONE))
            else:
                share = np.int64(np.rint(votes[c] / asked[c] * ONE))
                score[heard[c]] = np.int64(np.rint(WEIGHT * q[c] * ONE)) + share
        begin = end
        found.chosen[n], found.shared[n], found.runner_up[n], top, second = decide(heard[:count], score)
        if count > 1:
            found.margin[n] = (top - second) / ONE
        if found.chosen[n] >= 0:
            c = place[found.chosen[n]]
            found.confidence[n] = _sharpened(q, c, power) if by == COUPLED else mean[c] / asked[c] / ONE
        if found.shared[n] > 1:
            ties, end = list_equal(heard[:count], score, top, ties, end)
        elif by >= BOTH:
            ties = grown(ties, end + count)
            end = _list_authorities(count, heard, votes, asked, ties, end)
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
