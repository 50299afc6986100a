"""Upper bounds for covers from a construction."""

from __future__ import annotations

from covote.arguments import check_size


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
