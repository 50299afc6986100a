"""Few experts: every class is a set of experts, and any two of these sets must intersect.

A cover with b experts is a family of pairwise intersecting subsets of the b experts, one per class, in which
no expert is used more often than it has places. Classes with the same experts are twins, and a class that
becomes the twin of another meets everything that the other meets: one move where swapping needs many.
Annealing over such moves finds the best weighted designs if there are not too many experts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.blocks import Blocks, Cover, padded
from covote.covers.random_kernels import State, below, draw
from covote.covers.search.annealing import cool
from covote.progress import Work

Masks = NDArray[np.uint64]
Longs = NDArray[np.int64]

# The position of the only set bit of a word: multiply by a de Bruijn number, look up the top six bits.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, np.int64)
for _bit in range(64):
    _POSITION[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit

_ODD = np.uint64(0x5555555555555555)
_PAIRS = np.uint64(0x3333333333333333)
_NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)
PRICE = 2
"""The cost of an expert with one class too many, in pairs that do not meet."""
COPYING = 0.3
"""Share of the moves that give a class the experts of another one."""
_NONE, _ONE, _TWO, _FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)


class ExpertSets(NamedTuple):
    """The experts of each class, as sets that should intersect pairwise.

    Attributes
    ----------
    masks
        The experts of each class as bits (2 words x classes).
    load
        How many classes each expert has.
    cost
        The number of experts that the pairs lack plus `PRICE` times the overload, and the former alone.
    new
        Scratch space for the experts of a move.
    size, times
        The most classes of an expert, and how many experts any two sets have to share.
    """

    masks: Masks
    load: Longs
    cost: Longs
    new: Masks
    size: int
    times: int


@helper
def _lack(one: Any, two: Any, times: int) -> Any:
    """Return how many of `times` experts are missing in a set of them, given as two words."""
    if times == 1:
        return 0 if one | two else 1
    # Bits are counted side by side in fields of 2, 4 and 8 bits.
    one -= (one >> _ONE) & _ODD
    two -= (two >> _ONE) & _ODD
    one = (one & _PAIRS) + ((one >> _TWO) & _PAIRS)
    two = (two & _PAIRS) + ((two >> _TWO) & _PAIRS)
    both = ((one + (one >> _FOUR)) & _NIBBLES) + ((two + (two >> _FOUR)) & _NIBBLES)
    lack = times - np.int64((both * _BYTES) >> np.uint64(56))
    return lack if lack > 0 else 0


@helper
def _shortfall(masks: Masks, low: Any, high: Any, wide: bool, times: int) -> int:
    """Count how many of `times` experts each class fails to share with the given ones, over all classes."""
    count = 0
    if times > 1:
        for i in range(masks.shape[1]):
            count += _lack(masks[0, i] & low, masks[1, i] & high, times)
    elif wide:
        for i in range(masks.shape[1]):
            count += ((masks[0, i] & low) | (masks[1, i] & high)) == _NONE
    else:
        for i in range(masks.shape[1]):
            count += (masks[0, i] & low) == _NONE
    return count


@helper
def _load(new: Any, old: Any, load: Longs, size: int, first: int, keep: bool) -> int:
    """Return by how much the overload grows; an expert with o classes too many counts o (o + 1) / 2.

    If `keep`, the loads are updated as well. The experts of the word begin with `first`.
    """
    change = 0
    bits = new ^ old
    while bits != _NONE:
        bit = bits & (~bits + _ONE)
        j = first + _POSITION[(bit * _DE_BRUIJN) >> np.uint64(58)]
        more = 1 if new & bit else 0
        over = load[j] + more - size
        if over > 0:
            change += (2 * more - 1) * over
        if keep:
            load[j] += 2 * more - 1
        bits ^= bit
    return change


@kernel(steps=lambda sets, state, hot, cold, moves: moves * (60 + 2 * sets.masks.shape[1]))
def walk(sets: ExpertSets, state: State, hot: float, cold: float, moves: int) -> int:
    """Try `moves` moves while the temperature falls; stop when the cost is 0; return the moves made.

    A move gives a class the experts of another class (sometimes with one expert more or less), or removes one
    of its experts, or adds one, or both.
    """
    masks, load, cost, new, size, times = sets
    v, b = masks.shape[1], len(load)
    wide = b > 64
    words = 2 if wide else 1
    temperature = hot
    for move in range(moves):
        done = cost[0] == 0
        if done:
            return move
        if move & 255 == 0:
            temperature = hot * (cold / hot) ** (move / moves)
        x = below(state, v)
        kind = draw(state) / 4294967296.0
        y = x
        if kind < COPYING:
            y = below(state, v)
            flips = 1 if draw(state) & np.uint64(3) == _NONE else 0
        else:
            flips = 1 if kind < COPYING + 0.4 * (1.0 - COPYING) else 2
        new[0] = masks[0, y]
        new[1] = masks[1, y]
        gained = _NONE
        for flip in range(flips):
            j = below(state, b)
            if flip == 1:
                # The second flip balances the load of the first: one expert more, one less.
                for _ in range(64):
                    if (new[j >> 6] >> np.uint64(j & 63)) & _ONE == gained:
                        break
                    j = below(state, b)
            new[j >> 6] ^= _ONE << np.uint64(j & 63)
            gained = (new[j >> 6] >> np.uint64(j & 63)) & _ONE
        low, high = masks[0, x], masks[1, x]
        if new[0] == low and new[1] == high:
            continue
        change = 0
        for word in range(words):
            change += PRICE * _load(new[word], masks[word, x], load, size, word << 6, done)
        room = -log((draw(state) + 1.0) / 4294967297.0) * temperature
        if change - cost[1] > room:
            continue
        pairs = _shortfall(masks, new[0], new[1], wide, times) - _shortfall(masks, low, high, wide, times)
        # Both counts include the class itself with its old experts.
        pairs -= _lack(new[0] & low, new[1] & high, times) - _lack(low, high, times)
        done = change + pairs <= room
        if done:
            for word in range(words):
                _load(new[word], masks[word, x], load, size, word << 6, done)
                masks[word, x] = new[word]
            cost[0] += change + pairs
            cost[1] += pairs
    return moves


MOST_EXPERTS = 128
"""The most experts, since the experts of a class are the bits of two words."""

HOT, COLD = 0.5, 0.2
"""First and last temperature, in uncovered pairs; RANDOM_HOT if there is no structure to keep."""

RANDOM_HOT = 1.0
RANDOM_SETS = "annealing of intersecting sets of experts"


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
    """Return the classes of each expert; -1 marks a free place."""
    known = has_expert(masks, experts)
    return padded([np.flatnonzero(row).astype(np.int32) for row in known], size)


def anneal_sets(
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

    Returns the blocks, or None if the budget of moves ends first, or the work is stopped.
    """
    load = has_expert(masks, experts).sum(axis=1)
    over = np.maximum(load - size, 0)
    common = np.bitwise_count(masks[:, :, None] & masks[:, None, :]).sum(axis=0, dtype=np.int64)
    pairs = int(np.triu(np.maximum(times - common, 0), 1).sum())
    cost = np.array([pairs + PRICE * int((over * (over + 1) // 2).sum()), pairs], dtype=np.int64)
    sets = ExpertSets(masks, load, cost, np.zeros(2, np.uint64), size, times)
    cool(partial(walk, sets, state), moves, hot, COLD, work)
    return blocks_of(masks, experts, size) if cost[0] == 0 else None


class Start(NamedTuple):
    """The start of an attempt: sets, temperature, number of moves, and the name of the construction."""

    masks: Masks
    hot: float
    moves: int
    construction: str


def anneal_from_starts(
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
        blocks = anneal_sets(
            start.masks, experts, size, moves=length, state=state, times=times, hot=start.hot, work=work
        )
        made += start.moves
        if blocks is not None:
            return Cover(blocks, start.construction), made
        if made >= moves or (work is not None and work.stopped):
            break
    return None, made


def random_start(classes: int, experts: int, size: int, random: np.random.Generator) -> Masks:
    """Give every class as many random experts as they have places for."""
    each = max(1, experts * size // classes)
    known = np.argsort(random.random((classes, experts)), axis=1)[:, :each]
    masks = np.zeros((2, classes), dtype=np.uint64)
    for x, row in enumerate(known):
        for j in row:
            masks[j >> 6, x] |= np.uint64(1 << int(j & 63))
    return masks
