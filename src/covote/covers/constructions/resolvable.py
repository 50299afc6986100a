"""Parallel classes: partitions of the classes among experts, in an order that makes every prefix good.

When experts answer unknown items at random, a few partitions already decode most items, the more so the fewer
pairs of classes meet twice (theory: section 5). All of them together cover every pair.
"""

from __future__ import annotations

from itertools import chain, cycle, islice

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.covers.blocks import Built
from covote.covers.constructions.finite_fields import finite_field, prime_power
from covote.covers.random_kernels import State, below, chance, draw
from covote.errors import InputError

Group = NDArray[np.int32]
Partition = list[Group]

SPARE = 1.05
"""Largest ratio to the fewest groups at which lines of a plane are used; beyond SEARCHED they always are."""

SEARCHED = 1000
"""Most classes for which partitions are searched."""

MOVES = 500
"""Exchanges per class in the search for one partition."""


def parallel_panel(classes: int, size: int, experts: int | None = None, seed: int = 0) -> Built:
    """Return parallel classes one after the other.

    All of them cover every pair; `experts` takes that many of the first ones instead, and starts
    again from the beginning when there are no more.

    theory: section 5 (the anytime panel).

    >>> blocks, how = parallel_panel(9, 3)
    >>> len(blocks), how
    (12, 'parallel classes of the affine plane of order 3')
    >>> [block.tolist() for block in parallel_panel(9, 3, experts=3)[0]]
    [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    """
    if not 2 <= size <= classes:
        raise InputError(f"size {size} for {classes} classes; give a size from 2 to {classes}")
    if experts is not None and experts < 1:
        raise InputError(f"experts={experts}; a panel needs at least 1 expert")
    partitions, how = _partitions(classes, size, seed)
    blocks = list(chain.from_iterable(partitions))
    if experts is not None:
        blocks = list(islice(cycle(blocks), experts))
    return Built(blocks, how)


