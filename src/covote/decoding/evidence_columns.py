"""Compiled loops that find the evidence for dense votes, a block of items at a time.

The twins for ragged votes, item by item, are in `evidence_kernels`. As in `kernels`, all is 16-bit
arithmetic on one array of counters, so that the loops become vector instructions; this needs d_k <= 181.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.methods.authority_kernels import BLOCK, STRIDE, _add4

Array = NDArray[Any]


@helper
def _count(
    columns: Array,
    begin: int,
    size: int,
    experts: Array,
    one: Array,
    p: int,
    last: int,
    k: Any,
    counts: Array,
) -> None:
    """Count the votes for k of ``experts[p:last]``."""
    counts[:] = 0
    for q in range(p, last, 4):
        _add4(columns, begin, size, experts, one, q, k, counts)


@helper
def _keep_fewest(hits: Array, missing: Array, authorities: Any, index: Array, k: Any, state: Array) -> None:
    """Update: fewest violations, those of the label, heard classes without, classes that were not heard."""
    for t in range(len(index)):
        d = np.int16(authorities - np.int16(missing[t]))
        v = np.int16(d - np.int16(hits[t]))
        fewest, own = state[t], state[STRIDE + t]
        clean, silent = state[2 * STRIDE + t], state[3 * STRIDE + t]
        state[t] = np.int16(min(fewest, v))
        state[STRIDE + t] = np.int16(v if index[t] == k else own)
        state[2 * STRIDE + t] = np.int16(clean + (np.int16(v == 0) & np.int16(d != 0)))
        state[3 * STRIDE + t] = np.int16(silent | np.int16(d == 0))


@kernel
def examine(
    columns: Array, start: int, first: Array, experts: Array, one: Array, authorities: Array, complete: bool,
    index: Array, fewest: Array, own: Array, consistent: Array, unheard: Array,
) -> None:  # fmt: skip
    """Count violations V_k = d_k - N_k; see :func:`covote.decoding.evidence.examined`."""
    hits, missing = np.zeros(BLOCK, np.uint8), np.zeros(BLOCK, np.uint8)
    state = np.empty(4 * STRIDE, np.int16)
    for a in range(0, len(index), BLOCK):
        size, begin = min(BLOCK, len(index) - a), start + a
        state[:STRIDE] = 32767
        state[STRIDE:] = 0
        for k in range(len(first) - 1):
            p, last = first[k], first[k + 1]
            if p == last:
                continue
            _count(columns, begin, size, experts, one, p, last, np.int8(k), hits)
            if not complete:
                _count(columns, begin, size, experts, one, p, last, np.int8(-1), missing)
            _keep_fewest(hits, missing, authorities[k], index[a : a + size], np.int8(k), state)
        fewest[a : a + size] = state[:size]
        own[a : a + size] = state[STRIDE : STRIDE + size]
        consistent[a : a + size] = state[2 * STRIDE : 2 * STRIDE + size]
        unheard[a : a + size] = state[3 * STRIDE : 3 * STRIDE + size] != 0


@helper
def _keep_two_best(hits: Array, missing: Array, authorities: Any, state: Array, size: int) -> None:
    """Update: best share N / d, next share N / d, how many classes have the best one."""
    for t in range(size):
        n, d = np.int16(hits[t]), np.int16(authorities - np.int16(missing[t]))
        top_n, top_d, next_n = state[t], state[STRIDE + t], state[2 * STRIDE + t]
        next_d, count = state[3 * STRIDE + t], state[4 * STRIDE + t]
        left, right = np.int16(n * top_d), np.int16(top_n * d)
        more = left > right
        same = np.int16(np.int16(left == right) & np.int16(d != 0))
        passed = np.int16(np.int16(more) | same)
        nearer = np.int16(n * next_d) > np.int16(next_n * d)
        low_n, low_d = np.int16(n if nearer else next_n), np.int16(d if nearer else next_d)
        state[2 * STRIDE + t] = np.int16(top_n if passed != 0 else low_n)
        state[3 * STRIDE + t] = np.int16(top_d if passed != 0 else low_d)
        state[t] = np.int16(n if more else top_n)
        state[STRIDE + t] = np.int16(d if more else top_d)
        sharing = np.int16(count + same)
        state[4 * STRIDE + t] = np.int16(np.int16(1) if more else sharing)


@helper
def _keep_runner_up(
    hits: Array, missing: Array, authorities: Any, index: Array, k: Any, state: Array
) -> None:
    """Update: share N / d of the best class apart from the label, that class, whether it is several."""
    for t in range(len(index)):
        n, d = np.int16(hits[t]), np.int16(authorities - np.int16(missing[t]))
        n0, d0 = state[t], state[STRIDE + t]
        class0, several = state[2 * STRIDE + t], state[3 * STRIDE + t]
        left, right = np.int16(n * d0), np.int16(n0 * d)
        other = np.int16(np.int16(index[t] != k) & np.int16(d != 0))
        level = np.int16(np.int16(left == right) & other)
        better = np.int16((np.int16(left > right) & other) | (level & np.int16(d > d0)))
        equal = np.int16(several | np.int16(level & np.int16(d == d0)))
        state[t] = np.int16(n if better != 0 else n0)
        state[STRIDE + t] = np.int16(d if better != 0 else d0)
        state[2 * STRIDE + t] = np.int16(np.int16(k) if better != 0 else class0)
        state[3 * STRIDE + t] = np.int16(np.int16(0) if better != 0 else equal)


@helper
def _report(best: Array, other: Array, index: Array, margin: Array, runner_up: Array, shared: Array) -> None:
    for t in range(len(index)):
        next_n = best[2 * STRIDE + t]
        gap = best[t] / best[STRIDE + t] - next_n / best[3 * STRIDE + t]
        margin[t] = gap if next_n >= 0 else np.nan
        none = np.int16(np.int16(other[3 * STRIDE + t] != 0) | np.int16(index[t] < 0))
        runner_up[t] = np.int8(np.int8(-1) if none != 0 else np.int8(other[2 * STRIDE + t]))
        shared[t] = best[4 * STRIDE + t]


@kernel
def authority_margin(
    columns: Array, start: int, first: Array, experts: Array, one: Array, authorities: Array, complete: bool,
    index: Array, margin: Array, runner_up: Array, shared: Array,
) -> None:  # fmt: skip
    """Find the margin, the runner-up and how many classes share the best score N_k / d_k."""
    hits, missing = np.zeros(BLOCK, np.uint8), np.zeros(BLOCK, np.uint8)
    best, other = np.empty(5 * STRIDE, np.int16), np.empty(4 * STRIDE, np.int16)
    for a in range(0, len(index), BLOCK):
        size, begin = min(BLOCK, len(index) - a), start + a
        best[:] = 1
        best[:STRIDE] = best[2 * STRIDE : 3 * STRIDE] = -1
        best[4 * STRIDE :] = 0
        other[:] = 0
        other[:STRIDE] = other[2 * STRIDE : 3 * STRIDE] = -1
        other[STRIDE : 2 * STRIDE] = 1
        for k in range(len(first) - 1):
            p, last = first[k], first[k + 1]
            if p == last:
                continue
            _count(columns, begin, size, experts, one, p, last, np.int8(k), hits)
            if not complete:
                _count(columns, begin, size, experts, one, p, last, np.int8(-1), missing)
            _keep_two_best(hits, missing, authorities[k], best, size)
            _keep_runner_up(hits, missing, authorities[k], index[a : a + size], np.int8(k), other)
        span = slice(a, a + size)
        _report(best, other, index[span], margin[span], runner_up[span], shared[span])
