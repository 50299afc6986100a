"""Add the fewest experts to a panel so that every pair is covered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count, check_size
from covote.bounds import best_lower_bound
from covote.covers.blocks import widened, without_room
from covote.covers.capacities.capacity_bounds import fewest_blocks, refute
from covote.covers.capacities.exhaustive import exhaust
from covote.covers.capacities.filling import anneal_fill, greedy_fill, slack_of
from covote.covers.capacities.unequal_sizes import (
    check_times,
    checked_capacities,
    experts_listed,
    remedy,
)
from covote.covers.pruning import prune
from covote.covers.search.efforts import effort_named
from covote.covers.search.greedy import greedy
from covote.covers.teaching import teach as taught
from covote.errors import CoverError, InputError
from covote.panel import Certificate, Name, Panel, zeros
from covote.progress import Progress, Work

Blocks = NDArray[np.int32]
Sizes = NDArray[np.int32]
Need = NDArray[np.int16]

FIRST = 400_000
"""Moves of a first attempt with one expert less; each failure doubles them."""

DENSE = 0.3
"""Share of missing pairs, among the classes that miss any, from which a designed cover is tried."""

DESIGNED = 1_000
"""Most classes for which that is tried; beyond, only if all pairs are missing."""

LARGEST_TABLE = 1 << 24
"""Pairs of classes beyond which the new experts are not annealed."""


def complete(
    panel: Panel,
    size: int | Sequence[int],
    *,
    times: int = 1,
    teach: bool = False,
    effort: str = "normal",
    seed: int = 0,
    progress: Progress | None = None,
) -> Panel:
    """Return the panel with the fewest new experts that make every pair known by `times` experts.

    Parameters
    ----------
    panel
        What there is; it may have no experts at all.
    size
        How many classes each new expert can learn; or the capacities of the people there are, of whom as few
        as possible are used, the largest first.
    times
        How many experts must know each pair.
    teach
        Teach the experts there are the fewest further classes instead of hiring new ones; nobody knows more
        than `size` classes then. The certificate counts the lessons (expert and class).
    effort
        "fast", "normal" (a few seconds) or "max" (a minute).
    seed
        The same seed gives the same panel.
    progress
        Called with (moves made, moves planned, message) a few times a second.

    Returns
    -------
    The given experts, then the new ones, named ``new-1``, ``new-2``, ... The certificate counts the new
    experts. Ctrl-C during the search returns the best panel so far.

    >>> panel = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [1, 3, 5]])
    >>> whole = complete(panel, 3)
    >>> whole.names[3:], whole.covers(), whole.certificate.optimal
    (('new-1', 'new-2', 'new-3', 'new-4'), True, True)
    """
    times = check_times(times)
    effort_named(effort)
    check_count(seed, "seed", 0)
    if teach:
        if not isinstance(size, int | np.integer):
            raise InputError(
                f"size={size!r}: to teach, give one number, the most classes that anybody may know"
            )
        check_size(len(panel.classes), int(size))
        return taught(panel, int(size), times, seed)
    need = np.maximum(0, times - panel.pair_counts()).astype(np.int16)
    np.fill_diagonal(need, 0)
    work = Work(effort_named(effort).filling, progress)
    with work:
        if isinstance(size, int | np.integer):
            first, sizes, how = _few_of_a_size(need, size, effort, seed, work)
        else:
            first, sizes, how = _few_of_the_capacities(need, size, effort, seed, work)
        proof = fewest_blocks(need, sizes)
        blocks, proof = _fewer(need, first, sizes, proof, effort, seed, work)
    how += "; annealed" if len(blocks) < len(first) else ""
    rows = [block[:n] for block, n in zip(blocks, sizes, strict=False)]
    return _checked(panel, rows, Certificate(len(rows), *proof, how, times))


def _few_of_a_size(need: Need, size: int, effort: str, seed: int, work: Work) -> tuple[Blocks, Sizes, str]:
    """Return new experts of equal size: the best of greedy ones, and of what a designed cover must keep."""
    from covote.covers.search.portfolio import best_cover

    classes = len(need)
    if classes > 1:
        check_size(classes, size)
    if not need.any():
        return np.empty((0, 0), dtype=np.int32), np.empty(0, dtype=np.int32), "nothing: no pair was missing"
    times = int(need.max())
    covered = times - need.astype(np.int32)
    needy = np.flatnonzero(need.any(axis=1))
    share = np.count_nonzero(need) / (len(needy) * (len(needy) - 1))
    found: list[tuple[Blocks, str]] = []
    if share < 1:
        found.append((greedy(classes, size, times, counts=covered, seed=seed), "greedy new experts"))
    if share >= DENSE and (share == 1 or classes <= DESIGNED):
        within = min(size, len(needy))
        budget = effort_named(effort if share == 1 else "fast")
        lower, _ = best_lower_bound(len(needy), within, times)
        cover = best_cover(len(needy), within, lower, times=times, effort=budget, seed=seed, work=work)
        blocks = widened(needy[cover.blocks].astype(np.int32), size)
        full = without_room(blocks, classes) if within < size else blocks
        how = cover.construction
        if len(needy) < classes:
            how = f"a cover of the {len(needy)} classes that miss pairs ({how})"
        found.append((prune(full, classes, times, covered), how))
    blocks, how = min(found, key=lambda candidate: len(candidate[0]))
    return blocks, np.full(len(blocks), size, dtype=np.int32), how


def _few_of_the_capacities(
    need: Need, capacities: Sequence[int], effort: str, seed: int, work: Work
) -> tuple[Blocks, Sizes, str]:
    """Return new experts of the given capacities, the largest first, or say why they are too few."""
    from covote.covers.random_kernels import chance

    sizes = np.sort(checked_capacities(capacities, len(need)))[::-1].copy()
    refutation = refute(need, sizes)
    if refutation is not None:
        raise CoverError(
            f"{experts_listed(sizes)} cannot complete this panel: {refutation}; {remedy(need, sizes)}"
        )
    state = chance(seed)
    blocks, used = greedy_fill(need, sizes, state)
    if used == len(sizes):
        left = anneal_fill(
            need, blocks, sizes, effort_named(effort).filling // 2, state, _reporting(work, len(sizes))
        )
        if left:
            raise CoverError(
                f"no way was found for {experts_listed(sizes)} to complete this panel, and none was ruled "
                f'out: {left} pairs are left; add an expert, or try effort="max" or another seed'
            )
    return blocks[:used], sizes, "new experts of the given capacities"


def _fewer(
    need: Need,
    best: Blocks,
    sizes: Sizes,
    proof: tuple[int, str],
    effort: str,
    seed: int,
    work: Work,
) -> tuple[Blocks, tuple[int, str]]:
    """Drop an expert, repair by annealing, repeat; try every way once, where annealing fails."""
    from covote.covers.random_kernels import chance

    if len(need) ** 2 > LARGEST_TABLE:
        return best, proof
    state, length, undecided = chance(seed), FIRST, -1
    attempt = _without_least_needed(need, best, sizes)
    while len(best) > proof[0] and work.done < work.total and not work.stopped:
        fewer = sizes[: len(attempt)]
        moves, part = min(length, work.total - work.done), _reporting(work, len(best))
        if anneal_fill(need, attempt, fewer, moves, state, part) == 0:
            best, length = attempt, FIRST
            attempt = _without_least_needed(need, best, sizes)
            continue
        length *= 2
        if undecided == len(fewer):
            continue
        every = exhaust(need, fewer, effort_named(effort).exhausting, part)
        if every is None:
            undecided = len(fewer)
        elif len(every) == 0:
            proof = len(best), "exhaustive search"
        else:
            best = every
            attempt = _without_least_needed(need, best, sizes)
    return best, proof


def _reporting(work: Work, experts: int) -> Work:
    """Return a part of the work that says how many new experts there are so far."""
    return work.part(f"{experts} new experts so far", work.total, work.total)


def _without_least_needed(need: Need, blocks: Blocks, sizes: Sizes) -> Blocks:
    """Drop the block with fewest pairs that need it; the others move up, and use the room they gain."""
    if len(blocks) == 0:
        return blocks
    slack = slack_of(need, blocks, sizes[: len(blocks)])
    rows = [block[:n] for block, n in zip(blocks, sizes, strict=False)]
    critical = [np.count_nonzero(slack[np.ix_(row, row)] <= 0) for row in rows]
    left = np.delete(blocks, int(np.argmin(critical)), axis=0)
    for row, n in zip(left, sizes, strict=False):
        known = row[row >= 0]
        spare = np.setdiff1d(np.arange(len(need), dtype=np.int32), known)
        row[len(known) : n] = spare[: n - len(known)]
    return left


def _checked(panel: Panel, rows: list[NDArray[np.int32]], certificate: Certificate) -> Panel:
    """Return the panel with the new experts, if it covers by an independent count; else fail loudly."""
    knows = zeros(len(rows), len(panel.classes))
    for known, row in zip(knows, rows, strict=True):
        known[row] = True
    whole = panel + Panel(panel.classes, knows, list(islice(_new_names(panel), len(rows))))
    if not whole.covers(certificate.times):
        raise CoverError("the completed panel misses pairs; please report this defect")
    return whole.with_certificate(certificate)


def _new_names(panel: Panel) -> Iterator[Name]:
    taken = set(panel.names)
    return (name for i in count(1) if (name := f"new-{i}") not in taken)
