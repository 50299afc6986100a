"""Compiled loops over rows of answers that are written as one number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from covote.vote_checks import NOT_ASKED
from covote.vote_names import NULL, STRANGE

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def of_columns(columns: Array, start: int, stop: int, base: int) -> Array:
    """Write the answers to each item as one number; the codes -1 and -2 become the digits 1 and 0."""
    keys = np.zeros(stop - start, np.int64)
    for i in range(columns.shape[0]):
        for n in range(stop - start):
            keys[n] = keys[n] * base + np.int64(columns[i, start + n]) + 2
    return keys


@njit(cache=True, nogil=True)
def to_columns(keys: Array, base: int, columns: Array) -> None:
    """Undo :func:`of_columns`."""
    for n in range(len(keys)):
        key = keys[n]
        for i in range(len(columns) - 1, -1, -1):
            columns[i, n] = key % base - 2
            key //= base


@njit(cache=True, nogil=True, inline="always")
def _heard(
    key: int, heard: int, i: int, v: int, knows: Array, drop: bool, duplicates: int, base: int, power: Array
) -> tuple[Any, Any, bool]:
    """Return the number and the experts heard after one more answer, and whether it is all right."""
    if i == NULL or v == NULL:
        return key, heard, True
    if i < 0 or v == STRANGE or (v >= 0 and not knows[i, v]):
        return key, heard, drop
    bit = np.int64(1) << i
    if heard & bit:
        before = (key // power[i]) % base - 2
        if duplicates == 2:
            key += (v - before) * power[i]
        return key, heard, duplicates > 0 or before == v
    return key + (v - NOT_ASKED) * power[i], heard | bit, True


@njit(cache=True, nogil=True)
def of_runs(
    starts: Array, expert_row: Array, expert_code: Array, label_row: Array, label_code: Array, knows: Array,
    drop: bool, duplicates: int, base: int, power: Array, state: Array, keys: Array,
) -> int:  # fmt: skip
    """Write the answers to each item as one number, from rows that are grouped by item.

    Item n has the rows from ``starts[n]`` to the next start. `power` has the value of one in each expert's
    digit. `state` is (number so far, experts heard so far) of the last item: it goes in, because the first
    item may have begun before (unless the second is -1), and comes out, because the last one may go on.

    `duplicates` is 0 to refuse a second, different answer of one expert, 1 to keep the first, 2 the last.
    Returns the first row that is refused, or that is no vote of this panel (never, if `drop`); else -1.
    """
    nobody = power.sum()
    key, heard = state[0], state[1]
    for n in range(len(starts)):
        if n > 0 or heard < 0:
            key, heard = nobody, np.int64(0)
        end = starts[n + 1] if n + 1 < len(starts) else len(expert_row)
        for p in range(starts[n], end):
            i, v = expert_code[expert_row[p]], label_code[label_row[p]]
            key, heard, fine = _heard(key, heard, i, v, knows, drop, duplicates, base, power)
            if not fine:
                return p
        keys[n] = key
    state[0], state[1] = key, heard
    return -1


@njit(cache=True, nogil=True)
def scatter(
    place: Array, expert_row: Array, expert_code: Array, label_row: Array, label_code: Array, knows: Array,
    drop: bool, duplicates: int, base: int, power: Array, keys: Array, heard: Array,
) -> int:  # fmt: skip
    """As :func:`of_runs`, for rows in any order: row p is about the item at ``place[p]``."""
    for p in range(len(place)):
        n = place[p]
        i, v = expert_code[expert_row[p]], label_code[label_row[p]]
        keys[n], heard[n], fine = _heard(keys[n], heard[n], i, v, knows, drop, duplicates, base, power)
        if not fine:
            return p
    return -1


@njit(cache=True, nogil=True)
def add_digit(rows: Array, amount: Array, keys: Array) -> None:
    """Add the digit of one expert to the numbers of all items: item n has the answer ``rows[n]``."""
    for n in range(len(rows)):
        keys[n] += amount[rows[n]]


@njit(cache=True, nogil=True)
def run_starts(ids: Array, starts: Array) -> int:
    """Find where each run of equal numbers starts; return how many there are, -1 if they do not ascend."""
    found = 1
    starts[0] = 0
    for p in range(1, len(ids)):
        if ids[p] != ids[p - 1]:
            if ids[p] < ids[p - 1]:
                return -1
            starts[found] = p
            found += 1
    return found


@njit(cache=True, nogil=True)
def number(keys: Array, table: Array, known: Array, found: int, which: Array) -> tuple[Array, Array, int]:
    """Number different keys in the order in which they come, going on from what is known.

    `table` is a hash table of numbers (-1: free), `known` the key of each number. Fills `which` with the
    number of every key; returns (table, known, how many).
    """
    for n in range(len(keys)):
        key = keys[n]
        place = _home(key, len(table))
        while table[place] >= 0 and known[table[place]] != key:
            place = (place + 1) & (len(table) - 1)
        if table[place] < 0:
            if found == len(known):
                # Half full: twice the room, and everything finds a new place.
                known = np.concatenate((known, np.empty(found, np.int64)))
                table = np.full(2 * len(table), -1, np.int32)
                for f in range(found):
                    place = _home(known[f], len(table))
                    while table[place] >= 0:
                        place = (place + 1) & (len(table) - 1)
                    table[place] = f
                place = _home(key, len(table))
                while table[place] >= 0:
                    place = (place + 1) & (len(table) - 1)
            table[place] = found
            known[found] = key
            found += 1
        which[n] = table[place]
    return table, known, found


@njit(cache=True, nogil=True)
def _home(key: int, size: int) -> Any:
    """Return where to look for a key first: high bits of a product with the golden ratio."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
