"""Exhaustive search: can experts of these capacities fill the need at all?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Ints = NDArray[np.int32]
Masks = NDArray[np.uint64]

MOST = 64
"""Most classes and most experts that the search can handle: one bit each."""

FILLED, IMPOSSIBLE, UNDECIDED = 1, 0, -1


@helper
def _bit(x: int) -> Any:
    return np.uint64(1) << np.uint64(x)


@helper
def _learn(i: int, x: int, v: int, known: Masks, room: Ints, need: Ints, step: int) -> None:
    """Teach class `x` to expert `i` (step -1), or take it away again (step +1)."""
    if step > 0:
        known[i] &= ~_bit(x)
    for y in range(v):
        if known[i] & _bit(y):
            need[x, y] += step
            need[y, x] += step
    if step < 0:
        known[i] |= _bit(x)
    room[i] += step


@helper
def _hopeless(v: int, known: Masks, room: Ints, sizes: Ints, need: Ints) -> bool:
    """Whether counting alone shows that the need cannot be filled from here."""
    wanted = 0
    for x in range(v):
        row = 0
        for y in range(v):
            row += max(0, need[x, y])
        wanted += row
        for i in range(len(room)):
            if known[i] & _bit(x):
                row -= room[i]
            elif room[i] > 0:
                row -= sizes[i] - 1
        if row > 0:
            return True
    for i in range(len(room)):
        wanted -= 2 * room[i] * (sizes[i] - room[i]) + room[i] * (room[i] - 1)
    return wanted > 0


@helper
def _fits(i: int, x: int, y: int, known: Masks, room: Ints, banned: Masks) -> bool:
    """Whether expert `i` could still come to know both classes."""
    pair = _bit(x) | _bit(y)
    has = known[i] & pair
    if has == pair or room[i] < (1 if has else 2):
        return False
    later = known[i] | pair
    return not (banned[i, x] & later) and not (banned[i, y] & later)


@helper
def _tightest(v: int, known: Masks, room: Ints, need: Ints, banned: Masks, pair: Ints) -> bool:
    """Write the needed pair that fewest experts can take; return whether any pair is needed."""
    fewest = -1
    for x in range(v):
        for y in range(x + 1, v):
            if need[x, y] <= 0:
                continue
            options = 0
            for i in range(len(room)):
                options += _fits(i, x, y, known, room, banned)
            if fewest < 0 or options < fewest:
                fewest = options
                pair[0], pair[1] = x, y
                if options == 0:
                    return True
    return fewest >= 0


@helper
def _ban(i: int, pair: Ints, known: Masks, room: Ints, sizes: Ints, banned: Masks) -> Any:
    """Ban the pair from expert `i` and from all that do not differ from it; return who was banned."""
    x, y = pair
    who = np.uint64(0)
    for j in range(len(room)):
        if sizes[j] == sizes[i] and known[j] == known[i] and np.all(banned[j] == banned[i]):
            who |= _bit(j)
    for j in range(len(room)):
        if who & _bit(j):
            banned[j, x] |= _bit(y)
            banned[j, y] |= _bit(x)
    return who


@helper
def _unban(who: np.uint64, pair: Ints, banned: Masks) -> None:
    x, y = pair
    for j in range(len(banned)):
        if who & _bit(j):
            banned[j, x] &= ~_bit(y)
            banned[j, y] &= ~_bit(x)


@kernel(steps=lambda v, known, *rest: rest[-1] * v * v * len(known))
def search(
    v: int,
    known: Masks,
    room: Ints,
    sizes: Ints,
    need: Ints,
    banned: Masks,
    pairs: Ints,
    tried: Ints,
    taught: NDArray[np.bool_],
    failed: Masks,
    cursor: Ints,
    nodes: int,
) -> int:
    """Fill the need by trying every way, for so many nodes; return the outcome so far.

    Some expert must come to know each needed pair. The search takes the pair with fewest possible experts,
    and tries them all; what failed with an expert is banned from it and from its equals. `known` holds the
    solution when the outcome is FILLED. After UNDECIDED, the same arrays continue the search: `cursor` is the
    depth and whether it was just reached, the others have an entry per depth.
    """
    depth, fresh = cursor[0], cursor[1] == 1
    while depth >= 0:
        if fresh:
            if nodes == 0:
                cursor[0], cursor[1] = depth, 1
                return UNDECIDED
            nodes -= 1
            if _hopeless(v, known, room, sizes, need):
                depth -= 1
                fresh = False
                continue
            if not _tightest(v, known, room, need, banned, pairs[depth]):
                return FILLED
            failed[depth] = 0
            tried[depth] = -1
        else:  # take back what the last attempt at this depth taught, and do not try it again
            for side in range(1, -1, -1):
                if taught[depth, side]:
                    _learn(tried[depth], pairs[depth, side], v, known, room, need, 1)
            failed[depth] |= _ban(tried[depth], pairs[depth], known, room, sizes, banned)
        x, y = pairs[depth]
        i = tried[depth] + 1
        while i < len(room) and not _fits(i, x, y, known, room, banned):
            i += 1
        if i == len(room):
            _unban(failed[depth], pairs[depth], banned)
            depth -= 1
            fresh = False
            continue
        tried[depth] = i
        for side in range(2):
            taught[depth, side] = not known[i] & _bit(pairs[depth, side])
            if taught[depth, side]:
                _learn(i, pairs[depth, side], v, known, room, need, -1)
        depth += 1
        fresh = True
    return IMPOSSIBLE
