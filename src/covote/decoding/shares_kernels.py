"""Loops that find the authority score N_k / d_k: N_k votes for class k among d_k answering authorities.

Two shapes. Dense votes are gone through a block of items at a time, one short loop for each (class, expert)
with 8-bit counters, which the compiler turns into vector instructions. Ragged votes are gone through item by
item, and only the classes that an answering expert knows are touched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.panel.layout import Authorities, Lists
from covote.votes import Ragged

Array = NDArray[Any]

BLOCK = 2048
"""Items per block: the block's votes and counters stay in the fastest cache."""
STRIDE = BLOCK + 64
"""Distance of the counters of a block; not a power of two, which would make them share cache lines."""


class Found(NamedTuple):
    """What the authority scores say about every item, beside its label.

    The margin of the best score and the runner-up (theory: section 3); the fewest violations d_k - N_k of any
    class, those of the label, how many heard classes have none, and whether some class was not heard although
    the panel has authorities for it.
    """

    margin: Array
    runner_up: Array
    fewest: Array
    own: Array
    clean: Array
    unheard: Array


# The short loops below become vector instructions only if every operation stays in its 8 or 16 bits, if
# every value is loaded before it is chosen, and if few arrays are written (the compiler has to prove that
# they do not overlap: hence one array of counters with fixed distances). They take four experts at a time, so
# that counters are loaded and stored once for four votes; the lists of experts are filled up to multiples of
# four by experts of weight 0.


def _block_steps(authorities: Authorities, index: Array, per_class: int) -> int:
    """Return the plain steps of a loop over classes, their authorities and blocks of items."""
    return len(index) * (2 * len(authorities.experts) + per_class * len(authorities.counts))


class Tables(NamedTuple):
    """Votes N_k, answering authorities d_k, and N_k / d_k, -1 where d_k = 0 (classes x items)."""

    votes: NDArray[np.int32]
    asked: NDArray[np.int32]
    share: NDArray[np.float64]


def tables(runs: Ragged, known: Lists, classes: int) -> Tables:
    """Return the scores of all classes at once; equal fractions are equal as floats.

    What loops over classes do until they are compiled: `covote decode` of a million votes, which has 30,000
    different answer rows, needs no numba and is done before numba is loaded (benchmarks/results/decoding.md).
    """
    size, experts = len(runs.indptr) - 1, len(known.start) - 1
    item = np.repeat(np.arange(size), np.diff(runs.indptr))
    said = runs.label >= 0
    place = runs.label[said] * np.int64(size) + item[said]
    votes = np.bincount(place, minlength=size * classes).astype(np.int32).reshape(classes, size)
    knows = np.zeros((classes, experts), np.float32)
    knows[known.members, np.repeat(np.arange(experts), np.diff(known.start))] = 1
    if len(item) == size * experts:  # everybody answered everything
        asked = np.broadcast_to(knows.sum(axis=1, dtype=np.int32)[:, None], votes.shape)
    else:
        answered = np.zeros((experts, size), np.float32)
        answered[runs.expert, item] = 1
        asked = (knows @ answered).astype(np.int32)  # sums of ones, which are exact
    return Tables(votes, asked, np.divide(votes, asked, out=np.full(votes.shape, -1.0), where=asked > 0))


def _table_steps(runs: Ragged, classes: int) -> float:
    """Return the plain steps of what is done with tables: a step has the time of about 15 entries."""
    return 50 + (len(runs.expert) + len(runs.indptr) * classes) / 15


@helper
def _add4(
    columns: Array, begin: int, size: int, experts: Array, weight: Array, p: int, k: Any, score: Array
) -> None:
    """Add the weights of the votes for k of four experts."""
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


@kernel(steps=lambda columns, start, authorities, index: _block_steps(authorities, index, 4))
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


