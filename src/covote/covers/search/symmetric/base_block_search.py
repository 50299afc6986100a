"""Covers with a prescribed symmetry: a few base blocks, turned into many.

A group acts on the classes; if every orbit of pairs has a pair in some base block, the images of the base
blocks cover every pair. The larger the group, the fewer base blocks there are to find. Prescribed
automorphism groups: Kramer and Mesner (1976), "t-designs on hypergraphs"; here the base blocks are annealed.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from covote.bounds import best_lower_bound
from covote.covers.pruning import prune
from covote.covers.search.block_annealing import Pause
from covote.covers.search.symmetric.base_blocks import Action, Plan, random_block
from covote.covers.search.symmetric.groups import symmetries, symmetries_around

Ints = NDArray[np.int32]

HOT, COLD = 0.6, 0.2
"""First and last temperature of a run, in uncovered pair orbits."""

AIMED = 0.5
"""Share of the moves that aim at an uncovered pair orbit."""

FIRST_LENGTH = 4_000
"""Moves of a first run; each further round doubles them, for the better half of the plans."""

FINALISTS = 5
"""Plans that keep running until the budget is spent."""

MOST_ENTRIES = (20, 1 / 32_000)
"""Plans in the first round: at least so many, and so many per move of the budget."""

LONG = 10_000_000
"""Moves from which on it pays to try twists that exchange some cycles only."""

FIXED = 5
"""Most classes that a group leaves where they are."""

FAIRNESS = 0.6
"""Plans compete by uncovered pair orbits times this power of the order of their group.

