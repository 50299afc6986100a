"""How many experts items with several labels need, if each expert names one label (theory: section 8)."""

from __future__ import annotations

from math import comb

from covote.arguments import check_count, check_size
from covote.bounds.cover_sizes import best_lower_bound
from covote.errors import InputError


def cover_free_bound(classes: int, size: int, count: int, *, forced: bool = False) -> tuple[int, str]:
    """Return how few experts any panel for items with `count` labels can have, and which bound says so.

    Experts name one of the labels that they know. Without `forced` they decline if they know none, and every
    class needs, beside any `count` - 1 others, an expert that knows it and none of them; with `forced` every
    pair of classes does. The largest of these is returned:

    * counting: an expert of r classes serves C(r, w) of the C(K, w) classes or pairs, each against
      C(K - r, s - 1) of the C(K - w, s - 1) sets of others;
    * own experts: a class (or pair) that fewer than s experts know needs one that knows nothing else, as one
      other of each of them would hide it; all others fill s places each;
    * Sperner (1928), for two labels: no class has all experts of another, so K <= C(m, m // 2);
    * Bassalygo (D'yachkov and Rykov, 1983, A survey of superimposed code theory): min(K, C(s + 1, 2));
    * Erdos, Frankl and Furedi (1985, Families of finite sets in which no set is covered by the union of r
      others), in the form of Furedi (1996, On r-cover-free families): with r = s - 1 >= 2,
      K <= r + C(m, t), t = ceil((m - r) / C(r + 1, 2));
    * pairs through one class: what a class's experts know beside it serves one label of K - 1 classes.

    Proofs: docs/bounds.md.

    >>> cover_free_bound(10, 4, 2), cover_free_bound(4, 3, 2, forced=True)
    ((5, 'own experts'), (4, 'counting'))
    """
    classes, size = check_size(classes, size)
    check_several(classes, count, forced=forced)
    if count == 1:  # all but one class are known to somebody; or every pair is covered
        return best_lower_bound(classes, size) if forced else (_ceil(classes - 1, size), "counting")
    w, others = (2, count - 1) if forced else (1, count - 1)
    sizes = range(w, min(size, classes - others) + 1)
    served = max(comb(r, w) * comb(classes - r, others) for r in sizes)
    found = {"counting": _ceil(comb(classes, w) * comb(classes - w, others), served)}
    found["own experts"] = min(comb(classes, w), _ceil(count * comb(classes, w), comb(size, w)))
    if forced:
        if size > 2:
            through = cover_free_bound(classes - 1, size - 1, count)[0]
            found["one class"] = _ceil(classes * through, size)
    elif count == 2:
        found["Sperner"] = next(m for m in range(1, classes + 1) if comb(m, m // 2) >= classes)
    elif count > 2:
        found["Bassalygo"] = min(classes, comb(count + 1, 2))
        found["Erdos-Frankl-Furedi"] = _furedi(classes, count - 1)
    best = max(found, key=lambda name: found[name])
    return found[best], best


def check_several(classes: int, count: int, *, forced: bool) -> None:
    """Refuse numbers of labels that need no panel, or that items cannot have."""
    check_count(count, "count", 1)
    if count > classes - forced:
        raise InputError(
            f"count={count} labels of {classes} classes"
            + (
                "; an item that has all classes needs no expert"
                if count == classes
                else "; an item has fewer"
            )
        )


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _furedi(classes: int, r: int) -> int:
    for m in range(1, classes + 1):
        t = max(0, _ceil(m - r, comb(r + 1, 2)))
        if r + comb(m, t) >= classes:
            return m
    return classes
