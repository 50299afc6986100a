"""Loops over rows of answers in two halves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.decoding.scoring import Best
from covote.decoding.shares_kernels import grown

Array = NDArray[Any]


@kernel
def shared_out(
    left: Array, right: Array, times: Array, left_chance: Array, right_chance: Array, one: int,
    left_total: Array, right_total: Array,
) -> None:  # fmt: skip
    """Share every row out among the classes by left_chance * right_chance, as whole numbers out of `one`."""
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
        norm = one / total
        x, y = left_total[left[n]], right_total[right[n]]
        for k in range(classes):
            part = np.int64(q[k] * norm + 0.5) * times[n]
            x[k] += part
            y[k] += part


@kernel
def count_answers(cell: Array, total: Array, table: Array) -> None:
    """Add what each half row has got of each class to all its answers."""
    for h in range(cell.shape[0]):
        for a in range(cell.shape[1]):
            row = table[cell[h, a]]
            for k in range(total.shape[1]):
                row[k] += total[h, k]


@kernel
def best(
    left: Array, right: Array, left_score: Array, right_score: Array, known: Array, scale: float, found: Best
) -> Array:
    """Find the best class of every row, how probable it is, and the next; return the classes of tied rows."""
    score = np.empty(len(known), np.int64)
    ties, at = np.empty(16, np.int64), 0
    for n in range(len(left)):
        a, b = left_score[left[n]], right_score[right[n]]
        top = 0
        for c in range(len(known)):
            score[c] = a[known[c]] + b[known[c]]
            if score[c] > score[top]:
                top = c
        second, many, total = -1, 0, 0.0
        several = False
        for c in range(len(known)):
            total += math.exp((score[c] - score[top]) * scale)
            if score[c] == score[top]:
                many += 1
            elif second < 0 or score[c] > score[second]:
                second, several = c, False
            elif score[c] == score[second]:
                several = True
        found.chosen[n], found.shared[n], found.confidence[n] = known[top], many, 1 / total
        found.runner_up[n] = -1 if several or second < 0 else known[second]
        if many > 1:
            found.margin[n] = 0.0
            ties = grown(ties, at + many)
            for c in range(len(known)):
                if score[c] == score[top]:
                    ties[at] = known[c]
                    at += 1
        elif second >= 0:
            found.margin[n] = (score[top] - score[second]) * scale
    return ties[:at].copy()
