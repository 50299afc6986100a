"""What an incomplete panel can guarantee (theory: section 10)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from covote.panel import Panel

TOLERANCE = 1e-9
MOST_STEPS = 200_000
"""Steps of all searches for groups of classes that look alike, and columns of all linear programs.

Beyond them, the result is a lower bound."""


def worst_case_accuracy(panel: Panel) -> float:
    """Return the accuracy that no noise can push the best decoder below, if classes are equally frequent.

    Experts are right about the classes they know; about the others, they answer as an adversary likes, even
    in agreement with each other. The result is the fractional chromatic number of the graph of covered
    pairs, divided by the number of classes: 1 for a full cover, 1 / K without experts. From about a
    hundred classes on it may be a lower bound, if most pairs are uncovered. Ours; it extends the paper's
    Cor 1.

    Theory: section 10.

    >>> cycle = Panel.from_blocks(5, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])
    >>> worst_case_accuracy(cycle), worst_case_accuracy(cycle.only("expert-1"))
    (0.5, 0.4)
    """
    classes = len(panel.classes)
    knows = panel.knows.astype(np.float32)
    uncovered = knows.T @ knows == 0  # two classes without a common expert
    np.fill_diagonal(uncovered, False)
    # Classes of different components of this relation are covered with each other: their numbers add up.
    parts = _components(uncovered)
    return (
        sum(_fewest_groups(uncovered[np.ix_(some, some)], panel.knows[:, some]) for some in parts) / classes
    )


def _components(uncovered: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    number, component = connected_components(csr_array(uncovered), directed=False)
    for c in range(number):
        yield np.flatnonzero(component == c)


def _fewest_groups(uncovered: NDArray[np.bool_], knows: NDArray[np.bool_]) -> float:
    """Return the least total weight of groups of classes without a common expert that cover each class once.

    Column generation: groups are added while one has a total price above 1. With the prices x and no group
    dearer than w, sum(x) / w is a lower bound (Farley, 1990, "A note on bounding a class of linear
    programming problems, including cutting stock problems"); at the end w is 1 and the bound is the result.
    """
    size = len(uncovered)
    if size == 1:
        return 1.0
    near = [sum(1 << int(j) for j in np.flatnonzero(row)) for row in uncovered]
    best = float(knows.sum(axis=1).max(initial=1))  # the classes of one expert need a group each
    steps = MOST_STEPS
    member = np.empty((size, 0))
    dearer = list({_greedy_group(near, np.ones(size), start) for start in range(size)})
    while True:
        fresh = np.array([[one >> k & 1 for one in dearer] for k in range(size)], dtype=np.float64)
        member = np.hstack([member, fresh])
        price = _prices(member)
        steps -= member.shape[1]
        grown = {_greedy_group(near, price, start) for start in range(size)} if steps > 0 else ()
        dearer = [one for one in grown if sum(price[k] for k in _members(one)) > 1 + 1e-6]
        if not dearer:
            dearer, dearest, steps = _dearer_groups(near, price, steps)
            best = max(best, float(price.sum()) / dearest)
        if not dearer or steps <= 0:
            return best


def _greedy_group(near: list[int], price: NDArray[np.float64], start: int) -> int:
    """Return a group from one class on: the dearest class that shares no expert with them joins next."""
    group, left = 1 << start, near[start]
    while left:
        k = max(_members(left), key=price.__getitem__)
        group, left = group | 1 << k, left & near[k]
    return group


def _prices(member: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each class is worth if groups cover all of them at the least weight: the dual solution.

    `member` has a row for each class and a column for each group.
    """
    from scipy.optimize import linprog

    classes, groups = member.shape
    solved = linprog(np.ones(groups), A_ub=-member, b_ub=-np.ones(classes), method="highs")
    found: NDArray[np.float64] = np.maximum(-solved.ineqlin.marginals, 0.0)
    return found / max(1.0, float((found @ member).max()))  # no group is worth more than 1, despite rounding


def _dearer_groups(near: list[int], price: NDArray[np.float64], steps: int) -> tuple[list[int], float, int]:
    """Return groups above the price 1, each dearer than the last, what no group exceeds, and the steps left.

    Branch and bound (Held, Cook and Sewell, 2012, "Maximum-weight stable sets and safe lower bounds for graph
    coloring"). If the search is cut short, the bound on all groups is looser.
    """
    named = [k for k in np.argsort(price, kind="stable").tolist() if price[k] > TOLERANCE]
    place = {k: p for p, k in enumerate(named)}
    near = [sum(1 << place[j] for j in _members(near[k]) if j in place) for k in named]
    worth = price[named].tolist()
    everything = (1 << len(named)) - 1
    apart = [everything & ~uncovered & ~(1 << k) for k, uncovered in enumerate(near)]
    found: list[int] = []
    dearest = 1.0
    path = [(0.0, 0, everything)]
    while path and steps > 0:
        steps -= 1
        have, group, left = path.pop()
        for k in _members(left):
            out = apart[k] & left
            # A class joins at once if those that it keeps out are not worth more, all together.
            if left >> k & 1 and sum(worth[j] for j in _members(out)) <= worth[k]:
                have, group, left = have + worth[k], group | 1 << k, left & ~out & ~(1 << k)
        if have > dearest + TOLERANCE:
            dearest = have
            found.append(group)
        beyond, _ = _classes_beyond(apart, worth, left, dearest + TOLERANCE - have)
        left &= ~beyond
        for k in _members(beyond):
            path.append((have + worth[k], group | 1 << k, left & near[k]))
            left |= 1 << k
    if path:
        _, dearest = _classes_beyond(apart, worth, everything, float("inf"))
    return [sum(1 << named[k] for k in _members(one)) for one in found], dearest, steps


def _classes_beyond(apart: list[int], worth: list[float], left: int, budget: float) -> tuple[int, float]:
    """Return classes without which no group among those left is worth more than the budget; what is spent.

    A group has at most one of several classes that are pairwise covered. So the same price can be taken off
    all of them for the cost of one, until nothing is left of the prices or of the budget.
    """
    rest = {k: worth[k] for k in _members(left)}
    spent = 0.0
    while left:
        first = (left & -left).bit_length() - 1
        together, others = [first], apart[first] & left
        while others:
            k = others.bit_length() - 1
            together.append(k)
            others &= apart[k]
        part = min(rest[k] for k in together)
        if spent + part > budget:
            break
        spent += part
        for k in together:
            rest[k] -= part
            if rest[k] <= 0:
                left &= ~(1 << k)
    return left, spent


def _members(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
