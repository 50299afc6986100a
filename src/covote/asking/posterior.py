"""Posterior: ask by the probability of each class, from a model of how experts answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from covote.arguments import check_prior, check_probability
from covote.asking.answer_model import answer_table, check_size, gains, table_of
from covote.asking.answers import Flags, Ints, ItemAnswers
from covote.asking.choosing import Decision
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.loop import DecodeOptions, InMemory, fit
from covote.decoding.methods import make
from covote.errors import InputError
from covote.panel import Panel
from covote.votes import NONE_OF_MINE, Votes

Array = NDArray[Any]

_LEAST_GAIN = 1e-12
"""The least value of an answer, so that everyone is asked in the end about an item that is not settled."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Ask the question that lowers the expected error most per unit of cost, until the error is small.

    The rule relies on a model of how each expert answers, which is learned from items whose class is known
    (:meth:`learned`) or from the labels of a decoder (:meth:`estimated`). Only the former promises anything,
    and only if the items support it.

    Theory: section 6.

    Parameters
    ----------
    table
        The logarithm of the probability of each answer to each class (answers x classes), answers numbered
        expert by expert, their classes, then "none of mine".
    threshold
        The probability that the most probable class is wrong at which an item is settled.
    prior
        One probability per class (default: equal).
    promise
        The largest share of the settled items that are wrong; None if nothing is promised.
    """

    table: Array
    threshold: float = 0.01
    prior: ArrayLike | None = None
    promise: float | None = None
    name: ClassVar[str] = "posterior"
    redundancy: ClassVar[int] = 0  # a probability needs no cover; classes that look alike stay probable

    def __post_init__(self) -> None:
        check_probability(self.threshold, "threshold")

    @classmethod
    def learned(
        cls, votes: Votes, truth: Gold, *, error: float = 0.01, prior: ArrayLike | None = None
    ) -> Posterior:
        """Learn how experts answer from gold items, and promise that at most `error` of the labels are wrong.

        The promise is tested on the gold items themselves: each fifth of them is asked about by a rule that
        was learned from the others, and of the settled ones at most `error` may be wrong with 95% confidence.
        Otherwise it is refused, with the number of gold items that would be needed. It holds for items like
        the gold items, so draw these at random.

        Parameters
        ----------
        votes
            Votes on the gold items, of all experts who will be asked.
        truth
            The known classes: ``{item id: class}``, or one class index per item (-1 where it is not known).
        error
            The largest share of the settled items that may be wrong.
        prior
            One probability per class (default: equal).

        >>> from covote import design, simulate
        >>> panel, truth = design(10, 4), np.arange(600) % 10
        >>> rule = Posterior.learned(simulate(panel, truth, seed=1), truth)
        >>> rule.promise
        0.01
        """
        from covote.asking.promise import check_promise

        rows, known = gold_rows(truth, votes)
        gold = votes.subset(rows)
        check_size(votes.panel)
        check_probability(error, "error")
        threshold = check_promise(gold, known, error, prior)
        return cls(answer_table(gold, known), threshold, prior, error)

    @classmethod
    def estimated(
        cls,
        votes: Votes,
        threshold: float = 0.01,
        *,
        gold: Gold | None = None,
        prior: ArrayLike | None = None,
    ) -> Posterior:
        """Take the default decoder's model of how experts answer these votes; nothing is promised."""
        check_size(votes.panel)
        found = fit(InMemory(votes), make("learned", {}, gold), DecodeOptions(evidence=False, gold=gold))
        return cls(table_of(found.weights.model), threshold, prior)

    def for_panel(self, panel: Panel) -> PosteriorOnPanel:
        """Return the rule for a panel."""
        check_size(panel)
        table = np.asarray(self.table)
        shape = len(panel.layout.cells.label), len(panel.classes)
        if table.shape != shape or table.dtype.kind != "f" or not (table <= 1e-4).all():
            raise InputError(
                f"a table of {table.dtype} of shape {table.shape}; give the logarithm of a probability for "
                f"each of {shape[0]} answers and {shape[1]} classes, or use Posterior.learned(votes, truth)"
            )
        prior = np.log(np.maximum(check_prior(self.prior, len(panel.classes)), 1e-300))
        return PosteriorOnPanel(panel, table, prior, self.threshold)


@dataclass(frozen=True)
class PosteriorState:
    """The probabilities (items x classes), and the most probable class of each item."""

    share: Array
    best: Ints


class PosteriorOnPanel:
    """The rule for one panel, which weighs the answers about an item by their probability."""

    def __init__(self, panel: Panel, table: Array, prior: Array, threshold: float) -> None:
        self._panel, self._table, self._prior, self._threshold = panel, table, prior, threshold
        # (experts x classes + 1) the number of each answer, "none of mine" last
        place = np.concatenate([np.cumsum(panel.knows, axis=1) - 1, panel.sizes[:, None]], axis=1)
        self._cell = panel.layout.cells.start[:-1, None] + place

    def state(self, answers: ItemAnswers, may_answer: Flags) -> PosteriorState:
        """Weigh the answers."""
        log = self._prior + self._evidence(answers)
        return PosteriorState(_shares(log), log.argmax(axis=1))

    def _evidence(self, answers: ItemAnswers) -> Array:
        """Return (items x classes) the logarithm of the answers' probability."""
        answered = np.flatnonzero(answers.answered)
        answer = np.where(
            answers.answer[answered] == NONE_OF_MINE, -1, answers.answer[answered]
        )  # the last place
        cell = self._cell[answers.expert[answered], answer]
        found = csr_array(
            (np.ones(len(answered)), (answers.item[answered], cell)), shape=(answers.size, len(self._table))
        )
        return np.asarray(found @ self._table, dtype=np.float64)

    def settled(self, state: PosteriorState) -> Flags:
        """Return the items whose most probable class is probable enough."""
        rows = np.arange(len(state.best))
        sure: Flags = 1.0 - state.share[rows, state.best] <= self._threshold
        return sure

    def doubt(self, state: PosteriorState) -> NDArray[np.float64]:
        """Return the probability that two draws of a class differ, which an answer can at best bring to 0."""
        return 1.0 - np.asarray((state.share**2).sum(axis=1), dtype=np.float64)

    def value(self, state: PosteriorState, wanted: Flags) -> NDArray[np.float64]:
        """Return how much an answer lowers the expected error.

        The error is that of a guess drawn from the posterior, 1 - sum of squares: between the error of the
        best guess and twice that, and smooth, so an answer helps even if it does not change the best guess.
        """
        return np.maximum(gains(self._panel, self._table, state.share, wanted), _LEAST_GAIN)

    def decision(self, state: PosteriorState) -> Decision:
        """Return the most probable classes."""
        rows = np.arange(len(state.best))
        most = state.share[rows, state.best]
        even = np.count_nonzero(state.share >= most[:, None] * (1 - 1e-9), axis=1) > 1
        return Decision(np.where(even, -1, state.best), even, most.astype(np.float32))

    def possible(self, state: PosteriorState) -> Flags:
        """Return which classes are more probable than the allowed error (items x classes)."""
        found: Flags = state.share > self._threshold
        found[np.arange(len(found)), state.best] = True
        return found


def _shares(log: Array) -> Array:
    power = np.exp(log - log.max(axis=1, keepdims=True))
    share: Array = power / power.sum(axis=1, keepdims=True)
    return share
