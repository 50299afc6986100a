"""Vote: stop when the authority vote of all experts is settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from covote.asking.counting import Counting
from covote.panel import Panel


@dataclass(frozen=True)
class Vote:
    """Stop when no answer still to come can change the authority vote of all experts.

    The label is the one that ``decode`` would give if everybody had been asked, whoever errs: the share
    of its authorities that a class has already is above the share that any other can still reach. It asks
    the authorities of the class that leads first. Items on which the full vote ties are asked of everybody.

    Counting that ends when the result is certain is curtailed sampling (Wald, 1947, Sequential Analysis).
    """

    @property
    def name(self) -> str:
        """The name of the rule."""
        return "vote"

    @property
    def times(self) -> int:
        """The vote exists on every panel."""
        return 0

    def judge(self, panel: Panel) -> Counting:
        """Return the rule at work on a panel."""
        return Counting(panel, "vote")

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the options and arrays from which the rule can be made again."""
        return {}, {}
