"""Build blocks class by class, each time with the class that closes the most open pairs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.compiled import helper, kernel
from covote.covers.blocks import OWN, prune
from covote.covers.random_kernels import State, below, random_state

Ints = NDArray[np.int32]


def greedy(
    classes: int,
    size: int,
    times: int = 1,
    *,
    counts: ArrayLike = 0,
    seed: int = 0,
    tries: int = 4,
) -> Ints:
    """Return blocks of `size` classes that cover every pair `times` times.

    The first class of a block is the one with the most open pairs; each further class closes the most pairs
    with the block so far. Ties go to the class with few open pairs left, or with many (better if a block
    holds more than about a fifth of the classes), then to chance. Both ways are tried from several seeds, and
    the smallest cover is kept.

    Parameters
    ----------
    size
        Classes per block, from 2 to `classes`.
    counts
        How often each pair is already covered (classes x classes; default: not at all).
    tries
        Number of runs.

    Returns
    -------
    The new blocks (b x size), without redundant ones. The same seed gives the same blocks.

    >>> len(greedy(7, 3))
    7
    >>> covered = np.ones((5, 5))
    >>> covered[0, 4] = covered[4, 0] = 0
    >>> greedy(5, 3, counts=covered).shape
    (1, 3)
    """
    covered = np.zeros((classes, classes), np.int32)
    covered[:] = np.minimum(counts, times)  # more than `times` is as good as `times`
    first = 1 if classes < 5 * size else -1
    state = random_state(seed)
    best = fill(times - covered, repeat(size), state, first)
    for run in range(1, tries):
        # Every fourth run breaks ties the other way round.
        sign = -first if run % 4 == 3 else first
        best = min(best, fill(times - covered, repeat(size, len(best)), state, sign), key=len)
    return prune(np.array(best, np.int32).reshape(-1, size), classes, times, covered)


def fill(need: NDArray[np.integer], sizes: Iterable[int], state: State, sign: int = 1) -> list[Ints]:
    """Fill blocks of these sizes, one after the other, until nothing is needed or there are no more.

    `need` is the number of blocks that should hold each pair (symmetric). Ties go to the class with many open
    pairs if `sign` is 1, with few if it is -1.
    """
    slack = (-need).astype(np.int16)
    np.fill_diagonal(slack, OWN)
    open_pairs = (slack < 0).sum(axis=1, dtype=np.int32)
    blocks: list[Ints] = []
    for size in sizes:
        if not open_pairs.any():
            break
        blocks.append(np.empty(size, np.int32))
        fill_block(slack, open_pairs, blocks[-1], sign, state)
    return blocks


@helper
def best_class(gain: Ints, open_pairs: Ints, sign: int, taken: NDArray[np.bool_], state: State) -> int:
    """Return the class outside the block with the most gain; ties by open pairs times `sign`, then chance."""
    best = -1
    ties = 0
    for c in range(len(gain)):
        if taken[c]:
            continue
        if best >= 0:
            lead = gain[c] - gain[best]
            if lead == 0:
                lead = sign * (open_pairs[c] - open_pairs[best])
            if lead < 0:
                continue
            if lead == 0:
                ties += 1
                if below(state, ties) != 0:
                    continue
                best = c
                continue
        best = c
        ties = 1
    return best


@kernel(steps=lambda slack, open_pairs, block, *_: 8 * len(open_pairs) * len(block))
def fill_block(slack: NDArray[np.int16], open_pairs: Ints, block: Ints, sign: int, state: State) -> None:
    """Fill one block, and update the slack and the number of open pairs of each class."""
    gain = np.zeros(len(open_pairs), np.int32)
    taken = np.zeros(len(open_pairs), np.bool_)
    for slot in range(len(block)):
        c = best_class(gain, open_pairs, sign if slot else 1, taken, state)
        taken[c] = True
        for w in block[:slot]:
            slack[c, w] += 1
            slack[w, c] += 1
            if slack[c, w] == 0:
                open_pairs[c] -= 1
                open_pairs[w] -= 1
        block[slot] = c
        for w in range(len(gain)):
            gain[w] += slack[c, w] < 0
