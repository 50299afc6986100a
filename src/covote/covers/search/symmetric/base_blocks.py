"""Base blocks under a group: their kinds, and how many of each a cover could have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from covote.covers.search.symmetric.groups import Symmetry

Ints = NDArray[np.int32]

Plan = list[tuple[int, "Kind"]]
"""How many base blocks of each kind."""


@dataclass(frozen=True)
class Kind:
    """A shape of base block: a union of orbits of one subgroup, its stabiliser.

    `widths` are the sizes of those orbits, `images` is the number of blocks that the group makes of one,
    `reach` the most pair orbits that one can cover, and `limit` the most that any number of them can.
    """

    subgroup: tuple[int, int, int]
    widths: tuple[int, ...]
    images: int
    reach: int
    limit: int

    @property
    def size(self) -> int:
        """Classes in such a block."""
        return sum(self.widths)


class Action:
    """A group together with its pair orbits, and the base blocks it can have.

    `hole` is a cover of the classes that the group leaves where they are, numbered from 0: if it is given,
    pairs of these classes are no longer needed, and count as orbits of no pairs.
    """

    def __init__(self, symmetry: Symmetry, size: int, hole: Ints | None = None) -> None:
        self.symmetry = symmetry
        self.size = size
        self.hole = hole
        self.orbit, self.sizes = symmetry.pair_orbits()
        if hole is not None:
            stay = slice(symmetry.classes - symmetry.fixed, None)
            self.sizes[self.orbit[stay, stay][np.triu_indices(symmetry.fixed, 1)]] = 0
        v, orbits = len(self.orbit), len(self.sizes)
        # For each class and pair orbit: the other classes of such pairs.
        x, y = np.nonzero(~np.eye(v, dtype=bool))
        key = x * orbits + self.orbit[x, y]
        self.partner = y[np.argsort(key, kind="stable")].astype(np.int32)
        self.partner_start = np.zeros(v * orbits + 1, np.int32)
        np.cumsum(np.bincount(key, minlength=v * orbits), out=self.partner_start[1:])
        self.subgroups = [subgroup for subgroup in symmetry.subgroups() if self._useful(subgroup[0])]
        self.parts = [symmetry.parts(*subgroup) for subgroup in self.subgroups]
        self._tabulate_parts()
        self.kinds = [kind for at in range(len(self.subgroups)) for kind in self._kinds(at)]

    def _useful(self, turns: int) -> bool:
        return turns <= self.size or self.symmetry.fixed > 1

    def _tabulate_parts(self) -> None:
        everything = [part for parts in self.parts for part in parts]
        self.part_of = np.zeros((len(self.parts), len(self.orbit)), np.int32)
        self.part_table = np.zeros((len(everything), self.size + 1), np.int32)
        number = 0
        for row, parts in zip(self.part_of, self.parts, strict=True):
            for part in parts:
                row[part] = number
                self.part_table[number, 0] = len(part)
                self.part_table[number, 1 : 1 + len(part)] = part[: self.size]
                number += 1

    def _kinds(self, at: int) -> Iterator[Kind]:
        """Yield the kinds of block of one subgroup that cannot take another of its parts."""
        subgroup, parts = self.subgroups[at], self.parts[at]
        widths, numbers = np.unique([len(part) for part in parts], return_counts=True)
        supply = {int(w): int(n) for w, n in zip(widths, numbers, strict=True) if w <= self.size}
        images = self.symmetry.order // (subgroup[0] * subgroup[1])
        for chosen in _fillings(sorted(supply.items(), reverse=True), self.size):
            total = sum(chosen)
            full = all(total + w > self.size or chosen.count(w) == n for w, n in supply.items())
            # Blocks of fixed classes alone belong to the whole group, or to the cover of the hole.
            most = self.symmetry.order + (self.hole is not None)
            alone = max(chosen, default=1) == 1 and 1 < subgroup[0] * subgroup[1] < most
            if total >= 2 and full and not alone:
                yield Kind(subgroup, chosen, images, self._reach(at, chosen), self._limit(at, chosen))

    def _reach(self, at: int, widths: tuple[int, ...]) -> int:
        """Return the most pair orbits that a block of this kind can cover: the orbits of its stabiliser."""
        block = np.array(random_block(self.parts[at], widths, np.random.default_rng(0)))
        left, right = np.triu_indices(len(block), 1)
        images = self.symmetry.elements(*self.subgroups[at])[:, block].astype(np.int64)
        one, two = images[:, left], images[:, right]
        codes = np.minimum(one, two) * len(self.orbit) + np.maximum(one, two)
        return len(np.unique(codes.min(axis=0)))

    def _limit(self, at: int, widths: tuple[int, ...]) -> int:
        """Return the most pair orbits that blocks of this kind can cover together."""
        if len(widths) > 1:
            return len(self.sizes)
        inside = [
            self.orbit[np.ix_(part, part)][np.triu_indices(len(part), 1)]
            for part in self.parts[at]
            if len(part) == widths[0]
        ]
        return len(np.unique(np.concatenate(inside)))

    def plans(self, target: int, times: int, most: int = 16) -> list[tuple[int, Plan]]:
        """Return (slack, how many base blocks of each kind) with at most `target` blocks, most slack first.

        The slack is the number of pair orbits that could be covered beyond those that there are.
        """
        target -= 0 if self.hole is None else len(self.hole)
        full, short = self.kinds[0], sorted(self.kinds[1:], key=lambda kind: -kind.reach / kind.images)[:8]
        cycles = self.symmetry.cycles
        numbers = sorted({1, 2, 3, 4, cycles - 1, cycles, cycles + 1} - {0})
        choices = (
            list(zip(counts, kinds, strict=True))
            for different in range(len(short) + 1)
            for kinds in combinations(short, different)
            for counts in (product(numbers, repeat=different) if different <= 2 else [(1,) * different])
        )
        found: list[tuple[int, Plan]] = []
        for chosen in choices:
            left = target - sum(n * kind.images for n, kind in chosen)
            plan = [(left // full.images, full), *chosen] if left >= full.images else chosen
            if left < 0 or not plan:
                continue
            slack = self._slack(plan, times)
            if slack >= 0:
                found.append((slack, plan))
        found.sort(key=lambda entry: (-entry[0], sum(n for n, _ in entry[1])))
        return found[:most]

    def _slack(self, plan: Plan, times: int) -> int:
        """Return by how many pair orbits a plan exceeds what has to be covered; negative if it cannot do."""
        pairs = sum(n * kind.images * comb(kind.size, 2) for n, kind in plan)
        spare = (pairs - times * int(self.sizes.sum())) // self.symmetry.order
        if times > 1:
            return spare
        reached = sum(min(n * kind.reach, kind.limit) for n, kind in plan)
        return min(spare, reached - int(np.count_nonzero(self.sizes)))


def _fillings(supply: list[tuple[int, int]], room: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to fill a room with parts of the supplied (width, number)."""
    if not supply:
        yield ()
        return
    (width, number), rest = supply[0], supply[1:]
    for n in range(min(number, room // width), -1, -1):
        for filling in _fillings(rest, room - n * width):
            yield (width,) * n + filling


def random_block(parts: list[list[int]], widths: tuple[int, ...], rng: np.random.Generator) -> list[int]:
    """Return a block of parts with these widths."""
    block: list[int] = []
    for width in dict.fromkeys(widths):
        fitting = [part for part in parts if len(part) == width]
        for i in rng.permutation(len(fitting))[: widths.count(width)]:
            block += fitting[i]
    return block
