"""The authority score N_k / d_k of every class, and what it says about a label.

Paper: Eq. (2)-(4). N_k counts the votes for class k, d_k the authorities of k that answered. Ragged votes are
gone through item by item, and only the classes that an answering expert knows are touched (:func:`hear`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding import linear
from covote.decoding import shares_kernels as kernels
from covote.labels import AGREED, CONFLICT, INCOMPLETE, TIED, Evidence, Ties
from covote.panel import Panel
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.arrays import smallest_int

Array = NDArray[Any]

MOST = 181
"""The most authorities of a class for loops in 16 bits: a product of two counts must fit."""


class Found(NamedTuple):
    """What the authority scores say about every item, in addition to its label.

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


def label(votes: Votes) -> tuple[Array, NDArray[np.bool_]]:
    """Return (class with the best score or -1, whether several share it) for every item."""
    panel = votes.panel
    index = np.empty(len(votes), dtype=smallest_int(len(panel.classes)))
    authorities = panel.layout.authorities
    if votes.columns is not None and _narrow(votes):
        if votes.complete and authorities.common < 255:
            kernels.label_complete(votes.columns, votes.start, authorities, index)
            # Pages of zeros cost nothing until they are read: votes without ties stay fast.
            return index, index < 0 if index.min(initial=0) < 0 else np.zeros(len(votes), dtype=np.bool_)
        tied = np.empty(len(votes), dtype=np.bool_)
        kernels.label_columns(votes.columns, votes.start, authorities, votes.complete, index, tied)
        return index, tied
    tied = np.empty(len(votes), dtype=np.bool_)
    for runs, span in ragged_parts(votes):
        kernels.label_runs(runs, panel.layout.bits, index[span], tied[span])
    return index, tied


def best_classes(runs: Ragged, panel: Panel, most: int = 1) -> Ties:
    """Return the classes with the `most` best scores, of every item; none of an item without answers."""
    return Ties(*leading(runs, panel.layout.known, len(panel.classes), most))


def tied_classes(votes: Votes) -> Ties:
    """Return the classes that share the best score, of every item."""
    found = [best_classes(runs, votes.panel) for runs, _ in ragged_parts(votes)]
    sizes = np.concatenate([np.diff(ties.start) for ties in found])
    return Ties(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([ties.classes for ties in found]))


def evidence(
    runs: Ragged, panel: Panel, index: Array, tied: NDArray[np.bool_], confidence: Array
) -> Evidence:
    """Return what the scores say about the labels of ragged votes, whichever method found them."""
    layout, size = panel.layout, len(index)
    found = Found(
        np.empty(size, np.float32), np.empty_like(index), np.empty(size, np.int32),
        np.empty(size, np.int16), np.empty(size, np.int16), np.empty(size, np.bool_),
    )  # fmt: skip
    examine(runs, layout.known, len(panel.classes), len(layout.heard), index, found)
    # A class that was not heard has no violations: it explains any votes.
    codes = np.full(size, AGREED, dtype=np.uint8)
    codes[(found.fewest > 0) | (found.own > 0) | (index < 0)] = CONFLICT
    codes[found.unheard] = INCOMPLETE
    codes[tied | (found.clean > 1)] = TIED
    return Evidence(confidence.astype(np.float32), found.margin, found.runner_up, found.fewest, codes)


def ragged_parts(votes: Votes) -> Iterator[tuple[Ragged, slice]]:
    """Yield (ragged votes, which items they are), one part after another."""
    if votes.runs is not None:
        yield votes.runs, slice(0, len(votes))
        return
    at = 0
    for part in votes.parts(1 << 16):
        yield part.ragged, slice(at, at + len(part))
        at += len(part)


def _narrow(votes: Votes) -> bool:
    """Whether dense votes suit the loops over blocks of items."""
    assert votes.columns is not None
    return votes.columns.dtype == np.int8 and int(votes.panel.layout.authorities.counts.max()) <= MOST


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
    knows = np.zeros((experts, classes), np.bool_)
    knows[np.repeat(np.arange(experts), np.diff(known.start)), known.members] = True
    if len(item) == size * experts:  # everybody answered everything
        asked = np.broadcast_to(knows.sum(axis=0, dtype=np.int32)[:, None], votes.shape)
    else:
        used, which = np.unique(runs.expert, return_inverse=True)  # of a million experts, few occur
        asked = linear.sums(runs.indptr - runs.indptr[0], which, knows[used].astype(np.int32)).T
    return Tables(votes, asked, np.divide(votes, asked, out=np.full(votes.shape, -1.0), where=asked > 0))


def _table_steps(runs: Ragged, classes: int) -> float:
    """Return the plain steps of what is done with tables: a step has the time of about 15 entries."""
    return 50 + (len(runs.expert) + len(runs.indptr) * classes) / 15


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
    # What `nonzero` returns is strided, and would be another type to compile for.
    return np.searchsorted(item, np.arange(share.shape[1] + 1)), best.copy()


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
