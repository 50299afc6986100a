"""A compiled loop that finds equal answer rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Array = NDArray[Any]


@helper(inline="always")
def _home(key: int, shift: int) -> Any:
    """Return where to look for a key first: Fibonacci hashing, the high bits are well mixed."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))


@kernel(steps=lambda keys: 5 * len(keys))
def distinct(keys: Array) -> tuple[Array, Array, Array]:
    """Return (position of the first of each different key, how many there are, which one each key is)."""
    bits = 10
    table = np.full(1 << bits, -1, np.int32)
    first = np.empty(512, np.int64)
    count = np.empty(512, np.int64)
    inverse = np.empty(len(keys), np.int32)
    found = 0
    for n in range(len(keys)):
        key = keys[n]
        mask = (1 << bits) - 1
        place = _home(key, 64 - bits)
        while table[place] >= 0 and keys[first[table[place]]] != key:
            place = (place + 1) & mask
        which = table[place]
        if which >= 0:
            count[which] += 1
            inverse[n] = which
            continue
        table[place] = found
        first[found] = n
        count[found] = 1
        inverse[n] = found
        found += 1
        if found == len(first):
            # Half full: twice the room, everything finds a new place.
            bits += 1
            first = np.concatenate((first, np.empty(found, np.int64)))
            count = np.concatenate((count, np.empty(found, np.int64)))
            table = np.full(1 << bits, -1, np.int32)
            mask = (1 << bits) - 1
            for f in range(found):
                place = _home(keys[first[f]], 64 - bits)
                while table[place] >= 0:
                    place = (place + 1) & mask
                table[place] = f
    return first[:found].copy(), count[:found].copy(), inverse
