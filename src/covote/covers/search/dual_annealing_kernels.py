"""The compiled inner loop of :mod:`covote.covers.search.dual_annealing`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.covers.random_kernels import State, below, draw

Masks = NDArray[np.uint64]
Loads = NDArray[np.int64]

# Position of the only set bit of a word: multiply by a de Bruijn number, look up the top six bits.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, np.int64)
for _bit in range(64):
    _POSITION[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


@helper(inline="always")
def _bits(word: Any) -> Any:
    """Count the bits of a word, side by side in fields of 2, 4 and 8 bits."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@helper(inline="always")
def _lack(one: Any, two: Any, times: int) -> int:
    """Return how many of `times` experts are missing in a set of them, given as two words."""
    return max(0, times - int(_bits(one) + _bits(two)))


@helper(inline="always")
def _strangers(masks: Masks, low: Any, high: Any, wide: bool, times: int) -> int:
    """Count how many of `times` experts each class fails to share with the given ones, over all classes."""
    count = 0
    if times > 1:
        if wide:
            for i in range(masks.shape[1]):
                count += _lack(masks[0, i] & low, masks[1, i] & high, times)
        else:
            for i in range(masks.shape[1]):
                count += max(0, times - int(_bits(masks[0, i] & low)))
    elif wide:
        for i in range(masks.shape[1]):
            count += int(((masks[0, i] & low) | (masks[1, i] & high)) == np.uint64(0))
    else:
        for i in range(masks.shape[1]):
            count += int((masks[0, i] & low) == np.uint64(0))
    return count


@kernel(steps=lambda *_: 1 << 40)
def loads_of(masks: Masks, experts: int) -> Loads:
    """Count the classes of each expert."""
    load = np.zeros(experts, np.int64)
    for i in range(masks.shape[1]):
        for j in range(experts):
            load[j] += int((masks[j >> 6, i] >> np.uint64(j & 63)) & np.uint64(1))
    return load


@kernel(steps=lambda *_: 1 << 40)
def shortfall(masks: Masks, times: int) -> int:
    """Count how many experts the pairs of classes lack, of the `times` that should know each."""
    count = 0
    for i in range(masks.shape[1]):
        count += _strangers(masks, masks[0, i], masks[1, i], True, times)
        count -= _lack(masks[0, i], masks[1, i], times)
    return count // 2


@helper(inline="always")
def _load_change(new: Any, old: Any, load: Loads, size: int, word: int) -> int:
    """Return by how much the overload grows; an expert with o classes too many counts o (o + 1) / 2."""
    change = 0
    bits = new ^ old
    while bits != np.uint64(0):
        bit = bits & (~bits + np.uint64(1))
        j = _POSITION[(bit * _DE_BRUIJN) >> np.uint64(58)] + (word << 6)
        if new & bit:
            change += max(0, load[j] + 1 - size)
        else:
            change -= max(0, load[j] - size)
        bits ^= bit
    return change


@helper(inline="always")
def _load(new: Any, old: Any, load: Loads, word: int) -> None:
    bits = new ^ old
    while bits != np.uint64(0):
        bit = bits & (~bits + np.uint64(1))
        j = _POSITION[(bit * _DE_BRUIJN) >> np.uint64(58)] + (word << 6)
        load[j] += 1 if new & bit else -1
        bits ^= bit


@kernel(steps=lambda *_: 1 << 40)
def walk(
    masks: Masks,
    load: Loads,
    size: int,
    times: int,
    price: int,
    copying: float,
    moves: int,
    hot: float,
    cold: float,
    cost: NDArray[np.int64],
    state: State,
) -> int:
    """Try `moves` moves while the temperature falls; stop when the cost is 0; return the moves made.

    A move gives a class the experts of another class (with one expert more or less, at times), or takes one
    of its experts, or gives one, or both. cost[0] is the number of experts that pairs lack (of the `times`
    that should know each) plus `price` times the overload; cost[1] is that number alone.
    """
    v, b = masks.shape[1], load.shape[0]
    wide = b > 64
    high_new = np.uint64(0)
    high_old = np.uint64(0)
    temperature = hot
    for move in range(moves):
        if cost[0] == 0:
            return move
        if move & 255 == 0:
            temperature = hot * (cold / hot) ** (move / moves)
        x = below(state, v)
        old = masks[0, x]
        high_old = masks[1, x]
        kind = draw(state) / 4294967296.0
        if kind < copying:
            y = below(state, v)
            new = masks[0, y]
            high_new = masks[1, y]
            flips = 1 if draw(state) & np.uint64(3) == np.uint64(0) else 0
        else:
            new = old
            high_new = high_old
            flips = 1 if kind < copying + 0.4 * (1.0 - copying) else 2
        gained = -1
        for flip in range(flips):
            j = below(state, b)
            if flip == 1:
                # The second flip undoes the load of the first: one expert more, one less.
                for _ in range(64):
                    has = (new >> np.uint64(j) if j < 64 else high_new >> np.uint64(j - 64)) & np.uint64(1)
                    if int(has) == gained:
                        break
                    j = below(state, b)
            if j < 64:
                new ^= np.uint64(1) << np.uint64(j)
                gained = int((new >> np.uint64(j)) & np.uint64(1))
            else:
                high_new ^= np.uint64(1) << np.uint64(j - 64)
                gained = int((high_new >> np.uint64(j - 64)) & np.uint64(1))
        if new == old and high_new == high_old:
            continue
        change = price * _load_change(new, old, load, size, 0)
        if wide:
            change += price * _load_change(high_new, high_old, load, size, 1)
        room = -np.log((draw(state) + 1.0) / 4294967297.0) * temperature
        if change - cost[1] > room:
            continue
        pairs = _strangers(masks, new, high_new, wide, times)
        pairs -= _strangers(masks, old, high_old, wide, times)
        # Both counts include the class itself, as it was before.
        pairs -= _lack(new & old, high_new & high_old, times) - _lack(old, high_old, times)
        if change + pairs <= room:
            _load(new, old, load, 0)
            masks[0, x] = new
            if wide:
                _load(high_new, high_old, load, 1)
                masks[1, x] = high_new
            cost[0] += change + pairs
            cost[1] += pairs
    return moves
