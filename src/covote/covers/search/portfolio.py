"""The portfolio: first constructions, then searches that shrink the best of them."""

from __future__ import annotations

import numpy as np

from covote.bounds import best_lower_bound
from covote.covers.blocks import Cover, linking_experts, multiplied, resized, widened
from covote.covers.constructions.recursions import build, in_table
from covote.covers.constructions.triples import triples
from covote.covers.search.best_so_far import CoverSearch, annealed
from covote.covers.search.block_annealing import anneal
from covote.covers.search.blow_ups import nearest_planes, weighted_plane
from covote.covers.search.dual_search import dual_annealing
from covote.covers.search.efforts import EFFORTS, Effort
from covote.covers.search.greedy import greedy
from covote.covers.search.multiple_covers import fold
from covote.covers.search.symmetric_covers import symmetric_cover
from covote.progress import Work

SEARCHED = 400
"""The most classes for which a search within these efforts improves a transversal design."""

WEIGHT_RUNS = (6, 4, 2)
"""How often weights are annealed for the nearest plane, the second and the third."""

SMALLER_SHARE = 0.3
"""Share of the effort for a case of half the size or less."""

SMALLER_EFFORT = EFFORTS["normal"]
"""The effort for neighbouring cases, and for the small ones that a larger case needs."""

GREEDY = 30
"""The most experts for which annealing a greedy cover may win."""

TWISTS = 3
"""The most multipliers in a group of symmetries."""

NEIGHBOURS = 3
"""How many neighbouring numbers of classes are searched for symmetric covers."""

LARGEST_STEINER = 7
"""The largest size of experts for which neighbouring Steiner systems are searched."""

_SOLVED: dict[tuple[int, int, Effort, int], Cover] = {}
"""Smaller cases that were solved completely, because many cases need the same."""


def best_cover(
    classes: int,
    size: int,
    lower: int,
    *,
    times: int = 1,
    effort: Effort,
    seed: int,
    work: Work,
) -> Cover:
    """Return the smallest cover that the portfolio finds within its effort.

    The best construction comes first; every stage then tries to find a cover with fewer experts, until one
    meets the lower bound.
    """
    if times > 1:
        return _repeated(classes, size, lower, times, effort, seed, work)
    search = CoverSearch(classes, size, lower, seed, work)
    search.offer(build(classes, size))
    if size == 3 and not search.over:
        search.offer(Cover(triples(classes), "three copies of a quasigroup (Bose, Skolem)"))
    if classes > SEARCHED:
        return search.found
    for stage in (
        weighted_planes,  # each point of a plane stands for some classes
        multiplied_covers,  # each point of a smaller cover stands for two, three or five classes
        neighbouring_cases,  # one class or one place more or less; thorough searches only
        dual_annealing,  # classes are sets of experts, any two must intersect; few experts
        prescribed_symmetry,  # base blocks under a cyclic group
        block_annealing,  # drop an expert, repair by swaps
    ):
        if not search.over:
            stage(search, effort.scaled(classes, size))
    return search.found


def _solved(search: CoverSearch, classes: int, size: int, effort: Effort) -> Cover:
    """Solve a smaller case on the way to a larger one; the result does not depend on the larger case."""
    case = (classes, size, effort, search.seed)
    if case in _SOLVED:
        return _SOLVED[case]
    lower, _ = best_lower_bound(classes, size)
    cover = best_cover(
        classes,
        size,
        lower,
        effort=effort,
        seed=search.seed,
        work=search.work.part("solving a smaller case"),
    )
    if not search.work.stopped:
        _SOLVED[case] = cover
    return cover


def _repeated(
    classes: int, size: int, lower: int, times: int, effort: Effort, seed: int, work: Work
) -> Cover:
    """Cover every pair several times, with at most as many blocks as copies of the best cover have."""
    single, _ = best_lower_bound(classes, size)
    once = best_cover(classes, size, single, effort=effort, seed=seed, work=work)
    if classes > SEARCHED or times * len(once.blocks) <= lower or work.stopped:
        return Cover(np.tile(once.blocks, (times, 1)), f"{times} copies of: {once.construction}")
    search = CoverSearch(classes, size, lower, seed, work)
    search.best = once
    moves = 3 * effort.scaled(classes, size).annealing
    blocks, how = fold(
        once.blocks, classes, times, moves=moves, seed=seed, lower=lower, work=search.part(moves)
    )
    return Cover(blocks, how if "copies" not in how else f"{how}: {once.construction}")


def weighted_planes(search: CoverSearch, effort: Effort) -> None:
    """Anneal weights for the points of the nearest planes."""
    if not in_table(search.classes, search.size):
        return
    for rank, order in enumerate(nearest_planes(search.classes, search.size)):
        for run in range(WEIGHT_RUNS[rank]):
            search.offer(weighted_plane(search, order, effort.weights, run))
            if search.over:
                return


