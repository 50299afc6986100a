"""Lines of projective and affine spaces over GF(q): every pair of points on exactly one line."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from covote.covers.constructions.finite_fields import finite_field

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
