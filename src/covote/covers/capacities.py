"""Panels of experts with given, unequal capacities, and proofs that such experts are too few.

The need is a symmetric matrix: how many experts must (still) know each pair. The experts who know a class x
of total need D_x must have capacities that, less 1 each, sum to at least D_x. Counting pairs, or the places
that all classes together take (Schonheim), shows that some experts are too few.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.bounds import best_lower_bound
from covote.covers.blocks import Blocks, UnequalBlocks, padded, uniform_need
from covote.covers.random_kernels import State, random_state
from covote.covers.search.block_annealing import Attempt
from covote.covers.search.efforts import effort_named
from covote.covers.search.greedy import fill
from covote.errors import CoverError, InputError
from covote.progress import Progress, Work

Ints = NDArray[np.int64]

MOST_TIMES = 1_000
"""The largest redundancy, because searches count in small integers."""

RUNS = 4
"""The number of runs, each from a new greedy start, among which the moves are divided."""


def capacity_cover(
    classes: int,
    capacities: Sequence[int],
    times: int = 1,
    effort: str = "normal",
    seed: int = 0,
    progress: Progress | None = None,
) -> UnequalBlocks:
    """Return class indices for experts of these capacities, in this order, and how they were found.

    Raises :class:`~covote.errors.CoverError` if the experts provably cannot cover, with the reason, or if no
    cover was found, with a remedy.

    >>> blocks, how = capacity_cover(6, [4, 4, 4])
    >>> [len(block) for block in blocks]
    [4, 4, 4]
    """
    sizes = checked_capacities(capacities, classes)
    check_times(times)
    order = np.argsort(-sizes, kind="stable")
    largest_first = sizes[order]
    moves = effort_named(effort).filling
    goal = f"cover every pair of {classes} classes" + (f" {times} times" if times > 1 else "")
    with Work(moves, progress) as total:
        work = total.part("looking for a way to cover every pair", moves, moves)
        found = fill_all(uniform_need(classes, times), largest_first, goal, moves, random_state(seed), work)
    unused = [np.arange(size, dtype=np.int32) for size in largest_first[len(found) :]]
    blocks = [np.sort(block[:size]) for block, size in zip(found, largest_first, strict=False)] + unused
    return UnequalBlocks(
        [blocks[i] for i in np.argsort(order)], "simulated annealing of the given capacities"
    )


def fill_all(
    need: NDArray[np.int16], sizes: NDArray[np.int32], goal: str, moves: int, state: State, work: Work
) -> Blocks:
    """Return blocks of these sizes, the largest first, that fill the need; there may be fewer.

    Anneals from several greedy starts. If no way is found, the error says which `goal` was missed, and why.
    """
    refutation = refute(need, sizes)
    if refutation is not None:
        raise CoverError(f"{experts_listed(sizes)} cannot {goal}: {refutation}; {remedy(need, sizes)}")
    attempts: list[Attempt] = []
    for _ in range(RUNS):
        blocks = padded(fill(need, sizes.tolist(), state), int(sizes[0]))
        if len(blocks) < len(sizes):
            return blocks
        attempt = Attempt(blocks, sizes, need)
        attempts.append(attempt)
        attempt.run(moves // RUNS, state, work)
        if attempt.shortfall == 0:
            return attempt.blocks
        if work.stopped:
            break
    open_pairs = min(attempts, key=lambda attempt: attempt.shortfall).tables.slack < 0
    stopped = "the search was stopped; " if work.stopped else ""
    raise CoverError(
        f"{stopped}found no way for {experts_listed(sizes)} to {goal}, but could not prove that none exists: "
        f"{open_pairs.sum() // 2} pairs are left; add an expert for "
        f'{open_pairs.any(axis=1).sum()} classes, which would cover them, or try effort="max" or another seed'
    )


def checked_capacities(capacities: Sequence[int], classes: int) -> NDArray[np.int32]:
    """Return the capacities as an array, or raise an error that names the invalid one."""
    if isinstance(capacities, str | bytes) or not isinstance(capacities, Iterable):
        raise InputError(f"size must be a whole number or one capacity per expert, not {capacities!r}")
    capacities = list(capacities)
    if not capacities:
        raise InputError("no capacities: list how many classes each expert can learn")
    for capacity in capacities:
        if isinstance(capacity, bool) or not isinstance(capacity, Integral):
            raise InputError(f"capacity {capacity!r} is not a whole number")
        if not 2 <= capacity <= classes:
            raise InputError(
                f"capacity {capacity} for {classes} classes; give capacities from 2 to {classes}"
            )
    return np.array(capacities, dtype=np.int32)


def check_times(times: int) -> int:
    """Return how often pairs must be covered, or raise an error if it is too large for the searches."""
    if check_count(times, "redundancy") > MOST_TIMES:
        raise InputError(f"redundancy={times}; the search for new experts counts to {MOST_TIMES:,} only")
    return int(times)


def experts_listed(sizes: NDArray[np.int32]) -> str:
    """List the numbers of experts by capacity."""
    capacities, counts = np.unique(sizes, return_counts=True)
    parts = [f"{n} of capacity {c}" for c, n in zip(capacities, counts, strict=True)]
    return f"{len(sizes)} experts ({', '.join(parts)})"


def remedy(need: NDArray[np.int16], sizes: NDArray[np.int32]) -> str:
    """Return advice on how many more experts of the largest capacity are needed at least."""
    largest = int(sizes.max())
    # With this many, every class can meet all others by its own experts.
    numbers = range(1, int(need.sum()) // (largest - 1) + len(need) + 1)
    more = 1 + bisect_left(numbers, True, key=lambda n: refute(need, np.append(sizes, [largest] * n)) is None)
    return f"add at least {more} more of capacity {largest}, or larger ones"


def refute(need: NDArray[np.int16], sizes: NDArray[np.int32]) -> str | None:
    """Return why experts of these sizes cannot fill the need, or None if counting does not show it.

    >>> need = np.ones((6, 6), dtype=np.int16) - np.eye(6, dtype=np.int16)
    >>> refute(need, np.array([4, 4]))
    'together they can know 12 pairs of classes, and 15 are needed'
    >>> refute(need, np.array([4, 4, 3]))
    'each class must be known by 2 of them, which takes 12 places, and they have 11'
    """
    degrees = need.sum(axis=1, dtype=np.int64)
    needed, known = int(degrees.sum()) // 2, sum(int(c) * (int(c) - 1) // 2 for c in sizes)
    if needed > known:
        return f"together they can know {known} pairs of classes, and {needed} are needed"
    owners, places = fewest_per_class(need, sizes), int(sizes.sum())
    if owners.max(initial=0) > len(sizes):
        x = int(owners.argmax())
        return f"one class must meet {degrees[x]} others, and all of them together know fewer"
    if owners.sum() > places:
        each = (
            f"each class must be known by {owners[0]} of them"
            if len(set(owners.tolist())) == 1
            else (f"the classes must be known by up to {owners.max()} of them each")
        )
        return f"{each}, which takes {owners.sum()} places, and they have {places}"
    largest, uniform = int(sizes.max(initial=0)), _uniform(need)
    if uniform and (bound := best_lower_bound(len(need), largest, uniform))[0] > len(sizes):
        return f"even if all had capacity {largest}, at least {bound[0]} would be needed ({bound[1]} bound)"
    return None


def _uniform(need: NDArray[np.int16]) -> int:
    """Return the need if it is the same for every pair, else 0."""
    most = int(need.max(initial=0))
    return most if np.count_nonzero(need == most) == need.size - len(need) else 0


def fewest_per_class(need: NDArray[np.int16], sizes: NDArray[np.int32]) -> Ints:
    """Return, per class, the fewest of these experts that can serve it; if none can, more than there are."""
    largest_first = np.sort(sizes)[::-1].astype(np.int64) - 1
    reach = np.concatenate([[0], np.cumsum(largest_first)])
    by_degree = np.searchsorted(reach, need.sum(axis=1, dtype=np.int64))
    return np.asarray(np.maximum(by_degree, need.max(axis=1, initial=0)), dtype=np.int64)


def fewest_blocks(need: NDArray[np.int16], sizes: NDArray[np.int32]) -> tuple[int, str]:
    """Return a lower bound on how many of these experts, the largest first, are needed, and its name.

    One more than there are means that all of them are too few. `sizes` must be in descending order.

    >>> need = np.ones((7, 7), dtype=np.int16) - np.eye(7, dtype=np.int16)
    >>> fewest_blocks(need, np.full(9, 3))
    (7, 'Schonheim')
    """
    if not need.any():
        return 0, "counting"
    numbers = range(1, len(sizes) + 1)
    high = 1 + bisect_left(numbers, True, key=lambda n: refute(need, sizes[:n]) is None)
    largest = int(sizes.max(initial=0))
    inside, times = _clique(need)
    if len(inside) >= largest >= 2:
        bound, name = best_lower_bound(len(inside), largest, times)
        if bound >= high:
            return bound, name
    return high, "counting"


def _clique(need: NDArray[np.int16]) -> tuple[list[int], int]:
    """Return a greedily found set of classes of which every two are needed together, and how often."""
    inside: list[int] = []
    for x in np.argsort(-need.astype(bool).sum(axis=1), kind="stable"):
        if need[x, inside].all():
            inside.append(int(x))
    pairs = need[np.ix_(inside, inside)]
    return inside, int(pairs[~np.eye(len(inside), dtype=bool)].min(initial=int(need.max())))
