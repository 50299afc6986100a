"""Compiled loop that fits class probabilities to those of partial experts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel

Array = NDArray[Any]


@kernel
def fit_probabilities(
    given: Array, start: Array, known: Array, q: Array, rounds: int, close: float
) -> None:  # pragma: no cover - compiled
    """Solve q_k = mean over the experts i that know k of q(Y_i) p_i(k), for every item.

    `given` (items x sum of sizes) has p_i(k), those of expert i at ``start[i]:start[i + 1]``; `known` their
    classes. `q` (items x classes) is the guess to begin with, and becomes the solution.
    """
    classes = q.shape[1]
    authorities = np.zeros(classes)
    for x in range(len(known)):
        authorities[known[x]] += 1
    new = np.empty(classes)
    for n in range(len(q)):
        for _ in range(rounds):
            new[:] = 0
            for i in range(len(start) - 1):
                inside = 0.0
                for x in range(start[i], start[i + 1]):
                    inside += q[n, known[x]]
                for x in range(start[i], start[i + 1]):
                    new[known[x]] += inside * given[n, x]
            total = 0.0
            for k in range(classes):
                if authorities[k] > 0:
                    new[k] /= authorities[k]
                total += new[k]
            if not total > 0:
                break
            moved = 0.0
            for k in range(classes):
                new[k] /= total
                moved = max(moved, abs(new[k] - q[n, k]))
                q[n, k] = new[k]
            if moved < close:
                break
