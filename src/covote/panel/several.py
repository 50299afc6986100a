"""Items with several labels: what a panel can find out for certain (theory: section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.errors import InputError
from covote.panel.checks import Name

Report = Literal["one", "all"]


@dataclass(frozen=True)
class Support:
    """Whether the labels of every item follow from perfect answers; true if they do.

    Attributes
    ----------
    holds
        Whether they do.
    first, second
        Two sets of labels, if they do not, that the same answers may belong to.
    """

    holds: bool
    first: tuple[Name, ...] = ()
    second: tuple[Name, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


def check_model(report: str, count: int | None, classes: int) -> None:
    """Refuse what is no way of answering."""
    if report not in ("one", "all"):
        raise InputError(f"report={report!r} is not known; experts name 'one' of the labels, or 'all'")
    if count is not None and check_count(count, "count", 1) > classes:
        raise InputError(f"count={count} labels for {classes} classes; an item has at most {classes}")


def confused(
    knows: NDArray[np.bool_], count: int | None, report: str, forced: bool
) -> tuple[list[int], list[int]] | None:
    """Return two sets of classes that the same answers may belong to, if there are such sets."""
    classes = knows.shape[1]
    if classes == 1 or (count == classes and report == "one" and forced):
        return None  # there is only one set
    most = classes if count is None else count
    if not forced and (report == "all" or most == 1):
        return _unknown(knows, most)
    if report == "all" or most == 1:
        return _pair(knows)
    return _merged(knows, count) if forced else _hidden(knows, most)


def _unknown(knows: NDArray[np.bool_], most: int) -> tuple[list[int], list[int]] | None:
    """Classes that nobody knows are never reported; one of them can be told if an item has one label."""
    unknown = np.flatnonzero(~knows.any(axis=0)).tolist()
    if len(unknown) > 1:
        return [unknown[0]], [unknown[1]]
    if not unknown or most == 1:
        return None
    other = 0 if unknown[0] else 1
    return [other], sorted([other, unknown[0]])


def _pair(knows: NDArray[np.bool_]) -> tuple[list[int], list[int]] | None:
    """Two classes that nobody knows together are not told apart by experts that have to answer."""
    matrix = knows.astype(np.float32)
    k, j = np.nonzero(np.triu(matrix.T @ matrix == 0, 1))
    return ([int(k[0])], [int(j[0])]) if len(k) else None


def _hidden(knows: NDArray[np.bool_], most: int) -> tuple[list[int], list[int]] | None:
    """A class is hidden behind others if each of its authorities may name one of them instead."""
    blocks = [frozenset(np.flatnonzero(row).tolist()) for row in knows]
    for b, column in enumerate(knows.T):
        mine = [blocks[i] - {b} for i in np.flatnonzero(column).tolist()]
        others = hitting(mine, most - 1)
        if others is not None:
            base = sorted(others) or [0 if b else 1]
            return base, sorted([*base, b])
    return None


def _merged(knows: NDArray[np.bool_], count: int | None) -> tuple[list[int], list[int]] | None:
    """Two classes look the same beside others if each expert that knows both may name one of the others."""
    if count is None:
        return [0], [0, 1]  # the same answer may be all that there is, or not
    classes = knows.shape[1]
    blocks = [frozenset(np.flatnonzero(row).tolist()) for row in knows]
    authorities = [frozenset(np.flatnonzero(column).tolist()) for column in knows.T]
    for a, b in combinations(range(classes), 2):
        both = [blocks[i] - {a, b} for i in sorted(authorities[a] & authorities[b])]
        others = hitting(both, count - 1)
        if others is not None:
            rest = (k for k in range(classes) if k not in others and k not in (a, b))
            base = [*others, *(next(rest) for _ in range(count - 1 - len(others)))]
            return sorted([*base, a]), sorted([*base, b])
    return None


def hitting(sets: Sequence[frozenset[int]], size: int) -> frozenset[int] | None:
    """Return at most `size` elements of which every set has one; None if there are none.

    >>> sorted(hitting([frozenset({1, 2}), frozenset({2, 3}), frozenset({4})], 2))
    [2, 4]
    """
    if not sets:
        return frozenset()
    often: dict[int, int] = {}
    for one in sets:
        for k in one:
            often[k] = often.get(k, 0) + 1
    if size * max(often.values(), default=0) < len(sets):
        return None
    smallest = min(sets, key=lambda one: len(one))
    for k in sorted(smallest, key=lambda k: -often[k]):
        found = hitting([one for one in sets if k not in one], size - 1)
        if found is not None:
            return found | {k}
    return None


def closures(successors: Sequence[int]) -> list[int]:
    """Return, as bits, the classes that must be labels if a class is one.

    `successors[a]` has a bit for each class that experts named who know a.
    """
    reach = [bits | (1 << a) for a, bits in enumerate(successors)]
    for via in range(len(reach)):
        for a in range(len(reach)):
            if reach[a] >> via & 1:
                reach[a] |= reach[via]
    return reach


def members(bits: int) -> Iterator[int]:
    """Yield the positions of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
