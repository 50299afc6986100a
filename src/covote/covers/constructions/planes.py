"""Designs over finite fields: lines of projective and affine spaces, and transversal designs.

Every pair of points of a space lies on exactly one line. A transversal design has groups of equal size, and
every pair from two groups lies in exactly one block.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from covote.covers.constructions.finite_fields import finite_field, prime_power

Blocks = NDArray[np.int32]


@lru_cache(maxsize=32)
def projective_plane(q: int) -> Blocks:
    """Return the q^2+q+1 lines of PG(2,q), each of q+1 points.

    Points 0..q^2-1 are the affine plane, point (x, y) being q x + y; the last q+1 are the line at infinity,
    which is also the last line.

    >>> projective_plane(2).shape
    (7, 3)
    """
    field = finite_field(q)
    elements = np.arange(q)
    slope, height = np.repeat(elements, q), np.tile(elements, q)
    # The line y = slope x + height, and its point at infinity.
    y = field.add(field.multiply(slope[:, None], elements[None, :]), height[:, None])
    sloped = np.hstack([elements[None, :] * q + y, q * q + slope[:, None]])
    upright = np.hstack([elements[:, None] * q + elements[None, :], np.full((q, 1), q * q + q)])
    infinity = np.arange(q * q, q * q + q + 1)[None, :]
    return np.vstack([sloped, upright, infinity]).astype(np.int32)


@lru_cache(maxsize=32)
def affine_plane(q: int) -> Blocks:
    """Return the q^2+q lines of AG(2,q), each of q points, one parallel class after the other.

    >>> affine_plane(3).shape
    (12, 3)
    """
    return np.ascontiguousarray(projective_plane(q)[:-1, :-1])


def projective_lines(dimension: int, q: int) -> Blocks:
    """Return all lines of PG(dimension, q).

    >>> projective_lines(3, 2).shape
    (35, 3)
    """
    field = finite_field(q)
    points = _projective_points(dimension, q)
    place = q ** np.arange(dimension, -1, -1)
    number = {int(code): i for i, code in enumerate(points @ place)}
    inverse = [0] + [next(b for b in range(1, q) if int(field.multiply(a, b)) == 1) for a in range(1, q)]
    lines = []
    met = np.zeros((len(points), len(points)), dtype=bool)
    for a in range(len(points)):
        for b in range(a + 1, len(points)):
            if met[a, b]:
                continue
            line = [a]
            for scale in range(q):
                point = field.add(field.multiply(scale, points[a]), points[b])
                leading = int(point[np.flatnonzero(point)[0]])
                line.append(number[int(field.multiply(inverse[leading], point) @ place)])
            met[np.ix_(line, line)] = True
            lines.append(line)
    return np.array(lines, dtype=np.int32)


def affine_lines(dimension: int, q: int) -> Blocks:
    """Return all lines of AG(dimension, q).

    >>> affine_lines(3, 3).shape
    (117, 3)
    """
    field = finite_field(q)
    place = q ** np.arange(dimension - 1, -1, -1)
    points = (np.arange(q**dimension)[:, None] // place) % q
    lines = []
    for direction in _projective_points(dimension - 1, q):
        steps = field.multiply(np.arange(q)[:, None], direction[None, :])
        through = field.add(points[:, None, :], steps[None, :, :]) @ place
        # Each line is found once from each of its points; keep it from the smallest.
        lines.append(through[through.min(axis=1) == np.arange(len(points))])
    return np.vstack(lines).astype(np.int32)


def _projective_points(dimension: int, q: int) -> NDArray[np.int64]:
    """Return the points of PG(dimension, q): vectors whose first non-zero coordinate is 1."""
    place = q ** np.arange(dimension, -1, -1)
    vectors = (np.arange(1, q ** (dimension + 1))[:, None] // place) % q
    leading = vectors[np.arange(len(vectors)), (vectors != 0).argmax(axis=1)]
    return np.asarray(vectors[leading == 1])


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
