"""Few experts: every class is a set of experts, and any two of these sets must meet.

A cover with b experts is a family of pairwise intersecting subsets of the b experts, one per class, in which
no expert is used more often than it has room. Seen this way, classes with the same experts are twins, and a
class that becomes the twin of another inherits everything it meets: one move where swapping needs many.
Annealing over such moves finds the best weighted designs whenever there are not too many experts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.covers.blocks import Blocks, Cover, padded
from covote.covers.random_kernels import State
from covote.covers.search.annealing import cool
from covote.covers.search.dual_annealing_kernels import PRICE, Meeting, walk
from covote.progress import Work

Masks = NDArray[np.uint64]

MOST_EXPERTS = 128
"""The experts of a class are the bits of two words."""

HOT, COLD = 0.5, 0.2
"""First and last temperature, in uncovered pairs; RANDOM_HOT when there is no structure to keep."""

RANDOM_HOT = 1.0
RANDOM_SETS = "annealing of meeting sets of experts"


def masks_of(blocks: Blocks, classes: int) -> Masks:
    """Return the experts of each class as bits (2 words x classes)."""
    masks = np.zeros((2, classes), dtype=np.uint64)
    for j, block in enumerate(blocks):
        masks[j >> 6, block[block >= 0]] |= np.uint64(1 << (j & 63))
    return masks


def has_expert(masks: Masks, experts: int) -> NDArray[np.bool_]:
    """Return whether each expert knows each class (experts x classes)."""
    bits = [(masks[j >> 6] >> np.uint64(j & 63)) & np.uint64(1) for j in range(experts)]
    return np.array(bits, dtype=bool).reshape(experts, masks.shape[1])


def blocks_of(masks: Masks, experts: int, size: int) -> Blocks:
    """Return the classes of each expert; -1 marks room."""
    known = has_expert(masks, experts)
    return padded([np.flatnonzero(row).astype(np.int32) for row in known], size)


def meet(
    masks: Masks,
    experts: int,
    size: int,
    *,
    moves: int,
    state: State,
    times: int = 1,
    hot: float = HOT,
    work: Work | None = None,
) -> Blocks | None:
    """Anneal the sets of experts, in place, until all meet and no expert has more than `size` classes.

    Any two sets have to share `times` experts.

    Returns the blocks, or None if the budget of moves ends before, or somebody stops the work.
    """
    load = has_expert(masks, experts).sum(axis=1)
    over = np.maximum(load - size, 0)
    common = np.bitwise_count(masks[:, :, None] & masks[:, None, :]).sum(axis=0, dtype=np.int64)
    pairs = int(np.triu(np.maximum(times - common, 0), 1).sum())
    cost = np.array([pairs + PRICE * int((over * (over + 1) // 2).sum()), pairs], dtype=np.int64)
    meeting = Meeting(masks, load, cost, np.zeros(2, np.uint64), size, times)
    cool(partial(walk, meeting, state), moves, hot, COLD, work)
    return blocks_of(masks, experts, size) if cost[0] == 0 else None


class Start(NamedTuple):
    """Where an attempt begins, how hot, how many moves it has, and what to call the result."""

    masks: Masks
    hot: float
    moves: int
    construction: str


def first_to_meet(
    starts: Iterator[Start],
    experts: int,
    size: int,
    *,
    moves: int,
    state: State,
    times: int = 1,
    work: Work | None,
) -> tuple[Cover | None, int]:
    """Anneal from one start after another until the sets of one meet, or the budget of moves is used.

    Returns the cover, or None, and the moves that were spent.
    """
    made = 0
    for start in starts:
        length = min(start.moves, moves - made)
        blocks = meet(
            start.masks, experts, size, moves=length, state=state, times=times, hot=start.hot, work=work
        )
        made += start.moves
        if blocks is not None:
            return Cover(blocks, start.construction), made
        if made >= moves or (work is not None and work.stopped):
            break
    return None, made


def random_start(classes: int, experts: int, size: int, random: np.random.Generator) -> Masks:
    """Give every class as many random experts as there is room for."""
    each = max(1, experts * size // classes)
    known = np.argsort(random.random((classes, experts)), axis=1)[:, :each]
    masks = np.zeros((2, classes), dtype=np.uint64)
    for x, row in enumerate(known):
        for j in row:
            masks[j >> 6, x] |= np.uint64(1 << int(j & 63))
    return masks
