"""What an incomplete panel can guarantee (theory: section 10)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from covote.panel import Panel

TOLERANCE = 1e-9
MOST_STEPS = 400_000
"""Steps of all searches for groups of classes that look alike; beyond them, the result is a lower bound."""
MOST_ROUNDS = 300
"""Linear programs that are solved for the classes of one component."""


def worst_case_accuracy(panel: Panel) -> float:
    """Return the accuracy that no noise can push the best decoder below, if classes are equally frequent.

    Experts are right about the classes they know; about the others, they answer as an adversary likes, even
    in agreement with each other. The result is the fractional chromatic number of the graph of covered
    pairs, divided by the number of classes: 1 for a full cover, 1 / K without experts. If hundreds of classes
    are uncovered it may be a lower bound. Ours; it extends the paper's Cor 1.

    Theory: section 10.

    >>> cycle = Panel.from_blocks(5, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])
    >>> worst_case_accuracy(cycle), worst_case_accuracy(cycle.only("expert-1"))
    (0.5, 0.4)
    """
    classes = len(panel.classes)
    knows = panel.knows.astype(np.float32)
    alike = knows.T @ knows == 0  # two classes without a common expert
    np.fill_diagonal(alike, False)
    # Classes of different components of this relation are covered with each other: their numbers add up.
    parts = _components(alike)
    return sum(_fewest_groups(alike[np.ix_(some, some)], panel.knows[:, some]) for some in parts) / classes


def _components(alike: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    number, component = connected_components(csr_array(alike), directed=False)
    for c in range(number):
        yield np.flatnonzero(component == c)


def _fewest_groups(alike: NDArray[np.bool_], knows: NDArray[np.bool_]) -> float:
    """Return the least total weight of groups of mutually alike classes that cover each class once.

    Column generation: groups are added while one has a total price above 1. With the prices x and the largest
    price w of a group, sum(x) / w is a lower bound (Farley, 1990, "A note on bounding a class of linear
    programming problems, including cutting stock problems"); at the end the two are equal.
    """
    size = len(alike)
    if size == 1:
        return 1.0
    near = [sum(1 << int(j) for j in np.flatnonzero(row)) for row in alike]
    groups = dict.fromkeys(_grown(near, np.ones(size), start) for start in range(size))
    best = float(knows.sum(axis=1).max(initial=1))  # the classes of one expert need a group each
    steps = MOST_STEPS
    for _ in range(MOST_ROUNDS):
        price = _prices(list(groups), size)
        more = [one for start in range(size) if _total(one := _grown(near, price, start), price) > 1 + 1e-6]
        fresh = [one for one in more if one not in groups]
        if not fresh:
            dearest, group, steps = _dearest(near, price, steps)
            best = max(best, float(price.sum()) / max(1.0, dearest))
            if dearest <= 1 + TOLERANCE or group in groups or steps <= 0:
                break
            fresh = [group]
        groups.update(dict.fromkeys(fresh))
    return best


def _prices(groups: list[int], size: int) -> NDArray[np.float64]:
    """Return what each class is worth if groups cover all of them at the least weight: the dual solution."""
    from scipy.optimize import linprog

    member = np.array([[one >> k & 1 for one in groups] for k in range(size)], dtype=np.float64)
    solved = linprog(np.ones(len(groups)), A_ub=-member, b_ub=-np.ones(size), method="highs")
    found: NDArray[np.float64] = np.maximum(-solved.ineqlin.marginals, 0.0)
    return found


def _total(group: int, price: NDArray[np.float64]) -> float:
    return float(sum(price[k] for k in _members(group)))


def _grown(near: list[int], price: NDArray[np.float64], start: int) -> int:
    """Return a group from one class on: the dearest class that is alike to all others joins next."""
    group, left = 1 << start, near[start]
    while left:
        k = max(_members(left), key=lambda k: (price[k], -k))
        group, left = group | 1 << k, left & near[k]
    return group


def _dearest(near: list[int], price: NDArray[np.float64], steps: int) -> tuple[float, int, int]:
    """Return the largest total price of a group, the group, and the steps that are left: branch and bound.

    A group has at most one of several classes that are pairwise not alike, so the dearest of each such set
    bounds what a group can reach (Tomita and Seki, 2003, "An efficient branch-and-bound algorithm for finding
    a maximum clique"). If the search is cut short, the first bound is returned.
    """
    # Without classes that are worth nothing, dearest first: bounds are tighter then.
    named = [k for k in np.argsort(-price, kind="stable").tolist() if price[k] > TOLERANCE]
    place = {k: p for p, k in enumerate(named)}
    near = [sum(1 << place[j] for j in _members(near[k]) if j in place) for k in named]
    worth = price[named].tolist()
    everything = (1 << len(near)) - 1
    order = _bounded(near, worth, everything)
    first = order[-1][1]
    best, found = 0.0, 0
    path = [(0.0, 0, everything, order)]
    while path:
        have, group, left, order = path[-1]
        if not order or have + order[-1][1] <= best + TOLERANCE:
            path.pop()
            continue
        if steps <= 0:
            best = first
            break
        k, _ = order.pop()
        path[-1] = (have, group, left & ~(1 << k), order)
        have, group, left = have + worth[k], group | 1 << k, left & near[k]
        if have > best:
            best, found = have, group
        if left:
            order = _bounded(near, worth, left)
            steps -= len(order)
            path.append((have, group, left, order))
    return best, sum(1 << named[p] for p in _members(found)), steps


def _bounded(near: list[int], worth: list[float], left: int) -> list[tuple[int, float]]:
    """Return classes in an order, each with a bound on groups among it and those before it."""
    order: list[tuple[int, float]] = []
    total = 0.0
    while left:
        free, dearest = left, 0.0
        while free:  # classes that are pairwise not alike
            k = (free & -free).bit_length() - 1
            dearest = max(dearest, worth[k])
            order.append((k, total + dearest))
            left &= ~(1 << k)
            free &= ~(1 << k) & ~near[k]
        total += dearest
    return order


def _members(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
