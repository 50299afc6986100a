"""How many classes few experts can cover."""

from __future__ import annotations

from fractions import Fraction

from covote.arguments import check_size

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
    16: Fraction(25, 7),
    17: Fraction(29, 8),
}
"""m experts of size R cover at most tau_m R classes: each proved by benchmarks/prove_small_covers.py.

The ratios up to m = 14 are reached for some R; the later ones may be too large.
"""

CELLS: dict[int, tuple[tuple[int, int], ...]] = {
    8: ((12, 5), (19, 8), (36, 15), (43, 18), (60, 25)),
    9: ((15, 6), (25, 10), (35, 14), (45, 18), (55, 22)),
    10: ((21, 8), (24, 9), (37, 14), (40, 15), (53, 20), (56, 21)),
    11: ((39, 14), (42, 15), (67, 24), (70, 25)),
}
"""m experts of size R do not cover K classes: pairs (K, R), each proved by benchmarks/prove_cells.py."""


def small_bound(classes: int, size: int) -> int:
    """Fewest experts, by what few experts can do: more than m if K/R > tau_m, and in some single cells.

    Mills (1979), Todorov, and Greig, Li and van Rees found the ratios up to m = 13 by hand; here a program
    proves them, and some more.

    >>> small_bound(12, 5), small_bound(13, 5)
    (9, 10)
    """
    v, k = check_size(classes, size)
    return small(v, k)


def small(v: int, k: int) -> int:
    """Return what :func:`small_bound` does, of checked numbers."""
    if v == k:
        return 1
    # Two experts that do not know everything leave a pair uncovered, so three is the least.
    fewest = [3]
    fewest += [m + 1 for m, tau in RATIOS.items() if v * tau.denominator > k * tau.numerator]
    # A cell also speaks for those of larger v - k and smaller k: the monotone closure.
    fewest += [m + 1 for m, cells in CELLS.items() if any(k <= k1 and v1 - k1 <= v - k for v1, k1 in cells)]
    return max(fewest)
