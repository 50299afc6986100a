"""The portfolio: constructions first, then searches that shrink the best of them."""

from __future__ import annotations

from functools import partial

import numpy as np

from covote.bounds import best_lower_bound
from covote.covers.blocks import Cover, multiplied, resized, widened
from covote.covers.constructions.recursions import build, in_table
from covote.covers.constructions.triples import triples
from covote.covers.search.block_annealing import anneal
from covote.covers.search.dual_shrinking import annealed, nearest_planes, shrink, weighted, weighted_plane
from covote.covers.search.efforts import EFFORTS, Effort
from covote.covers.search.greedy import greedy
from covote.covers.search.integer_weights import settle_bases, settle_twins
from covote.covers.search.multiple_covers import fold
from covote.covers.search.state import Search
from covote.covers.search.symmetric.symmetric_covers import THOROUGH, turned, turned_around_holes
from covote.progress import Work

RUNS = (6, 4, 2)
"""How often weights are annealed for the nearest plane, the next, and the one after."""

PART = 0.3
"""Share of the effort for a case of half the size or less."""

VERY_WIDE = 1.135
"""More than so many times the lower bound, and a second try is made."""

SWAPS = 4_000_000
"""How many swaps may repair what sets of experts that nearly meet leave."""

LONGER, REPAIRED = 8, 0.8
"""Moves and swaps of a last attempt, in budgets of the first: for a very wide gap, for a thorough search."""

FEW = 100
"""Up to so many experts annealing can forget where it started."""

SMALLEST_BASE, LARGEST_BASE = 4, 12
"""Sizes of experts in smaller cases of the same proportions."""

BASES = 3
"""How many of these cases are kept."""

QUICK = 13
"""Up to so many experts integer programmes take so little time that a normal effort can afford them."""

TURNED = 5
"""How many times longer a thorough search tries symmetric covers."""

PARTS = EFFORTS["normal"]
"""The effort for cases nearby, and for the small ones that a larger one needs."""

_PARTS: dict[tuple[int, int, Effort, int], Cover] = {}
"""Parts that were solved completely; the same part is asked for by many cases."""

SEARCHED = 400
"""Beyond so many classes no search within these efforts improves a transversal design."""


def best_cover(
    classes: int,
    size: int,
    lower: int,
    *,
    times: int = 1,
    effort: Effort,
    seed: int,
    work: Work,
    whole: bool = True,
) -> Cover:
    """Return the smallest cover that the portfolio finds within its effort.

    A case that is not `whole` is part of a larger one, and is not worth a second try.
    """
    if times > 1:
        return _repeated(classes, size, lower, times, effort, seed, work)
    search = Search(classes, size, lower, seed, work)
    search.offer(build(classes, size))
    if classes > SEARCHED:
        return search.found
    scaled = effort.scaled(classes, size)
    thorough = effort.symmetry >= THOROUGH
    for stage in THOROUGH_STAGES if thorough else STAGES:
        if not search.over:
            more = search.wide and not thorough and stage in (turned, _anneal)
            stage(search, scaled.part(3) if more else scaled)
    if whole and scaled.meeting and not search.over:
        if thorough:
            shrink(search, scaled.part(REPAIRED), SWAPS)
            settle_twins(search)
        else:
            if len(search.found.blocks) <= QUICK:
                _proportions(search, scaled)
            if very_wide(search):
                _second_try(search, scaled)
    return search.found


def very_wide(search: Search) -> bool:
    """Whether the gap to the bound deserves a second try."""
    return not search.over and len(search.found.blocks) > VERY_WIDE * search.lower


