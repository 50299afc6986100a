"""Posterior: ask by the probability of each class, from a model of how experts answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_count, check_prior, check_probability
from covote.asking.answer_model import Learned, Uniform, check_size
from covote.asking.answers import Answers, Flags, Ints
from covote.asking.choosing import Verdict
from covote.asking.counting import Counting
from covote.errors import InputError
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import each_row

Array = NDArray[Any]

LEAST = 5
"""Items of a class that an expert must have answered before their answers about it are used."""
_LEAST_GAIN = 1e-12
"""The least value of an answer, so that everyone is asked in the end about an item that is not settled."""


class Counts(Protocol):
    """Counts of the experts' answers, such as the ``Statistics`` of a decoder."""

    panel: Panel

    def block(self, cells: Array) -> NDArray[np.float64]:
        """Return how often some answers (see `Layout.cells`) were given to each class (answers x classes)."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Ask the question that lowers the expected error most per unit of cost, until the error is small.

    The rule relies on a model. With `counts` (see :meth:`learned`) the model is how often each expert gave
    each answer to each class. If an expert has answered fewer than `least` items of a class that they do not
    know, their answers say nothing about that class, and a label that depends on such answers needs
    elimination: an authority must contradict every other class. Without `counts` the model is that experts
    answer uniformly at random about what they do not know. Real experts do not: if they answer by similarity,
    that model promises 99% and delivers 60 to 74%. Use it only for simulations.

    Theory: section 6.

    Parameters
    ----------
    error
        The largest probability of a wrong label.
    accuracy
        Without `counts`: how often experts are right about classes they know; one number, one per expert, or
        by name.
    prior
        One probability per class (default: equal).
    none
        The rates of "none of mine" of experts who know the class, and of experts who do not.
    counts
        Learned counts: (answers x classes), answers numbered expert by expert, their classes, then "none of
        mine".
    least
        How many items of a class an expert must have answered if they do not know the class.
    """

    error: float = 0.01
    accuracy: Any = 0.95
    prior: ArrayLike | None = None
    none: tuple[float, float] = (0.0, 0.0)
    counts: Array | None = None
    least: int = LEAST
    name: ClassVar[str] = "posterior"
    redundancy: ClassVar[int] = 0  # a probability needs no cover; classes that look alike stay probable

    def __post_init__(self) -> None:
        check_probability(self.error, "error")
        check_count(self.least, "least", 1)
        for rate in self.none:
            if not 0 <= rate < 1:
                raise InputError(f"none={self.none} must be two rates, each at least 0 and below 1")

    @classmethod
    def learned(cls, votes: Votes | Counts, truth: ArrayLike | None = None, **options: Any) -> Posterior:
        """Learn how experts answer from votes on items whose class is known, or from a decoder's statistics.

        Parameters
        ----------
        votes
            Votes on gold items, or ``Statistics`` of earlier votes.
        truth
            The class index of each gold item.
        **options
            `error`, `prior`, `least`.

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
        >>> votes = Votes.from_dense([[0, 1, 0]] * 5 + [[1, 1, 2]] * 5 + [[0, 2, 2]] * 5, panel)
        >>> Posterior.learned(votes, [0] * 5 + [1] * 5 + [2] * 5).counts.sum(axis=0)
        array([15., 15., 15.], dtype=float32)
        """
        panel = votes.panel
        check_size(panel)
        if not isinstance(votes, Votes):
            cells = np.arange(len(panel.layout.cells.label))
            return cls(counts=votes.block(cells).astype(np.float32), **options)
        known = np.asarray(truth)
        if known.shape != (len(votes),) or known.dtype.kind not in "iu":
            raise InputError(
                f"truth of shape {known.shape} for {len(votes)} gold items; give one class index per item"
            )
        if len(known) and not (known.min() >= 0 and known.max() < len(panel.classes)):
            raise InputError(
                f"truth names classes outside 0 to {len(panel.classes) - 1}; give gold items only"
            )
        rows = each_row(votes)
        item = np.repeat(np.arange(len(votes)), np.diff(rows.runs.indptr))
        size = (len(panel.layout.cells.label), len(panel.classes))
        flat = np.bincount(rows.cell.astype(np.int64) * size[1] + known[item], minlength=size[0] * size[1])
        return cls(counts=flat.reshape(size).astype(np.float32), **options)

    def judge(self, panel: Panel) -> Weighing:
        """Return the rule for a panel."""
        prior = np.log(np.maximum(check_prior(self.prior, len(panel.classes)), 1e-300))
        model: Uniform | Learned
        if self.counts is None:
            model = Uniform(panel, check_accuracy(self.accuracy, panel), self.none)
        else:
            model = Learned(panel, np.asarray(self.counts), self.least)
        return Weighing(panel, model, prior, self.error)


@dataclass(frozen=True)
class Belief:
    """Probabilities and contradictions of some items (items x classes).

    `best` is the most probable class of each item, and `is_known` tells whether the model has enough data.
    """

    share: Array
    against: Array
    best: Ints
    is_known: Flags


class Weighing:
    """The rule for one panel, which weighs the answers about an item by their probability."""

    def __init__(self, panel: Panel, model: Uniform | Learned, prior: Array, error: float) -> None:
        self._panel, self._model, self._prior, self._error = panel, model, prior, error
        self._counting = Counting(panel)

    def standing(self, answers: Answers, may_answer: Flags) -> Belief:
        """Weigh the answers."""
        log = self._prior + self._model.evidence(answers)
        best = log.argmax(axis=1)
        against = self._counting.counts(answers)[0]
        return Belief(_shares(log), against, best, self._model.is_known(answers, best))

    def settled(self, standing: Belief) -> Flags:
        """Return the items with a small error, or one class left where the model has too little data."""
        rows = np.arange(len(standing.best))
        sure = 1.0 - standing.share[rows, standing.best] <= self._error
        rivals = standing.against <= standing.against[rows, standing.best, None]
        return np.where(standing.is_known, sure, np.count_nonzero(rivals, axis=1) == 1)

    def worth(self, standing: Belief, wanted: Flags) -> NDArray[np.float64]:
        """Return how much an answer lowers the expected error.

        The error is that of a guess drawn from the posterior, 1 - sum of squares: between the error of the
        best guess and twice that, and smooth, so an answer helps even if it does not change the best guess.
        """
        return np.maximum(self._model.gains(standing.share, wanted), _LEAST_GAIN)

    def verdict(self, standing: Belief) -> Verdict:
        """Return the most probable classes."""
        rows = np.arange(len(standing.best))
        most = standing.share[rows, standing.best]
        even = np.count_nonzero(standing.share >= most[:, None] * (1 - 1e-9), axis=1) > 1
        against = standing.against[rows, standing.best].astype(np.int32)
        return Verdict(np.where(even, -1, standing.best), even, against, most.astype(np.float32))

    def possible(self, standing: Belief) -> Flags:
        """Return which classes are more probable than the allowed error (items x classes)."""
        found: Flags = standing.share > self._error
        found[np.arange(len(found)), standing.best] = True
        return found


def _shares(log: Array) -> Array:
    power = np.exp(log - log.max(axis=1, keepdims=True))
    share: Array = power / power.sum(axis=1, keepdims=True)
    return share
