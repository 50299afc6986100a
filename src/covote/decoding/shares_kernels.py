"""Loops that find the class with the best authority score N_k / d_k, without evidence.

Dense votes are processed a block of items at a time, with one short loop for each (class, expert) and 8-bit
counters, which the compiler turns into vector instructions. Ragged votes are processed item by item, looking
only at classes with votes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.panel.layout import Authorities
from covote.votes import Ragged

Array = NDArray[Any]

BLOCK = 2048
"""Items per block, so that the block's votes and counters stay in the fastest cache."""
STRIDE = BLOCK + 64
"""Distance between the counters of a block; a power of two would make them share cache lines."""


# The short loops below become vector instructions only if every operation stays in its 8 or 16 bits, if
# every value is loaded before it is selected, and if few arrays are written (the compiler has to prove that
# they do not overlap, hence one array of counters with fixed distances). They take four experts at a time, so
# counters are loaded and stored once for four votes; the lists of experts are padded to multiples of four
# with experts of weight 0.


@helper
def _add4(
    columns: Array, begin: int, size: int, experts: Array, weight: Array, p: int, k: Any, score: Array
) -> None:
    """Add the weights of four experts' votes for k."""
    end = begin + size
    a, b = columns[experts[p], begin:end], columns[experts[p + 1], begin:end]
    c, d = columns[experts[p + 2], begin:end], columns[experts[p + 3], begin:end]
    wa, wb, wc, wd = weight[p], weight[p + 1], weight[p + 2], weight[p + 3]
    for t in range(size):
        one = wa if a[t] == k else np.uint8(0)
        two = wb if b[t] == k else np.uint8(0)
        three = wc if c[t] == k else np.uint8(0)
        four = wd if d[t] == k else np.uint8(0)
        score[t] = np.uint8(score[t] + one + two + three + four)


@helper
def _add4_and_keep_best(
    columns: Array, begin: int, size: int, experts: Array, weight: Array, p: int, k: Any, score: Array,
    state: Array,
) -> None:  # fmt: skip
    """Add the last votes for k, then update `state`: best score, second score, best class."""
    end = begin + size
    a, b = columns[experts[p], begin:end], columns[experts[p + 1], begin:end]
    c, d = columns[experts[p + 2], begin:end], columns[experts[p + 3], begin:end]
    wa, wb, wc, wd = weight[p], weight[p + 1], weight[p + 2], weight[p + 3]
    for t in range(size):
        one = wa if a[t] == k else np.uint8(0)
        two = wb if b[t] == k else np.uint8(0)
        three = wc if c[t] == k else np.uint8(0)
        four = wd if d[t] == k else np.uint8(0)
        s = np.uint8(score[t] + one + two + three + four)
        best, second, value = state[t], state[STRIDE + t], state[2 * STRIDE + t]
        low = np.uint8(min(s, best))
        state[t] = np.uint8(max(s, best))
        state[STRIDE + t] = np.uint8(max(low, second))
        state[2 * STRIDE + t] = np.uint8(np.uint8(k) if s > best else value)


@helper
def _report(state: Array, index: Array, size: int) -> None:
    for t in range(size):
        same, value = state[t] == state[STRIDE + t], np.int8(state[2 * STRIDE + t])
        index[t] = np.int8(np.int8(-1) if same else value)


@kernel
def label_complete(columns: Array, start: int, authorities: Authorities, index: Array) -> None:
    """Label complete dense votes, -1 in a tie; needs lcm(d) < 255.

    Every vote for k adds lcm(d) / d_k, so scores are exact multiples of 1 / lcm(d). Scores begin at 1: then 0
    means "no class yet", and a class without any vote still counts as a candidate. 2.5 times as fast as
    `label_columns` (benchmarks/decoding.py: "authority, 1,000,000 x 9").
    """
    first, experts, weight = authorities.first, authorities.experts, authorities.weight
    score, state = np.ones(BLOCK, np.uint8), np.empty(3 * STRIDE, np.uint8)
    for a in range(0, len(index), BLOCK):
        size, begin = min(BLOCK, len(index) - a), start + a
        state[:] = 0
        for k in range(len(first) - 1):
            if first[k] == first[k + 1]:
                continue
            last = first[k + 1] - 4
            for p in range(first[k], last, 4):
                _add4(columns, begin, size, experts, weight, p, np.int8(k), score)
            _add4_and_keep_best(columns, begin, size, experts, weight, last, np.int8(k), score, state)
            if first[k] < last:
                score[:] = 1
        _report(state, index[a : a + size], size)


@helper
def _count(
    columns: Array, begin: int, size: int, authorities: Authorities, k: int, answer: Any, counts: Array
) -> None:
    """Count how many authorities of k gave an answer."""
    counts[:] = 0
    for p in range(authorities.first[k], authorities.first[k + 1], 4):
        _add4(columns, begin, size, authorities.experts, authorities.one, p, answer, counts)