def _partitions(classes: int, size: int, seed: int) -> tuple[list[Partition], str]:
    if size == classes:
        return [[np.arange(classes, dtype=np.int32)]], "one expert that knows every class"
    if size == 2:
        return _round_robin(classes), "a round robin tournament"
    fewest = -(-classes // size)
    order = fewest
    while prime_power(order) is None or order * order < classes:
        order += 1
    if order > SPARE * fewest and classes <= SEARCHED:
        return _searched(classes, size, seed), "partitions with few repeated pairs, found by annealing"
    whole = classes == order * order and order == size
    plane = f"the affine plane of order {order}"
    how = f"parallel classes of {plane}" if whole else f"parallel classes cut from {plane}"
    return [*_slopes(classes, order), *_rows(classes, order, size, seed)], how


def _round_robin(classes: int) -> list[Partition]:
    """Return rounds in which everybody meets somebody; with an odd number, one class has a bye."""
    players = classes + classes % 2
    ring = np.arange(players - 1)
    rounds = []
    for turn in range(players - 1):
        seats = np.append(np.roll(ring, turn), players - 1)
        pairs = np.sort(np.stack([seats[: players // 2], seats[::-1][: players // 2]], axis=1), axis=1)
        rounds.append(list(pairs[pairs[:, 1] < classes].astype(np.int32)))
    return rounds


def _slopes(classes: int, order: int) -> list[Partition]:
    """Return the parallel classes of sloped lines; class k is in row k // order and column k % order."""
    field = finite_field(order)
    row, column = np.divmod(np.arange(classes), order)
    partitions = []
    for slope in range(order):
        # The line through (row, column) meets row 0 at column - slope row; adding works as well as taking.
        line = field.add(column, field.multiply(slope, row))
        partitions.append(_groups(line, order))
    return partitions


def _groups(label: NDArray[np.int64], groups: int) -> Partition:
    by_group = np.argsort(label, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(label, minlength=groups))
    return [part for part in np.split(by_group, ends[:-1]) if len(part)]


def _rows(classes: int, order: int, size: int, seed: int) -> list[Partition]:
    """Return partitions in which the classes of each row meet, which no sloped line does."""
    rows = [np.arange(at, min(at + order, classes), dtype=np.int32) for at in range(0, classes, order)]
    if order <= size:
        return [_packed(rows, size)]
    inner, _ = _partitions(order, size, seed)
    partitions = []
    for partition in inner:
        groups = [row[group[group < len(row)]] for row in rows for group in partition]
        partitions.append(_packed(groups, size))
    return partitions


def _packed(groups: Partition, size: int) -> Partition:
    """Put small groups together in one expert where there is room (first fit, largest first).

    An expert for a single class would cover nothing, and is left out.
    """
    packed: list[list[Group]] = []
    room: list[int] = []
    for group in sorted(groups, key=len, reverse=True):
        at = next((i for i, free in enumerate(room) if free >= len(group)), len(packed))
        if at == len(packed):
            packed.append([])
            room.append(size)
        packed[at].append(group)
        room[at] -= len(group)
    together = [np.concatenate(parts) for parts in packed]
    return [group for group in together if len(group) > 1]


def _searched(classes: int, size: int, seed: int) -> list[Partition]:
    """Anneal partition after partition while they bring enough new pairs; cover what is left greedily."""
    from covote.covers.search.greedy import greedy

    state = chance(seed)
    met = np.zeros((classes, classes), dtype=bool)
    partitions: list[Partition] = []
    groups = -(-classes // size)
    while True:
        partition = _next_partition(met, groups, state)
        new = sum(np.count_nonzero(~met[np.ix_(group, group)]) - len(group) for group in partition)
        # When most of the pairs that meet have met before, single experts do better.
        if new < sum(len(group) * (len(group) - 1) for group in partition) / 2:
            break
        partitions.append(partition)
        for group in partition:
            met[np.ix_(group, group)] = True
        np.fill_diagonal(met, False)
    return [*partitions, list(greedy(classes, size, counts=met.astype(np.int32), seed=seed))]


def _next_partition(met: NDArray[np.bool_], groups: int, state: NDArray[np.uint64]) -> Partition:
    classes = len(met)
    first = (np.arange(groups + 1) * classes // groups).astype(np.int32)
    group = np.repeat(np.arange(groups, dtype=np.int32), np.diff(first))
    order = np.arange(classes, dtype=np.int32)
    for temperature in np.geomspace(1.0, 0.1, 12):
        odds = np.exp(-np.arange(2 * classes) / temperature)
        accept = (odds * (2**32 - 1)).astype(np.uint64)
        anneal_partition(order, first, group, met, accept, MOVES * classes // 12, state)
    return [np.sort(part) for part in np.split(order, first[1:-1])]


@kernel(steps=lambda order, first, *rest: rest[-2] * (20 + 5 * len(order) // len(first)))
def anneal_partition(
    order: Group,
    first: Group,
    group: Group,
    met: NDArray[np.bool_],
    accept: NDArray[np.uint64],
    moves: int,
    state: State,
) -> int:
    """Exchange classes between groups so that few pairs meet again; return the change in repeated pairs.

    Group g is ``order[first[g] : first[g + 1]]``, and `group` gives the group of each place. ``met[x, y]``
    says whether the pair has met before. More repeated pairs, by d, are accepted with the odds ``accept[d]``
    of 2**32.
    """
    total = 0
    for _ in range(moves):
        p = below(state, len(order))
        q = below(state, len(order))
        if group[p] == group[q]:
            continue
        x, y = order[p], order[q]
        change = 0
        for s in range(first[group[p]], first[group[p] + 1]):
            w = order[s]
            change += int(met[y, w]) - int(met[x, w])
        for s in range(first[group[q]], first[group[q] + 1]):
            w = order[s]
            change += int(met[x, w]) - int(met[y, w])
        # Each of the two was counted beside the other, whose place it takes.
        change -= 2 * int(met[x, y])
        if change <= 0 or draw(state) < accept[change]:
            order[p], order[q] = y, x
            total += change
    return total
