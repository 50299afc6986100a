"""Compiled loops that apply the authority vote.

Two shapes. `authority_columns` and `authority_columns_partial` go through dense votes a block of items at a
time, one short loop for each (class, expert) with 8-bit counters, which the compiler turns into vector
instructions. `authority_runs` goes item by item through ragged votes and touches only the classes that
somebody voted for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

BLOCK = 4096
"""Items per block: the block's votes and counters stay in the fast caches."""


@njit(cache=True, nogil=True)
def authority_columns(
    columns: Array, start: int, first: Array, authority: Array, weight: Array, index: Array, tied: Array
) -> None:
    """Label complete dense votes.

    Every vote for k adds ``weight[k]`` = lcm(d) / d_k, so scores are exact multiples of 1 / lcm(d). Scores
    begin at 1: then 0 means "no class yet", and a class without any vote still counts as a candidate.
    """
    size = len(index)
    score = np.empty(BLOCK, np.uint8)
    best = np.empty(BLOCK, np.uint8)
    second = np.empty(BLOCK, np.uint8)
    value = np.empty(BLOCK, np.int8)
    for a in range(0, size, BLOCK):
        b = min(BLOCK, size - a)
        best[:b] = 0
        second[:b] = 0
        value[:b] = -1
        for k in range(len(weight)):
            if first[k] == first[k + 1]:
                continue
            class_k, w = np.int8(k), np.uint8(weight[k])
            score[:b] = 1
            for p in range(first[k], first[k + 1]):
                row = columns[authority[p], start + a : start + a + b]
                for t in range(b):
                    score[t] += w if row[t] == class_k else np.uint8(0)
            for t in range(b):
                s = score[t]
                low = min(s, best[t])
                value[t] = class_k if s > best[t] else value[t]
                best[t] = max(s, best[t])
                second[t] = max(low, second[t])
        for t in range(b):
            same = best[t] == second[t]
            tied[a + t] = same
            index[a + t] = np.int8(-1) if same else value[t]


@njit(cache=True, nogil=True)
def authority_columns_partial(
    columns: Array, start: int, first: Array, authority: Array, complete: bool, index: Array, tied: Array
) -> None:
    """Label dense votes with gaps: d_k counts the authorities that answered; needs d_k <= 181.

    Scores N_k / d_k are compared by cross multiplication in 16-bit integers. No class yet is -1 / 1.
    """
    size = len(index)
    hits = np.empty(BLOCK, np.uint8)
    asked = np.empty(BLOCK, np.uint8)
    best_n = np.empty(BLOCK, np.int16)
    best_d = np.empty(BLOCK, np.int16)
    value = np.empty(BLOCK, np.int8)
    shared = np.empty(BLOCK, np.bool_)
    for a in range(0, size, BLOCK):
        b = min(BLOCK, size - a)
        best_n[:b] = -1
        best_d[:b] = 1
        value[:b] = -1
        shared[:b] = False
        for k in range(len(first) - 1):
            class_k = np.int8(k)
            hits[:b] = 0
            asked[:b] = first[k + 1] - first[k] if complete else 0
            for p in range(first[k], first[k + 1]):
                row = columns[authority[p], start + a : start + a + b]
                for t in range(b):
                    hits[t] += np.uint8(row[t] == class_k)
                if not complete:
                    for t in range(b):
                        asked[t] += np.uint8(row[t] != np.int8(-1))
            for t in range(b):
                heard = asked[t] != 0
                n = np.int16(hits[t]) if heard else np.int16(-1)
                d = np.int16(asked[t]) if heard else np.int16(1)
                left, right = np.int16(n * best_d[t]), np.int16(best_n[t] * d)
                more = left > right
                shared[t] = False if more else (shared[t] | (left == right))
                value[t] = class_k if more else value[t]
                best_n[t] = n if more else best_n[t]
                best_d[t] = d if more else best_d[t]
        for t in range(b):
            heard = best_n[t] >= 0
            tied[a + t] = shared[t] & heard
            index[a + t] = value[t] if heard & ~shared[t] else np.int8(-1)


@njit(cache=True, nogil=True, inline="always")
def _decide(
    expert: Array, label: Array, begin: int, end: int, knows_bits: Array, votes: Array, mask: Array,
    candidates: Array,
) -> tuple[int, bool]:  # fmt: skip
    """Return (class, tied) of one item; `votes` and `mask` come and go as zeros."""
    found = 0
    for p in range(begin, end):
        k = label[p]
        if k >= 0:
            if votes[k] == 0:
                candidates[found] = k
                found += 1
            votes[k] += 1
    words = len(mask)
    for p in range(begin, end):
        mask[expert[p] >> 6] |= np.uint64(1) << np.uint64(expert[p] & 63)
    best, best_n, best_d, shared = -1, -1, 1, False
    for c in range(found):
        k = candidates[c]
        d = 0
        if words <= end - begin:
            for w in range(words):
                d += _popcount(mask[w] & knows_bits[k, w])
        else:
            for p in range(begin, end):
                d += (knows_bits[k, expert[p] >> 6] >> np.uint64(expert[p] & 63)) & np.uint64(1)
        n = votes[k]
        votes[k] = 0
        left, right = n * best_d, best_n * d
        if left > right:
            best, best_n, best_d, shared = k, n, d, False
        elif left == right:
            shared = True
    if found == 0 and end > begin:  # only "none of mine": all classes that were heard score 0
        for k in range(knows_bits.shape[0]):
            for w in range(words):
                if mask[w] & knows_bits[k, w]:
                    shared = best >= 0
                    best = k
                    break
            if shared:
                break
    for p in range(begin, end):
        mask[expert[p] >> 6] = 0
    return (-1 if shared else best), shared


@njit(cache=True, nogil=True, inline="always")
def _popcount(x: Any) -> Any:
    """Count the ones of a 64-bit word; the compiler knows this pattern as one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def authority_runs(
    indptr: Array, expert: Array, label: Array, knows_bits: Array, index: Array, tied: Array
) -> None:
    """Label ragged votes."""
    votes = np.zeros(knows_bits.shape[0], np.int64)
    mask = np.zeros(knows_bits.shape[1], np.uint64)
    candidates = np.empty(knows_bits.shape[0], np.int64)
    for n in range(len(index)):
        best, shared = _decide(expert, label, indptr[n], indptr[n + 1], knows_bits, votes, mask, candidates)
        index[n] = best
        tied[n] = shared
