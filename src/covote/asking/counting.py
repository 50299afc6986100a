"""Rules that count contradictions: :class:`Elimination`, :class:`Repair` and :class:`Vote`.

An expert contradicts a class by naming another one although they know it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.asking.answers import WAITING, Flags, Ints, ItemAnswers, count_votes, spread
from covote.asking.choosing import Decision
from covote.panel import Panel

Array = NDArray[Any]
_LEAST = 1e-9
"""The least value of an answer; below it, the expert does not help."""


@dataclass(frozen=True)
class Elimination:
    """Ask the expert who tells most possible classes apart; stop when one class is left.

    A class is possible until an authority contradicts it. The rule needs no model: if experts are right about
    what they know, the result is never wrong, whatever they answer about the rest. If an expert must have
    been wrong, the classes with the fewest contradictions are possible.

    Theory: section 6. At most ``bounds.elimination_bound(K, m)`` answers on a panel that covers every pair.
    """

    name: ClassVar[str] = "elimination"
    redundancy: ClassVar[int] = 1

    def for_panel(self, panel: Panel) -> CountingOnPanel:
        """Return the rule for a panel."""
        return CountingOnPanel(panel)


@dataclass(frozen=True)
class Repair:
    """Drop a class when more authorities contradict it than may be wrong; stop when one class is left.

    If at most `wrong` experts who know the class of an item answer wrong, the result is never wrong. The
    panel needs 2 wrong + 1 experts for each pair of classes: of those who know the truth and a rival, at
    least wrong + 1 answer right, and each of them contradicts the rival.

    Theory: sections 3 and 6.

    Parameters
    ----------
    wrong
        The largest number of wrong answers about an item.
    """

    wrong: int = 1
    name: ClassVar[str] = "repair"

    def __post_init__(self) -> None:
        check_count(self.wrong, "wrong", 0)

    @property
    def redundancy(self) -> int:
        """Every pair of classes needs 2 wrong + 1 common experts."""
        return 2 * self.wrong + 1

    def for_panel(self, panel: Panel) -> CountingOnPanel:
        """Return the rule for a panel."""
        return CountingOnPanel(panel, self.wrong)


@dataclass(frozen=True)
class Vote:
    """Stop when no answer still to come can change the authority vote of all experts.

    The label is the one that the paper's decoder would give if every expert were asked, whoever is wrong: the
    share of authorities that a class has already exceeds the share that any other class can still reach. The
    rule asks the authorities of the leading class first. Every expert is asked about items on which the full
    vote ties.

    Stopping a count when the result is certain is curtailed sampling (Wald, 1947, Sequential Analysis).
    """

    name: ClassVar[str] = "vote"
    redundancy: ClassVar[int] = 0  # the vote exists on every panel

    def for_panel(self, panel: Panel) -> VoteOnPanel:
        """Return the rule for a panel."""
        return VoteOnPanel(panel)


@dataclass(frozen=True)
class CountingState:
    """What the counts say about each class (items x classes).

    Attributes
    ----------
    first, second
        The criteria by which classes lead: the largest `first`, then the largest `second`.
    possible
        Which classes are not ruled out.
    """

    first: Array
    second: Array
    possible: Flags

    @cached_property
    def leads(self) -> Flags:
        """Which classes lead."""
        found: Flags = (self.first == self.first.max(axis=1, keepdims=True)) & (
            self.second == _lead(self.first, self.second)
        )
        return found

    @cached_property
    def best(self) -> Ints:
        """A leading class of each item."""
        best: Ints = self.leads.argmax(axis=1)
        return best


def _lead(first: Array, second: Array) -> Array:
    """Return the largest `second` of each row among the classes with the largest `first`, as a column."""
    among = np.where(first == first.max(axis=1, keepdims=True), second, -2)
    lead: Array = among.max(axis=1, keepdims=True)
    return lead


class CountingOnPanel:
    """Elimination and repair for one panel; `wrong` answers about an item may be wrong."""

    def __init__(self, panel: Panel, wrong: int = 0) -> None:
        self.panel, self.wrong = panel, wrong
        self._knows = panel.knows.astype(np.float32)

    def state(self, answers: ItemAnswers, may_answer: Flags) -> CountingState:
        """Count votes and contradictions: fewest contradictions lead, then most votes."""
        votes, answered = count_votes(self.panel, answers)
        against = answered - votes
        possible = against <= np.maximum(against.min(axis=1, keepdims=True), self.wrong)
        return CountingState(-against, votes, possible)

    def settled(self, state: CountingState) -> Flags:
        """Return which items have no rival left."""
        settled: Flags = np.count_nonzero(state.possible, axis=1) <= 1
        return settled

    def doubt(self, state: CountingState) -> NDArray[np.float64]:
        """Return how many possible classes there are, beyond one, and the weight of the leading one."""
        possible = np.count_nonzero(state.possible, axis=1)
        return np.where(possible > 1, possible + state.possible.shape[1], 0.0)

    def value(self, state: CountingState, wanted: Flags) -> NDArray[np.float64]:
        """Return how many classes each expert tells apart: one fewer than the possible classes they know."""
        found = self._known_weight(state.possible.astype(np.float32)) - 1.0
        found[found < _LEAST] = 0.0
        found[self.settled(state)] = 0.0
        return found

    def _known_weight(self, weight: Array) -> NDArray[np.float64]:
        """Return the weight of the classes that each expert knows (items x experts).

        Whole weights are exact in single precision, which is twice as fast.
        """
        found: Array = weight @ self._knows.T
        return found.astype(np.float64)

    def decision(self, state: CountingState) -> Decision:
        """Return the leading classes."""
        label = np.where(state.leads.sum(axis=1) > 1, -1, state.best)
        unknown = np.full(len(label), np.nan, dtype=np.float32)
        return Decision(label, ~self.settled(state), unknown)

    def possible(self, state: CountingState) -> Flags:
        """Return which classes are not ruled out (items x classes)."""
        return state.possible


class VoteOnPanel(CountingOnPanel):
    """The vote of all experts of one panel, while some of their answers are missing."""

    def state(self, answers: ItemAnswers, may_answer: Flags) -> CountingState:
        """Compare shares of authorities: first the share that a class can still reach, then the one it has.

        Ratios of small integers are equal as floats exactly if they are equal.
        """
        votes, answered = count_votes(self.panel, answers)
        came = answers.answer != WAITING
        change = np.where(came, -1, 1) * (may_answer[answers.expert] == came)
        # Usually all who answered could still be asked, and no one else was asked: no need to count again.
        usual = bool((change == -answers.answered.astype(np.int64)).all())
        moved = -answered if usual else spread(self.panel, answers, change)
        unheard = self.panel.knows[may_answer].sum(axis=0) + moved
        total = answered + unheard
        there = total > 0
        share, reach = (np.where(there, n / np.maximum(total, 1), -1.0) for n in (votes, votes + unheard))
        possible = there & (reach >= _lead(reach, share))
        return CountingState(reach, share, possible)

    def value(self, state: CountingState, wanted: Flags) -> NDArray[np.float64]:
        """Return how many possible classes each expert knows.

        The leading class counts as all classes together: its own authorities settle the vote.
        """
        weight = state.possible.astype(np.float32)
        weight[np.arange(len(weight)), state.best] = weight.shape[1]
        found = self._known_weight(weight)
        found[self.settled(state)] = 0.0
        return found
