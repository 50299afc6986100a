"""Simulated annealing: fewer and fewer blocks, each time repaired by swapping classes.

After Nurmela and Ostergard (1993), "Upper bounds for covering designs by simulated annealing"; the moves that
aim at an uncovered pair are ours. The blocks may have different sizes, and pairs different needs: the same
search serves a panel from nothing, experts of given capacities, and the new experts of a panel.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.covers.blocks import Blocks, prune, slack_of, uniform_need, without_least_needed
from covote.covers.random_kernels import State, chance
from covote.covers.search.annealing import cool
from covote.covers.search.block_annealing_kernels import BlockTables, walk
from covote.progress import Work

Need = NDArray[np.int16]

HOT, COLD = 0.45, 0.2
"""First and last temperature of an attempt, in uncovered pairs."""

FIRST_LENGTH = 500_000
"""Moves of a first attempt; each failure doubles them."""

FEW = 5
"""Uncovered pairs that chance may close."""

LARGEST_TABLE = 1 << 24
"""Cells of the largest table that a search may use; larger covers are returned as they came."""


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
        Hears of the moves every tenth of a second or so, and may stop the search.

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
    return fewer_blocks(best, sizes, uniform_need(classes, times), moves, chance(seed), max(lower, 1), work)


def fewer_blocks(
    best: Blocks, sizes: NDArray[np.int32], need: Need, moves: int, state: State, lower: int, work: Work
) -> Blocks:
    """Drop the least needed block, repair by annealing, repeat; return the fewest blocks that fill the need.

    Block i has ``sizes[i]`` classes and -1 beyond. When one is dropped, those that follow move up, and use
    the room that they gain.

    Each failure doubles the moves of the next attempt. The pairs that are left uncovered should fall by about
    the same factor each time; the search ends when at this rate the whole budget would leave more than a few.
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
    """Whether more than a few pairs would stay uncovered, if the shortfall goes on falling at the same rate.

    It fell from `before` to `now` when the length doubled to `length`; `left` moves are left to double it.

    >>> hopeless(before=20, now=18, length=1_000_000, left=4_000_000)
    True
    >>> hopeless(before=8, now=2, length=1_000_000, left=4_000_000)
    False
    """
    doublings = np.log2(1 + max(0, left) / length)
    return bool(now * (now / before) ** doublings > FEW)


def _one_fewer(blocks: Blocks, sizes: NDArray[np.int32], need: Need) -> Blocks:
    """Drop the least needed block; those that follow move up, and use the room they gain."""
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
        """Cool down once over `length` moves; return how many were made."""
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
