"""The table of sizes that recursive constructions reach, filled to a fixpoint.

Plain functions on arrays: small tables are filled as they are, large ones by their compiled twins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int32]

# The rules, as the table records them; `recursions` turns them into blocks.
(
    SINGLE,
    DROP_POINT,
    SMALLER,
    COMMON_POINT,
    HUB,
    MULTIPLY,
    TWO_GROUPS,
    COMPOSE,
    SEED,
    TRANSVERSAL,
    WEIGHTED,
    PAIRS,
) = range(12)
UNKNOWN = 1 << 29


def split_cost(row: Table, points: int, groups: int, most: int, shared: int, full: bool) -> int:
    """Return the sum of row[s_i + shared] over groups of sizes s_i <= most that share out `points`.

    Groups are as equal as possible, or, if `full`, of `most` points each as far as they go.
    """
    if full:
        count = points // most
        rest = points - count * most
        total = count * int(row[most + shared])
        if rest > 0:
            total += int(row[rest + shared])
        return total
    size = points // groups
    larger = points - size * groups
    total = larger * int(row[size + 1 + shared]) if larger > 0 else 0
    if size > 0:
        total += (groups - larger) * int(row[size + shared])
    return total


def fill(size: Table, plan: NDArray[np.int32], most_groups: Table) -> None:
    """Improve size[k, v] by every rule until nothing changes; plan[k, v] = (rule, three arguments)."""
    top_k, top_v = size.shape[0] - 1, size.shape[1] - 1
    changed = True
    while changed:
        changed = False
        for k in range(2, top_k + 1):
            for v in range(top_v, k, -1):
                changed |= _downwards(size, plan, k, v)
            for v in range(k + 1, top_v + 1):
                changed |= _one_step(size, plan, k, v)
                changed |= _two_groups(size, plan, k, v)
                changed |= _transversal(size, plan, most_groups, k, v)
            changed |= _weighted(size, plan, most_groups, k)


def _better(
    size: Table, plan: NDArray[np.int32], k: int, v: int, cost: int, rule: int, a: int, b: int, c: int
) -> Any:
    if cost >= size[k, v]:
        return False
    size[k, v] = cost
    plan[k, v, 0] = rule
    plan[k, v, 1] = a
    plan[k, v, 2] = b
    plan[k, v, 3] = c
    return True


def _downwards(size: Table, plan: NDArray[np.int32], k: int, v: int) -> Any:
    if v + 1 < size.shape[1]:
        return _better(size, plan, k, v, size[k, v + 1], DROP_POINT, 0, 0, 0)
    return False


def _one_step(size: Table, plan: NDArray[np.int32], k: int, v: int) -> Any:
    changed = _better(size, plan, k, v, size[k - 1, v], SMALLER, 0, 0, 0)
    changed |= _better(size, plan, k, v, size[k - 1, v - 1], COMMON_POINT, 0, 0, 0)
    for hub in range(1, min(k, v)):
        rest = v - hub
        cost = size[k, rest] + -(-rest // (k - hub))
        changed |= _better(size, plan, k, v, cost, HUB, hub, 0, 0)
    for a in range(2, k // 2 + 1):
        changed |= _better(size, plan, k, v, size[k // a, -(-v // a)], MULTIPLY, a, 0, 0)
    for middle in range(k + 1, min(v, size.shape[0])):
        if size[middle, v] < UNKNOWN // 64 and size[k, middle] < UNKNOWN // 64:
            cost = int(size[middle, v]) * int(size[k, middle])
            changed |= _better(size, plan, k, v, cost, COMPOSE, middle, 0, 0)
    return changed


def _two_groups(size: Table, plan: NDArray[np.int32], k: int, v: int) -> Any:
    changed = False
    for first in range(1, v // 2 + 1):
        second = v - first
        inside = size[k, first] + size[k, second]
        if inside >= size[k, v]:
            continue
        for part in range(1, k):
            cost = inside + -(-first // part) * -(-second // (k - part))
            changed |= _better(size, plan, k, v, cost, TWO_GROUPS, first, part, 0)
    return changed


def _transversal(size: Table, plan: NDArray[np.int32], most_groups: Table, k: int, v: int) -> Any:
    changed = False
    for groups in range(max(2, k - 4), k + 1):
        free = k - groups  # points that join every block of the transversal design
        # A free and a shared point would not meet, so there is only one of the two kinds.
        for shared in range(k + 1 if free == 0 else 1):
            points = v - free - shared
            if points <= groups:
                break
            least = -(-points // groups)
            for order in range(least, min(least + 8, most_groups.shape[0])):
                if most_groups[order] < groups or order * order >= size[k, v] or order + shared >= v:
                    continue
                for full in range(2):
                    fills = split_cost(size[k], points, groups, order, shared, full == 1)
                    code = order * 2 + full
                    changed |= _better(
                        size, plan, k, v, order * order + fills, TRANSVERSAL, code, groups, shared
                    )
    return changed


def _weighted(size: Table, plan: NDArray[np.int32], most_groups: Table, k: int) -> Any:
    """Try transversal designs whose points stand for several classes, alike within a group.

    `light` groups of weight w and `heavy` ones of weight w + 1 are full; one odd group takes what is left of
    a block, so that it may have any number of classes. Smaller covers follow by leaving classes out.
    """
    changed = False
    for order in range(2, min(most_groups.shape[0], size.shape[1])):
        if order * order >= size[k, -1]:
            break
        for weight in range(1, 3):
            for light in range(min(most_groups[order], k // weight) + 1):
                for heavy in range(min(most_groups[order] - light, (k - light * weight) // (weight + 1)) + 1):
                    if light + heavy >= 2:
                        changed |= _odd_group(size, plan, most_groups[order], k, order, weight, light, heavy)
    return changed


def _odd_group(
    size: Table, plan: NDArray[np.int32], most: int, k: int, order: int, weight: int, light: int, heavy: int
) -> Any:
    changed = False
    top = size.shape[1] - 1
    room = k - light * weight - heavy * (weight + 1) if light + heavy < most else 0
    for shared in range(3):
        full = order * (light * weight + heavy * (weight + 1)) + shared
        if full > top:
            break
        cost = order * order
        if light:
            cost += light * int(size[k, order * weight + shared])
        if heavy:
            cost += heavy * int(size[k, order * (weight + 1) + shared])
        widest = min(top, full + order * room)
        if cost >= size[k, widest]:
            continue
        for v in range(full, widest + 1):
            odd = int(size[k, v - full + shared]) if v > full else 0
            changed |= _better(
                size, plan, k, v, cost + odd, WEIGHTED, order * 4 + shared, weight, light * 256 + heavy
            )
    return changed
