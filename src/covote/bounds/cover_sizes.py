"""How many experts a panel needs: bounds for covers, proved in docs/bounds.md.

Everything here is integer arithmetic: a certificate may rest on it. Inside the functions v, k, lam are the
number of classes, the size of an expert and how often each pair is covered; r is the least number of
experts that must know a class, and d how many pairs too many a class sees that is known by exactly r.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from covote.arguments import check_count, check_size

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


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def schonheim_bound(classes: int, size: int, redundancy: int = 1) -> int:
    """Fewest experts, counting first around one class: ceil(K/R ceil(redundancy (K-1)/(R-1))).

    >>> schonheim_bound(10, 4), schonheim_bound(10, 4, redundancy=2)
    (8, 15)
    """
    v, k = check_size(classes, size)
    return _schonheim(v, k, check_count(redundancy, "redundancy"))


def hanani_bound(classes: int, size: int, redundancy: int = 1) -> int:
    """Schonheim's bound, plus one where equality would leave a single class with one expert too many.

    That is so if R-1 divides redundancy (K-1) and K r = -1 (mod R), with r = redundancy (K-1)/(R-1).

    >>> schonheim_bound(13, 5), hanani_bound(13, 5)
    (8, 9)
    """
    v, k = check_size(classes, size)
    return _hanani(v, k, check_count(redundancy, "redundancy"))


def horsley_bound(classes: int, size: int, redundancy: int = 1) -> int:
    """Fewest experts, by Fisher's inequality on the classes that only r experts know.

    ceil(K (r+1) / (R+q)) with r = ceil(redundancy (K-1)/(R-1)), d = r (R-1) - redundancy (K-1) and
    q = floor(d / (r - redundancy)) + 1. Horsley (2017) is the case d < r - redundancy, so q = 1.

    >>> schonheim_bound(21, 6), horsley_bound(21, 6)
    (14, 15)
    """
    v, k = check_size(classes, size)
    return _horsley(v, k, check_count(redundancy, "redundancy"))


def _schonheim(v: int, k: int, lam: int) -> int:
    return _ceil(v * _ceil(lam * (v - 1), k - 1), k)


def _hanani(v: int, k: int, lam: int) -> int:
    r, rest = divmod(lam * (v - 1), k - 1)
    return _schonheim(v, k, lam) + (rest == 0 and v * r % k == k - 1)


def _horsley(v: int, k: int, lam: int) -> int:
    if k == v:
        return lam
    r = _ceil(lam * (v - 1), k - 1)
    q = (r * (k - 1) - lam * (v - 1)) // (r - lam) + 1
    return _ceil(v * (r + 1), k + q)


def small_bound(classes: int, size: int) -> int:
    """Fewest experts, by what few experts can do: more than m if K/R > tau_m, and in some single cells.

    Mills (1979), Todorov, and Greig, Li and van Rees found the ratios up to m = 13 by hand; here a program
    proves them, and some more.

    >>> small_bound(12, 5), small_bound(13, 5)
    (9, 10)
    """
    v, k = check_size(classes, size)
    return _small(v, k)


def _small(v: int, k: int) -> int:
    if v == k:
        return 1
    # Two experts that do not know everything leave a pair uncovered, so three is the least.
    fewest = [3]
    fewest += [m + 1 for m, tau in RATIOS.items() if v * tau.denominator > k * tau.numerator]
    # A cell also speaks for those of larger v - k and smaller k: the monotone closure.
    fewest += [m + 1 for m, cells in CELLS.items() if any(k <= k1 and v1 - k1 <= v - k for v1, k1 in cells)]
    return max(fewest)


_BOUNDS: dict[str, Callable[[int, int, int], int]] = {
    "Schonheim": _schonheim,
    "Hanani": _hanani,
    "Horsley": _horsley,
}


def best_lower_bound(classes: int, size: int, redundancy: int = 1) -> tuple[int, str]:
    """Return the best lower bound that is proved, and its name.

    >>> best_lower_bound(13, 4), best_lower_bound(11, 6)
    ((13, 'Schonheim'), (6, 'few-experts'))
    """
    v, k = check_size(classes, size)
    return _best(v, k, check_count(redundancy, "redundancy"))


def _best(v: int, k: int, lam: int) -> tuple[int, str]:
    values = {name: bound(v, k, lam) for name, bound in _BOUNDS.items()}
    if lam == 1:
        values["few-experts"] = _small(v, k)
    name = max(values, key=lambda name: values[name])  # the first, so the simplest, of equals
    return values[name], name


def two_group_bound(classes: int, size: int) -> int:
    """Experts that suffice: split the classes into groups of floor(R/2) and take every two groups.

    C(ceil(K / floor(R/2)), 2), about 2 K^2/R^2: the logarithm of the paper's Thm 3 is not needed.

    >>> two_group_bound(10, 4), two_group_bound(1000, 32)
    (10, 1953)
    """
    K, R = check_size(classes, size)
    if K == R:
        return 1
    groups = -(-K // (R // 2))
    return groups * (groups - 1) // 2
