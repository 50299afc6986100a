"""How hard to search, in moves."""

from __future__ import annotations

from typing import NamedTuple

from covote.errors import InputError


class Effort(NamedTuple):
    """Budgets in moves, per search."""

    weights: int
    meeting: int
    annealing: int

    @property
    def total(self) -> int:
        """All moves that a search may make."""
        return self.meeting + self.annealing

    def scaled(self, classes: int, size: int) -> Effort:
        """Return the effort for a small case: there is less to try where there are few pairs.

        A cover has at least as many class-expert incidences as v^2 / k; a full effort is for 200 and more.
        """
        share = min(1.0, classes * classes / size / 200)
        return Effort(self.weights, int(self.meeting * share), int(self.annealing * share))


EFFORTS = {
    "fast": Effort(40_000, 0, 0),
    "normal": Effort(100_000, 12_000_000, 12_000_000),
    "max": Effort(400_000, 300_000_000, 300_000_000),
}


def effort_named(name: str) -> Effort:
    """Look an effort up by its name."""
    if name not in EFFORTS:
        raise InputError(f"unknown effort {name!r}; choose one of {', '.join(EFFORTS)}")
    return EFFORTS[name]
