"""How hard to search: the one table of budgets, counted in moves and never in seconds."""

from __future__ import annotations

from typing import NamedTuple

from covote.errors import InputError


class Effort(NamedTuple):
    """Budgets, one for each search.

    Attributes
    ----------
    weights, meeting, symmetry, annealing
        Moves of the portfolio's searches: blow-ups, dual annealing, prescribed groups, block annealing.
    filling, exhausting
        Experts of given sizes: swaps of classes, and entries looked at when every way is tried.
    choosing, bounding
        The cheapest part of a pool: entries that may be touched, and rounds of the Lagrangian bound.
    exchanging
        The best part of a pool for a budget: entries that may be touched.
    """

    weights: int
    meeting: int
    symmetry: int
    annealing: int
    filling: int
    exhausting: int
    choosing: int
    bounding: int
    exchanging: int

    @property
    def total(self) -> int:
        """All moves that the long searches may make."""
        return self.meeting + 2 * self.symmetry + self.annealing

    def part(self, share: float) -> Effort:
        """Return a share of every budget."""
        return Effort(*(int(moves * share) for moves in self))

    def scaled(self, classes: int, size: int) -> Effort:
        """Return the effort for a small case: there is less to try where there are few pairs.

        A cover has at least about v^2 / k places; a full effort is for 200 and more. With many classes every
        move takes longer, so there are fewer.
        """
        return self.part(min(1.0, classes * classes / size / 200) * min(1.0, 100 / classes))


EFFORTS = {
    "fast": Effort(
        weights=60_000,
        meeting=0,
        symmetry=0,
        annealing=0,
        filling=300_000,
        exhausting=12_000_000,
        choosing=200_000_000,
        bounding=150,
        exchanging=0,
    ),
    "normal": Effort(
        weights=200_000,
        meeting=7_000_000,
        symmetry=4_000_000,
        annealing=5_000_000,
        filling=10_000_000,
        exhausting=500_000_000,
        choosing=4_000_000_000,
        bounding=500,
        exchanging=2_000_000_000,
    ),
    "max": Effort(
        weights=800_000,
        meeting=100_000_000,
        symmetry=10_000_000,
        annealing=70_000_000,
        filling=200_000_000,
        exhausting=12_000_000_000,
        choosing=50_000_000_000,
        bounding=2000,
        exchanging=50_000_000_000,
    ),
}
"""A billion entries take a second or so."""


def effort_named(name: str) -> Effort:
    """Look an effort up by its name."""
    if name not in EFFORTS:
        raise InputError(f"unknown effort {name!r}; choose one of {', '.join(EFFORTS)}")
    return EFFORTS[name]
