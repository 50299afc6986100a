"""Give experts of fixed capacities classes so that a needed number of them knows each pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.progress import Work

Need = NDArray[np.int16]
Blocks = NDArray[np.int32]

HOT, COLD = 0.6, 0.15
"""The first and the last temperature of a run, in uncovered pairs."""

STEP = 250_000
"""Most moves between two looks at the outside world."""


def greedy_fill(need: Need, sizes: NDArray[np.int32], state: NDArray[np.uint64]) -> tuple[Blocks, int]:
    """Fill the experts one by one until nothing is needed; return their blocks, -1 beyond each size.

    `need` is symmetric with a zero diagonal. The second value is how many of the experts were used; all of
    them, if there still is need.
    """
    from covote.covers.capacities.filling_kernels import OWN, greedy_block

    slack = (-need).astype(np.int16)
    np.fill_diagonal(slack, OWN)
    degree = need.sum(axis=1, dtype=np.int32)
    blocks = np.full((len(sizes), int(sizes.max(initial=0))), -1, dtype=np.int32)
    for i, size in enumerate(sizes):
        if not degree.any():
            return blocks, i
        greedy_block(slack, degree, blocks[i, :size], state)
    return blocks, len(sizes)


def slack_of(need: Need, blocks: Blocks, sizes: NDArray[np.int32]) -> NDArray[np.int16]:
    """Return how many of the blocks know each pair, minus how many should; large on the diagonal."""
    from covote.covers.capacities.filling_kernels import OWN

    slack = (-need).astype(np.int16)
    for block, size in zip(blocks, sizes, strict=True):
        slack[np.ix_(block[:size], block[:size])] += 1
    np.fill_diagonal(slack, OWN)
    return slack


def anneal_fill(
    need: Need,
    blocks: Blocks,
    sizes: NDArray[np.int32],
    moves: int,
    state: NDArray[np.uint64],
    work: Work,
) -> int:
    """Swap classes, by simulated annealing, until nothing is needed; return how many pairs still are.

    The blocks are changed in place, to the best ones seen. `work` hears how many moves were made, several
    times a second, and may stop the search.
    """
    from covote.covers.capacities.filling_kernels import Filling, anneal, list_uncovered

    v = len(need)
    slack = slack_of(need, blocks, sizes)
    knows = np.zeros((len(blocks), v), dtype=bool)
    for i, size in enumerate(sizes):
        knows[i, blocks[i, :size]] = True
    uncovered = np.empty((v * (v - 1) // 2, 2), dtype=np.int32)
    position = np.zeros((v, v), dtype=np.int32)
    left = np.zeros(1, dtype=np.int32)
    list_uncovered(slack, uncovered, position, left)
    filling = Filling(blocks, sizes, knows, slack, uncovered, position, left)
    best, best_left = blocks.copy(), int(left[0])
    steps = max(24, -(-moves // STEP))
    for step in range(steps):
        if left[0] == 0:
            break
        temperature = HOT * (COLD / HOT) ** (step / (steps - 1))
        odds = np.exp(-np.arange(blocks.shape[1] + 2) / temperature)
        accept = (odds * (2**32 - 1)).astype(np.uint64)
        made = anneal(filling, accept, -(-moves // steps), state)
        if left[0] < best_left:
            best, best_left = blocks.copy(), int(left[0])
        if work.advance(made):
            break
    blocks[:] = best
    return best_left
