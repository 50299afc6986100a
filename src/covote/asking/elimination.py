"""Elimination: a class is alive while no authority that was asked contradicted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from covote.asking.counting import Counting
from covote.panel import Panel


@dataclass(frozen=True)
class Elimination:
    """Ask the expert that tells most alive classes apart; stop when one class is left.

    No model of anybody: with experts that are right about what they know, the result is never wrong,
    whatever they answer about the rest. Where somebody must have erred, the classes with the fewest
    contradictions are the ones alive.

    theory: section 6. At most ``bounds.elimination_bound(K, m)`` answers on a panel that covers every pair.
    """

    @property
    def name(self) -> str:
        """The name of the rule."""
        return "elimination"

    @property
    def times(self) -> int:
        """Every pair of classes needs a common expert."""
        return 1

    def judge(self, panel: Panel) -> Counting:
        """Return the rule at work on a panel."""
        return Counting(panel, "elimination")

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the options and arrays from which the rule can be made again."""
        return {}, {}
