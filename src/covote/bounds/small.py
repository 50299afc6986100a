"""How many classes few experts can cover."""

from __future__ import annotations

from fractions import Fraction

from .inputs import check_size

RATIOS: dict[int, Fraction] = {
    3: Fraction(3, 2),
    4: Fraction(5, 3),
    5: Fraction(9, 5),
    6: Fraction(2),
    7: Fraction(7, 3),
    8: Fraction(12, 5),
    9: Fraction(5, 2),
    10: Fraction(8, 3),
    11: Fraction(14, 5),
    12: Fraction(3),
    13: Fraction(13, 4),
    14: Fraction(23, 7),
    15: Fraction(7, 2),
    16: Fraction(18, 5),
    17: Fraction(11, 3),
}
"""m experts of size R cover at most tau_m R classes: each proved by benchmarks/prove_small_covers.py.

The ratios up to m = 14 are reached for some R; the later ones may be too large.
"""


def small_bound(classes: int, size: int) -> int:
    """Fewest experts, by what few experts can do: more than m if K/R > tau_m.

    Mills (1979), Todorov, and Greig, Li and van Rees found these ratios by hand; here a program proves them.

    >>> small_bound(12, 5), small_bound(13, 5)
    (8, 10)
    """
    v, k = check_size(classes, size)
    return small(v, k)


def small(v: int, k: int) -> int:
    """Return what :func:`small_bound` does, of checked numbers."""
    if v == k:
        return 1
    # Two experts that do not know everything leave a pair uncovered, so three is the least.
    return max([3, *(m + 1 for m, tau in RATIOS.items() if v * tau.denominator > k * tau.numerator)])