def _second_try(search: Search, effort: Effort) -> None:
    """Give a very wide gap more effort: larger parts, and blow-ups of smaller covers instead of planes."""
    _multiples(search, effort, share=1.0)
    for size in range(max(5, search.size // 2 + 1), search.size):
        points = -(-search.classes * size // search.size)
        if search.over or not in_table(search.classes, search.size):
            return
        base = _part(search, points, size, effort.part(PART))
        if len(base.blocks) <= len(search.found.blocks):
            search.offer(weighted(search, base.blocks, base.construction, effort.weights, 0))
    if not search.over:
        shrink(search, effort)
    if very_wide(search):
        _derive(search, [(search.classes + 1, search.size), (search.classes - 2, search.size)])
        shrink(search, effort.part(LONGER), SWAPS)


def _part(search: Search, classes: int, size: int, effort: Effort) -> Cover:
    """Solve a smaller case on the way to a larger one; what it finds does not depend on who asks."""
    case = (classes, size, effort, search.seed)
    if case in _PARTS:
        return _PARTS[case]
    lower, _ = best_lower_bound(classes, size)
    cover = best_cover(
        classes,
        size,
        lower,
        effort=effort,
        seed=search.seed,
        work=search.work.part("solving a smaller case"),
        whole=False,
    )
    if not search.work.stopped:
        _PARTS[case] = cover
    return cover


def _repeated(
    classes: int, size: int, lower: int, times: int, effort: Effort, seed: int, work: Work
) -> Cover:
    """Cover every pair several times: at most with copies of the best cover, which is found first."""
    single, _ = best_lower_bound(classes, size)
    once = best_cover(classes, size, single, effort=effort, seed=seed, work=work)
    if classes > SEARCHED or times * len(once.blocks) <= lower or work.stopped:
        return Cover(np.tile(once.blocks, (times, 1)), f"{times} copies of: {once.construction}")
    search = Search(classes, size, lower, seed, work)
    search.best = once
    moves = 3 * effort.scaled(classes, size).annealing
    blocks, how = fold(
        once.blocks, classes, times, moves=moves, seed=seed, lower=lower, work=search.part(moves)
    )
    return Cover(blocks, how if "copies" not in how else f"{how}: {once.construction}")


def _triples(search: Search, effort: Effort) -> None:
    if search.size == 3:
        blocks = triples(search.classes, search.seed)
        if blocks is not None:
            search.offer(Cover(blocks, "triples by hill climbing"))


def _blow_ups(search: Search, effort: Effort) -> None:
    if not in_table(search.classes, search.size):
        return
    for rank, order in enumerate(nearest_planes(search.classes, search.size)):
        for run in range(RUNS[rank]):
            search.offer(weighted_plane(search, order, effort.weights, run))
            if search.over:
                return


def _multiples(search: Search, effort: Effort, share: float = PART) -> None:
    """Solve a case of half or a third the size, and let every class stand for two or three."""
    if effort.meeting == 0:
        return
    for times in (2, 3, 5):
        if search.over or search.size // times < 3:
            return
        part = _part(search, -(-search.classes // times), search.size // times, effort.part(share))
        if len(part.blocks) < len(search.found.blocks):
            search.offer(multiplied(part, times, search.classes, search.size))


def _relatives(search: Search, effort: Effort) -> None:
    """Solve the case as a normal effort would, and cases with a class or a place more or less."""
    v, k = search.classes, search.size
    _derive(search, [(v, k), (v + 1, k), (v - 1, k - 1), (v, k - 1), (v - 1, k)])


def _derive(search: Search, relatives: list[tuple[int, int]]) -> None:
    """Solve cases nearby, with a normal effort, and derive covers from them."""
    v, k = search.classes, search.size
    for classes, size in relatives:
        if search.over or size < 3 or classes <= size:
            continue
        part = _part(search, classes, size, PARTS)
        if size == k and classes < v:
            search.smaller = part
        elif classes == v - 1:
            everyone = np.full((len(part.blocks), 1), v - 1, dtype=np.int32)
            words = f"{part.construction}, plus a class that everyone knows"
            search.offer(Cover(np.hstack([part.blocks, everyone]), words))
        else:
            search.offer(resized(Cover(widened(part.blocks, k), part.construction), v, k))


def _proportions(search: Search, effort: Effort) -> None:
    """Solve smaller cases of the same proportions: their points may stand for several classes each."""
    for size in range(SMALLEST_BASE, min(search.size, LARGEST_BASE + 1)):
        points = -(-search.classes * size // search.size)
        experts = len(search.found.blocks)
        if search.over or best_lower_bound(points, size)[0] >= experts:
            continue
        base = _part(search, points, size, PARTS.part(PART))
        if len(base.blocks) < experts:
            search.bases.append(base)
    search.bases = sorted(search.bases, key=lambda base: len(base.blocks))[:BASES]
    settle_bases(search)


def _turned_thoroughly(search: Search, effort: Effort) -> None:
    """Search symmetric covers for longer, also around smaller covers."""
    turned(search, effort.part(TURNED))
    if not search.over:
        part = partial(_part, search, size=search.size, effort=PARTS)
        turned_around_holes(search, effort.part(TURNED), part)


def _anneal(search: Search, effort: Effort) -> None:
    """Anneal the best cover; where there are few experts, a greedy cover as well, which is less rigid."""
    if effort.annealing == 0:
        return
    starts = [search.found]
    if len(search.found.blocks) <= FEW:
        starts.append(Cover(greedy(search.classes, search.size, seed=search.seed), "greedy cover"))
    for start in starts:
        if search.over:
            return
        moves = effort.annealing // len(starts)
        blocks = anneal(
            start.blocks,
            search.classes,
            moves=moves,
            seed=search.seed,
            lower=search.lower,
            work=search.part(moves),
        )
        search.offer(Cover(blocks, annealed(start.construction)))


STAGES = (_triples, _blow_ups, _multiples, shrink, turned, _anneal)
"""What is tried, in turn."""

THOROUGH_STAGES = (
    _triples,
    _blow_ups,
    _multiples,
    _relatives,
    _proportions,
    shrink,
    _turned_thoroughly,
    _anneal,
)
