"""Try every way in which experts of given capacities could fill a need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.progress import Work

STEP = 50_000_000
"""Most entries between two looks at the outside world."""

HOPELESS = 500
"""Fewer nodes than this decide nothing."""


def exhaust(
    need: NDArray[np.int16], sizes: NDArray[np.int32], entries: int, work: Work
) -> NDArray[np.int32] | None:
    """Return blocks that fill the need, no blocks if there is no way, None if undecided.

    At most `entries` entries are looked at, and several times a second `work` may stop the search. `need` is
    symmetric with a zero diagonal; `sizes` come largest first. Each block is filled up to its size, and -1
    beyond.
    """
    from covote.covers.capacities.exhaustive_kernels import FILLED, MOST, UNDECIDED, Ways, search

    v, experts = len(need), len(sizes)
    each = v * v * experts
    if max(v, experts) > MOST or experts == 0 or entries < HOPELESS * each:
        return None
    known, room, missing = np.zeros(experts, dtype=np.uint64), sizes.copy(), need.astype(np.int32)
    if (need + np.eye(v, dtype=np.int16) * need.max()).min() == need.max():
        # All classes are alike, so the largest expert may know the first ones.
        known[0] = np.uint64(2 ** int(sizes[0]) - 1)
        missing[: sizes[0], : sizes[0]] -= 1
        room[0] = 0
    np.fill_diagonal(missing, 0)
    depths = int(room.sum()) + 1
    ways = Ways(
        known,
        room,
        sizes,
        missing,
        np.zeros((experts, v), dtype=np.uint64),
        np.zeros((depths, 2), dtype=np.int32),
        np.full(depths, -1, dtype=np.int32),
        np.zeros((depths, 2), dtype=bool),
        np.zeros(depths, dtype=np.uint64),
        np.array([0, 1], dtype=np.int32),
    )
    outcome = UNDECIDED
    while outcome == UNDECIDED:
        if entries <= 0 or work.advance(0):
            return None
        outcome = search(ways, max(1, min(STEP, entries) // each))
        entries -= STEP
    return _blocks(known, sizes, v) if outcome == FILLED else np.empty((0, 0), dtype=np.int32)


def _blocks(known: NDArray[np.uint64], sizes: NDArray[np.int32], classes: int) -> NDArray[np.int32]:
    blocks = np.full((len(sizes), int(sizes.max())), -1, dtype=np.int32)
    for i, (mask, size) in enumerate(zip(known.tolist(), sizes, strict=True)):
        inside = [k for k in range(classes) if mask >> k & 1]
        outside = [k for k in range(classes) if not mask >> k & 1]
        blocks[i, :size] = (inside + outside)[:size]
    return blocks
