"""The budgets of all searches, counted in moves and never in seconds."""

from __future__ import annotations

from typing import NamedTuple

from covote.errors import InputError


class Effort(NamedTuple):
    """Budgets, one for each search.

    Attributes
    ----------
    weights, dual, symmetry, annealing
        Moves of the portfolio's searches: blow-ups, dual annealing, prescribed groups, block annealing.
    filling
        Swaps of classes for experts of given sizes, and for new experts of a panel.
    choosing, bounding
        For the cheapest subset of a pool: entries to touch, and rounds of the Lagrangian bound.
    exchanging
        For the best subset of a pool within a budget: entries to touch.
    thorough
        Whether neighbouring cases are solved and more groups tried.
    """

    weights: int
    dual: int
    symmetry: int
    annealing: int
    filling: int
    choosing: int
    bounding: int
    exchanging: int
    thorough: bool = False

    @property
    def total(self) -> int:
        """All moves that the long searches may make."""
        return self.dual + 2 * self.symmetry + self.annealing

    def part(self, share: float) -> Effort:
        """Return a share of every budget."""
        return Effort._make([*(int(moves * share) for moves in self[:-1]), self.thorough])

    def scaled(self, classes: int, size: int) -> Effort:
        """Return the effort for a case of this size: small cases have less to try.

        A cover has at least about v^2 / k places; the full effort is for 200 and more. With many classes
        every move takes longer, so there are fewer moves.
        """
        return self.part(min(1.0, classes * classes / size / 200) * min(1.0, 100 / classes))


def _effort(moves: int, *, search: bool = True, thorough: bool = False) -> Effort:
    """Derive all budgets from the moves of the longest search; a move takes as long as many entries.

    A million moves take about a tenth of a second, and so do a hundred million entries.
    """
    root = round(moves**0.5)
    return Effort(
        weights=65 * root,  # twelve runs, and few weights
        dual=moves * search,
        symmetry=moves * 4 // 5 * search,
        annealing=moves // 2 * search,
        filling=moves,
        choosing=400 * moves,
        bounding=root // 6,
        exchanging=200 * moves * search,
        thorough=thorough,
    )


EFFORTS = {
    "fast": _effort(500_000, search=False),
    "normal": _effort(10_000_000),
    "max": _effort(120_000_000, thorough=True),
}


def effort_named(name: str) -> Effort:
    """Look an effort up by its name."""
    if name not in EFFORTS:
        raise InputError(f"unknown effort {name!r}; choose one of {', '.join(EFFORTS)}")
    return EFFORTS[name]
