"""How hard to search, in moves."""

from __future__ import annotations

from typing import NamedTuple

from covote.errors import InputError


class Effort(NamedTuple):
    """Budgets in moves, one for each search of the portfolio."""

    weights: int
    meeting: int
    symmetry: int
    annealing: int

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
    "fast": Effort(60_000, 0, 0, 0),
    "normal": Effort(200_000, 7_000_000, 4_000_000, 5_000_000),
    "max": Effort(800_000, 100_000_000, 10_000_000, 70_000_000),
}


def effort_named(name: str) -> Effort:
    """Look an effort up by its name."""
    if name not in EFFORTS:
        raise InputError(f"unknown effort {name!r}; choose one of {', '.join(EFFORTS)}")
    return EFFORTS[name]