@kernel(steps=lambda columns, start, authorities, complete, index, *_: _block_steps(authorities, index, 8))
def label_columns(
    columns: Array, start: int, authorities: Authorities, complete: bool, index: Array, tied: Array
) -> None:
    """Label dense votes with gaps, or with large lcm(d); needs d_k <= 181.

    N_k / d_k is compared by cross multiplication in 16 bits. No class yet is -1 / 1, which every class beats
    that was heard. Thirty times as fast as `leading` (benchmarks/decoding.py: "a tenth of the answers
    missing").
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
    """Decide an item with no vote but "none of mine": every class that was heard scores 0."""
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
    """Count the ones of a 64-bit word; the compiler knows this pattern as one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def label_runs(runs: Ragged, knows_bits: Array, index: Array, tied: Array) -> None:
    """Label ragged votes.

    `mask` has one bit for each expert that answered the item, so d_k is the number of bits it has in common
    with the authorities of k, and only classes with votes are looked at. Unsigned indices spare the check for
    negative ones. More than ten times as fast as `leading` (benchmarks/decoding.py: "authority ragged").
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


class Counters(NamedTuple):
    """Counters of one item: votes N_k, answering authorities d_k, and which classes have d_k > 0."""

    votes: Array
    asked: Array
    heard: Array


@helper
def counters(classes: int) -> Counters:
    """Return counters that are all 0."""
    return Counters(np.zeros(classes, np.int64), np.zeros(classes, np.int64), np.empty(classes, np.int64))


@helper(inline="always")
def hear(runs: Ragged, n: int, known: Lists, counts: Counters) -> int:
    """Count the votes and the answering authorities of every class for item n; return how many were heard.

    The caller sets the counters back to zero with :func:`forget`.
    """
    number = 0
    for p in range(runs.indptr[n], runs.indptr[n + 1]):
        i = runs.expert[p]
        for q in range(known.start[i], known.start[i + 1]):
            k = known.members[q]
            if counts.asked[k] == 0:
                counts.heard[number] = k
                number += 1
            counts.asked[k] += 1
        if runs.label[p] >= 0:
            counts.votes[runs.label[p]] += 1
    return number


@helper(inline="always")
def forget(counts: Counters, number: int) -> None:
    """Set the counters of one item back to zero."""
    for c in range(number):
        counts.votes[counts.heard[c]] = 0
        counts.asked[counts.heard[c]] = 0


@helper
def grown(array: Array, size: int) -> Array:
    """Return the array, or a longer one with the same beginning, if it has room for fewer than `size`."""
    if size <= len(array):
        return array
    longer = np.empty(2 * size, array.dtype)
    for n in range(len(array)):  # numba takes seconds to compile the assignment of a slice
        longer[n] = array[n]
    return longer


@helper(inline="always")
def insert(listed: Array, begin: int, end: int, k: int) -> int:
    """Insert k into listed[begin:end], which is ascending and short; return the new end."""
    place = end
    while place > begin and listed[place - 1] > k:
        listed[place] = listed[place - 1]
        place -= 1
    listed[place] = k
    return end + 1


def _examine(
    runs: Ragged, known: Lists, classes: int, with_authority: int, index: Array, found: Found
) -> None:
    """Do as :func:`examine` does, all items at once."""
    votes, asked, share = tables(runs, known, classes)
    heard, item = asked > 0, np.arange(len(index))
    number, against = heard.sum(axis=0), asked - votes
    top, labelled = share.max(axis=0), np.flatnonzero(index >= 0)
    others = share.copy()
    others[share.argmax(axis=0), item] = -1
    found.margin[:] = np.where(number > 1, top - others.max(axis=0), np.nan)
    others[share.argmax(axis=0), item] = top
    others[index[labelled], labelled] = -1
    # The best apart from the label, and among those with the same score the one with most authorities.
    level = np.where((others == others.max(axis=0)) & (others >= 0), asked, 0)
    most = level.max(axis=0)
    alone = ((level == most).sum(axis=0) == 1) & (most > 0) & (index >= 0)
    found.runner_up[:] = np.where(alone, level.argmax(axis=0), -1)
    found.unheard[:] = number < classes
    least = np.where(heard, against, len(runs.expert)).min(axis=0)
    found.fewest[:] = np.where(number < with_authority, 0, least)
    found.own[:] = np.where(index < 0, 0, against[index, item])
    found.clean[:] = (heard & (against == 0)).sum(axis=0)


@kernel(steps=lambda runs, known, classes, *_: 2 * _table_steps(runs, classes), plain=_examine)
def examine(
    runs: Ragged, known: Lists, classes: int, with_authority: int, index: Array, found: Found
) -> None:
    """Find what the authority scores say about labelled ragged votes.

    The runner-up is the best class apart from the label: by score, then by more authorities; -1 if that
    leaves several, or if there is no label.
    """
    counts = counters(classes)
    for n in range(len(index)):
        number = hear(runs, n, known, counts)
        top_n, top_d, next_n, next_d = -1, 1, -1, 1
        other, other_n, other_d, several = -1, -1, 1, False
        least, clean = len(runs.expert), 0
        for c in range(number):
            k = counts.heard[c]
            h, d = counts.votes[k], counts.asked[k]
            least = min(least, d - h)
            clean += d == h
            if h * top_d > top_n * d:
                next_n, next_d = top_n, top_d
                top_n, top_d = h, d
            elif h * top_d == top_n * d:
                next_n, next_d = top_n, top_d
            elif h * next_d > next_n * d:
                next_n, next_d = h, d
            if k != index[n]:
                left, right = h * other_d, other_n * d
                if left > right or (left == right and d > other_d):
                    other, other_n, other_d, several = k, h, d, False
                elif left == right and d == other_d:
                    several = True
        found.margin[n] = top_n / top_d - next_n / next_d if next_n >= 0 else np.nan
        found.runner_up[n] = -1 if several or index[n] < 0 else other
        found.unheard[n] = number < classes
        found.fewest[n] = 0 if number < with_authority else least
        found.own[n] = 0 if index[n] < 0 else counts.asked[index[n]] - counts.votes[index[n]]
        found.clean[n] = clean
        forget(counts, number)


def _leading(runs: Ragged, known: Lists, classes: int, most: int) -> tuple[Array, Array]:
    """Do as :func:`leading` does, all items at once."""
    _, asked, share = tables(runs, known, classes)
    listed = asked > 0
    if most == 1:
        listed &= share == share.max(axis=0)
    elif most < classes:
        listed &= share >= np.partition(share, classes - most, axis=0)[classes - most]
    item, best = np.nonzero(np.ascontiguousarray(listed.T))
    return np.searchsorted(item, np.arange(share.shape[1] + 1)), best


@kernel(steps=lambda runs, known, classes, *_: _table_steps(runs, classes), plain=_leading)
def leading(runs: Ragged, known: Lists, classes: int, most: int) -> tuple[Array, Array]:
    """List the classes with the `most` best N_k / d_k of every item, in ascending order: (start, classes).

    Classes that tie with the last of them are listed too.
    """
    counts, top = counters(classes), np.empty(most)
    start = np.zeros(len(runs.indptr), np.int64)
    listed, at = np.empty(max(len(start), 16), np.int64), 0
    for n in range(len(start) - 1):
        number = hear(runs, n, known, counts)
        # The best shares, the least of them first; equal fractions are equal as floats.
        top[:] = -1.0
        for c in range(number if number > most else 0):
            share = counts.votes[counts.heard[c]] / counts.asked[counts.heard[c]]
            b = 0
            while b < most and share > top[b]:
                top[b - 1 if b else 0] = top[b]
                top[b] = share
                b += 1
        listed, begin = grown(listed, at + number), at
        for c in range(number):
            k = counts.heard[c]
            if counts.votes[k] / counts.asked[k] >= top[0]:
                at = insert(listed, begin, at, k)
        start[n + 1] = at
        forget(counts, number)
    return start, listed[:at].copy()
