"""The portfolio: constructions first, then searches that shrink the best of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from covote.bounds import best_lower_bound

from .annealing import anneal
from .blowup import anneal_blowup, blow_up, blow_up_cost
from .covers import Cover, multiplied
from .cyclic import cyclic
from .efforts import Effort
from .larger import build
from .planes import projective_plane
from .searching import Search
from .shrinking import annealed, nearest_planes, shrink
from .triples import triples
from .watching import Watch

SEARCHED = 400
"""Beyond so many classes no search within these efforts improves a transversal design."""


def best_cover(
    classes: int, size: int, lower: int, *, times: int = 1, effort: Effort, seed: int, watch: Watch
) -> Cover:
    """Return the smallest cover that the portfolio finds within its effort."""
    if times > 1:
        return _repeated(classes, size, lower, times, effort, seed, watch)
    search = Search(classes, size, lower, seed, watch)
    search.offer(build(classes, size))
    if classes > SEARCHED:
        return search.found
    scaled = effort.scaled(classes, size)
    for stage in (_triples, _blow_ups, _multiples, shrink, _symmetries, _anneal):
        if not search.over:
            stage(search, scaled)
    return search.found


@lru_cache(maxsize=4096)
def _part(classes: int, size: int, effort: Effort, seed: int) -> Cover:
    """Solve a smaller case on the way to a larger one; it does not matter who asks."""
    lower, _ = best_lower_bound(classes, size)
    return best_cover(classes, size, lower, effort=effort, seed=seed, watch=Watch(1, None))


def _repeated(
    classes: int, size: int, lower: int, times: int, effort: Effort, seed: int, watch: Watch
) -> Cover:
    single, _ = best_lower_bound(classes, size)
    once = best_cover(classes, size, single, effort=effort, seed=seed, watch=watch)
    copies = np.vstack([once.blocks] * times)
    blocks = anneal(copies, classes, times, moves=effort.annealing, seed=seed, lower=lower)
    if len(blocks) == len(copies):
        return Cover(copies, f"{times} copies of: {once.construction}")
    return Cover(blocks, f"{times} copies of: {once.construction}; annealed")


def _triples(search: Search, effort: Effort) -> None:
    if search.size == 3:
        blocks = triples(search.classes, search.seed)
        if blocks is not None:
            search.offer(Cover(blocks, "triples by hill climbing"))


def _blow_ups(search: Search, effort: Effort) -> None:
    if search.classes > 200 or search.size > 40:
        return
    for order in nearest_planes(search.classes, search.size):
        lines = projective_plane(order)
        for run, hot in enumerate((0.6, 1.5, 0.6)):
            weights = anneal_blowup(
                lines,
                search.classes,
                search.size,
                moves=effort.weights,
                seed=search.seed * 1009 + run,
                hot=hot,
                target=search.lower,
            )
            if blow_up_cost(lines, weights, search.size) < len(search.found.blocks):
                search.offer(blow_up(lines, weights, search.size, f"projective plane of order {order}"))
            if search.over:
                return


def _multiples(search: Search, effort: Effort) -> None:
    """Solve a case of half or a third the size, and let every class stand for two or three."""
    if effort.meeting == 0:
        return
    for times in (2, 3, 5):
        if search.size // times < 3 or search.over:
            return
        points = -(-search.classes // times)
        part = _part(points, search.size // times, effort.part(1 / 3), search.seed)
        if len(part.blocks) < len(search.found.blocks):
            search.offer(multiplied(part, times, search.classes, search.size))


def _symmetries(search: Search, effort: Effort) -> None:
    if effort.symmetry == 0:
        return
    target = len(search.found.blocks) - 1
    if search.classes * search.classes < 4 * search.size:
        return
    blocks = cyclic(
        search.classes,
        search.size,
        target=target,
        moves=effort.symmetry,
        seed=search.seed,
        lower=search.lower,
        pause=search.pause(),
    )
    if blocks is not None:
        search.offer(Cover(blocks, "base blocks turned by a group"))


def _anneal(search: Search, effort: Effort) -> None:
    if effort.annealing == 0:
        return
    before = search.found
    blocks = anneal(
        before.blocks,
        search.classes,
        moves=effort.annealing,
        seed=search.seed,
        lower=search.lower,
        pause=search.pause(),
    )
    if len(blocks) < len(before.blocks):
        search.offer(Cover(blocks, annealed(before.construction)))
