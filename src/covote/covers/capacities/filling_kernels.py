"""Search for experts of given capacities that fill a given need.

``slack[x, y]`` is how many experts know both classes minus how many should; a pair is uncovered while it is
negative. The same tables serve a panel from nothing (`unequal_sizes`) and the new experts
of a given panel (:mod:`covote.covers.completing`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw
from covote.covers.search.block_annealing_kernels import found, miss
from covote.covers.search.greedy_kernels import best_class

Ints = NDArray[np.int32]
Slack = NDArray[np.int16]
Flags = NDArray[np.bool_]

OWN = 16000
"""The slack of a class with itself: always covered, never critical."""


class Filling(NamedTuple):
    """Experts of given sizes with the tables that make a swap cheap.

    Attributes
    ----------
    blocks, sizes, knows
        The classes of each expert, -1 beyond its size; and whether it knows each class.
    slack
        How many experts know each pair, minus how many should.
    uncovered, position, cost
        The pairs in need are ``uncovered[:cost[0]]``; (x, y), with x < y, is the one at ``position[x, y]``.
    """

    blocks: Ints
    sizes: Ints
    knows: Flags
    slack: Slack
    uncovered: Ints
    position: Ints
    cost: Ints


@kernel(steps=lambda slack, degree, block, state: 2 * len(degree) * len(block))
def greedy_block(slack: Slack, degree: Ints, block: Ints, state: State) -> None:
    """Fill one block with the class that covers most uncovered pairs to it, again and again.

    The slack and `degree` (a class's shortfall over all pairs) are brought up to date. Ties go to the class
    with the larger degree, then to chance.
    """
    gain = np.zeros(len(degree), np.int32)
    taken = np.zeros(len(degree), np.bool_)
    for slot in range(len(block)):
        best = best_class(gain, degree, 1, taken, state)
        for other in block[:slot]:
            if slack[best, other] < 0:
                degree[best] -= 1
                degree[other] -= 1
            slack[best, other] += 1
            slack[other, best] += 1
        block[slot] = best
        taken[best] = True
        for x in range(len(degree)):
            gain[x] += slack[best, x] < 0


@kernel(steps=lambda slack, *_: slack.size)
def list_uncovered(slack: Slack, uncovered: Ints, position: Ints, cost: Ints) -> None:
    """Write the list of uncovered pairs from nothing."""
    cost[0] = 0
    for x in range(len(slack)):
        for y in range(x + 1, len(slack)):
            if slack[x, y] < 0:
                miss(x, y, uncovered, position, cost)


@helper
def swap(filling: Filling, i: int, slot: int, y: int) -> None:
    """Put class `y` into a slot of block `i`, and bring the tables up to date."""
    blocks, sizes, knows, slack, uncovered, position, cost = filling
    block = blocks[i, : sizes[i]]
    z = block[slot]
    for s in range(len(block)):
        w = block[s]
        if s == slot:
            continue
        slack[z, w] -= 1
        slack[w, z] -= 1
        if slack[z, w] == -1:
            miss(z, w, uncovered, position, cost)
        slack[y, w] += 1
        slack[w, y] += 1
        if slack[y, w] == 0:
            found(y, w, uncovered, position, cost)
    block[slot] = y
    knows[i, z] = False
    knows[i, y] = True


@kernel(steps=lambda filling, accept, moves, state: moves * 15 * filling.blocks.shape[1])
def anneal(filling: Filling, accept: NDArray[np.uint64], moves: int, state: State) -> int:
    """Try `moves` swaps at one temperature; stop when no pair is uncovered; return the moves made.

    Half of the moves aim at an uncovered pair (x, y): an expert that knows x learns y instead of some other
    class. The others swap any class of any expert. A shortfall that grows by d is accepted with the odds
    ``accept[d]`` of 2**32.
    """
    blocks, sizes, knows, slack, uncovered, _, cost = filling
    experts, v = knows.shape
    for move in range(moves):
        if cost[0] == 0:
            return move
        i = below(state, experts)
        y = below(state, v)
        x = -1
        if below(state, 2):
            pair = below(state, 2 * cost[0])
            x = uncovered[pair >> 1, pair & 1]
            y = uncovered[pair >> 1, 1 - (pair & 1)]
            for _ in range(experts):
                if knows[i, x]:
                    break
                i = i + 1 if i + 1 < experts else 0
        if knows[i, y]:
            continue
        block = blocks[i, : sizes[i]]
        slot = below(state, sizes[i])
        z = block[slot]
        if z == x:
            continue
        loss = int(slack[y, z] < 0)
        for w in block:
            loss += int(slack[z, w] <= 0) - int(slack[y, w] < 0)
        if loss <= 0 or draw(state) < accept[loss]:
            swap(filling, i, slot, y)
    return moves
