"""Add the fewest experts to a panel so that every pair is covered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count, check_size
from covote.bounds import best_lower_bound
from covote.covers.blocks import padded, prune, widened, without_room
from covote.covers.capacities.capacity_bounds import fewest_blocks, refute
from covote.covers.capacities.exhaustive import exhaust
from covote.covers.capacities.unequal_sizes import (
    check_times,
    checked_capacities,
    experts_listed,
    remedy,
)
from covote.covers.random_kernels import chance
from covote.covers.search.block_annealing import Attempt, fewer_blocks
from covote.covers.search.efforts import effort_named
from covote.covers.search.greedy import fill, greedy
from covote.covers.teaching import teach as taught
from covote.errors import CoverError, InputError
from covote.panel import Certificate, Name, Panel, zeros
from covote.progress import Progress, Work

Blocks = NDArray[np.int32]
Sizes = NDArray[np.int32]
Need = NDArray[np.int16]

DENSE = 0.3
"""Share of missing pairs, among the classes that miss any, from which a designed cover is tried."""

DESIGNED = 1_000
"""Most classes for which that is tried; beyond, only if all pairs are missing."""


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
    sizes = np.sort(checked_capacities(capacities, len(need)))[::-1].copy()
    refutation = refute(need, sizes)
    if refutation is not None:
        raise CoverError(
            f"{experts_listed(sizes)} cannot complete this panel: {refutation}; {remedy(need, sizes)}"
        )
    state = chance(seed)
    blocks = padded(fill(need, sizes.tolist(), state), int(sizes[0]))
    if len(blocks) == len(sizes):  # there may still be need
        attempt = Attempt(blocks, sizes, need)
        attempt.run(effort_named(effort).filling // 2, state, _reporting(work, len(sizes)))
        if attempt.shortfall:
            raise CoverError(
                f"no way was found for {experts_listed(sizes)} to complete this panel, and none was ruled "
                f'out: {attempt.shortfall} pairs are left; add an expert, or try effort="max" or another seed'
            )
    return blocks, sizes, "new experts of the given capacities"


def _fewer(
    need: Need,
    best: Blocks,
    sizes: Sizes,
    proof: tuple[int, str],
    effort: str,
    seed: int,
    work: Work,
) -> tuple[Blocks, tuple[int, str]]:
    """Drop an expert, repair by annealing, repeat; where that fails, try every way."""
    state = chance(seed)
    while len(best) > proof[0] and work.done < work.total and not work.stopped:
        part = _reporting(work, len(best))
        best = fewer_blocks(best, sizes, need, work.total - work.done, state, proof[0], part)
        if len(best) <= proof[0]:
            break
        every = exhaust(need, sizes[: len(best) - 1], effort_named(effort).exhausting, part)
        if every is None:
            break
        if len(every) == 0:
            proof = len(best), "exhaustive search"
        else:
            best = every
    return best, proof


def _reporting(work: Work, experts: int) -> Work:
    """Return a part of the work that says how many new experts there are so far."""
    return work.part(f"{experts} new experts so far", work.total, work.total)


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
