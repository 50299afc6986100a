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

    The authorities of class k are ``experts[first[k]:first[k + 1]]``, filled up to a multiple of four by
    experts of weight 0. A vote for k has the `weight` lcm(d) / d_k, so N_k / d_k is compared exactly (Paper:
    Eq. (4)); it is of use only where `common`, the lcm, is below 255. `one` counts votes, `authorities` is
    d_k, `most` its maximum.

    >>> weights = authority_weights(Panel.from_blocks(3, [[0, 1], [1, 2], [1, 2]]))
    >>> weights.weight.reshape(3, 4).tolist()
    [[6, 0, 0, 0], [2, 2, 2, 0], [3, 3, 0, 0]]
    >>> weights.authorities.tolist(), weights.common
    ([1, 3, 2], 6)
    """

    first: Array
    experts: Array
    weight: Array
    one: Array
    authorities: Array
    common: int
    most: int


@lru_cache(maxsize=32)
def authority_weights(panel: Panel) -> AuthorityWeights:
    """Return the weights of a panel."""
    start, authority = authority_lists(panel)
    counts = np.diff(start)
    common = math.lcm(*(int(d) for d in counts if d))
    first = np.concatenate([[0], np.cumsum(-(-counts // 4) * 4)])
    # Where each authority stands in the lists with filling.
    slot = np.arange(len(authority)) + np.repeat(first[:-1] - start[:-1], counts)
    experts = np.zeros(first[-1], dtype=np.int64)
    weight, one = np.zeros(first[-1], dtype=np.uint8), np.zeros(first[-1], dtype=np.uint8)
    experts[slot] = authority
    one[slot] = 1
    if common < 255:
        weight[slot] = common // np.repeat(counts, counts)
    return AuthorityWeights(first, experts, weight, one, counts.astype(np.int16), common, int(counts.max()))