def multiplied_covers(search: CoverSearch, effort: Effort) -> None:
    """Solve a case of half or a third the size, and let every class stand for two or three."""
    if effort.dual == 0:
        return
    for times in (2, 3, 5):
        if search.over or search.size // times < 3:
            return
        part = _solved(search, -(-search.classes // times), search.size // times, effort.part(SMALLER_SHARE))
        if len(part.blocks) < len(search.found.blocks):
            search.offer(multiplied(part, times, search.classes, search.size))


def neighbouring_cases(search: CoverSearch, effort: Effort) -> None:
    """Solve the case and its neighbours with a normal effort, and derive covers from them."""
    v, k = search.classes, search.size
    if not effort.thorough:
        return
    for classes, size in ((v, k), (v + 1, k), (v - 1, k - 1), (v, k - 1), (v - 1, k)):
        if search.over or size < 3 or classes <= size:
            continue
        part = _solved(search, classes, size, SMALLER_EFFORT)
        if size == k and classes < v:
            search.smaller = part
        elif classes == v - 1:
            everyone = np.full((len(part.blocks), 1), v - 1, dtype=np.int32)
            words = f"{part.construction}, plus a class that everyone knows"
            search.offer(Cover(np.hstack([part.blocks, everyone]), words))
        else:
            search.offer(resized(Cover(widened(part.blocks, k), part.construction), v, k))


def prescribed_symmetry(search: CoverSearch, effort: Effort) -> None:
    """Search for covers with a symmetry, for this number of classes and a few more or fewer."""
    if effort.symmetry == 0:
        return
    cases = [(search.classes, 1), *_neighbours(search, effort.thorough)]
    moves = effort.symmetry // len(cases) if effort.thorough else effort.symmetry
    for classes, twists in cases:
        lower, _ = best_lower_bound(classes, search.size)
        if effort.thorough and twists > 1 and steiner(classes, search.size):
            # Search for the Steiner system directly: covers that are nearly as good only take time.
            _offer_symmetric(search, classes, twists, lower, moves)
        goal = len(search.found.blocks) - linking_experts(search.classes, classes, search.size) - 1
        _offer_symmetric(search, classes, twists, goal, moves)


def _offer_symmetric(search: CoverSearch, classes: int, twists: int, goal: int, moves: int) -> None:
    """Search for a symmetric cover with at most `goal` experts that helps with the requested case."""
    most = len(search.found.blocks) - linking_experts(search.classes, classes, search.size) - 1
    lower, _ = best_lower_bound(classes, search.size)
    if search.over or lower > min(goal, most):
        return
    blocks = symmetric_cover(
        classes,
        search.size,
        target=goal,
        moves=moves,
        seed=search.seed,
        lower=lower,
        twists=twists,
        work=search.part(moves),
    )
    if blocks is not None:
        cover = Cover(blocks, "base blocks turned by a group")
        search.offer(resized(cover, search.classes, search.size))


def _neighbours(search: CoverSearch, thorough: bool) -> list[tuple[int, int]]:
    """List numbers of classes whose best conceivable cover would help here, and the multipliers to try.

    Steiner systems have so much symmetry, and are so much better than their neighbours, that searching for
    them pays if experts are small; a thorough search tries other numbers as well.
    """
    nearby = range(max(search.size + 1, search.classes - 3), search.classes + 6)
    if search.size > LARGEST_STEINER:
        nearby = range(search.classes, search.classes + 1)
    promises = []
    experts = len(search.found.blocks)
    for classes in nearby:
        lower, _ = best_lower_bound(classes, search.size)
        promise = experts - lower - linking_experts(search.classes, classes, search.size)
        if promise > 0 and (thorough or steiner(classes, search.size)):
            promises.append((-promise, abs(classes - search.classes), classes))
    return [(classes, TWISTS) for *_, classes in sorted(promises)[:NEIGHBOURS]]


def steiner(classes: int, size: int) -> bool:
    """Whether counting allows every pair in exactly one block.

    >>> [v for v in range(5, 50) if steiner(v, 5)]
    [5, 21, 25, 41, 45]
    """
    return (classes - 1) % (size - 1) == 0 and classes * (classes - 1) % (size * (size - 1)) == 0


def block_annealing(search: CoverSearch, effort: Effort) -> None:
    """Anneal the best cover, and with few experts also a greedy cover, which is less rigid."""
    if effort.annealing == 0:
        return
    starts = [search.found]
    if len(search.found.blocks) <= GREEDY:
        starts.append(Cover(greedy(search.classes, search.size, seed=search.seed), "greedy cover"))
    for start in starts:
        if search.over:
            return
        blocks = anneal(
            start.blocks,
            search.classes,
            moves=effort.annealing,
            seed=search.seed,
            lower=search.lower,
            work=search.part(effort.annealing),
        )
        search.offer(Cover(blocks, annealed(start.construction)))
