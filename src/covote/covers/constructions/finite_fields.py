"""Finite fields GF(q) for any prime power q, as whole-array addition and multiplication."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError

Elements = NDArray[np.int64]


class Field(NamedTuple):
    """GF(q) with elements 0..q-1; 0 and 1 are the neutral elements.

    Prime fields compute modulo q; the others look both operations up in tables of q x q entries.

    >>> field = finite_field(4)
    >>> int(field.add(2, 3)), int(field.multiply(2, 3))
    (1, 1)
    """

    order: int
    sums: Elements | None
    products: Elements | None

    def add(self, a: int | Elements, b: int | Elements) -> Elements:
        """Add elementwise, with broadcasting."""
        if self.sums is None:
            return np.asarray((np.asarray(a) + b) % self.order)
        return np.asarray(self.sums[a, b])

    def multiply(self, a: int | Elements, b: int | Elements) -> Elements:
        """Multiply elementwise, with broadcasting."""
        if self.products is None:
            return np.asarray((np.asarray(a) * b) % self.order)
        return np.asarray(self.products[a, b])


def prime_power(q: int) -> tuple[int, int] | None:
    """Return (p, n) with q = p^n and p prime, or None if there are none.

    >>> prime_power(27), prime_power(12)
    ((3, 3), None)
    """
    if q < 2:
        return None
    p = next((d for d in range(2, int(q**0.5) + 1) if q % d == 0), q)
    n = 0
    while q % p == 0:
        q //= p
        n += 1
    return (p, n) if q == 1 else None


@lru_cache(maxsize=64)
def finite_field(q: int) -> Field:
    """Return GF(q)."""
    power = prime_power(q)
    if power is None:
        raise InputError(f"there is no field of {q} elements; {q} is not a power of a prime")
    p, n = power
    if n == 1:
        return Field(q, None, None)
    digits = (np.arange(q)[:, None] // p ** np.arange(n)) % p
    weights = p ** np.arange(n)
    sums = ((digits[:, None, :] + digits[None, :, :]) % p) @ weights
    powers = _primitive_powers(p, n)
    log = np.zeros(q, dtype=np.int64)
    log[powers] = np.arange(q - 1)
    products = np.zeros((q, q), dtype=np.int64)
    products[1:, 1:] = powers[(log[1:, None] + log[None, 1:]) % (q - 1)]
    return Field(q, sums, products)


def _primitive_powers(p: int, n: int) -> Elements:
    """Return x^0, x^1, ... modulo the first primitive polynomial of degree n over GF(p), in base p."""
    q = p**n
    for low in range(1, q):
        # x^n is replaced by `feedback`, minus the lower coefficients of the polynomial.
        feedback = [(-(low // p**i)) % p for i in range(n)]
        powers = [1]
        while len(powers) < q:
            top = powers[-1] // p ** (n - 1)
            shifted = (powers[-1] % p ** (n - 1)) * p
            following = sum(((shifted // p**i + top * feedback[i]) % p) * p**i for i in range(n))
            if following == 1:
                break
            powers.append(following)
        if len(powers) == q - 1:
            return np.array(powers, dtype=np.int64)
    raise AssertionError(f"GF({q}) has a primitive polynomial")  # pragma: no cover
