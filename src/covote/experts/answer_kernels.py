"""Compiled loop over the probabilities of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit("int64(float32[:, ::1], float64, int64[::1])", cache=True, nogil=True)
def best_columns(chances: Any, slack: float, label: Any) -> int:
    """Fill in the most probable column of every row, the first of several.

    Returns 0 if all rows are non-negative and add up to 1, 1 if so but a value is slightly above 1, and -1 if
    not, or if there is something else than a number.
    """
    # Without branches, which nobody could predict.
    wrong: Any = False
    above: Any = False
    for row in range(len(chances)):
        total, best, at = np.float32(0), np.float32(-1), 0
        negative = False
        for column in range(chances.shape[1]):
            chance = chances[row, column]
            negative |= chance < 0
            total += chance
            more = chance > best
            best = chance if more else best
            at = column if more else at
        wrong |= negative | (not abs(total - 1) <= slack)
        above |= best > 1
        label[row] = at
    return -1 if wrong else int(above)
