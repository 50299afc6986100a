"""Lower bounds on the experts that cover every pair of classes, each proved in docs/bounds.md.

Everything here is integer arithmetic: a certificate may rest on it. Inside the functions v, k, lam are the
number of classes, the size of an expert and how often each pair is covered; r is the least number of
experts that must know a class, and d how many pairs too many a class sees that is known by exactly r.
"""

from __future__ import annotations

from collections.abc import Callable

from covote.arguments import check_count, check_size
from covote.bounds.small import small


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def schonheim_bound(classes: int, size: int, times: int = 1) -> int:
    """Fewest experts, counting first around one class: ceil(K/R ceil(times (K-1)/(R-1))).

    >>> schonheim_bound(10, 4), schonheim_bound(10, 4, times=2)
    (8, 15)
    """
    v, k = check_size(classes, size)
    return _schonheim(v, k, check_count(times, "times"))


def hanani_bound(classes: int, size: int, times: int = 1) -> int:
    """Schonheim's bound, plus one where equality would leave a single class with one expert too many.

    That is so if R-1 divides times (K-1) and K r = -1 (mod R), with r = times (K-1)/(R-1).

    >>> schonheim_bound(13, 5), hanani_bound(13, 5)
    (8, 9)
    """
    v, k = check_size(classes, size)
    return _hanani(v, k, check_count(times, "times"))


def horsley_bound(classes: int, size: int, times: int = 1) -> int:
    """Fewest experts, by Fisher's inequality on the classes that only r experts know.

    ceil(K (r+1) / (R+q)) with r = ceil(times (K-1)/(R-1)), d = r (R-1) - times (K-1) and
    q = floor(d / (r - times)) + 1. Horsley (2017) is the case d < r - times, so q = 1.

    >>> schonheim_bound(21, 6), horsley_bound(21, 6)
    (14, 15)
    """
    v, k = check_size(classes, size)
    return _horsley(v, k, check_count(times, "times"))


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


_BOUNDS: dict[str, Callable[[int, int, int], int]] = {
    "Schonheim": _schonheim,
    "Hanani": _hanani,
    "Horsley": _horsley,
}


def best_lower_bound(classes: int, size: int, times: int = 1) -> tuple[int, str]:
    """Return the best lower bound that is proved, and its name.

    >>> best_lower_bound(13, 4), best_lower_bound(11, 6)
    ((13, 'Schonheim'), (6, 'few-experts'))
    """
    v, k = check_size(classes, size)
    return _best(v, k, check_count(times, "times"))


def _best(v: int, k: int, lam: int) -> tuple[int, str]:
    values = {name: bound(v, k, lam) for name, bound in _BOUNDS.items()}
    if lam == 1:
        values["few-experts"] = small(v, k)
    name = max(values, key=lambda name: values[name])  # the first, so the simplest, of equals
    return values[name], name


def closure_bound(classes: int, size: int, times: int = 1) -> int:
    """Return the best bound of the neighbours, which holds here too: the monotone closure.

    A cover of v classes with size k gives one of v-1 classes, one with size k+1, and one of v+1 classes
    with size k+1 (a new class that everybody knows), with as many experts. The bounds here are closed
    already, so that :func:`best_lower_bound` is at least as large.

    >>> closure_bound(13, 4)
    12
    """
    v, k = check_size(classes, size)
    lam = check_count(times, "times")
    neighbours = [(v - 1, k), (v, k + 1), (v + 1, k + 1)]
    return max([lam, *(_best(v1, k1, lam)[0] for v1, k1 in neighbours if k1 <= v1)])
