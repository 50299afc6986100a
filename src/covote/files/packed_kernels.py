"""Compiled loops over rows of answers that are written as one number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

Array = NDArray[Any]

THERE = 1 << 62
"""Says of an item that it is there, even if nobody answered it; the bits below it say who did."""


@kernel
def of_columns(columns: Array, start: int, stop: int, base: int) -> Array:
    """Write the answers to each item as one number; the codes -1 and -2 become the digits 1 and 0."""
    keys = np.zeros(stop - start, np.int64)
    for i in range(columns.shape[0]):
        for n in range(stop - start):
            keys[n] = keys[n] * base + np.int64(columns[i, start + n]) + 2
    return keys


@kernel
def to_columns(keys: Array, base: int, columns: Array) -> None:
    """Undo :func:`of_columns`."""
    for n in range(len(keys)):
        key = keys[n]
        for i in range(len(columns) - 1, -1, -1):
            columns[i, n] = key % base - 2
            key //= base


@helper(inline="always")
def _again(key: int, amount: int, unit: int, duplicates: int, base: int) -> tuple[Any, bool]:
    """Return the number after a second answer of one expert, and whether that is all right."""
    before, now = (key // unit) % base, amount // unit + 1
    if duplicates == 2:
        key += (now - before) * unit
    return key, duplicates > 0 or before == now


@kernel
def of_runs(
    starts: Array, experts: Array, labels: Array, amount: Array, unit: Array, bit: Array,
    duplicates: int, base: int, nobody: int, state: Array, keys: Array,
) -> int:  # fmt: skip
    """Write the answers to each item as one number, from rows that are grouped by item.

    Item n has the rows from ``starts[n]`` to the next start. Row p is the answer ``labels[p]`` of the expert
    ``experts[p]``: it adds ``amount[e, l]`` to the number, in a digit of the value ``unit[e, l]``; ``bit``
    says whose it is, 0 if it is no answer, -1 if it is none of this panel. A number begins with `nobody`.
    `state` is (number so far, experts heard so far) of the last item: it goes in, because the first item may
    have begun before (unless the second is -1), and comes out, because the last one may go on.

    `duplicates` is 0 to refuse a second, different answer of one expert, 1 to keep the first, 2 the last.
    Returns the first row that is refused; -1 if there is none.
    """
    width = np.uint32(amount.shape[1])
    amounts, units, bits = amount.reshape(-1), unit.reshape(-1), bit.reshape(-1)
    key, heard = state[0], state[1]
    for n in range(len(starts)):
        if n > 0 or heard < 0:
            key, heard = nobody, np.int64(0)
        end = starts[n + 1] if n + 1 < len(starts) else len(experts)
        for p in range(starts[n], end):
            entry = np.uint32(experts[p]) * width + np.uint32(labels[p])
            who = bits[entry]
            if who < 0:
                return p
            if heard & who:
                key, fine = _again(key, amounts[entry], units[entry], duplicates, base)
                if not fine:
                    return p
                continue
            heard |= who
            key += amounts[entry]
        keys[n] = key
    state[0], state[1] = key, heard
    return -1


@kernel
def scatter(
    items: Array, least: int, experts: Array, labels: Array, amount: Array, unit: Array, bit: Array,
    duplicates: int, base: int, cells: Array,
) -> int:  # fmt: skip
    """As :func:`of_runs`, for rows in any order: row p is about the item ``items[p]``.

    ``cells[n]`` is (number so far, experts heard so far) of the item ``least + n``. The two lie side by side,
    because finding the place of an item in memory takes longer than all the rest.
    """
    width = np.uint32(amount.shape[1])
    amounts, units, bits = amount.reshape(-1), unit.reshape(-1), bit.reshape(-1)
    for p in range(len(items)):
        n = np.uint64(np.int64(items[p]) - least)
        entry = np.uint32(experts[p]) * width + np.uint32(labels[p])
        who = bits[entry]
        if who < 0:
            return p
        heard = cells[n, 1]
        cells[n, 1] = heard | who | THERE
        if heard & who:
            cells[n, 0], fine = _again(cells[n, 0], amounts[entry], units[entry], duplicates, base)
            if not fine:
                return p
            continue
        cells[n, 0] += amounts[entry]
    return -1


@kernel
def add_digit(rows: Array, amount: Array, keys: Array) -> None:
    """Add the digit of one expert to the numbers of all items: item n has the answer ``rows[n]``."""
    for n in range(len(rows)):
        keys[n] += amount[rows[n]]


@kernel
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


@kernel
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


@helper
def _home(key: int, size: int) -> Any:
    """Return where to look for a key first: high bits of a product with the golden ratio."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
