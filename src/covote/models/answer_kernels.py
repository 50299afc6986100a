"""Compiled loop over the probabilities of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from covote.compiled import kernel


@kernel
def best_columns(chances: Any, slack: float, label: Any) -> int:
    """Fill in the most probable column of every row, the first of several.

    Returns 0 if all rows are non-negative and add up to 1, 1 if so but a value is slightly above 1, and -1 if
    not, or if there is something else than a number.
    """
    # Without branches, which nobody could predict; two rows at a time, so that neither waits for its own sum.
    rows, columns = chances.shape
    negative: Any = False
    wrong: Any = False
    above: Any = False
    every = chances.reshape(chances.size)
    for cell in range(every.size):
        negative |= every[cell] < 0
    for row in range((rows + 1) // 2):
        other = rows - 1 - row  # the row itself, if it is the one in the middle
        total, best, at = np.float32(0), np.float32(-1), 0
        total_2, best_2, at_2 = np.float32(0), np.float32(-1), 0
        for column in range(columns):
            chance, chance_2 = chances[row, column], chances[other, column]
            total += chance
            total_2 += chance_2
            at = column if chance > best else at
            at_2 = column if chance_2 > best_2 else at_2
            best = chance if chance > best else best
            best_2 = chance_2 if chance_2 > best_2 else best_2
        wrong |= (not abs(total - 1) <= slack) | (not abs(total_2 - 1) <= slack)
        above |= (best > 1) | (best_2 > 1)
        label[row], label[other] = at, at_2
    return -1 if wrong or negative else int(above)
