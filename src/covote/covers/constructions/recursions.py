"""The best recursive construction for every (classes, size): sizes first, blocks only on demand.

Up to MOST classes and blocks of up to WIDEST, a table is filled to a fixpoint by the rules of Gordon,
Kuperberg and Patashnik (1995), "New constructions for covering designs": induced and dynamic programming
constructions over finite geometries. Beyond it, transversal designs with recursively covered groups are
nearly as good.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.blocks import Blocks, Cover, multiplied, padded, relabelled, resized, widened
from covote.covers.constructions.finite_fields import prime_power
from covote.covers.constructions.planes import (
    affine_lines,
    affine_plane,
    most_groups,
    projective_lines,
    projective_plane,
    transversal_design,
)

Table = NDArray[np.int32]

# The rules, by their numbers in the table.
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

WIDEST, MOST = 32, 200
"""The largest blocks, and the most classes, of the table."""


class Seed(NamedTuple):
    """A known design: its numbers of points and blocks, and its geometry."""

    points: int
    block: int
    blocks: int
    kind: str
    dimension: int
    order: int


def seeds(widest: int, most: int) -> list[Seed]:
    """List the geometries whose lines have up to `widest` of up to `most` points."""
    found = []
    for q in range(2, widest + 1):
        if prime_power(q) is None:
            continue
        for dimension in range(2, 9):
            if q**dimension > most:
                break
            points = q**dimension
            lines = points * (points - 1) // (q * (q - 1))
            found.append(Seed(points, q, lines, "affine", dimension, q))
            points = (q ** (dimension + 1) - 1) // (q - 1)
            lines = points * (points - 1) // ((q + 1) * q)
            if points <= most and q + 1 <= widest:
                found.append(Seed(points, q + 1, lines, "projective", dimension, q))
    return found


class RecursionTable(NamedTuple):
    """The size of the smallest cover of v classes by blocks of k, size[k, v], and its rule, plan[k, v]."""

    size: NDArray[np.int32]
    plan: NDArray[np.int32]
    seeds: list[Seed]

    def knows(self, classes: int, size: int) -> bool:
        """Whether the table has the case."""
        return bool(size < self.size.shape[0] and classes < self.size.shape[1])


def table_for(classes: int, size: int) -> RecursionTable:
    """Return a table that has the case; small tables need no compiler, as no rule leads to a larger case."""
    return table(size, classes) if in_table(classes, size) else table()


@lru_cache(maxsize=64)
def table(widest: int = WIDEST, most: int = MOST) -> RecursionTable:
    """Fill the table of sizes."""
    size = np.full((widest + 1, most + 1), UNKNOWN, dtype=np.int32)
    plan = np.zeros((widest + 1, most + 1, 4), dtype=np.int32)
    classes = np.arange(most + 1)
    size[2] = classes * (classes - 1) // 2
    plan[2, :, 0] = PAIRS
    for k in range(2, widest + 1):
        size[k, : k + 1] = 1
        plan[k, : k + 1, 0] = SINGLE
    size[2:, :2] = 0
    known = seeds(widest, most)
    for index, seed in enumerate(known):
        if seed.blocks < size[seed.block, seed.points]:
            size[seed.block, seed.points] = seed.blocks
            plan[seed.block, seed.points, :2] = SEED, index
    groups = np.array([most_groups(n) for n in range(most + 1)], dtype=np.int32)
    fill(size, plan, groups)
    return RecursionTable(size, plan, known)


@kernel(steps=lambda size, plan, most_groups: 600 * size.size)
def fill(size: Table, plan: NDArray[np.int32], most_groups: Table) -> None:
    """Improve size[k, v] by every rule until nothing changes; plan[k, v] = (rule, three arguments)."""
    changed = True
    while changed:
        changed = False
        for k in range(2, size.shape[0]):
            for v in range(k + 1, size.shape[1]):
                changed |= _improve(size, plan, most_groups, k, v)
            changed |= _improve_weighted(size, plan, most_groups, k)


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
def _improve_weighted(size: Table, plan: NDArray[np.int32], most_groups: Table, k: int) -> bool:
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


def in_table(classes: int, size: int) -> bool:
    """Whether the table has covers of `classes` classes by blocks of `size`."""
    return size <= WIDEST and classes <= MOST


class LargePlan(NamedTuple):
    """The number of experts that a rule takes, and its arguments."""

    experts: int
    rule: int
    a: int = 0
    b: int = 0
    c: int = 0


@lru_cache(maxsize=4096)
def large_plan(classes: int, size: int) -> LargePlan:
    """Return the best plan for a case beyond the table.

    >>> large_plan(1000, 32).experts
    1056
    """
    if size == 2:
        return LargePlan(classes * (classes - 1) // 2, PAIRS)
    parts = -(-classes // (size // 2))
    candidates = [LargePlan(parts * (parts - 1) // 2, HALVES), *_large_transversals(classes, size)]
    candidates += [
        LargePlan(int(table().size[size // a, -(-classes // a)]), MULTIPLY, a)
        for a in range(2, size // 2 + 1)
        if in_table(-(-classes // a), size // a)
    ]
    return min(candidates)


def _experts(classes: int, size: int) -> int:
    """Return the number of experts of the best plan, within the table or beyond."""
    if classes <= size:
        return min(1, max(0, classes - 1))
    if in_table(classes, size):
        return int(table().size[size, classes])
    return large_plan(classes, size).experts


def _large_transversals(classes: int, size: int) -> list[LargePlan]:
    """List truncated transversal designs of `groups` groups, with classes that join every group."""
    found = []
    for groups in range(max(2, size - 2), size + 1):
        free = size - groups
        least = max(2, -(-(classes - free - size) // groups))
        most = -(-(classes - free) // groups)
        for order in range(least, most + 32):
            if most_groups(order) < groups:
                continue
            shared = max(0, classes - free - order * groups)
            if shared and (free or shared > size):
                continue
            small, larger = divmod(classes - free - shared, groups)
            fills = larger * _experts(small + 1 + shared, size) if larger else 0
            fills += (groups - larger) * _experts(small + shared, size)
            found.append(LargePlan(order * order + fills, TRANSVERSAL, order * 2, groups, shared))
            if order >= most:
                break
    return found


def build(classes: int, size: int, known: RecursionTable | None = None) -> Cover:
    """Build the best cover that the rules lead to; -1 marks a free place.

    >>> cover = build(13, 4)
    >>> cover.blocks.shape, cover.construction
    ((13, 4), 'projective plane of order 3')
    """
    if classes <= 1:
        return Cover(np.zeros((0, size), dtype=np.int32), "nothing to cover")
    if classes <= size:
        return Cover(padded([_range(0, classes)], size), f"one expert for {classes} classes")
    known = known or table_for(classes, size)
    if known.knows(classes, size):
        rule, a, b, c = known.plan[size, classes].tolist()
    else:
        _, rule, a, b, c = large_plan(classes, size)
    return _BUILDERS[rule](known, classes, size, a, b, c)


def _halves(t: RecursionTable, v: int, k: int, a: int, b: int, c: int) -> Cover:
    parts = np.array_split(_range(0, v), -(-v // (k // 2)))
    stacked = padded(parts, k // 2)
    left, right = np.triu_indices(len(parts), 1)
    blocks = np.hstack([stacked[left], stacked[right]])
    return Cover(widened(blocks, k), f"{len(parts)} groups of classes, all pairs of them")


def _common_point(t: RecursionTable, v: int, k: int, a: int, b: int, c: int) -> Cover:
    part = build(v - 1, k - 1, t)
    common = np.full((len(part.blocks), 1), v - 1, dtype=np.int32)
    return Cover(np.hstack([part.blocks, common]), f"{part.construction}, plus a class that everyone knows")


def _hub(t: RecursionTable, v: int, k: int, hub: int, b: int, c: int) -> Cover:
    return resized(build(v - hub, k, t), v, k)


def _multiply(t: RecursionTable, v: int, k: int, a: int, b: int, c: int) -> Cover:
    return multiplied(build(-(-v // a), k // a, t), a, v, k)


def _seed(t: RecursionTable, v: int, k: int, index: int, b: int, c: int) -> Cover:
    seed = t.seeds[index]
    if seed.dimension == 2:
        plane = projective_plane if seed.kind == "projective" else affine_plane
        return Cover(plane(seed.order), f"{seed.kind} plane of order {seed.order}")
    lines = projective_lines if seed.kind == "projective" else affine_lines
    space = f"lines of the {seed.kind} space of dimension {seed.dimension} and order {seed.order}"
    return Cover(lines(seed.dimension, seed.order), space)


def _transversal(t: RecursionTable, v: int, k: int, code: int, groups: int, shared: int) -> Cover:
    """Build a transversal design, truncate its groups, and cover each together with the shared classes.

    k - groups classes join every block; `shared` classes join every group.
    """
    order, full = divmod(code, 2)
    free = k - groups
    points = v - free - shared
    sizes = _full(points, groups, order) if full else [len(s) for s in np.array_split(range(points), groups)]
    start = np.concatenate([[0], np.cumsum(sizes)])
    design = transversal_design(order, groups)
    blocks = np.where(design < np.array(sizes), design + start[:-1], -1).astype(np.int32)
    always = np.tile(_range(points, points + free), (len(blocks), 1))
    parts = [np.hstack([blocks, always])]
    parts += _groups_covered(t, k, start, _range(points + free, v))
    return Cover(np.vstack(parts), f"transversal design of {groups} groups of {order}, each group covered")


def _weighted(t: RecursionTable, v: int, k: int, code: int, weight: int, counts: int) -> Cover:
    """Build a transversal design whose points stand for several classes, and cover each group.

    Points of a group have the same weight, so a block has k classes; `shared` classes join all groups.
    """
    order, shared = divmod(code, 4)
    light, heavy = divmod(counts, 256)
    weights = [weight] * light + [weight + 1] * heavy
    sizes = [order * w for w in weights]
    odd = v - shared - sum(sizes)
    if odd:
        weights.append(k - sum(weights))
        sizes.append(odd)
    start = np.concatenate([[0], np.cumsum(sizes)])
    design = transversal_design(order, len(sizes))
    columns = []
    for i, (w, size) in enumerate(zip(weights, sizes, strict=True)):
        places = design[:, i : i + 1] * w + np.arange(w)
        columns.append(np.where(places < size, places + start[i], -1))
    parts = [widened(np.hstack(columns).astype(np.int32), k)]
    parts += _groups_covered(t, k, start, _range(v - shared, v))
    sentence = f"transversal design of {len(sizes)} groups of {order} weighted points, each group covered"
    return Cover(np.vstack(parts), sentence)


def _groups_covered(t: RecursionTable, k: int, start: NDArray[np.int64], common: Blocks) -> list[Blocks]:
    """Cover each group, from one start to the next, together with the classes common to all."""
    fills: dict[int, Blocks] = {}
    parts = []
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        if first < last:
            members = np.concatenate([_range(first, last), common])
            if len(members) not in fills:
                fills[len(members)] = build(len(members), k, t).blocks
            parts.append(relabelled(fills[len(members)], members))
    return parts


def _full(points: int, groups: int, order: int) -> list[int]:
    sizes = [order] * (points // order)
    if points % order:
        sizes.append(points % order)
    return sizes + [0] * (groups - len(sizes))


def _range(start: int, stop: int) -> Blocks:
    return np.arange(start, stop, dtype=np.int32)


def _pairs(t: RecursionTable, v: int, k: int, a: int, b: int, c: int) -> Cover:
    return Cover(np.array(np.triu_indices(v, 1), dtype=np.int32).T, "all pairs")


_BUILDERS = {
    HALVES: _halves,
    COMMON_POINT: _common_point,
    HUB: _hub,
    MULTIPLY: _multiply,
    SEED: _seed,
    TRANSVERSAL: _transversal,
    WEIGHTED: _weighted,
    PAIRS: _pairs,
}
