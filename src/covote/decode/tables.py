"""A panel as flat arrays, in the shapes that compiled loops like."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.panel import Panel

Array = NDArray[Any]


@lru_cache(maxsize=32)
def known_lists(panel: Panel) -> tuple[Array, Array]:
    """Return (start, class): the classes of expert i are at ``start[i]:start[i + 1]``."""
    return _lists(panel.knows)


@lru_cache(maxsize=32)
def authority_lists(panel: Panel) -> tuple[Array, Array]:
    """Return (start, expert): the authorities of class k are at ``start[k]:start[k + 1]``."""
    return _lists(panel.knows.T)


def _lists(matrix: NDArray[np.bool_]) -> tuple[Array, Array]:
    row, column = np.nonzero(matrix)
    return np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int64), column.astype(np.int64)


@lru_cache(maxsize=32)
def authority_bits(panel: Panel) -> Array:
    """Return (classes x words) of 64 bits: bit i of class k says whether expert i knows k."""
    words = -(-len(panel) // 64)
    padded = np.zeros((len(panel.classes), words * 64), dtype=bool)
    padded[:, : len(panel)] = panel.knows.T
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def vote_weights(panel: Panel) -> list[int]:
    """Return what a vote for each class weighs: lcm(d) / d_k, 0 for a class without authorities.

    With these whole numbers N_k / d_k is compared exactly. Paper: Eq. (4).

    >>> vote_weights(Panel.from_blocks(3, [[0, 1], [1, 2], [1, 2]]))
    [6, 2, 3]
    """
    counts = [int(d) for d in panel.knows.sum(axis=0)]
    common = math.lcm(*(d for d in counts if d))
    return [common // d if d else 0 for d in counts]
