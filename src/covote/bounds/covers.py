"""Lower bounds on the experts that cover every pair of classes, each proved in docs/bounds.md.

Everything here is integer arithmetic: a certificate may rest on it. Inside the functions v, k, lam are the
number of classes, the size of an expert and how often each pair is covered; r is the least number of
experts that must know a class, and d how many pairs too many a class sees that is known by exactly r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .inputs import check_count, check_size


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def counting_bound(classes: int, size: int, times: int = 1) -> int:
    """Fewest experts that any covering panel can have, by counting pairs: ceil(times K(K-1) / (R(R-1))).

    An expert of `size` classes covers at most C(size, 2) of the C(classes, 2) pairs.

    Paper: Thm 2.

    >>> counting_bound(10, 4)
    8
    """
    v, k = check_size(classes, size)
    return _ceil(check_count(times, "times") * v * (v - 1), k * (k - 1))


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


_LONGEST_STEP = 200

_BOUNDS: dict[str, Callable[[int, int, int], int]] = {
    "Schonheim": _schonheim,
    "Hanani": _hanani,
    "Horsley": _horsley,
}


def best_lower_bound(classes: int, size: int, times: int = 1) -> tuple[int, str]:
    """Return the best lower bound that is proved, and its name.

    A cover of v classes by experts of size k gives one of v-1 classes, one with size k+1, and one of v+1
    classes with size k+1 (a new class that everybody knows), all with as many experts. So the bounds of
    (v+j, k+j) and of fewer classes hold as well; the name says when such a neighbour is the reason.

    >>> best_lower_bound(13, 4)
    (13, 'Schonheim')
    >>> best_lower_bound(31, 6)
    (31, 'Schonheim')
    """
    v, k = check_size(classes, size)
    lam = check_count(times, "times")
    best, reason = 0, ""
    for v1, k1 in _neighbours(v, k, lam):
        for name, bound in _BOUNDS.items():
            value = bound(v1, k1, lam)
            if value > best:
                best, reason = value, name if (v1, k1) == (v, k) else f"{name} (of {v1} classes, size {k1})"
    return best, reason


def _neighbours(v: int, k: int, lam: int) -> Iterator[tuple[int, int]]:
    """Yield the cells whose bounds pass on to (v, k) and may be better: itself, then others with larger size.

    For a given size and r, more classes make every bound larger, so only the most classes with r or r - 1
    experts each can win. Every step away lowers the bounds on the whole, so the search is short.
    """
    floor = _schonheim(v, k, lam)
    for step in range(min(v - k, _LONGEST_STEP) + 1):
        v1, k1 = v + step, k + step
        r = _ceil(lam * (v1 - 1), k1 - 1)
        if v1 * (r + 1) <= (floor - 1) * k1:  # not even Horsley's bound with q = 1 could be more
            break
        yield v1, k1
        fewer = (r - 1) * (k1 - 1) // lam + 1
        if k1 <= fewer < v1:
            yield fewer, k1
