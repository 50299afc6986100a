"""Repair: elimination that withstands some wrong answers about every item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from covote.arguments import check_count
from covote.asking.counting import Counting
from covote.panel import Panel


@dataclass(frozen=True)
class Repair:
    """Drop a class when more authorities contradicted it than may be wrong; stop when one class is left.

    With at most `wrong` wrong answers about an item from experts that know its class, the result is never
    wrong. It needs a panel on which 2 wrong + 1 experts know each pair of classes: of those that know the
    truth and a rival, at least wrong + 1 answer right, and each of them contradicts the rival.

    theory: sections 3 and 6.

    Parameters
    ----------
    wrong
        How many answers about an item may be wrong, at most.
    """

    wrong: int = 1

    def __post_init__(self) -> None:
        check_count(self.wrong, "wrong", 0)

    @property
    def name(self) -> str:
        """The name of the rule."""
        return "repair"

    @property
    def times(self) -> int:
        """Every pair of classes needs 2 wrong + 1 common experts."""
        return 2 * self.wrong + 1

    def judge(self, panel: Panel) -> Counting:
        """Return the rule at work on a panel."""
        return Counting(panel, "repair", self.wrong)

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the options and arrays from which the rule can be made again."""
        return {"wrong": self.wrong}, {}
