"""Covers with a prescribed symmetry: a few base blocks, and their images under a group.

A group acts on the classes; if every orbit of pairs has a pair in some base block, the images of the base
blocks cover every pair. The larger the group, the fewer base blocks there are to find. Prescribed
automorphism groups: Kramer and Mesner (1976), "t-designs on hypergraphs"; here the base blocks are annealed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound
from covote.covers.blocks import prune
from covote.covers.random_kernels import random_state
from covote.covers.search.annealing import cool
from covote.covers.search.groups import Symmetry, symmetries
from covote.covers.search.symmetric_covers_kernels import OrbitTables, walk
from covote.progress import Work

Ints = NDArray[np.int32]

HOT, COLD = 0.6, 0.2
"""First and last temperature of a run, in uncovered pair orbits."""

FIRST_LENGTH = 4_000
"""Moves of a run in the first round; each round doubles them and keeps the better half of the plans."""

MOST_LEFT = 4
"""The most pair orbits that the best plan may lack after two rounds; with more, it hardly ever succeeds."""

MOST_ENTRIES = (20, 1 / 32_000)
"""Fewest plans in the first round, and plans per move of the budget."""

FEW, SHORT = 100, 3 / 8
"""Up to this many blocks, a race that takes more than this share of the moves hardly ever wins."""

FIXED = 5
"""The most classes that a group may fix."""

FAIRNESS = 0.6
"""Plans compete by uncovered pair orbits times this power of the order of their group.

With the power 1 they would compete by uncovered pairs, and small groups would win all races; but a large
group that lacks one or two orbits, which are many pairs, often succeeds from another start.
"""


Plan = list[tuple[int, "BlockShape"]]
"""The number of base blocks of each shape."""


@dataclass(frozen=True)
class BlockShape:
    """A shape of base block: a union of orbits of one subgroup, its stabiliser.

    `widths` are the sizes of those orbits, `images` is the number of images of a block under the group,
    `reach` the most pair orbits that one block can cover, and `limit` the most that any number of them can.
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

    @cached_property
    def pairs(self) -> int:
        """Pairs in all its images."""
        return self.images * comb(self.size, 2)


class Action:
    """A group with its pair orbits and the shapes of its base blocks."""

    def __init__(self, symmetry: Symmetry, size: int) -> None:
        self.symmetry = symmetry
        self.size = size
        self.orbit, self.sizes = symmetry.pair_orbits()
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

    def _kinds(self, at: int) -> Iterator[BlockShape]:
        """Yield the shapes of one subgroup's blocks that have no room for another of its parts."""
        subgroup, parts = self.subgroups[at], self.parts[at]
        widths, numbers = np.unique([len(part) for part in parts], return_counts=True)
        supply = {int(w): int(n) for w, n in zip(widths, numbers, strict=True) if w <= self.size}
        images = self.symmetry.order // (subgroup[0] * subgroup[1])
        for chosen in _fillings(sorted(supply.items(), reverse=True), self.size):
            total = sum(chosen)
            full = all(total + w > self.size or chosen.count(w) == n for w, n in supply.items())
            # A block of fixed classes only has the whole group as its stabiliser.
            alone = max(chosen, default=1) == 1 and 1 < subgroup[0] * subgroup[1] < self.symmetry.order
            if total >= 2 and full and not alone:
                yield BlockShape(subgroup, chosen, images, self._reach(at, chosen), self._limit(at, chosen))

    def _reach(self, at: int, widths: tuple[int, ...]) -> int:
        """Return the most pair orbits that a block of this shape can cover: the orbits of its stabiliser."""
        block = np.array(random_block(self.parts[at], widths, np.random.default_rng(0)))
        left, right = _corners(len(block))
        images = self.symmetry.elements(*self.subgroups[at])[:, block].astype(np.int64)
        one, two = images[:, left], images[:, right]
        codes = np.minimum(one, two) * len(self.orbit) + np.maximum(one, two)
        return len(np.unique(codes.min(axis=0)))

    def _limit(self, at: int, widths: tuple[int, ...]) -> int:
        """Return the most pair orbits that blocks of this shape can cover together."""
        if len(widths) > 1:
            return len(self.sizes)
        inside = [
            self.orbit[np.ix_(part, part)][_corners(len(part))]
            for part in self.parts[at]
            if len(part) == widths[0]
        ]
        return len(np.unique(np.concatenate(inside)))

    def plans(self, target: int, times: int, most: int = 16) -> list[tuple[int, Plan]]:
        """Return (slack, plan) of plans with at most `target` blocks, most slack first.

        The slack is the number of pair orbits that could be covered in excess of those that exist.
        """
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
        """Return by how many pair orbits a plan exceeds the need; negative if the plan cannot suffice."""
        pairs = sum(n * kind.pairs for n, kind in plan)
        spare = (pairs - times * comb(self.symmetry.classes, 2)) // self.symmetry.order
        if times > 1:
            return spare
        return min(spare, sum(min(n * kind.reach, kind.limit) for n, kind in plan) - len(self.sizes))


