"""A panel as flat arrays, in the shapes that compiled loops like."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

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


class AuthorityWeights(NamedTuple):
    """What a vote weighs in the authority vote, in whole numbers.

    A vote for k weighs lcm(d) / d_k, so N_k / d_k is compared exactly. Paper: Eq. (4).

    >>> panel = Panel.from_blocks(3, [[0, 1], [1, 2], [1, 2]])
    >>> authority_weights(panel).weight, authority_weights(panel).common
    (array([6, 2, 3], dtype=uint8), 6)
    """

    first: Array
    experts: Array
    weight: Array
    common: int
    most: int


@lru_cache(maxsize=32)
def authority_weights(panel: Panel) -> AuthorityWeights:
    """Return the weights of a panel; `weight` is of use only where `common` < 255."""
    first, experts = authority_lists(panel)
    counts = [int(d) for d in np.diff(first)]
    common = math.lcm(*(d for d in counts if d))
    weight = np.array([common // d if d and common < 255 else 0 for d in counts], dtype=np.uint8)
    return AuthorityWeights(first, experts, weight, common, max(counts))
