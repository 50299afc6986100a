"""Rows of answers in two halves.

Under the models of `em` and `dawid-skene` the chance of a row of answers is a product over the experts, and a
row teaches the same about each of its answers. Where everybody answered, few different half rows make up many
rows: products are formed per half row and multiplied once per row; what rows teach is added up per half row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.decoding.linear import ONE, Best
from covote.decoding.scoring import SCALE, chance_of_best, decide, list_equal
from covote.panel import Panel
from covote.votes.rows import Rows

Array = NDArray[Any]

MOST = 1 << 16
"""Halves with more possible rows than this are not worth it."""


@dataclass(frozen=True)
class Half:
    """Different answers of some neighbouring experts (half rows x experts), numbered as in `Layout.cells`.

    `which` is the half row of every pattern.
    """

    which: NDArray[np.int32]
    cell: NDArray[np.int64]


def pays(panel: Panel) -> bool:
    """Whether few half rows are possible. It depends on the panel only: all parts must be counted alike."""
    middle = len(panel) // 2
    sizes = [int(size) + 1 for size in panel.sizes]
    return middle > 0 and max(math.prod(sizes[:middle]), math.prod(sizes[middle:])) <= MOST


def shared_out(
    patterns: Rows, count: Array, panel: Panel, chance: Array, prior: Array, share: Array, table: Array
) -> None:
    """Share every row out among the classes by prior x chances of its answers, and count its answers so.

    `chance` and `table` are (answers x classes); `share` gets the items of each class.
    """
    left, right = _halves(patterns, panel)
    chances = [np.multiply.reduce(chance[half.cell], axis=1) for half in (left, right)]
    totals = [np.zeros(c.shape, dtype=np.int64) for c in chances]
    _share_out(left.which, right.which, count, prior * chances[0], chances[1], *totals)
    for half, total in zip((left, right), totals, strict=True):
        _count_answers(half.cell, total, table)
    share += totals[0].sum(axis=0)


def best(patterns: Rows, panel: Panel, weight: Array, base: Array, found: Best) -> Array:
    """Find the best class of every row; return the classes of tied rows.

    The score of a class is its base and the weights (answers x classes) of all answers, in whole numbers.
    """
    left, right = _halves(patterns, panel)
    scores = [weight[half.cell].sum(axis=1) for half in (left, right)]
    classes: Array = _best(left.which, right.which, scores[0] + base, scores[1], panel.layout.heard, found)
    return classes


def _halves(patterns: Rows, panel: Panel) -> tuple[Half, Half]:
    """Cut patterns that everybody answered in two; kept with them, since rounds go over the same rows."""
    found: tuple[Half, Half] | None = patterns.__dict__.get("halves")
    if found is None:
        cell = patterns.cell.reshape(len(patterns), len(panel))
        middle = len(panel) // 2
        spans = slice(0, middle), slice(middle, len(panel))
        found = _half(cell, spans[0], panel), _half(cell, spans[1], panel)
        patterns.__dict__["halves"] = found  # derived from frozen arrays; only a shortcut
    return found


def _half(cell: Array, span: slice, panel: Panel) -> Half:
    start = panel.layout.cells.start
    keys = np.zeros(len(cell), dtype=np.int64)
    for i in range(span.start, span.stop):
        keys = keys * (start[i + 1] - start[i]) + cell[:, i] - start[i]  # below MOST
    # So few keys are possible that a table says where each occurs, sooner than sorting would.
    place = np.full(keys.max(initial=0) + 1, -1)
    place[keys] = np.arange(len(keys))
    found = np.flatnonzero(place >= 0)
    rank = np.empty(len(place), np.int32)
    rank[found] = np.arange(len(found))
    return Half(rank[keys], np.ascontiguousarray(cell[place[found], span]))


@kernel
def _share_out(
    left: Array, right: Array, times: Array, left_chance: Array, right_chance: Array, left_total: Array,
    right_total: Array,
) -> None:  # fmt: skip
    """Share every row out among the classes by left_chance * right_chance, as whole numbers out of ONE."""
    classes = left_chance.shape[1]
    q = np.empty(classes)
    for n in range(len(times)):
        if times[n] == 0:
            continue
        a, b = left_chance[left[n]], right_chance[right[n]]
        total = 0.0
        for k in range(classes):
            q[k] = a[k] * b[k]
            total += q[k]
        norm = ONE / total
        x, y = left_total[left[n]], right_total[right[n]]
        for k in range(classes):
            part = np.int64(q[k] * norm + 0.5) * times[n]
            x[k] += part
            y[k] += part


@kernel
def _count_answers(cell: Array, total: Array, table: Array) -> None:
    """Add what each half row has got of each class to all its answers."""
    for h in range(cell.shape[0]):
        for a in range(cell.shape[1]):
            row = table[cell[h, a]]
            for k in range(total.shape[1]):
                row[k] += total[h, k]


@kernel
def _best(
    left: Array, right: Array, left_score: Array, right_score: Array, known: Array, found: Best
) -> Array:
    """Find the best class of every row, how probable it is, and the next; return the classes of tied rows."""
    score = np.empty(left_score.shape[1], np.int64)
    ties, at = np.empty(16, np.int64), 0
    for n in range(len(left)):
        a, b = left_score[left[n]], right_score[right[n]]
        for c in range(len(known)):
            score[known[c]] = a[known[c]] + b[known[c]]
        found.chosen[n], found.shared[n], found.runner_up[n], top, second = decide(known, score)
        found.confidence[n] = chance_of_best(known, score, top)
        if len(known) > 1:
            found.margin[n] = (top - second) * SCALE
        if found.shared[n] > 1:
            ties, at = list_equal(known, score, top, ties, at)
    return ties[:at].copy()