def _fillings(supply: list[tuple[int, int]], room: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to fill `room` places with parts of the supplied (width, number)."""
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


class BaseBlocks:
    """Base blocks that follow a plan, and which pair orbits they cover."""

    def __init__(self, action: Action, plan: Plan, times: int, seed: int) -> None:
        self.action, self.times = action, times
        self.state = random_state(seed)
        rng = np.random.default_rng(seed)
        kinds = [kind for n, kind in plan for _ in range(n)]
        self.images = [kind.images for kind in kinds]
        self.blocks = np.zeros((len(kinds), action.size), np.int32)
        slots: list[tuple[int, int, int, int]] = []
        for j, kind in enumerate(kinds):
            at = action.subgroups.index(kind.subgroup)
            self.blocks[j, : kind.size] = random_block(action.parts[at], kind.widths, rng)
            starts = np.cumsum([0, *kind.widths])
            slots += [(j, int(s), w, at) for s, w in zip(starts, kind.widths, strict=False)]
        self.lengths = np.array([kind.size for kind in kinds], np.int32)
        self.slots = np.array(slots, np.int32)
        self._tabulate()

    def _tabulate(self) -> None:
        action = self.action
        orbits = len(action.sizes)
        self.lack = lack = (self.times * action.sizes).astype(np.int32)
        for block, length, images in zip(self.blocks, self.lengths, self.images, strict=True):
            left, right = _corners(int(length))
            np.subtract.at(lack, action.orbit[block[left], block[right]], images)
        self.uncovered, position = np.zeros(orbits, np.int32), np.full(orbits, -1, np.int32)
        short = np.flatnonzero(lack > 0)
        self.uncovered[: len(short)] = short
        position[short] = np.arange(len(short))
        self.tally = np.array([len(short)], np.int32)
        self.tables = OrbitTables(
            self.blocks,
            self.lengths,
            np.array(self.images, np.int64),
            self.slots,
            action.part_table,
            action.part_of,
            action.orbit,
            action.partner,
            action.partner_start,
            self.lack,
            self.uncovered,
            position,
            self.tally,
            np.zeros(action.size, np.int32),
        )

    @property
    def shortfall(self) -> int:
        """How many pair orbits are not covered often enough."""
        return int(self.tally[0])

    def cool(self, length: int) -> int:
        """Anneal once over `length` moves, or until every orbit is covered; return the moves made."""
        order = self.action.symmetry.order
        return cool(partial(walk, self.tables, self.state), length, HOT * order, COLD * order)

    def images_of_all(self) -> list[list[int]]:
        """Return the images of the base blocks, each with its multiplicity."""
        elements = self.action.symmetry.elements()
        rows: list[list[int]] = []
        for block, length, images in zip(self.blocks, self.lengths, self.images, strict=True):
            # Every image occurs once for each element that fixes the block.
            every = sorted(sorted(row) for row in elements[:, block[:length]].tolist())
            rows += every[:: len(elements) // images]
        return rows

    def cover(self) -> Ints:
        """Return all images of the base blocks, without redundant ones."""
        rows = [_filled(row, self.action.size) for row in self.images_of_all()]
        return prune(np.array(rows, np.int32), self.action.symmetry.classes, self.times)


@cache
def _corners(length: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of places in a block of this length."""
    return np.triu_indices(length, 1)


def _filled(row: list[int], size: int) -> list[int]:
    """Fill a block up with the first classes that it lacks."""
    others = (x for x in range(size) if x not in row)
    return row + [next(others) for _ in range(size - len(row))]


def symmetric_cover(
    classes: int,
    size: int,
    times: int = 1,
    *,
    target: int,
    moves: int,
    seed: int = 0,
    lower: int = 0,
    twists: int = 1,
    work: Work | None = None,
) -> Ints | None:
    """Search for a cover of at most `target` blocks among those with a symmetry.

    Every sensible group gets a short run; the better half of them gets a run twice as long, and so on. When a
    cover is found, the search continues for a smaller one.

    Parameters
    ----------
    target
        The most blocks that the cover may have.
    moves
        The budget: swaps to try.
    lower
        A lower bound on the number of blocks, at which the search stops.
    twists
        The most multipliers in a group; 1 for turns only. More pays with more than about 15 million moves.
    work
        Gets reports of the moves between runs, and may stop the search.

    Returns
    -------
    The smallest cover found (b x size), or None. The same seed gives the same cover.

    >>> len(symmetric_cover(13, 4, target=13, moves=100_000))
    13
    """
    best: Ints | None = None
    work = work or Work(moves)
    made, goal = 0, target
    if size >= classes or best_lower_bound(classes, size, times)[0] > target:
        return None
    most = max(MOST_ENTRIES[0], int(moves * MOST_ENTRIES[1]))
    if target <= FEW:
        moves = int(moves * SHORT)
    groups = [group for group in symmetries(classes, fixed=FIXED, twists=twists) if group.turn <= target]
    actions = [Action(group, size) for group in groups[:most]]
    while made < moves and goal >= max(lower, 1):
        run, made = _race(_entries(actions, goal, times)[:most], times, made, moves, seed, work)
        if run is None:
            break
        best = run.cover()
        goal = len(best) - 1
        seed += 1
    return best


def _entries(actions: list[Action], target: int, times: int) -> list[tuple[Action, Plan]]:
    """Return the plans to try: the best plan of every group, large turns first, then the second best."""
    plans = [
        (action, rank, plan)
        for action in actions
        for rank, (_, plan) in enumerate(action.plans(target, times))
    ]
    return [(action, plan) for action, _, plan in sorted(plans, key=lambda entry: entry[1])]


def _race(
    entries: list[tuple[Action, Plan]],
    times: int,
    made: int,
    moves: int,
    seed: int,
    work: Work,
) -> tuple[BaseBlocks | None, int]:
    """Run all entries, then the better half for twice as long, and so on; return the first to succeed.

    Returns that run or None, and the moves made in all.
    """
    length, number = FIRST_LENGTH, seed * 1_000_003
    while entries:
        scores, least = [], len(entries[0][0].orbit) ** 2
        for action, plan in entries:
            number += 1
            run = BaseBlocks(action, plan, times, number)
            step = run.cool(min(length, moves - made))
            made += step
            stopped = work.advance(step)
            if run.shortfall == 0:
                return run, made
            if stopped or made >= moves:
                return None, made
            scores.append(run.shortfall * action.symmetry.order**FAIRNESS)
            least = min(least, run.shortfall)
        if length > FIRST_LENGTH and least > MOST_LEFT:
            break
        better = np.argsort(scores, kind="stable")[: len(entries) // 2]
        entries = [entries[i] for i in sorted(better)]
        length *= 2
    return None, made
