"""Shrink a cover by dual annealing: from the best cover, from planes and from nothing, in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from covote.covers.blocks import Blocks, Cover, uniform_need, without_least_needed, without_room
from covote.covers.constructions.finite_fields import prime_power
from covote.covers.constructions.planes import projective_plane
from covote.covers.constructions.recursions import in_table
from covote.covers.search.best_so_far import CoverSearch
from covote.covers.search.blow_ups import anneal_blowup, blow_up
from covote.covers.search.dual_annealing import (
    HOT,
    MOST_EXPERTS,
    RANDOM_HOT,
    Masks,
    blow_up_start,
    masks_of,
    meet,
    random_start,
)
from covote.covers.search.efforts import Effort

WARM = 0.3
"""First temperature when the best cover is the start: keep most of it."""

FIRST_LENGTH = 700_000
"""Moves of the first attempts; each round of attempts doubles them."""

STARTS = (("added", 0.4), ("even", 0.6), ("removed", 0.4), ("even", 1.5), ("added", 0.8), ("even", 1.0))
"""How the weights of a plane start, and how hot."""

FORGETFUL = 30
"""Most experts for which annealing finds structure from nothing."""


class Start(NamedTuple):
    """Where an attempt begins, how hot, and what to call the result."""

    masks: Masks
    hot: float
    construction: str


def shrink(search: CoverSearch, effort: Effort) -> None:
    """Look for covers with fewer and fewer experts, as long as there are not too many of them.

    The starts are the best covers so far, planes with annealed or with equal weights, and chance.
    """
    from covote.covers.random_kernels import chance

    if effort.meeting == 0 or len(search.found.blocks) > MOST_EXPERTS + 1:
        return
    state = chance(search.seed)
    made = 0
    while not search.over and made < effort.meeting:
        experts = len(search.found.blocks) - 1
        for start, length in _starts(search, experts, effort.weights):
            moves = min(length, effort.meeting - made)
            work = search.part(moves)
            blocks = meet(
                start.masks, experts, search.size, moves=moves, state=state, hot=start.hot, work=work
            )
            made += length
            if blocks is not None:
                search.offer(Cover(blocks, start.construction))
            if blocks is not None or search.over or made >= effort.meeting:
                break


def _starts(search: CoverSearch, experts: int, weights: int) -> Iterator[tuple[Start, int]]:
    """Yield starts with their budgets, without end."""
    random = np.random.default_rng((search.seed, experts))
    length = FIRST_LENGTH
    orders = nearest_planes(search.classes, search.size)
    for turn in itertools.count():
        yield _warm(search, search.found, experts), length
        if experts <= FORGETFUL:
            masks = random_start(search.classes, experts, search.size, random)
            yield Start(masks, RANDOM_HOT, "annealing of meeting sets of experts"), 2 * length
        if search.smaller is not None and len(search.smaller.blocks) <= experts:
            yield _with_a_twin(search, search.smaller, random), length
        if turn % 2 == 1:
            for other in search.others:
                yield _warm(search, other, experts), length // 2
        # What a heavy line costs is known within the table of recursions only.
        for order in orders[:2] if in_table(search.classes, search.size) else []:
            yield _warm(search, weighted_plane(search, order, weights, turn), experts), length
        for order in orders:
            masks = blow_up_start(projective_plane(order), search.classes, experts, random)
            name = f"projective plane of order {order} with weighted points, annealed"
            yield Start(masks, HOT, name), length
        length *= 2


def _with_a_twin(search: CoverSearch, smaller: Cover, random: np.random.Generator) -> Start:
    """Start from a cover of a class or two fewer, in which some classes get a twin."""
    masks = masks_of(smaller.blocks, search.classes)
    known = int(smaller.blocks.max()) + 1
    for x in range(known, search.classes):
        masks[:, x] = masks[:, int(random.integers(known))]
    return Start(masks, WARM, annealed(smaller.construction))


def _warm(search: CoverSearch, cover: Cover, experts: int) -> Start:
    """Start from a cover without the experts that are needed least."""
    blocks = without_room(cover.blocks, search.classes)
    while len(blocks) > experts:
        blocks = without_least_needed(blocks, uniform_need(search.classes))
    return Start(masks_of(blocks, search.classes), WARM, annealed(cover.construction))


def weighted_plane(search: CoverSearch, order: int, moves: int, run: int) -> Cover:
    """Anneal weights for the points of a plane, each time from another start."""
    return weighted(search, projective_plane(order), f"projective plane of order {order}", moves, run)


def weighted(search: CoverSearch, lines: Blocks, construction: str, moves: int, run: int) -> Cover:
    """Anneal weights for the points of a design, each time from another start."""
    weights = anneal_blowup(
        lines,
        search.classes,
        search.size,
        moves=moves,
        seed=search.seed * 1009 + run,
        start=STARTS[run % len(STARTS)][0],
        hot=STARTS[run % len(STARTS)][1],
        target=search.lower,
    )
    return blow_up(lines, weights, search.size, construction)


def nearest_planes(classes: int, size: int) -> list[int]:
    """List the orders of planes whose points may stand for the classes, the nearest first.

    Lines should carry about `size` classes when the classes are spread evenly.

    >>> nearest_planes(31, 6)[0]
    5
    """
    ratio = classes / size
    orders = [q for q in range(2, 17) if prime_power(q) and 0.5 * ratio - 1 <= q <= 1.6 * ratio + 2]
    return sorted(orders, key=lambda q: abs(q * q / (q + 1) + 0.7 - ratio))[:3]


def annealed(construction: str) -> str:
    """Say that a search has changed a construction."""
    return construction if construction.endswith(", annealed") else f"{construction}, annealed"
