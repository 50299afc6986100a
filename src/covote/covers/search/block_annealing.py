"""Simulated annealing: fewer and fewer blocks, each time repaired by swapping classes.

After Nurmela and Ostergard (1993), "Upper bounds for covering designs by simulated annealing"; the moves that
aim at an uncovered pair are ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.covers.pruning import pair_counts, prune, without_least_needed
from covote.covers.search.block_annealing_kernels import OWN, BlockTables, walk
from covote.progress import Work

HOT, COLD = 0.45, 0.2
"""First and last temperature of an attempt, in uncovered pairs."""

AIMED = 0.7
"""Share of the moves that aim at an uncovered pair."""

FIRST_LENGTH = 500_000
"""Moves of a first attempt; each failure doubles them."""

STRETCH = 1_000_000
"""Most moves between two looks at the clock of the caller: a tenth of a second."""

LARGEST_TABLE = 1 << 26
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
) -> NDArray[np.int32]:
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
    from covote.covers.random_kernels import chance

    best = prune(blocks, classes, times)
    b, k = best.shape
    if k < 2 or k >= classes or max(b, classes) * classes > LARGEST_TABLE:
        return best
    state = chance(seed)
    work = work or Work(moves)
    made = 0
    length = FIRST_LENGTH
    attempt = _Attempt(without_least_needed(best, classes, times, last=True), classes, times)
    while made < moves and len(best) > max(lower, 1):
        made += attempt.run(min(length, moves - made), state, work)
        if attempt.shortfall == 0:
            best = prune(attempt.blocks, classes, times)
            attempt = _Attempt(without_least_needed(best, classes, times, last=True), classes, times)
            length = FIRST_LENGTH
        else:
            length *= 2
        if work.stopped:
            break
    return best


class _Attempt:
    """Blocks that fail to cover some pairs, with the tables that make a swap cheap."""

    def __init__(self, blocks: NDArray[np.int32], classes: int, times: int) -> None:
        self.times = times
        self.blocks = np.ascontiguousarray(blocks, dtype=np.int32)
        self.tables = _tables(self.blocks, classes, times)

    @property
    def shortfall(self) -> int:
        """How many pairs are not covered often enough."""
        return int(self.tables.cost[0])

    def run(self, length: int, state: NDArray[np.uint64], work: Work) -> int:
        """Cool down once over `length` moves; return how many were made."""
        made, stretch = 0, min(STRETCH, max(1, length // 64))
        while made < length and self.shortfall:
            temperature = HOT * (COLD / HOT) ** (made / length)
            step = walk(
                self.tables,
                self.times,
                odds(temperature, self.blocks.shape[1]),
                int(AIMED * 2**32),
                min(stretch, length - made),
                state,
            )
            made += step
            if work.advance(step):
                break
        return made


def _tables(blocks: NDArray[np.int32], classes: int, times: int) -> BlockTables:
    """Return the tables of some blocks."""
    b, k = blocks.shape
    counts = pair_counts(blocks, classes).astype(np.int16)
    np.fill_diagonal(counts, OWN)
    slots = np.argsort(blocks.ravel(), kind="stable").astype(np.int32)
    degree = np.bincount(blocks.ravel(), minlength=classes).astype(np.int32)
    rank = np.arange(b * k, dtype=np.int32) - np.repeat(np.cumsum(degree) - degree, degree).astype(np.int32)
    owners, place = np.zeros((classes, max(b, 1)), np.int32), np.zeros(b * k, np.int32)
    owners[blocks.ravel()[slots], rank] = slots
    place[slots] = rank
    short = np.argwhere(np.triu(counts < times, 1))
    uncovered = np.zeros((classes * (classes - 1) // 2, 2), np.int32)
    uncovered[: len(short)] = short
    position = np.zeros((classes, classes), np.int32)
    position[short[:, 0], short[:, 1]] = np.arange(len(short))
    cost = np.array([len(short)], np.int32)
    return BlockTables(blocks, counts, owners, place.reshape(b, k), degree, uncovered, position, cost)


def odds(temperature: float, size: int) -> NDArray[np.uint64]:
    """Return the odds (of 2**32) to accept a shortfall that grows by 0, 1, 2, ... `size`."""
    return (np.exp(-np.arange(size + 1) / temperature) * (2**32 - 1)).astype(np.uint64)
