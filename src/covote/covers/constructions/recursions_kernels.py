"""The rules of :mod:`covote.covers.constructions.recursions`, applied until nothing changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Table = NDArray[np.int32]

# The rules, by their numbers in the table; `recursions` turns them into blocks.
(
    SINGLE,
    HALVES,
    COMMON_POINT,
    HUB,
    MULTIPLY,
    SEED,
    TRANSVERSAL,
    WEIGHTED,
    PAIRS,
) = range(9)
UNKNOWN = 1 << 29


@kernel(steps=lambda size, plan, most_groups: 600 * size.size)
def fill(size: Table, plan: NDArray[np.int32], most_groups: Table) -> None:
    """Improve size[k, v] by every rule until nothing changes; plan[k, v] = (rule, three arguments)."""
    changed = True
    while changed:
        changed = False
        for k in range(2, size.shape[0]):
            for v in range(k + 1, size.shape[1]):
                changed |= _improve(size, plan, most_groups, k, v)
            changed |= _weighted(size, plan, most_groups, k)


@helper
def _improve(size: Table, plan: NDArray[np.int32], most_groups: Table, k: int, v: int) -> bool:
    """Try all rules that lead to a cover of v classes by blocks of k; the first of the best wins."""
    best, rule, a, b, c = np.int64(size[k, v]), -1, 0, 0, 0
    if size[k - 1, v - 1] < best:
        best, rule = np.int64(size[k - 1, v - 1]), COMMON_POINT
    for hub in range(1, k):
        rest = v - hub
        cost = np.int64(size[k, rest]) + -(-rest // (k - hub))
        if cost < best:
            best, rule, a = cost, HUB, hub
    for times in range(2, k // 2 + 1):
        cost = np.int64(size[k // times, -(-v // times)])
        if cost < best:
            best, rule, a = cost, MULTIPLY, times
    for groups in range(max(2, k - 4), k + 1):
        free = k - groups  # points that join every block of the transversal design
        # A free and a shared point would not meet, so there is only one of the two kinds.
        for shared in range(k + 1 if free == 0 else 1):
            points = v - free - shared
            if points <= groups:
                break
            least = -(-points // groups)
            for order in range(least, min(least + 8, most_groups.shape[0])):
                if most_groups[order] < groups or order * order >= best or order + shared >= v:
                    continue
                # Groups are as equal as possible, or full except for the last.
                for full in range(2):
                    part = order if full else points // groups
                    odd = points - part * (points // part if full else groups) if part else points
                    cost = np.int64(order * order)
                    if full:
                        cost += (points // part) * np.int64(size[k, part + shared])
                        cost += np.int64(size[k, odd + shared]) if odd else 0
                    else:
                        cost += (groups - odd) * np.int64(size[k, part + shared])
                        cost += odd * np.int64(size[k, part + 1 + shared]) if odd else 0
                    if cost < best:
                        best, rule, a, b, c = cost, TRANSVERSAL, order * 2 + full, groups, shared
    if rule < 0:
        return False
    size[k, v] = best
    plan[k, v, 0] = rule
    plan[k, v, 1], plan[k, v, 2], plan[k, v, 3] = a, b, c
    return True


@helper
def _weighted(size: Table, plan: NDArray[np.int32], most_groups: Table, k: int) -> bool:
    """Try transversal designs whose points stand for several classes, alike within a group.

    `light` groups of weight w and `heavy` ones of weight w + 1 are full; one odd group takes the remaining
    places of a block, so it may have any number of classes.
    """
    changed = False
    top = size.shape[1] - 1
    for order in range(2, min(most_groups.shape[0], size.shape[1])):
        most = most_groups[order]
        if order * order >= size[k, top]:
            break
        for weight in range(1, 3):
            for light in range(min(most, k // weight) + 1):
                for heavy in range(min(most - light, (k - light * weight) // (weight + 1)) + 1):
                    within = light * weight + heavy * (weight + 1)  # places of a block in full groups
                    room = k - within if light + heavy < most else 0
                    for shared in range(3 if light + heavy >= 2 else 0):
                        full = order * within + shared
                        if full > top:
                            break
                        cost = np.int64(order * order)
                        if light:
                            cost += light * np.int64(size[k, order * weight + shared])
                        if heavy:
                            cost += heavy * np.int64(size[k, order * (weight + 1) + shared])
                        widest = min(top, full + order * room)
                        if cost >= size[k, widest]:
                            continue
                        for v in range(full, widest + 1):
                            total = cost + (np.int64(size[k, v - full + shared]) if v > full else 0)
                            if total < size[k, v]:
                                size[k, v] = total
                                plan[k, v, 0] = WEIGHTED
                                plan[k, v, 1] = order * 4 + shared
                                plan[k, v, 2] = weight
                                plan[k, v, 3] = light * 256 + heavy
                                changed = True
    return changed
