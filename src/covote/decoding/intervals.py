"""Intervals of shares that were counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z95, Z99 = 1.959963984540054, 2.5758293035489004
"""How many standard deviations hold 95% and 99% of a normal distribution."""


def wilson(right: ArrayLike, total: ArrayLike, z: float = Z95) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return Wilson's interval of a share; (0, 1) if there is nothing to go by.

    >>> [round(float(x), 3) for x in wilson(9, 10)], [float(x) for x in wilson(0, 0)]
    ([0.596, 0.982], [0.0, 1.0])
    """
    total = np.asarray(total)
    n = np.maximum(total, 1e-12)
    share = np.asarray(right) / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(np.maximum(share * (1 - share), 0) / n + z * z / (4 * n * n))
    empty = total <= 0
    low = np.where(empty, 0.0, np.maximum(middle - half, 0))
    return low, np.where(empty, 1.0, np.minimum(middle + half, 1))
