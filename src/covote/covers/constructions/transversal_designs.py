"""Transversal designs: groups of equal size, every pair from two groups in exactly one block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.covers.constructions.finite_fields import finite_field, prime_power

Blocks = NDArray[np.int32]


def most_groups(order: int) -> int:
    """Return how many groups of `order` points a transversal design built here can have.

    q+1 for a prime power q; for a product, the fewest of its factors: MacNeish (1922), "Euler
    squares".

    >>> most_groups(9), most_groups(12)
    (10, 4)
    """
    return 2 if order < 2 else min(prime_factors(order)) + 1


def prime_factors(order: int) -> list[int]:
    """Split into prime powers of different primes.

    >>> prime_factors(360)
    [8, 9, 5]
    """
    factors = []
    p = 2
    while order > 1:
        power = 1
        while order % p == 0:
            order //= p
            power *= p
        if power > 1:
            factors.append(power)
        p += 1 if p * p <= order else max(1, order - p)
    return factors


def transversal_design(order: int, groups: int) -> Blocks:
    """Return order^2 blocks with one point of each group; entry (i, j) is the point's place in group j.

    >>> transversal_design(3, 4).shape
    (9, 4)
    """
    if order == 1:
        return np.zeros((1, groups), dtype=np.int32)
    blocks = np.zeros((1, groups), dtype=np.int64)
    for factor in prime_factors(order):
        part = _over_field(factor, groups)
        blocks = (blocks[:, None, :] * factor + part[None, :, :]).reshape(-1, groups)
    return blocks.astype(np.int32)


def _over_field(q: int, groups: int) -> NDArray[np.int64]:
    # prime_factors gives prime powers only, so the field exists.
    assert prime_power(q) is not None
    assert groups <= q + 1
    field = finite_field(q)
    start, slope = np.repeat(np.arange(q), q), np.tile(np.arange(q), q)
    inner = min(groups, q)
    blocks = field.add(field.multiply(slope[:, None], np.arange(inner)[None, :]), start[:, None])
    return np.hstack([blocks, slope[:, None]]) if groups == q + 1 else blocks
