"""The inner loop of the base block search: annealing base blocks under a group."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw

Ints = NDArray[np.int32]

AIMED = 2**31
"""Probability (times 2**32) that a move aims at an uncovered pair orbit."""


class OrbitTables(NamedTuple):
    """Base blocks, the group's orbits, and which pair orbits the blocks fail to cover.

    Attributes
    ----------
    blocks, lengths, images
        Base block j has ``lengths[j]`` classes and stands for ``images[j]`` blocks. It is a union of parts:
        orbits of its own stabiliser, which move as a whole.
    slots
        A row is (block, start, width, subgroup): where a part stands, and whose orbit it is.
    parts, part_of
        The size and the classes of each part, and the part of each class, by subgroup.
    orbit
        The number of each pair's orbit (classes x classes).
    partner, partner_start
        For each class and pair orbit: the other classes of such pairs.
    lack
        How many pairs, over all images, each pair orbit is short of; negative where there are more than
        needed.
    uncovered, position, tally
        The orbits that lack pairs are ``uncovered[:tally[0]]``; `position` says where, -1 for nowhere.
    old
        Scratch space for the part that a move replaces.
    """

    blocks: Ints
    lengths: Ints
    images: NDArray[np.int64]
    slots: Ints
    parts: Ints
    part_of: Ints
    orbit: Ints
    partner: Ints
    partner_start: Ints
    lack: Ints
    uncovered: Ints
    position: Ints
    tally: Ints
    old: Ints


@helper
def shift_lack(t: OrbitTables, j: int, start: int, width: int, step: int) -> int:
    """Add `step` to the lack of all pairs with a class in blocks[j, start:start+width].

    Returns the growth of the shortfall, the sum of all positive lacks.
    """
    grown = 0
    block = t.blocks[j]
    for s in range(start, start + width):
        row = t.orbit[block[s]]
        for other in range(t.lengths[j]):
            # Pairs inside the part are visited twice; count them only at their second class.
            if other < start or other > s:
                o = row[block[other]]
                old = t.lack[o]
                t.lack[o] = old + step
                if old > 0:
                    grown -= old
                if old + step > 0:
                    grown += old + step
    return grown


@helper
def list_uncovered(t: OrbitTables, j: int, start: int, width: int) -> None:
    """Update the list of uncovered pair orbits for all pairs of a part of the block."""
    for s in range(start, start + width):
        for other in range(t.lengths[j]):
            if other >= start and other <= s:
                continue
            o = t.orbit[t.blocks[j, s], t.blocks[j, other]]
            if t.lack[o] > 0 and t.position[o] < 0:
                t.position[o] = t.tally[0]
                t.uncovered[t.tally[0]] = o
                t.tally[0] += 1
            elif t.lack[o] <= 0 and t.position[o] >= 0:
                t.tally[0] -= 1
                last = t.uncovered[t.tally[0]]
                t.uncovered[t.position[o]] = last
                t.position[last] = t.position[o]
                t.position[o] = -1


@kernel(steps=lambda t, state, hot, cold, moves: moves * 30 * t.blocks.shape[1])
def walk(t: OrbitTables, state: State, hot: float, cold: float, moves: int) -> int:
    """Try `moves` swaps at falling temperature until every pair orbit is covered; return the moves made.

    Half of the moves aim at an uncovered pair orbit.
    """
    orbits = len(t.lack)
    temperature = hot
    for move in range(moves):
        if t.tally[0] == 0:
            return move
        if move & 63 == 0:
            temperature = hot * (cold / hot) ** (move / moves)
        slot = below(state, len(t.slots))
        j = t.slots[slot, 0]
        start = t.slots[slot, 1]
        width = t.slots[slot, 2]
        length = t.lengths[j]
        block = t.blocks[j]
        if length > width and draw(state) < AIMED:
            # A class that forms a pair of an uncovered orbit with a class that stays in the block.
            o = t.uncovered[below(state, t.tally[0])]
            stays = below(state, length - width)
            if stays >= start:
                stays += width
            at = block[stays] * orbits + o
            n = t.partner_start[at + 1] - t.partner_start[at]
            if n == 0:
                continue
            y = t.partner[t.partner_start[at] + below(state, n)]
        else:
            y = below(state, t.orbit.shape[0])
        part = t.part_of[t.slots[slot, 3], y]
        inside = t.parts[part, 0] != width
        for s in range(length):
            inside |= block[s] == y
        if inside:
            continue
        grown = shift_lack(t, j, start, width, t.images[j])
        for s in range(width):
            t.old[s] = block[start + s]
            block[start + s] = t.parts[part, 1 + s]
        grown += shift_lack(t, j, start, width, -t.images[j])
        if grown <= 0 or (
            grown < 20 * temperature and draw(state) < exp(-grown / temperature) * 4294967296.0
        ):
            list_uncovered(t, j, start, width)
            for s in range(width):
                block[start + s], t.old[s] = t.old[s], block[start + s]
            list_uncovered(t, j, start, width)
            for s in range(width):
                block[start + s] = t.old[s]
        else:
            shift_lack(t, j, start, width, t.images[j])
            for s in range(width):
                block[start + s] = t.old[s]
            shift_lack(t, j, start, width, -t.images[j])
    return moves
