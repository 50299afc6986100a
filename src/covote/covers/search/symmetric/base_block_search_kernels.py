"""The inner loop of the base block search: annealing base blocks under a group."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw

Ints = NDArray[np.int32]


@helper
def hit(block: Ints, length: int, start: int, width: int, step: int, orbit: Ints, lack: Ints) -> int:
    """Add `step` to the lack of all pairs with a class in block[start:start+width].

    ``lack[o]`` is how many pairs, over all images, pair orbit `o` is short of; it is negative where there are
    more than needed. Returns the growth of the shortfall, the sum of all positive lacks.
    """
    grown = 0
    for s in range(start, start + width):
        row = orbit[block[s]]
        for t in range(length):
            # Pairs inside the part are met twice; count them at their second class only.
            if t < start or t > s:
                o = row[block[t]]
                old = lack[o]
                lack[o] = old + step
                if old > 0:
                    grown -= old
                if old + step > 0:
                    grown += old + step
    return grown


@helper
def note(
    block: Ints,
    length: int,
    start: int,
    width: int,
    orbit: Ints,
    lack: Ints,
    uncovered: Ints,
    position: Ints,
    tally: Ints,
) -> None:
    """Bring the list of uncovered pair orbits up to date for all pairs of a part of the block."""
    for s in range(start, start + width):
        for t in range(length):
            if t >= start and t <= s:
                continue
            o = orbit[block[s], block[t]]
            if lack[o] > 0 and position[o] < 0:
                position[o] = tally[0]
                uncovered[tally[0]] = o
                tally[0] += 1
            elif lack[o] <= 0 and position[o] >= 0:
                tally[0] -= 1
                last = uncovered[tally[0]]
                uncovered[position[o]] = last
                position[last] = position[o]
                position[o] = -1


@kernel(steps=lambda blocks, *rest: rest[-2] * 30 * blocks.shape[1])
def walk(
    blocks: Ints,
    lengths: Ints,
    images: Ints,
    slots: Ints,
    parts: Ints,
    part_of: Ints,
    orbit: Ints,
    partner: Ints,
    partner_start: Ints,
    lack: Ints,
    uncovered: Ints,
    position: Ints,
    tally: Ints,
    old: Ints,
    temperature: float,
    aimed: int,
    moves: int,
    state: State,
) -> int:
    """Try `moves` swaps at one temperature; stop when every pair orbit is covered; return the moves made.

    Base block `j` has ``lengths[j]`` classes and stands for ``images[j]`` blocks. It is a union of parts:
    orbits of its own stabiliser, which move as a whole. A row of `slots` is (block, start, width, subgroup).
    A move aims at an uncovered pair orbit with the odds `aimed` (of 2**32).
    """
    orbits = len(lack)
    hopeless = 20 * temperature
    for move in range(moves):
        if tally[0] == 0:
            return move
        slot = below(state, len(slots))
        j = slots[slot, 0]
        start = slots[slot, 1]
        width = slots[slot, 2]
        length = lengths[j]
        if length > width and draw(state) < aimed:
            # A class that forms a pair of an uncovered orbit with a class that stays in the block.
            o = uncovered[below(state, tally[0])]
            t = below(state, length - width)
            if t >= start:
                t += width
            at = blocks[j, t] * orbits + o
            n = partner_start[at + 1] - partner_start[at]
            if n == 0:
                continue
            y = partner[partner_start[at] + below(state, n)]
        else:
            y = below(state, orbit.shape[0])
        part = part_of[slots[slot, 3], y]
        inside = parts[part, 0] != width
        block = blocks[j]
        for t in range(length):
            inside |= block[t] == y
        if inside:
            continue
        grown = hit(block, length, start, width, images[j], orbit, lack)
        for t in range(width):
            old[t] = block[start + t]
            block[start + t] = parts[part, 1 + t]
        grown += hit(block, length, start, width, -images[j], orbit, lack)
        if grown <= 0 or (grown < hopeless and draw(state) < exp(-grown / temperature) * 4294967296.0):
            note(block, length, start, width, orbit, lack, uncovered, position, tally)
            for t in range(width):
                block[start + t], old[t] = old[t], block[start + t]
            note(block, length, start, width, orbit, lack, uncovered, position, tally)
            for t in range(width):
                block[start + t] = old[t]
        else:
            hit(block, length, start, width, images[j], orbit, lack)
            for t in range(width):
                block[start + t] = old[t]
            hit(block, length, start, width, -images[j], orbit, lack)
    return moves
