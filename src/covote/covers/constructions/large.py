"""Covers beyond the table of recursions: transversal designs whose groups are covered recursively."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from covote.covers.blocks import Blocks, Cover, multiplied, relabelled, widened
from covote.covers.constructions import recursions
from covote.covers.constructions.transversal_designs import most_groups, transversal_design


class Plan(NamedTuple):
    """How to build a cover, and how many experts it takes."""

    experts: int
    kind: str
    order: int = 0
    groups: int = 0
    shared: int = 0


@lru_cache(maxsize=4096)
def plan(classes: int, size: int) -> Plan:
    """Return the best plan, by sizes only.

    >>> plan(1000, 32).experts
    1056
    """
    if classes <= size:
        return Plan(min(1, max(0, classes - 1)), "single")
    if recursions.in_table(classes, size):
        return Plan(int(recursions.table().size[size, classes]), "table")
    if size == 2:
        return Plan(classes * (classes - 1) // 2, "pairs")
    candidates = [plan_smaller(classes, size), *_transversals(classes, size)]
    candidates += [
        Plan(int(recursions.table().size[size // a, -(-classes // a)]), "multiply", a)
        for a in range(2, size // 2 + 1)
        if recursions.in_table(-(-classes // a), size // a)
    ]
    return min(candidates)


def plan_smaller(classes: int, size: int) -> Plan:
    """Return the plan that always works: two halves, covered with half experts."""
    half = size // 2
    parts = -(-classes // half)
    return Plan(parts * (parts - 1) // 2, "halves")


def _transversals(classes: int, size: int) -> list[Plan]:
    """List transversal designs of `groups` groups, cut to fit, with classes that join every group."""
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
            points = classes - free - shared
            small, larger = divmod(points, groups)
            fills = larger * plan(small + 1 + shared, size).experts if larger else 0
            fills += (groups - larger) * plan(small + shared, size).experts
            found.append(Plan(order * order + fills, "transversal", order, groups, shared))
            if order >= most:
                break
    return found


def build(classes: int, size: int) -> Cover:
    """Build the best plan's cover; -1 marks room."""
    how = plan(classes, size)
    if how.kind in ("single", "table"):
        return recursions.build(classes, size) if how.kind == "table" else _single(classes, size)
    if how.kind == "pairs":
        return Cover(np.array(np.triu_indices(classes, 1), dtype=np.int32).T, "all pairs")
    if how.kind == "halves":
        return _halves(classes, size)
    if how.kind == "multiply":
        return _multiply(classes, size, how.order)
    return _transversal(classes, size, how)


def _single(classes: int, size: int) -> Cover:
    blocks = np.full((1 if classes > 1 else 0, size), -1, dtype=np.int32)
    blocks[:, :classes] = np.arange(classes)
    return Cover(blocks, f"one expert for {classes} classes")


def _halves(classes: int, size: int) -> Cover:
    parts = np.array_split(np.arange(classes, dtype=np.int32), -(-classes // (size // 2)))
    stacked = np.full((len(parts), size // 2), -1, dtype=np.int32)
    for row, part in zip(stacked, parts, strict=True):
        row[: len(part)] = part
    left, right = np.triu_indices(len(parts), 1)
    blocks = np.hstack([stacked[left], stacked[right]])
    return Cover(widened(blocks, size), f"{len(parts)} groups of classes, all pairs of them")


def _multiply(classes: int, size: int, a: int) -> Cover:
    return multiplied(recursions.build(-(-classes // a), size // a), a, classes, size)


def _transversal(classes: int, size: int, how: Plan) -> Cover:
    free = size - how.groups
    points = classes - free - how.shared
    groups = np.array_split(np.arange(points, dtype=np.int32), how.groups)
    sizes = np.array([len(group) for group in groups])
    start = np.cumsum(sizes) - sizes
    design = transversal_design(how.order, how.groups)
    blocks = np.where(design < sizes, design + start, -1).astype(np.int32)
    always = np.tile(np.arange(points, points + free, dtype=np.int32), (len(blocks), 1))
    parts: list[Blocks] = [np.hstack([blocks, always])]
    common = np.arange(points + free, classes, dtype=np.int32)
    fills = {int(s): build(int(s) + how.shared, size).blocks for s in set(sizes.tolist())}
    parts += [relabelled(fills[len(group)], np.concatenate([group, common])) for group in groups]
    sentence = f"transversal design of {how.groups} groups of {how.order}, each group covered"
    return Cover(np.vstack(parts), sentence)
