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

from covote.covers.blocks import Blocks, Cover, multiplied, padded, relabelled, resized, widened
from covote.covers.constructions import recursions_kernels as rules
from covote.covers.constructions.finite_fields import prime_power
from covote.covers.constructions.planes import (
    affine_lines,
    affine_plane,
    most_groups,
    projective_lines,
    projective_plane,
    transversal_design,
)

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
    size = np.full((widest + 1, most + 1), rules.UNKNOWN, dtype=np.int32)
    plan = np.zeros((widest + 1, most + 1, 4), dtype=np.int32)
    classes = np.arange(most + 1)
    size[2] = classes * (classes - 1) // 2
    plan[2, :, 0] = rules.PAIRS
    for k in range(2, widest + 1):
        size[k, : k + 1] = 1
        plan[k, : k + 1, 0] = rules.SINGLE
    size[2:, :2] = 0
    known = seeds(widest, most)
    for index, seed in enumerate(known):
        if seed.blocks < size[seed.block, seed.points]:
            size[seed.block, seed.points] = seed.blocks
            plan[seed.block, seed.points, :2] = rules.SEED, index
    groups = np.array([most_groups(n) for n in range(most + 1)], dtype=np.int32)
    rules.fill(size, plan, groups)
    return RecursionTable(size, plan, known)


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
        return LargePlan(classes * (classes - 1) // 2, rules.PAIRS)
    parts = -(-classes // (size // 2))
    candidates = [LargePlan(parts * (parts - 1) // 2, rules.HALVES), *_large_transversals(classes, size)]
    candidates += [
        LargePlan(int(table().size[size // a, -(-classes // a)]), rules.MULTIPLY, a)
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
            found.append(LargePlan(order * order + fills, rules.TRANSVERSAL, order * 2, groups, shared))
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
    rules.HALVES: _halves,
    rules.COMMON_POINT: _common_point,
    rules.HUB: _hub,
    rules.MULTIPLY: _multiply,
    rules.SEED: _seed,
    rules.TRANSVERSAL: _transversal,
    rules.WEIGHTED: _weighted,
    rules.PAIRS: _pairs,
}
