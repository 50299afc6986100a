"""The loop that compares experts' answers with labels that do not depend on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.shares_kernels import Counters, counters, forget, hear, tables
from covote.panel.layout import Lists
from covote.votes import Ragged

Array = NDArray[Any]


class Counts(NamedTuple):
    """How answers compare with labels.

    Per expert: all answers, "none of mine" among them; and of those that are compared with a label, those to
    classes that it knows, the right ones of these, and those to other classes.
    Per pair (label, other class), or empty: answers of experts who know both that are the label, and that are
    the other class.
    """

    answers: NDArray[np.int64]
    none: NDArray[np.int64]
    inside: NDArray[np.int64]
    right: NDArray[np.int64]
    outside: NDArray[np.int64]
    agree: NDArray[np.int64]
    differ: NDArray[np.int64]


@helper(inline="always")
def _authority_label(counts: Counters, number: int) -> int:
    """Return the class with the best N_k / d_k; -1 if there are several, or no votes."""
    best, n, d = -1, 0, 1
    for c in range(number):
        k = counts.heard[c]
        left, right = counts.votes[k] * d, n * counts.asked[k]
        if left > right:
            best, n, d = k, counts.votes[k], counts.asked[k]
        elif left == right:
            best = -1
    return best


@helper(inline="always")
def _same_without(label: int, i: int, answer: int, knows: Array, counts: Counters, number: int) -> bool:
    """Whether the label is still the one with the best N_k / d_k when the answer of expert i is left out."""
    n, d = counts.votes[label] - (answer == label), counts.asked[label] - knows[i, label]
    if n == 0:
        return False
    for c in range(number):
        k = counts.heard[c]
        other = counts.votes[k] - (answer == k)
        if k != label and other > 0 and other * d >= n * (counts.asked[k] - knows[i, k]):
            return False
    return True


def _compare(runs: Ragged, times: Array, truth: Array, known: Lists, knows: Array, found: Counts) -> None:
    """Do as :func:`compare` does, all items at once, one expert after another."""
    experts, classes = knows.shape
    item = np.repeat(np.arange(len(times)), np.diff(runs.indptr))
    votes, asked, share = tables(runs, known, classes)
    top = share.max(axis=0)
    best = share == top
    label = np.where((top > 0) & (best.sum(axis=0) == 1), best.argmax(axis=0), -1)
    label = np.where(truth >= 0, truth, label)
    for i in range(experts):
        mine = np.flatnonzero(runs.expert == i)
        n, answer = item[mine], runs.label[mine].astype(np.int64)
        found.answers[i] += times[n].sum()
        found.none[i] += times[n[answer < 0]].sum()
        n, answer = n[label[n] >= 0], answer[label[n] >= 0]
        at, own, voted = np.arange(len(n)), label[n], np.flatnonzero(answer >= 0)
        # The scores without this expert's answer.
        others, rivals = votes.take(n, axis=1), asked.take(n, axis=1) - knows[i][:, None]
        others[answer[voted], voted] -= 1
        left, right = others[own, at], rivals[own, at]
        as_good = (others * right >= left * rivals) & (others > 0)
        as_good[own, at] = False
        same = (truth[n] >= 0) | ((left > 0) & ~as_good.any(axis=0))
        n, answer, own = n[same], answer[same], own[same]
        inside = knows[i, own]
        found.outside[i] += times[n[~inside]].sum()
        n, answer, own = n[inside], answer[inside], own[inside]
        found.inside[i] += times[n].sum()
        right_ones, other_ones = answer == own, (answer >= 0) & (answer != own)
        found.right[i] += times[n[right_ones]].sum()
        if len(found.agree):
            agreed = np.zeros(classes, np.int64)
            np.add.at(agreed, own[right_ones], times[n[right_ones]])
            members = known.members[known.start[i] : known.start[i + 1]]
            pairs = np.ix_(members, members)
            found.agree[pairs] += agreed[members][:, None] * (members[:, None] != members)
            np.add.at(found.differ, (own[other_ones], answer[other_ones]), times[n[other_ones]])


def _steps(runs: Ragged, times: Array, truth: Array, known: Lists, knows: Array, *_: Any) -> float:
    return 200.0 * len(knows) + len(runs.expert) * (2 + int(knows.shape[1])) / 15


@kernel(steps=_steps, plain=_compare)
def compare(runs: Ragged, times: Array, truth: Array, known: Lists, knows: Array, found: Counts) -> None:
    """Compare every answer with the class of its item, each item `times`.

    The class is `truth`, or where that is -1 the authority label, if it is the same without the answer.
    """
    counts = counters(knows.shape[1])
    for n in range(len(times)):
        number = hear(runs, n, known, counts)
        label = truth[n] if truth[n] >= 0 else _authority_label(counts, number)
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            i, answer = np.int64(runs.expert[p]), np.int64(runs.label[p])
            found.answers[i] += times[n]
            if answer < 0:
                found.none[i] += times[n]
            if label < 0 or not (truth[n] >= 0 or _same_without(label, i, answer, knows, counts, number)):
                continue
            if not knows[i, label]:
                found.outside[i] += times[n]
                continue
            found.inside[i] += times[n]
            if answer == label:
                found.right[i] += times[n]
                for q in range(known.start[i], known.start[i + 1] if len(found.agree) else 0):
                    if known.members[q] != label:
                        found.agree[label, known.members[q]] += times[n]
            elif answer >= 0 and len(found.differ):
                found.differ[label, answer] += times[n]
        forget(counts, number)
