"""What all searches of the portfolio share: the case, the best cover so far, when to stop."""

from __future__ import annotations

from covote.covers.blocks import Cover, prune, prune_many, without_room
from covote.progress import Work

PRUNED = 2_000_000
"""Blocks that hold more pairs are pruned without a table of pairs."""

WIDE = 1.1
"""Ratio to the lower bound above which a gap is wide."""

OTHERS = 3
"""How many covers beside the best one are kept to start from."""


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
        kept = Cover(blocks, cover.construction)
        if self.best is not None and len(blocks) >= len(self.best.blocks):
            self.others.append(kept)
        else:
            self.others += [self.best] if self.best is not None else []
            self.best = kept
        self.others = sorted(self.others, key=lambda other: len(other.blocks))[:OTHERS]

    @property
    def found(self) -> Cover:
        """The best cover; there is one after the first offer."""
        assert self.best is not None
        return self.best

    @property
    def over(self) -> bool:
        """Whether nothing is left to win, or nobody waits any more."""
        return self.work.stopped or (self.best is not None and len(self.best.blocks) <= self.lower)

    @property
    def wide(self) -> bool:
        """Whether the gap to the bound is so wide that it deserves more effort."""
        return len(self.found.blocks) > WIDE * self.lower

    def part(self, moves: int) -> Work:
        """Return the part of the work that one of the searches does."""
        return self.work.part(f"{len(self.found.blocks)} experts; trying fewer", moves, moves)
