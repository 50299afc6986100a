"""Smallest covers by blocks of three, for every number of classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from covote.covers.blocks import Blocks


def triples(classes: int) -> Blocks:
    """Return a cover by triples that meets the Schonheim bound.

    Bose (1939) and Skolem (1958): three copies of a commutative quasigroup, in which the product of two
    points goes to the next copy. It is idempotent for 3 and 5 modulo 6 and half-idempotent for 0 and 1, with
    no, two, no and one point outside. For 5, the 6n + 5 construction of Lindner and Rodger, "Design theory"
    (2008), where four triples cover the block of five. For 0, the three pairs that would meet the point
    outside and the triple of their ends become three triples (Fort and Hedlund 1958). For 2 and 4, one class
    is linked with pairs of the others.

    >>> [len(triples(v)) for v in (3, 4, 5, 6, 7, 8, 9)]
    [1, 3, 4, 6, 7, 11, 12]
    """
    return np.array(_triples(classes), dtype=np.int32)


def _triples(classes: int) -> list[tuple[int, int, int]]:
    n, rest = divmod(classes, 6)
    last = classes - 1
    if rest in (2, 4):
        linked = [(x, x + 1, last) for x in range(0, last - 1, 2)]
        return [*_triples(last), *linked, (0, last - 1, last)]
    order = 2 * n + (rest in (3, 5))

    def point(x: int, copy: int) -> int:
        return x + order * (copy % 3)

    def product(x: int, y: int) -> int:
        z = (x + y) % order
        return z * (order + 1) // 2 % order if order % 2 else z // 2 + n * (z % 2)

    def after(x: int) -> int:
        """Return the next point of the cycle 1, 2, ...; 0 stays."""
        return x % (order - 1) + 1 if x else 0

    found = []
    for x, y in combinations(range(order), 2):
        z = product(x, y)
        third = (z, z, after(z) if rest == 5 else z)
        found += [(point(x, i), point(y, i), point(third[i], i + 1)) for i in range(3)]
    if rest in (1, 3):
        found += [(point(x, 0), point(x, 1), point(x, 2)) for x in range(order if rest == 3 else n)]
    if rest in (0, 1):
        for x in range(n):
            ends = [point(x, i + 2) if rest == 0 else last for i in range(3)]
            found += [(point(x + n, i), point(x, i + 1), ends[i]) for i in range(3)]
    if rest == 5:
        one, two, (a, b, c) = last - 1, last, (point(0, i) for i in range(3))
        found += [(a, b, c), (a, one, two), (b, c, one), (b, c, two)]
        for x in range(1, order, 2):
            y, before = x + 1, x - 1 if x > 1 else order - 1
            pairs = [(x, 0, x, 1), (x, 2, y, 0), (y, 1, y, 2), (x, 1, x, 2), (y, 0, y, 1), (x, 0, before, 2)]
            for (p, i, q, j), outside in zip(pairs, [one] * 3 + [two] * 3, strict=True):
                found.append((point(p, i), point(q, j), outside))
    return found