@helper
def _keep_best_share(hits: Array, missing: Array, authorities: Any, state: Array, k: Any, size: int) -> None:
    best_n, best_d, value, shared = state[0], state[1], state[2], state[3]
    for t in range(size):
        n, d = np.int16(hits[t]), np.int16(authorities - np.int16(missing[t]))
        old_n, old_d, old_k, old_shared = best_n[t], best_d[t], value[t], shared[t]
        left, right = np.int16(n * old_d), np.int16(old_n * d)
        more = left > right
        same = np.int16(np.int16(left == right) & np.int16(d != 0))
        same = np.int16(same | old_shared)
        best_n[t] = np.int16(n if more else old_n)
        best_d[t] = np.int16(d if more else old_d)
        value[t] = np.int16(k if more else old_k)
        shared[t] = np.int16(np.int16(0) if more else same)


@helper
def _report_shares(state: Array, index: Array, tied: Array, size: int) -> None:
    value, shared = state[2], state[3]
    for t in range(size):
        same, k = shared[t] != 0, np.int8(value[t])
        tied[t] = same
        index[t] = np.int8(np.int8(-1) if same else k)


@kernel
def label_columns(
    columns: Array, start: int, authorities: Authorities, complete: bool, index: Array, tied: Array
) -> None:
    """Label dense votes with gaps, or with large lcm(d); needs d_k <= 181.

    N_k / d_k is compared by cross multiplication in 16 bits. "No class yet" is -1 / 1, which every class that
    was heard beats. Thirty times as fast as the sums of `shares_of` (benchmarks/decoding.py: "a tenth of the
    answers missing").
    """
    first = authorities.first
    hits, missing = np.empty(BLOCK, np.uint8), np.zeros(BLOCK, np.uint8)
    state = np.empty((4, STRIDE), np.int16)
    for a in range(0, len(index), BLOCK):
        size, begin = min(BLOCK, len(index) - a), start + a
        state[0], state[1], state[2], state[3] = -1, 1, -1, 0
        for k in range(len(first) - 1):
            if first[k] == first[k + 1]:
                continue
            _count(columns, begin, size, authorities, k, np.int8(k), hits)
            if not complete:
                _count(columns, begin, size, authorities, k, np.int8(-1), missing)
            _keep_best_share(hits, missing, authorities.counts[k], state, np.int16(k), size)
        _report_shares(state, index[a : a + size], tied[a : a + size], size)


@helper
def _only_heard(knows_bits: Array, mask: Array) -> tuple[int, bool]:
    """Decide an item whose only answers are "none of mine": every class that was heard scores 0."""
    best = -1
    for k in range(knows_bits.shape[0]):
        for w in range(len(mask)):
            if mask[w] & knows_bits[k, w]:
                if best >= 0:
                    return best, True
                best = k
                break
    return best, False


@helper(inline="always")
def _popcount(x: Any) -> Any:
    """Count the ones in a 64-bit word; the compiler turns this pattern into one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def label_runs(runs: Ragged, knows_bits: Array, index: Array, tied: Array) -> None:
    """Label ragged votes.

    `mask` has one bit for each expert who answered the item, so d_k is the number of bits that it shares with
    the authorities of k. Unsigned indices avoid the check for negative ones. More than ten times as fast as
    the sums of `shares_of` (benchmarks/decoding.py: "authority ragged").
    """
    indptr, expert, label = runs.indptr, runs.expert, runs.label
    classes, words = knows_bits.shape
    votes, candidates = np.zeros(classes, np.int32), np.empty(classes, np.int64)
    mask = np.zeros(words, np.uint64)
    for n in range(len(index)):
        begin, end = np.uint64(indptr[n]), np.uint64(indptr[n + 1])
        few_words = words <= 4 * (indptr[n + 1] - indptr[n])
        found = np.uint64(0)
        for p in range(begin, end):
            e, v = np.uint64(expert[p]), label[p]
            mask[e >> np.uint64(6)] |= np.uint64(1) << (e & np.uint64(63))
            if v >= 0:
                if votes[np.uint64(v)] == 0:
                    candidates[found] = v
                    found += np.uint64(1)
                votes[np.uint64(v)] += 1
        best, best_n, best_d, shared = -1, -1, 1, False
        for c in range(found):
            k = np.uint64(candidates[c])
            hits, asked = votes[k], 0
            votes[k] = 0
            if few_words:
                for w in range(words):
                    asked += _popcount(mask[w] & knows_bits[k, w])
            else:
                for p in range(begin, end):
                    e = np.uint64(expert[p])
                    asked += int((knows_bits[k, e >> np.uint64(6)] >> (e & np.uint64(63))) & np.uint64(1))
            left, right = hits * best_d, best_n * asked
            if left > right:
                best, best_n, best_d, shared = int(candidates[c]), int(hits), int(asked), False
            elif left == right:
                shared = True
        if found == 0 and end > begin:
            best, shared = _only_heard(knows_bits, mask)
        for p in range(begin, end):
            mask[np.uint64(expert[p]) >> np.uint64(6)] = 0
        index[n] = -1 if shared else best
        tied[n] = shared
