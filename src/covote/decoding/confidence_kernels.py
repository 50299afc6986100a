"""Loops over the classes that may be right, for how likely a label is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.fusion_kernels import Given, gave, tempered
from covote.labels import Ties
from covote.panel.layout import Lists
from covote.votes import Ragged

Array = NDArray[Any]

SMOOTHING = 1e-3
"""What an expert's probabilities are mixed with, shared equally by its classes: none is ever quite 0."""

LEAST = 1e-6
"""The least probability that a class gets after tempering."""


@helper(inline="always")
def _tempered(given: Given, p: int, label: int, members: Array, power: float, out: Array) -> None:
    """Write what one expert gave to its classes, never quite 0, raised to a power."""
    size = len(members)
    gave(given, p, label, members, out)
    for c in range(size):
        out[c] = (out[c] + SMOOTHING / size) / (1 + SMOOTHING)
    tempered(out, size, power)


@kernel
def add_probabilities(
    runs: Ragged, given: Given, known: Lists, powers: Array, ties: Ties, score: Array
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
            _tempered(given, p, runs.label[p], members, powers[i], out)
            for c in range(size):
                if place[members[c]] >= 0:
                    score[place[members[c]]] += math.log(size * max(out[c], LEAST))
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


@helper(inline="always")
def _weight(k: int, best: Array, truth: int) -> float:
    """Return how likely class k is: by the truth if it is known, else equally by the best classes."""
    if truth >= 0:
        return 1.0 if k == truth else 0.0
    for b in range(len(best)):
        if best[b] == k:
            return 1.0 / len(best)
    return 0.0
