"""The portfolio: constructions first, then searches that shrink the best of them."""

from __future__ import annotations

import numpy as np

from covote.bounds import best_lower_bound

from .annealing import anneal
from .blowup import anneal_blowup, blow_up, blow_up_cost
from .covers import Blocks, Cover, without_room
from .efforts import Effort
from .fields import prime_power
from .larger import build
from .meeting import HOT, MOST_EXPERTS, RANDOM_HOT, blow_up_start, masks_of, meet, random_start
from .planes import projective_plane
from .pruning import pair_counts, prune
from .watching import Watch

SEARCHED = 400
"""Beyond so many classes no search within these efforts improves a transversal design."""

PRUNED = 2_000_000
"""Blocks are checked for redundancy when they hold at most so many pairs."""


class Search:
    """The best cover so far of v classes by experts of size k."""

    def __init__(self, classes: int, size: int, lower: int, seed: int, watch: Watch) -> None:
        self.classes, self.size, self.lower, self.seed, self.watch = classes, size, lower, seed, watch
        self.best: Cover | None = None

    def offer(self, cover: Cover) -> None:
        """Keep a cover if it needs fewer experts than all before, without the redundant ones."""
        blocks = without_room(cover.blocks, self.classes)
        if len(blocks) * self.size**2 <= PRUNED:
            blocks = prune(blocks, self.classes)
        if self.best is None or len(blocks) < len(self.best.blocks):
            self.best = Cover(blocks, cover.construction)

    @property
    def found(self) -> Cover:
        """The best cover; there is one after the first offer."""
        assert self.best is not None
        return self.best

    def moved(self, moves: int) -> bool:
        """Report moves to the watch; return whether to stop."""
        return self.watch.moved(moves, f"{len(self.found.blocks)} experts; trying fewer")

    @property
    def over(self) -> bool:
        """Whether nothing is left to win, or nobody waits any more."""
        return self.watch.stopped or (self.best is not None and len(self.best.blocks) <= self.lower)


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
    for stage in (_blow_ups, _meet, _anneal):
        if not search.over:
            stage(search, scaled)
    return search.found


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


def plane_orders(classes: int, size: int) -> list[int]:
    """List the orders of planes whose points may stand for the classes, the nearest first.

    Lines should carry about `size` classes when the classes are spread evenly.
    """
    ratio = classes / size
    orders = [q for q in range(2, 33) if prime_power(q) and 0.5 * ratio - 1 <= q <= 1.6 * ratio + 2]
    return sorted(orders, key=lambda q: abs(q * q / (q + 1) + 0.7 - ratio))


def _blow_ups(search: Search, effort: Effort) -> None:
    if search.classes > 150 or search.size > 30:
        return
    for order in plane_orders(search.classes, search.size):
        lines = projective_plane(order)
        weights = anneal_blowup(lines, search.classes, search.size, moves=effort.weights, seed=search.seed)
        if blow_up_cost(lines, weights, search.size) < len(search.found.blocks):
            search.offer(blow_up(lines, weights, search.size, f"projective plane of order {order}"))
        if search.over:
            return


def _meet(search: Search, effort: Effort) -> None:
    """Shrink by :mod:`meeting`, from the best cover, from planes and from nothing, in turn."""
    from .chance_kernel import chance

    if effort.meeting == 0 or len(search.found.blocks) > MOST_EXPERTS + 1:
        return
    state = chance(search.seed)
    random = np.random.default_rng(search.seed)
    made, moves = 0, effort.meeting
    attempt = 0
    orders = plane_orders(search.classes, search.size)[:3]
    while not search.over and made < moves:
        experts = len(search.found.blocks) - 1
        kinds = ["best", *orders, "random"]
        kind = kinds[attempt % len(kinds)]
        length = min(moves - made, 700_000 << (attempt // len(kinds)))
        if kind == "best":
            start = masks_of(_without_least_needed(search.found.blocks, search.classes), search.classes)
            hot = 0.3
        elif kind == "random":
            start = random_start(search.classes, experts, search.size, random)
            hot = RANDOM_HOT
        else:
            start = blow_up_start(projective_plane(int(str(kind))), search.classes, experts, random)
            hot = HOT
        blocks = meet(
            start,
            experts,
            search.size,
            moves=length,
            state=state,
            hot=hot,
            pause=search.moved,
        )
        made += length
        attempt += 1
        if blocks is not None:
            search.offer(Cover(blocks, _words(kind, search.found.construction)))
            attempt = 0


def _words(kind: object, before: str) -> str:
    if kind == "random":
        return "annealing of meeting sets of experts"
    if kind == "best":
        return before if before.endswith("annealed") else f"{before}, annealed"
    return f"projective plane of order {kind} with weighted points, annealed"


def _without_least_needed(blocks: Blocks, classes: int) -> Blocks:
    counts = pair_counts(blocks, classes)
    left, right = np.triu_indices(blocks.shape[1], 1)
    critical = (counts[blocks[:, left], blocks[:, right]] <= 1).sum(axis=1)
    return np.delete(blocks, int(critical.argmin()), axis=0)


def _anneal(search: Search, effort: Effort) -> None:
    if effort.annealing == 0:
        return
    before = search.found
    reported = 0

    def pause(made: int, size: int) -> bool:
        nonlocal reported
        step, reported = made - reported, made
        return search.watch.moved(step, f"{size} experts; trying {size - 1}")

    blocks = anneal(
        before.blocks,
        search.classes,
        moves=effort.annealing,
        seed=search.seed,
        lower=search.lower,
        pause=pause,
    )
    if len(blocks) < len(before.blocks):
        search.offer(Cover(blocks, _words("best", before.construction)))
