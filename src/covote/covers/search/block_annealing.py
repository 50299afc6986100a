"""Simulated annealing: drop one block after another, and repair the cover by swapping classes.

After Nurmela and Ostergard (1993), "Upper bounds for covering designs by simulated annealing"; the moves that
aim at an uncovered pair are ours. The blocks may have different sizes, and pairs different needs: the same
search serves a panel from nothing, experts of given capacities, and the new experts of a panel.
"""

from __future__ import annotations

from functools import partial
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.compiled import helper, kernel
from covote.covers.blocks import Blocks, prune, slack_of, uniform_need, without_least_needed
from covote.covers.random_kernels import State, below, draw, random_state
from covote.covers.search.annealing import cool
from covote.progress import Work

Ints = NDArray[np.int32]
Slack = NDArray[np.int16]

AIMED = 0.7 * 2**32
"""Probability (times 2**32) that a move aims at an uncovered pair."""


class BlockTables(NamedTuple):
    """Blocks that fail to cover some pairs, with the tables that make a swap cheap.

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
        (b x k) The place of a slot in the owners of its class.
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
def uncover_pair(x: int, y: int, tables: BlockTables) -> None:
    """Put the pair on the list of uncovered pairs."""
    uncovered, position, cost = tables.uncovered, tables.position, tables.cost
    if x > y:
        x, y = y, x
    position[x, y] = cost[0]
    uncovered[cost[0], 0] = x
    uncovered[cost[0], 1] = y
    cost[0] += 1


@helper
def cover_pair(x: int, y: int, tables: BlockTables) -> None:
    """Remove the pair from the list of uncovered pairs; the last one takes its place."""
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
    """Put class `y` into a slot of block `i`, and update all tables."""
    blocks, sizes, slack, owners, place, degree, _, _, _ = tables
    z = blocks[i, slot]
    for s in range(sizes[i]):
        if s == slot:
            continue
        w = blocks[i, s]
        slack[z, w] -= 1
        slack[w, z] -= 1
        if slack[z, w] == -1:
            uncover_pair(z, w, tables)
        slack[y, w] += 1
        slack[w, y] += 1
        if slack[y, w] == 0:
            cover_pair(y, w, tables)
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
    """Try `moves` swaps at falling temperature until every pair is covered; return the moves made.

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


Need = NDArray[np.int16]

HOT, COLD = 0.45, 0.2
"""First and last temperature of an attempt, in uncovered pairs."""

FIRST_LENGTH = 500_000
"""Moves of a first attempt; each failure doubles them."""

FEW = 5
"""Uncovered pairs that further attempts may still close by chance."""

LARGEST_TABLE = 1 << 24
"""Cells of the largest table that a search may use; larger covers are returned unchanged."""


def anneal(
    blocks: ArrayLike,
    classes: int,
    times: int = 1,
    *,
    moves: int,
    seed: int = 0,
    lower: int = 0,
    work: Work | None = None,
) -> Blocks:
    """Shrink a cover: drop a block, repair by annealing, repeat.

    Parameters
    ----------
    blocks
        A cover (b x k): each pair of the classes 0..classes-1 lies in at least `times` blocks.
    moves
        The budget: swaps to try.
    lower
        Stop when the cover has no more blocks than this.
    work
        Gets a report of the moves about every tenth of a second, and may stop the search.

    Returns
    -------
    The smallest cover found, (b' x k) with b' <= b; the same seed gives the same cover.

    >>> len(anneal([[0, 1, 2], [0, 3, 4], [1, 2, 3], [1, 2, 4], [0, 1, 3]], 5, moves=1000))
    4
    """
    best = prune(blocks, classes, times)
    if best.shape[1] < 2 or best.shape[1] >= classes:
        return best
    sizes = np.full(len(best), best.shape[1], np.int32)
    work = work or Work(moves)
    return fewer_blocks(
        best, sizes, uniform_need(classes, times), moves, random_state(seed), max(lower, 1), work
    )


