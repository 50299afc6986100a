"""A panel as flat arrays, in the shapes that compiled loops like."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from covote.panel import Panel

Array = NDArray[Any]


def known_lists(panel: Panel) -> tuple[Array, Array]:
    """Return (start, class): the classes of expert i are at ``start[i]:start[i + 1]``."""
    return panel._lists.known


def authority_lists(panel: Panel) -> tuple[Array, Array]:
    """Return (start, expert): the authorities of class k are at ``start[k]:start[k + 1]``."""
    return panel._lists.authorities


def authority_bits(panel: Panel) -> Array:
    """Return (classes x words) of 64 bits: bit i of class k says whether expert i knows k."""
    return panel._lists.bits


class AuthorityWeights(NamedTuple):
    """What a vote weighs in the authority vote, in whole numbers.

    The authorities of class k are ``experts[first[k]:first[k + 1]]``, filled up to a multiple of four by
    experts of weight 0. A vote for k has the `weight` lcm(d) / d_k, so N_k / d_k is compared exactly (Paper:
    Eq. (4)); it is of use only where `common`, the lcm, is below 255. `one` counts votes, `authorities` is
    d_k, `most` its maximum.

    >>> from covote.panel import Panel
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


def authority_weights(panel: Panel) -> AuthorityWeights:
    """Return the weights of a panel."""
    return panel._lists.weights


class KnownLists:
    """The flat arrays of one panel, each made when it is first asked for."""

    def __init__(self, knows: NDArray[np.bool_]) -> None:
        self._knows = knows

    @cached_property
    def known(self) -> tuple[Array, Array]:
        """See :func:`known_lists`."""
        return _lists(self._knows)

    @cached_property
    def authorities(self) -> tuple[Array, Array]:
        """See :func:`authority_lists`."""
        return _lists(self._knows.T)

    @cached_property
    def bits(self) -> Array:
        """See :func:`authority_bits`."""
        experts, classes = self._knows.shape
        padded = np.zeros((classes, -(-experts // 64) * 64), dtype=bool)
        padded[:, :experts] = self._knows.T
        return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)

    @cached_property
    def weights(self) -> AuthorityWeights:
        """See :func:`authority_weights`."""
        start, authority = self.authorities
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
        return AuthorityWeights(
            first, experts, weight, one, counts.astype(np.int16), common, int(counts.max())
        )


def _lists(matrix: NDArray[np.bool_]) -> tuple[Array, Array]:
    row, column = np.nonzero(matrix)
    return np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int64), column.astype(np.int64)
