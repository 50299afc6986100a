"""The inner loop of :mod:`covote.covers.search.block_annealing`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw

Ints = NDArray[np.int32]
Counts = NDArray[np.int16]

OWN = 32767
"""The count of a class with itself: always covered, never critical."""


class BlockTables(NamedTuple):
    """Blocks that fail to cover some pairs, with what makes a swap cheap.

    Attributes
    ----------
    blocks
        (b x k) The classes in each slot.
    counts
        (v x v) How many blocks hold both classes.
    owners, degree
        The slots of class x, as block times k plus place, are ``owners[x, :degree[x]]``.
    place
        (b x k) Where a slot stands in the owners of its class.
    uncovered, position, cost
        The pairs that are covered too rarely are ``uncovered[:cost[0]]``; (x, y), with x < y, is the one at
        ``position[x, y]``.
    """

    blocks: Ints
    counts: Counts
    owners: Ints
    place: Ints
    degree: Ints
    uncovered: Ints
    position: Ints
    cost: Ints


@helper
def miss(x: int, y: int, uncovered: Ints, position: Ints, cost: Ints) -> None:
    """Put the pair on the list of uncovered pairs."""
    if x > y:
        x, y = y, x
    position[x, y] = cost[0]
    uncovered[cost[0], 0] = x
    uncovered[cost[0], 1] = y
    cost[0] += 1


@helper
def found(x: int, y: int, uncovered: Ints, position: Ints, cost: Ints) -> None:
    """Take the pair off the list of uncovered pairs; the last one takes its place."""
    if x > y:
        x, y = y, x
    cost[0] -= 1
    at = position[x, y]
    a = uncovered[cost[0], 0]
    b = uncovered[cost[0], 1]
    uncovered[at, 0] = a
    uncovered[at, 1] = b
    position[a, b] = at


@helper
def change(block: Ints, z: int, y: int, counts: Counts, times: int) -> int:
    """Return by how much the shortfall grows when `y` replaces `z` in the block."""
    loss = 0
    for w in block:
        loss += int(counts[z, w] <= times) - int(counts[y, w] < times)
    return loss + int(counts[y, z] < times)


@helper
def swap(i: int, slot: int, y: int, tables: BlockTables, times: int) -> None:
    """Put class `y` into a slot of block `i`, and bring all tables up to date."""
    blocks, counts, owners, place, degree, uncovered, position, cost = tables
    z = blocks[i, slot]
    for s in range(blocks.shape[1]):
        if s == slot:
            continue
        w = blocks[i, s]
        counts[z, w] -= 1
        counts[w, z] -= 1
        if counts[z, w] == times - 1:
            miss(z, w, uncovered, position, cost)
        counts[y, w] += 1
        counts[w, y] += 1
        if counts[y, w] == times:
            found(y, w, uncovered, position, cost)
    blocks[i, slot] = y
    # The list of blocks of z loses one entry: its last one moves into the gap.
    at = place[i, slot]
    degree[z] -= 1
    last = owners[z, degree[z]]
    owners[z, at] = last
    place[last // blocks.shape[1], last % blocks.shape[1]] = at
    place[i, slot] = degree[y]
    owners[y, degree[y]] = i * blocks.shape[1] + slot
    degree[y] += 1


@kernel(steps=lambda tables, times, accept, aimed, moves, state: moves * 15 * len(accept))
def walk(
    tables: BlockTables, times: int, accept: NDArray[np.uint64], aimed: int, moves: int, state: State
) -> int:
    """Try `moves` swaps at one temperature; stop when every pair is covered; return the moves made.

    A move aims at an uncovered pair (x, y) with the odds `aimed` (of 2**32): it gives `y` to a block of `x`.
    Otherwise it swaps any class of any block for any class outside it. A shortfall that grows by d is
    accepted with the odds ``accept[d]``.
    """
    blocks, counts, owners, _, degree, uncovered, _, cost = tables
    b, k = blocks.shape
    v = counts.shape[0]
    for move in range(moves):
        if cost[0] == 0:
            return move
        if draw(state) < aimed:
            pair = below(state, 2 * cost[0])
            x = uncovered[pair >> 1, pair & 1]
            y = uncovered[pair >> 1, 1 - (pair & 1)]
            if degree[x] == 0:
                continue
            own = owners[x, below(state, degree[x])]
            i = own // k
            slot = below(state, k - 1)
            if slot >= own - i * k:
                slot += 1
        else:
            own = below(state, b * k)
            i = own // k
            slot = own - i * k
            y = below(state, v)
        inside = False
        for w in blocks[i]:
            inside |= w == y
        if inside:
            continue
        delta = change(blocks[i], blocks[i, slot], y, counts, times)
        if delta <= 0 or draw(state) < accept[delta]:
            swap(i, slot, y, tables, times)
    return moves
