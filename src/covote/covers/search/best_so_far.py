"""The state that all searches of the portfolio share: the case, the best cover so far, when to stop."""

from __future__ import annotations

from covote.covers.blocks import Cover, prune, prune_many, without_room
from covote.progress import Work

PRUNED = 2_000_000
"""Covers whose blocks hold more pairs than this are pruned without a table of pairs."""

OTHERS = 3
"""How many covers besides the best one are kept to start from."""


class CoverSearch:
    """The best cover so far of v classes by experts of size k."""

    def __init__(self, classes: int, size: int, lower: int, seed: int, work: Work) -> None:
        self.classes, self.size, self.lower, self.seed, self.work = classes, size, lower, seed, work
        self.best: Cover | None = None
        self.others: list[Cover] = []
        self.smaller: Cover | None = None  # a cover of all classes but the last few

    def offer(self, cover: Cover) -> None:
        """Keep a cover if it needs fewer experts than all before, without the redundant ones.

        A few covers that are nearly as good are kept as other places to start from.
        """
        blocks = without_room(cover.blocks, self.classes)
        few = len(blocks) * self.size**2 <= PRUNED
        blocks = prune(blocks, self.classes) if few else prune_many(blocks, self.classes)
        covers = [
            *([] if self.best is None else [self.best]),
            *self.others,
            Cover(blocks, cover.construction),
        ]
        self.best, *others = sorted(covers, key=lambda cover: len(cover.blocks))
        self.others = others[:OTHERS]

    @property
    def found(self) -> Cover:
        """The best cover, which exists after the first offer."""
        assert self.best is not None
        return self.best

    @property
    def over(self) -> bool:
        """Whether the lower bound is met, or the work has been stopped."""
        return self.work.stopped or (self.best is not None and len(self.best.blocks) <= self.lower)

    def part(self, moves: int) -> Work:
        """Return the part of the work that one of the searches does."""
        return self.work.part(f"{len(self.found.blocks)} experts; trying fewer", moves, moves)


def annealed(construction: str) -> str:
    """Return the name of a construction that a search has changed."""
    return construction if construction.endswith(", annealed") else f"{construction}, annealed"
