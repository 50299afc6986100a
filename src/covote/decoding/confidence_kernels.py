"""Loops over the classes that may be right, for how likely a label is."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.fusion_kernels import Given, gave, tempered
from covote.decoding.tuning import LEAST, SMOOTHING, TINY
from covote.labels import Ties
from covote.panel.layout import Lists
from covote.votes import Ragged

Array = NDArray[Any]


@helper(inline="always")
def _tempered(given: Given, p: int, label: int, members: Array, power: float, out: Array) -> None:
    """Write what one expert gave to its classes, never quite 0, raised to a power."""
    size = len(members)
    gave(given, p, label, members, out)
    for c in range(size):
        out[c] = (out[c] + SMOOTHING / size) / (1 + SMOOTHING)
    tempered(out, size, power)


class Reading(NamedTuple):
    """How experts' probabilities are read: see :class:`covote.decoding.confidence.Curves`."""

    powers: Array
    inside: Array
    edges: Array


@helper(inline="always")
def _sureness(given: Given, p: int, label: int, members: Array, edges: Array, out: Array) -> int:
    """Return between which edges the margin of an answer is; -1 if the answer has none."""
    if label < 0 or len(members) < 2:
        return -1
    gave(given, p, label, members, out)
    first, second = 0.0, 0.0
    for c in range(len(members)):
        first, second = max(first, out[c]), max(second, min(first, out[c]))
    margin = math.log(max(first, TINY) / max(second, TINY))
    at = 0
    while at < len(edges) and margin > edges[at]:
        at += 1
    return at


@kernel
def add_probabilities(
    runs: Ragged, given: Given, known: Lists, how: Reading, ties: Ties, score: Array
) -> None:
    """Add to the score of every item's classes what their authorities gave to them, as logarithms."""
    classes = 0
    for k in known.members:
        classes = max(classes, k + 1)
    place = np.full(classes, -1, np.int64)
    room = np.empty(len(known.members))
    for n in range(len(ties.start) - 1):
        low, high = ties.start[n], ties.start[n + 1]
        for b in range(low, high):
            place[ties.classes[b]] = b
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            i = runs.expert[p]
            members = known.members[known.start[i] : known.start[i + 1]]
            size = len(members)
            out = room[:size]
            sure = _sureness(given, p, runs.label[p], members, how.edges, out)
            inside = how.inside[i, sure] if sure >= 0 else 0.0
            _tempered(given, p, runs.label[p], members, how.powers[i], out)
            for c in range(size):
                if place[members[c]] >= 0:
                    score[place[members[c]]] += math.log(size * max(out[c], LEAST)) + inside
        for b in range(low, high):
            place[ties.classes[b]] = -1


def _steps(runs: Ragged, given: Given, known: Lists, grid: Array, *_: Any) -> int:
    widest = int(np.diff(known.start).max(initial=1))
    return len(runs.expert) * len(grid) * widest


@kernel(steps=_steps)
def likelihoods(
    runs: Ragged, given: Given, known: Lists, grid: Array, ties: Ties, truth: Array, unit: float, total: Array
) -> None:
    """Add, for every expert and power, how likely its tempered probabilities make the items' classes.

    The class of an item is `truth`, or where that is -1 any of its best classes alike. `total` (experts x
    powers) is in whole units of 1 / `unit`.
    """
    room = np.empty(len(known.members))
    for n in range(len(truth)):
        low, high = ties.start[n], ties.start[n + 1]
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            i = runs.expert[p]
            members = known.members[known.start[i] : known.start[i + 1]]
            concerned = False
            for c in range(len(members)):
                concerned |= _weight(members[c], ties.classes[low:high], truth[n]) > 0
            if not concerned:
                continue
            out = room[: len(members)]
            for g in range(len(grid)):
                _tempered(given, p, runs.label[p], members, grid[g], out)
                gain = 0.0
                for c in range(len(members)):
                    weight = _weight(members[c], ties.classes[low:high], truth[n])
                    if weight > 0:
                        gain += weight * math.log(max(out[c], LEAST))
                total[i, g] += np.int64(np.rint(gain * unit))


@kernel
def count_margins(
    runs: Ragged, given: Given, known: Lists, edges: Array, ties: Ties, truth: Array, one: int, total: Array
) -> None:
    """Count how often each expert has which margin, inside and outside its expertise.

    `total` is (experts x 2 x margins), in units of 1 / `one` items; the classes of items as in `likelihoods`.
    """
    room = np.empty(len(known.members))
    for n in range(len(truth)):
        low, high = ties.start[n], ties.start[n + 1]
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            i = runs.expert[p]
            members = known.members[known.start[i] : known.start[i + 1]]
            sure = _sureness(given, p, runs.label[p], members, edges, room[: len(members)])
            if sure < 0:
                continue
            inside = 0.0
            for c in range(len(members)):
                inside += _weight(members[c], ties.classes[low:high], truth[n])
            amount = np.int64(np.rint(inside * one))
            total[i, 0, sure] += amount
            total[i, 1, sure] += one - amount


@helper(inline="always")
def _weight(k: int, best: Array, truth: int) -> float:
    """Return how likely class k is: by the truth if it is known, else equally by the best classes."""
    if truth >= 0:
        return 1.0 if k == truth else 0.0
    for b in range(len(best)):
        if best[b] == k:
            return 1.0 / len(best)
    return 0.0
