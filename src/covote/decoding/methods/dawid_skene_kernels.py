"""Compiled loops for full confusion tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.evidence_kernels import forget, heard

Array = NDArray[Any]


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
    indptr: Array, expert: Array, label: Array, cell: Array, times: Array, start: Array, known: Array,
    one: int, share: Array, table: Array,
) -> None:  # fmt: skip
    """Share every item out by N_k / d_k."""
    classes = len(share)
    hits, asked = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    touched, part = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    for n in range(len(times)):
        begin, end = indptr[n], indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        count = heard(expert, label, begin, end, start, known, hits, asked, touched)
        total = 0.0
        for c in range(count):
            total += hits[touched[c]] / asked[touched[c]]
        part[:] = 0
        for c in range(count):
            k = touched[c]
            q = hits[k] / asked[k] / total if total > 0 else 1.0 / count
            part[k] = np.int64(np.rint(q * one)) * times[n]
        _add(cell, begin, end, part, share, table)
        forget(touched, count, hits, asked)


@kernel
def model_counts(
    indptr: Array, expert: Array, cell: Array, times: Array, start: Array, known: Array, all_heard: bool,
    weight: Array, base: Array, scale: float, one: int, share: Array, table: Array,
) -> None:  # fmt: skip
    """Share every item out by the model: base + the weights of its answers."""
    classes = len(share)
    score, part = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    q, is_heard = np.empty(classes), np.ones(classes, np.bool_)
    for n in range(len(times)):
        begin, end = indptr[n], indptr[n + 1]
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
                for x in range(start[expert[a]], start[expert[a] + 1]):
                    is_heard[known[x]] = True
        top, first = np.int64(0), True
        for k in range(classes):
            if is_heard[k] and (first or score[k] > top):
                top, first = score[k], False
        total = 0.0
        for k in range(classes):
            gap = (score[k] - top) * scale
            # Below one in 2^30 the share is 0 anyway.
            q[k] = np.exp(gap) if is_heard[k] and gap > -25 else 0.0
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
