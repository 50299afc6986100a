"""Loops for full confusion tables."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.shares_kernels import counters, forget, hear
from covote.panel.layout import Lists
from covote.votes import Ragged

Array = NDArray[Any]


class Model(NamedTuple):
    """The weight of every answer for every class (answers x classes), and of every class by itself."""

    table: Array
    base: Array
    scale: float


@helper(inline="always")
def _add(cell: Array, begin: int, end: int, part: Array, share: Array, table: Array) -> None:
    """Count one answer row for all classes."""
    classes = len(part)
    for k in range(classes):
        share[k] += part[k]
    for a in range(begin, end):
        row = table[cell[a]]
        for k in range(classes):
            row[k] += part[k]


@kernel
def share_counts(
    runs: Ragged, cell: Array, times: Array, known: Lists, one: int, share: Array, table: Array
) -> None:
    """Share every item out by N_k / d_k."""
    counts, part = counters(len(share)), np.zeros(len(share), np.int64)
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        number = hear(runs, n, known, counts)
        total = 0.0
        for c in range(number):
            k = counts.heard[c]
            total += counts.votes[k] / counts.asked[k]
        part[:] = 0
        for c in range(number):
            k = counts.heard[c]
            q = counts.votes[k] / counts.asked[k] / total if total > 0 else 1.0 / number
            part[k] = np.int64(np.rint(q * one)) * times[n]
        _add(cell, begin, end, part, share, table)
        forget(counts, number)


@kernel
def model_counts(
    runs: Ragged, cell: Array, times: Array, known: Lists, all_heard: bool, model: Model, one: int,
    share: Array, table: Array,
) -> None:  # fmt: skip
    """Share every item out by the model: base + the weights of its answers."""
    classes = len(share)
    weight, base, scale = model.table, model.base, model.scale
    score, part = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    q, is_heard = np.empty(classes), np.ones(classes, np.bool_)
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        score[:] = base
        for a in range(begin, end):
            row = weight[cell[a]]
            for k in range(classes):
                score[k] += row[k]
        if not all_heard:
            is_heard[:] = False
            for a in range(begin, end):
                for x in range(known.start[runs.expert[a]], known.start[runs.expert[a] + 1]):
                    is_heard[known.members[x]] = True
        top, first = np.int64(0), True
        for k in range(classes):
            if is_heard[k] and (first or score[k] > top):
                top, first = score[k], False
        total = 0.0
        for k in range(classes):
            gap = (score[k] - top) * scale
            # Below one in 2^30 the share is 0 anyway.
            q[k] = math.exp(gap) if is_heard[k] and gap > -25 else 0.0
            total += q[k]
        for k in range(classes):
            part[k] = np.int64(np.rint(q[k] / total * one)) * times[n]
        _add(cell, begin, end, part, share, table)


@helper
def _multiply(q: Array, chance: Array, classes: int) -> None:
    for k in range(classes):
        q[k] *= chance[k]


@helper
def _accumulate(part: Array, row: Array, classes: int) -> None:
    for k in range(classes):
        row[k] += part[k]


@kernel
def product_counts(
    indptr: Array,
    cell: Array,
    times: Array,
    chance: Array,
    prior: Array,
    one: int,
    share: Array,
    table: Array,
) -> None:
    """Do what `model_counts` does where every class was heard and no product of chances comes near zero.

    Multiplying chances spares an exponential for every class of every row.
    """
    classes = len(share)
    q, part = np.empty(classes), np.zeros(classes, np.int64)
    for n in range(len(times)):
        begin, end = indptr[n], indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        q[:] = prior
        for a in range(begin, end):
            _multiply(q, chance[cell[a]], classes)
        total = 0.0
        for k in range(classes):
            total += q[k]
        norm = one / total
        for k in range(classes):
            part[k] = np.int64(q[k] * norm + 0.5) * times[n]
        _accumulate(part, share, classes)
        for a in range(begin, end):
            _accumulate(part, table[cell[a]], classes)
