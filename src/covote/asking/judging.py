"""Rules, what they become on a panel, and what they say about items."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from covote.asking.counting_kernels import Terms
from covote.asking.state import Log
from covote.panel import Panel

Array = NDArray[Any]


class Verdict(NamedTuple):
    """What the answers so far say about some items.

    Attributes
    ----------
    label
        The class that leads; -1 if several lead.
    tied
        Whether other classes are not ruled out.
    violations
        How many answers contradict the class that leads.
    confidence
        Its probability; NaN where the rule knows no probabilities.
    """

    label: NDArray[np.int64]
    tied: NDArray[np.bool_]
    violations: NDArray[np.int32]
    confidence: NDArray[np.float32]


class Judge(Protocol):
    """A rule at work on one panel."""

    def settle(self, log: Log, terms: Terms, rows: Array, status: Array) -> None:
        """Mark the items whose class is settled; the others are open."""

    def choose(self, log: Log, terms: Terms, rows: Array, spent: Array, chosen: Array) -> None:
        """Choose the next questions about each item, one per column; -1 where there are no more."""

    def verdict(self, log: Log, terms: Terms, rows: Array) -> Verdict:
        """Return what the answers say about some items."""

    def possible(self, log: Log, terms: Terms, rows: Array) -> NDArray[np.bool_]:
        """Return (items x classes): the classes that are not ruled out."""


class Rule(Protocol):
    """Whom to ask next, and when to stop."""

    @property
    def name(self) -> str:
        """The name of the rule."""

    @property
    def times(self) -> int:
        """How many common experts every pair of classes needs for what the rule promises; 0: none."""

    def judge(self, panel: Panel) -> Judge:
        """Return the rule at work on a panel."""

    def saved(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the options and arrays from which the rule can be made again."""
