"""The inner loop of :mod:`covote.covers.search.block_annealing`."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw

Ints = NDArray[np.int32]
Slack = NDArray[np.int16]

AIMED = 0.7 * 2**32
"""Odds (of 2**32) that a move aims at an uncovered pair."""


class BlockTables(NamedTuple):
    """Blocks that fail to cover some pairs, with what makes a swap cheap.

    Attributes
    ----------
    blocks, sizes
        (b x k) The classes in each slot; block i has ``sizes[i]`` of them, and -1 beyond.
    slack
        (v x v) How many blocks hold both classes, minus how many should; a pair is uncovered while it is
        negative.
    owners, degree
        The slots of class x, as block times k plus place, are ``owners[x, :degree[x]]``.
    place
        (b x k) Where a slot stands in the owners of its class.
    uncovered, position, cost
        The uncovered pairs are ``uncovered[:cost[0]]``; (x, y), with x < y, is the one at ``position[x, y]``.
    """

    blocks: Ints
    sizes: Ints
    slack: Slack
    owners: Ints
    place: Ints
    degree: Ints
    uncovered: Ints
    position: Ints
    cost: Ints


@helper
def miss(x: int, y: int, tables: BlockTables) -> None:
    """Put the pair on the list of uncovered pairs."""
    uncovered, position, cost = tables.uncovered, tables.position, tables.cost
    if x > y:
        x, y = y, x
    position[x, y] = cost[0]
    uncovered[cost[0], 0] = x
    uncovered[cost[0], 1] = y
    cost[0] += 1


@helper
def found(x: int, y: int, tables: BlockTables) -> None:
    """Take the pair off the list of uncovered pairs; the last one takes its place."""
    uncovered, position, cost = tables.uncovered, tables.position, tables.cost
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
def change(block: Ints, z: int, y: int, slack: Slack) -> int:
    """Return by how much the shortfall grows when `y` replaces `z` in the block."""
    loss = 0
    for w in block:
        loss += int(slack[z, w] <= 0) - int(slack[y, w] < 0)
    return loss + int(slack[y, z] < 0)


@helper
def swap(i: int, slot: int, y: int, tables: BlockTables) -> None:
    """Put class `y` into a slot of block `i`, and bring all tables up to date."""
    blocks, sizes, slack, owners, place, degree, _, _, _ = tables
    z = blocks[i, slot]
    for s in range(sizes[i]):
        if s == slot:
            continue
        w = blocks[i, s]
        slack[z, w] -= 1
        slack[w, z] -= 1
        if slack[z, w] == -1:
            miss(z, w, tables)
        slack[y, w] += 1
        slack[w, y] += 1
        if slack[y, w] == 0:
            found(y, w, tables)
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


@kernel(steps=lambda tables, state, hot, cold, moves: moves * 15 * tables.blocks.shape[1])
def walk(tables: BlockTables, state: State, hot: float, cold: float, moves: int) -> int:
    """Try `moves` swaps while it cools; stop when every pair is covered; return the moves made.

    A move mostly aims at an uncovered pair (x, y): it gives `y` to a block of `x`. Otherwise it swaps any
    class of any block for any class outside it.
    """
    blocks, sizes, slack, owners, _, degree, uncovered, _, cost = tables
    b, k = blocks.shape
    v = slack.shape[0]
    temperature = hot
    for move in range(moves):
        if cost[0] == 0:
            return move
        if move & 255 == 0:
            temperature = hot * (cold / hot) ** (move / moves)
        if draw(state) < AIMED:
            pair = below(state, 2 * cost[0])
            x = uncovered[pair >> 1, pair & 1]
            y = uncovered[pair >> 1, 1 - (pair & 1)]
            if degree[x] == 0:
                continue
            own = owners[x, below(state, degree[x])]
            i = own // k
            slot = below(state, sizes[i] - 1)
            if slot >= own - i * k:
                slot += 1
        else:
            own = below(state, b * k)
            i = own // k
            slot = own - i * k
            y = below(state, v)
            if slot >= sizes[i]:
                continue
        block = blocks[i, : sizes[i]]
        inside = False
        for w in block:
            inside |= w == y
        if inside:
            continue
        delta = change(block, block[slot], y, slack)
        if delta <= 0 or draw(state) < exp(-delta / temperature) * 4294967296.0:
            swap(i, slot, y, tables)
    return moves
