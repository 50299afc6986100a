"""Combine the probabilities of several experts, each over the classes that it knows.

An expert's probability p_i(k) holds if the class is among those it knows, Y_i: p_i(k) = q_k / q(Y_i). The q
that fits all experts best solves q_k = sum p_i(k) / sum 1 / q(Y_i), both over the experts i that know k.
Where every expert knows two classes, this is pairwise coupling: T. Hastie and R. Tibshirani (1998),
"Classification by pairwise coupling"; T.-F. Wu, C.-J. Lin and R. C. Weng (2004), "Probability estimates for
multi-class classification by pairwise coupling". theory.md section 9 has the general case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.decoding.linear import ONE
from covote.votes import Votes
from covote.votes.arrays import gather, own_probabilities
from covote.votes.patterns import AnswerPatterns, each_row, slices

Array = NDArray[Any]

POWER = 0.3
"""Probabilities are raised to this power first: real experts are overconfident (benchmarks/accuracy.py)."""

ROUNDS = 60
"""The most rounds of coupling."""

PIECE = 1 << 20
"""The most probabilities to process at once."""


class Given(NamedTuple):
    """The probabilities that the experts gave to the classes that they know, one answer after another.

    Attributes
    ----------
    start
        Where each answer begins.
    row, expert, label
        The item of each answer, its expert, and the class that it names.
    answer, member, chance
        At each place: the answer that it belongs to, the class, and its probability.
    of
        Which of all answers these are: an answer whose probabilities are NaN, or all 0, is left out.
    """

    start: Array
    row: Array
    expert: Array
    label: Array
    answer: Array
    member: Array
    chance: Array
    of: Array


def soft_parts(votes: Votes) -> Iterator[tuple[AnswerPatterns, slice]]:
    """Yield (answer rows with their probabilities, which items they are of); every item is its own row."""
    width = votes.answers * int(votes.panel.sizes.max(initial=1)) // max(len(votes), 1)
    step = max(PIECE // max(width, len(votes.panel.classes), 1), 16)
    for part, span in slices(votes, step):
        yield each_row(part.to_ragged()), span


def given(votes: Votes) -> Given:
    """Return the experts' probabilities; those of an answer sum to 1, or to less with "none of mine"."""
    ragged, known = votes.to_ragged(), votes.panel.layout.known
    answers, (vote, per_class, starts) = ragged.ragged, own_probabilities(ragged)
    if per_class is not None:
        total = np.bincount(
            np.repeat(np.arange(len(answers.expert)), np.diff(starts)), per_class, len(answers.expert)
        )
        of = np.flatnonzero(total > 0)  # NaN is not above 0
    else:
        of = np.flatnonzero(~np.isnan(vote))
    expert, label = answers.expert[of].astype(np.int64), answers.label[of]
    row = np.repeat(np.arange(len(votes)), np.diff(answers.indptr))[of]
    bounds, places = gather(known.start, expert)
    start, width, member = bounds[:-1], np.diff(bounds), known.members[places]
    answer = np.repeat(np.arange(len(expert)), width)
    if per_class is not None:
        chance, total = per_class[gather(starts, of)[1]].astype(np.float64), total[of]
        chance /= np.where((total > 1) | (label >= 0), total, 1.0)[answer]
    else:
        sure = vote[of].astype(np.float64)
        rest = np.where(label < 0, (1 - sure) / width, (1 - sure) / np.maximum(width - 1, 1))
        sure = np.where(width > 1, sure, 1.0)
        chance = np.where(member == label[answer], sure[answer], rest[answer])
    return Given(start, row, expert, label, answer, member, chance, of)


def coupled(votes: Votes, power: float = POWER, rounds: int = ROUNDS) -> NDArray[np.float64]:
    """Return the q that fit the experts' probabilities best (items x classes), in whole units of 1 / ONE.

    Probabilities are raised to `power` first; there are at most `rounds` rounds. A class that no one
    who knows it was asked about has 0.

    >>> from covote import Panel
    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> votes = Votes.from_dense([[0, 1, 0]], panel, probabilities=[[0.9, 0.5, 0.9]])
    >>> coupled(votes, power=1).round(2).tolist()
    [[0.82, 0.09, 0.09]]
    """
    gave, classes = given(votes), len(votes.panel.classes)
    if not len(gave.start):
        return np.zeros((len(votes), classes))
    raised = gave.chance**power
    before, after = (np.add.reduceat(values, gave.start) for values in (gave.chance, raised))
    raised *= np.divide(before, after, out=np.zeros_like(after), where=after > 0)[gave.answer]
    answers = np.searchsorted(gave.row, np.arange(len(votes) + 1))
    return couple(answers, np.append(gave.start, len(gave.chance)), gave.member, raised, classes, rounds)


def couple(
    answers: Array, start: Array, member: Array, chance: Array, classes: int, rounds: int
) -> NDArray[np.float64]:
    """Return the q of :func:`coupled` for the probabilities of each answer.

    The answers to item n are ``answers[n]:answers[n + 1]``; answer p gave ``chance[start[p]:start[p + 1]]``,
    which add up to 1, to the classes ``member[...]``.
    """
    table = np.zeros((len(answers) - 1, classes))
    _couple(answers, start, member, chance, table, rounds)
    return np.rint(table * ONE) / ONE


def _steps(answers: Array, start: Array, member: Array, given: Array, table: Array, rounds: int) -> int:
    return rounds * len(member)


@kernel(steps=_steps)
def _couple(answers: Array, start: Array, member: Array, given: Array, table: Array, rounds: int) -> None:
    """Solve q_k <- sum_i p_i(k) / sum_i 1 / q(Y_i) over the experts i that know k; `table` gets q."""
    classes = table.shape[1]
    heard, place = np.empty(classes, np.int64), np.full(classes, -1, np.int64)
    total, need, q, before = np.empty(classes), np.empty(classes), np.empty(classes), np.empty(classes)
    at = np.empty(len(member), np.int32)  # where in q the class of each probability is
    for n in range(len(table)):
        first, last, count = answers[n], answers[n + 1], 0
        for x in range(start[first], start[last]):
            k = member[x]
            if place[k] < 0:
                place[k], heard[count], total[count] = count, k, 0.0
                count += 1
            at[x] = place[k]
            total[place[k]] += given[x]
        for c in range(count):
            q[c] = before[c] = 1.0 / count
        for _ in range(rounds):
            for c in range(count):
                need[c] = 0.0
            for p in range(first, last):
                inside = 0.0
                for x in range(start[p], start[p + 1]):
                    inside += q[at[x]]
                share = 1.0 / max(inside, 1e-12)
                for x in range(start[p], start[p + 1]):
                    need[at[x]] += share
            norm, moved = 0.0, 0.0
            for c in range(count):
                q[c] = total[c] / need[c]
                norm += q[c]
            for c in range(count):
                q[c] = q[c] / norm if norm > 0 else 1.0 / count
                moved = max(moved, abs(q[c] - before[c]))
                before[c] = q[c]
            if moved < 1e-11:  # far below the unit of scores
                break
        for c in range(count):
            table[n, heard[c]] = q[c]
            place[heard[c]] = -1