With the power 1 it would be uncovered pairs, and small groups would win all races; but a large group that
fails by one or two orbits, which are many pairs, often succeeds from another start.
"""

STRETCH = 500_000
"""Most moves between two calls of `pause`."""


class Run:
    """Base blocks that follow a plan, and which pair orbits they cover."""

    def __init__(self, action: Action, plan: Plan, times: int, seed: int) -> None:
        from covote.covers.random_kernels import chance

        self.action, self.times = action, times
        self.state = chance(seed)
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
            left, right = np.triu_indices(length, 1)
            np.subtract.at(lack, action.orbit[block[left], block[right]], images)
        self.uncovered, position = np.zeros(orbits, np.int32), np.full(orbits, -1, np.int32)
        short = np.flatnonzero(lack > 0)
        self.uncovered[: len(short)] = short
        position[short] = np.arange(len(short))
        self.tally = np.array([len(short)], np.int32)
        self.tables = (
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
        """Anneal once over `length` moves, or until all is covered; return the moves made."""
        made = 0
        step = min(STRETCH, max(1, length // 40))
        while made < length and self.shortfall:
            heat = HOT * (COLD / HOT) ** (made / length) * self.action.symmetry.order
            made += self.walk(heat, min(step, length - made))
        return made

    def walk(self, heat: float, moves: int) -> int:
        """Try so many moves at one temperature; return the moves made."""
        from covote.covers.search.symmetric import base_block_search_kernels

        return int(base_block_search_kernels.walk(*self.tables, heat, int(AIMED * 2**32), moves, self.state))

    def images_of_all(self) -> list[list[int]]:
        """Return the images of the base blocks, each as often as it counts."""
        elements = self.action.symmetry.elements()
        rows: list[list[int]] = []
        for block, length, images in zip(self.blocks, self.lengths, self.images, strict=True):
            # Every image comes once for each element that fixes the block.
            every = sorted(sorted(row) for row in elements[:, block[:length]].tolist())
            rows += every[:: len(elements) // images]
        return rows

    def cover(self, classes: int) -> Ints:
        """Return all images of the base blocks, cut to the first `classes`; redundant ones are dropped."""
        rows = self.images_of_all()
        if self.action.hole is not None:
            symmetry = self.action.symmetry
            rows += (self.action.hole + symmetry.classes - symmetry.fixed).tolist()
        rows = [_fitted(row, classes, self.action.size) for row in rows]
        return prune(np.array(rows, np.int32), classes, self.times)


def _fitted(row: list[int], classes: int, size: int) -> list[int]:
    """Drop classes that are not there, and fill the block up."""
    kept = [x for x in row if x < classes]
    others = (x for x in range(size) if x not in kept)
    return kept + [next(others) for _ in range(size - len(kept))]


def cyclic(
    classes: int,
    size: int,
    times: int = 1,
    *,
    target: int,
    moves: int,
    seed: int = 0,
    lower: int = 0,
    twists: int = 1,
    surplus: int = 0,
    holes: Mapping[int, Ints] | None = None,
    pause: Pause | None = None,
) -> Ints | None:
    """Search a cover of at most `target` blocks among those with a symmetry.

    Every sensible group gets a short run; the better half of them gets a run twice as long, and so on. When a
    cover is found, the search goes on for a smaller one.

    Parameters
    ----------
    target
        Most blocks that the cover may have.
    moves
        The budget: swaps to try.
    lower
        No cover has fewer blocks: stop there.
    twists
        Most multipliers in a group; 1 for turns alone. More pays with more than about 15 million moves.
    surplus
        Groups may act on so many classes more than there are; these are dropped in the end.
    holes
        Covers of a few classes, by their number: if given, groups leave one of these numbers of classes where
        they are, and the cover given covers those.
    pause
        Called between runs with (moves made, size of the best cover or 0); the search stops when it returns
        True.

    Returns
    -------
    The smallest cover found (b x size), or None. The same seed gives the same cover.

    >>> len(cyclic(13, 4, target=13, moves=100_000))
    13
    """
    best: Ints | None = None
    made, goal = 0, target
    if holes is None:
        actions = _actions(classes, size, times, target, twists, surplus, bundles=moves >= LONG)
    else:
        actions = [
            Action(group, size, cover)
            for number, cover in holes.items()
            for group in symmetries_around(classes, number, twists=twists)
        ]
    while made < moves and goal >= max(lower, 1):
        entries = _entries(actions, goal, times)[: max(MOST_ENTRIES[0], int(moves * MOST_ENTRIES[1]))]
        run, made, stopped = _race(entries, times, made, moves, seed, goal, pause)
        if run is not None:
            best = run.cover(classes)
            goal = len(best) - 1
            seed += 1
        if run is None or stopped:
            break
    return best


def _actions(
    classes: int, size: int, times: int, target: int, twists: int, surplus: int, *, bundles: bool
) -> list[Action]:
    """Return the sensible groups that leave few classes or none where they are.

    Unless `bundles`, their twists exchange all cycles or none.
    """
    return [
        Action(group, size)
        for more in range(surplus + 1)
        if size < classes + more and best_lower_bound(classes + more, size, times)[0] <= target
        for group in symmetries(classes + more, fixed=FIXED, twists=twists)
        if group.turn <= target and (bundles or group.period in (1, group.cycles))
    ]


def _entries(actions: list[Action], target: int, times: int) -> list[tuple[Action, Plan]]:
    """Return what to try: the best plan of every group, large turns first, then the second best of each."""
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
    goal: int,
    pause: Pause | None,
) -> tuple[Run | None, int, bool]:
    """Run all entries, then the better half for twice as long, and so on; return the first to succeed.

    Returns that run or None, the moves made in all, and whether the caller asked to stop. The last few
    entries keep running, from ever new starts.
    """
    length, number = FIRST_LENGTH, seed * 1_000_003
    while entries:
        scores = []
        for action, plan in entries:
            number += 1
            run = Run(action, plan, times, number)
            made += run.cool(min(length, moves - made))
            if run.shortfall == 0:
                return run, made, False
            if pause is not None and pause(made, goal + 1):
                return None, made, True
            if made >= moves:
                return None, made, False
            scores.append(run.shortfall * action.symmetry.order**FAIRNESS)
        better = np.argsort(scores, kind="stable")[: max(FINALISTS, len(entries) // 2)]
        entries = [entries[i] for i in sorted(better)]
        length *= 2
    return None, made, False