def fewer_blocks(
    best: Blocks, sizes: NDArray[np.int32], need: Need, moves: int, state: State, lower: int, work: Work
) -> Blocks:
    """Drop the least needed block, repair by annealing, repeat; return the fewest blocks that fill the need.

    Block i has ``sizes[i]`` classes and -1 beyond. When one is dropped, the following blocks move up, and use
    the places that they gain.

    Each failure doubles the moves of the next attempt. The number of uncovered pairs should fall by about the
    same factor each time; the search ends if at this rate the whole budget would leave more than a few.
    """
    if max(len(best), len(need)) * len(need) > LARGEST_TABLE:
        return best
    made, length, before = 0, FIRST_LENGTH, 0
    attempt: Attempt | None = None
    while made < moves and len(best) > lower and not work.stopped:
        attempt = attempt or Attempt(_one_fewer(best, sizes, need), sizes, need)
        made += attempt.run(min(length, moves - made), state, work)
        if attempt.shortfall == 0:
            best, attempt, length, before = attempt.blocks, None, FIRST_LENGTH, 0
            continue
        if before and hopeless(before, attempt.shortfall, length, moves - made):
            break
        before, length = attempt.shortfall, 2 * length
    return best


def hopeless(before: int, now: int, length: int, left: int) -> bool:
    """Whether more than a few pairs would stay uncovered if the shortfall continues to fall at this rate.

    It fell from `before` to `now` when the length doubled to `length`; `left` moves remain.

    >>> hopeless(before=20, now=18, length=1_000_000, left=4_000_000)
    True
    >>> hopeless(before=8, now=2, length=1_000_000, left=4_000_000)
    False
    """
    doublings = np.log2(1 + max(0, left) / length)
    return bool(now * (now / before) ** doublings > FEW)


def _one_fewer(blocks: Blocks, sizes: NDArray[np.int32], need: Need) -> Blocks:
    """Drop the least needed block; the following ones move up, and use the places that they gain."""
    left = without_least_needed(blocks, need)
    for row, size in zip(left, sizes, strict=False):
        if row[size - 1] < 0:
            known = row[row >= 0]
            spare = np.setdiff1d(np.arange(len(need), dtype=np.int32), known)
            row[len(known) : size] = spare[: size - len(known)]
    return left


class Attempt:
    """Blocks that fail to fill some of the need, with the tables that make a swap cheap."""

    def __init__(self, blocks: Blocks, sizes: NDArray[np.int32], need: Need) -> None:
        self.blocks = np.ascontiguousarray(blocks, dtype=np.int32)
        self.tables = _tables(self.blocks, sizes[: len(blocks)], slack_of(need, blocks))

    @property
    def shortfall(self) -> int:
        """How many pairs are not covered often enough."""
        return int(self.tables.cost[0])

    def run(self, length: int, state: State, work: Work) -> int:
        """Anneal once over `length` moves; return how many were made."""
        return cool(partial(walk, self.tables, state), length, HOT, COLD, work)


def _tables(blocks: Blocks, sizes: NDArray[np.int32], slack: NDArray[np.int16]) -> BlockTables:
    """Return the tables of some blocks."""
    b, k = blocks.shape
    classes = len(slack)
    slots = np.argsort(blocks.ravel(), kind="stable").astype(np.int32)
    slots = slots[np.count_nonzero(blocks < 0) :]
    degree = np.bincount(blocks[blocks >= 0], minlength=classes).astype(np.int32)
    rank = np.arange(len(slots)) - np.repeat(np.cumsum(degree) - degree, degree)
    owners, place = np.zeros((classes, max(b, 1)), np.int32), np.zeros(b * k, np.int32)
    owners[blocks.ravel()[slots], rank] = slots
    place[slots] = rank
    short = np.argwhere(np.triu(slack < 0, 1))
    uncovered = np.zeros((classes * (classes - 1) // 2, 2), np.int32)
    uncovered[: len(short)] = short
    position = np.zeros((classes, classes), np.int32)
    position[short[:, 0], short[:, 1]] = np.arange(len(short))
    cost = np.array([len(short)], np.int32)
    return BlockTables(blocks, sizes, slack, owners, place.reshape(b, k), degree, uncovered, position, cost)
