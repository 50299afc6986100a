"""Try every way in which experts of given capacities could fill a need."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.progress import Work

Ints = NDArray[np.int32]
Masks = NDArray[np.uint64]

STEP = 50_000_000
"""Most entries between two looks at the outside world."""

HOPELESS = 500
"""Fewer nodes than this decide nothing."""

MOST = 64
"""Most classes and most experts that the search can handle: one bit each."""

FILLED, IMPOSSIBLE, UNDECIDED = 1, 0, -1


def exhaust(
    need: NDArray[np.int16], sizes: NDArray[np.int32], entries: int, work: Work
) -> NDArray[np.int32] | None:
    """Return blocks that fill the need, no blocks if there is no way, None if undecided.

    At most `entries` entries are looked at, and several times a second `work` may stop the search. `need` is
    symmetric with a zero diagonal; `sizes` come largest first. Each block is filled up to its size, and -1
    beyond.
    """
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


class Ways(NamedTuple):
    """Who knows what so far, what is still needed, and the path of the search.

    Attributes
    ----------
    known, room, sizes
        The classes of each expert as bits, the classes that it can still take, and its capacity.
    need
        How many experts more must know each pair (classes x classes).
    banned
        The classes, as bits, that each expert cannot have together with each class (experts x classes).
    pairs, tried, taught, failed
        Per depth: the pair in question, the expert that is tried, which of the two classes it had to be
        taught, and the experts, as bits, from which the pair is banned.
    cursor
        The depth, and whether it was just reached.
    """

    known: Masks
    room: Ints
    sizes: Ints
    need: Ints
    banned: Masks
    pairs: Ints
    tried: Ints
    taught: NDArray[np.bool_]
    failed: Masks
    cursor: Ints


@helper
def _bit(x: int) -> Any:
    return np.uint64(1) << np.uint64(x)


@helper
def _learn(w: Ways, i: int, x: int, step: int) -> None:
    """Teach class `x` to expert `i` (step -1), or take it away again (step +1)."""
    if step > 0:
        w.known[i] &= ~_bit(x)
    for y in range(len(w.need)):
        if w.known[i] & _bit(y):
            w.need[x, y] += step
            w.need[y, x] += step
    if step < 0:
        w.known[i] |= _bit(x)
    w.room[i] += step


@helper
def _hopeless(w: Ways) -> bool:
    """Whether counting alone shows that the need cannot be filled from here."""
    wanted = 0
    for x in range(len(w.need)):
        row = 0
        for y in range(len(w.need)):
            row += max(0, w.need[x, y])
        wanted += row
        for i in range(len(w.room)):
            if w.known[i] & _bit(x):
                row -= w.room[i]
            elif w.room[i] > 0:
                row -= w.sizes[i] - 1
        if row > 0:
            return True
    for i in range(len(w.room)):
        wanted -= 2 * w.room[i] * (w.sizes[i] - w.room[i]) + w.room[i] * (w.room[i] - 1)
    return wanted > 0


@helper
def _fits(w: Ways, i: int, x: int, y: int) -> bool:
    """Whether expert `i` could still come to know both classes."""
    pair = _bit(x) | _bit(y)
    has = w.known[i] & pair
    if has == pair or w.room[i] < (1 if has else 2):
        return False
    later = w.known[i] | pair
    return not (w.banned[i, x] & later) and not (w.banned[i, y] & later)


@helper
def _tightest(w: Ways, pair: Ints) -> bool:
    """Write the needed pair that fewest experts can take; return whether any pair is needed."""
    fewest = -1
    for x in range(len(w.need)):
        for y in range(x + 1, len(w.need)):
            if w.need[x, y] <= 0:
                continue
            options = 0
            for i in range(len(w.room)):
                options += _fits(w, i, x, y)
            if fewest < 0 or options < fewest:
                fewest = options
                pair[0], pair[1] = x, y
                if options == 0:
                    return True
    return fewest >= 0


@helper
def _ban(w: Ways, i: int, pair: Ints) -> Any:
    """Ban the pair from expert `i` and from all that do not differ from it; return who was banned."""
    x, y = pair
    who = np.uint64(0)
    for j in range(len(w.room)):
        same = w.sizes[j] == w.sizes[i] and w.known[j] == w.known[i]
        if same and np.all(w.banned[j] == w.banned[i]):
            who |= _bit(j)
    for j in range(len(w.room)):
        if who & _bit(j):
            w.banned[j, x] |= _bit(y)
            w.banned[j, y] |= _bit(x)
    return who


@helper
def _unban(who: np.uint64, pair: Ints, banned: Masks) -> None:
    x, y = pair
    for j in range(len(banned)):
        if who & _bit(j):
            banned[j, x] &= ~_bit(y)
            banned[j, y] &= ~_bit(x)


@kernel(steps=lambda w, nodes: nodes * w.need.size * len(w.known))
def search(w: Ways, nodes: int) -> int:
    """Fill the need by trying every way, for `nodes` nodes; return the outcome so far.

    Some expert must come to know each needed pair. The search takes the pair with fewest possible experts,
    and tries them all; what failed with an expert is banned from it and from its equals. `known` holds the
    solution when the outcome is FILLED. After UNDECIDED, the same arrays continue the search.
    """
    depth, fresh = w.cursor[0], w.cursor[1] == 1
    while depth >= 0:
        if fresh:
            if nodes == 0:
                w.cursor[0], w.cursor[1] = depth, 1
                return UNDECIDED
            nodes -= 1
            if _hopeless(w):
                depth -= 1
                fresh = False
                continue
            if not _tightest(w, w.pairs[depth]):
                return FILLED
            w.failed[depth] = 0
            w.tried[depth] = -1
        else:  # take back what the last attempt at this depth taught, and do not try it again
            for side in range(1, -1, -1):
                if w.taught[depth, side]:
                    _learn(w, w.tried[depth], w.pairs[depth, side], 1)
            w.failed[depth] |= _ban(w, w.tried[depth], w.pairs[depth])
        x, y = w.pairs[depth]
        i = w.tried[depth] + 1
        while i < len(w.room) and not _fits(w, i, x, y):
            i += 1
        if i == len(w.room):
            _unban(w.failed[depth], w.pairs[depth], w.banned)
            depth -= 1
            fresh = False
            continue
        w.tried[depth] = i
        for side in range(2):
            w.taught[depth, side] = not w.known[i] & _bit(w.pairs[depth, side])
            if w.taught[depth, side]:
                _learn(w, i, w.pairs[depth, side], -1)
        depth += 1
        fresh = True
    return IMPOSSIBLE
