"""Shrink a cover by dual annealing, which starts from the best cover, planes and random sets in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from covote.covers.blocks import Cover, uniform_need, without_least_needed, without_room
from covote.covers.constructions.recursions import in_table
from covote.covers.random_kernels import random_state
from covote.covers.search.best_so_far import CoverSearch, annealed
from covote.covers.search.blow_ups import nearest_planes, weighted_plane
from covote.covers.search.dual_annealing import (
    MOST_EXPERTS,
    RANDOM_HOT,
    RANDOM_SETS,
    Start,
    anneal_from_starts,
    masks_of,
    random_start,
)
from covote.covers.search.efforts import Effort

WARM = 0.3
"""First temperature from the best cover, low enough to keep most of it."""

FIRST_LENGTH = 700_000
"""Moves of the first attempts; each round of attempts doubles them."""

FORGETFUL = 30
"""The most experts for which annealing finds structure from a random start."""


def dual_annealing(search: CoverSearch, effort: Effort) -> None:
    """Search for covers with fewer and fewer experts, if there are not too many of them.

    The starts are the best covers so far, random sets, and planes with annealed weights.
    """
    if effort.dual == 0 or len(search.found.blocks) > MOST_EXPERTS + 1:
        return
    state = random_state(search.seed)
    made = 0
    while not search.over:
        experts = len(search.found.blocks) - 1
        moves = effort.dual - made
        if moves <= 0:
            break
        starts = _starts(search, experts, effort.weights)
        cover, used = anneal_from_starts(
            starts, experts, search.size, moves=moves, state=state, work=search.part(moves)
        )
        made += used
        if cover is not None:
            search.offer(cover)


def _starts(search: CoverSearch, experts: int, weights: int) -> Iterator[Start]:
    """Yield starts indefinitely."""
    random = np.random.default_rng((search.seed, experts))
    length = FIRST_LENGTH
    orders = nearest_planes(search.classes, search.size)[:2]
    for turn in itertools.count():
        yield _warm(search, search.found, experts, length)
        if experts <= FORGETFUL:
            masks = random_start(search.classes, experts, search.size, random)
            yield Start(masks, RANDOM_HOT, 2 * length, RANDOM_SETS)
        if search.smaller is not None and len(search.smaller.blocks) <= experts:
            yield _with_a_twin(search, search.smaller, length, random)
        if turn % 2 == 1:
            for other in search.others:
                yield _warm(search, other, experts, length // 2)
        # The cost of a heavy line is known only within the table of recursions.
        for order in orders if in_table(search.classes, search.size) else []:
            yield _warm(search, weighted_plane(search, order, weights, turn), experts, length)
        length *= 2


def _with_a_twin(search: CoverSearch, smaller: Cover, moves: int, random: np.random.Generator) -> Start:
    """Start from a cover of a class or two fewer, in which some classes get a twin."""
    masks = masks_of(smaller.blocks, search.classes)
    known = int(smaller.blocks.max()) + 1
    for x in range(known, search.classes):
        masks[:, x] = masks[:, int(random.integers(known))]
    return Start(masks, WARM, moves, annealed(smaller.construction))


def _warm(search: CoverSearch, cover: Cover, experts: int, moves: int) -> Start:
    """Start from a cover without the least needed experts."""
    blocks = without_room(cover.blocks, search.classes)
    while len(blocks) > experts:
        blocks = without_least_needed(blocks, uniform_need(search.classes))
    return Start(masks_of(blocks, search.classes), WARM, moves, annealed(cover.construction))
