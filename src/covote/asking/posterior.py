"""Posterior: the probability of each class given the answers, from a model of how experts answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_count, check_prior, check_probability
from covote.asking import posterior_kernels as kernels
from covote.asking.counting import lists_of
from covote.asking.counting_kernels import Lists, Terms
from covote.asking.judging import Verdict
from covote.asking.state import Log
from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.votes import NONE_OF_MINE, Votes

Array = NDArray[Any]

LEAST = 5
"""Items of a class that an expert must have answered before its answers about the class are believed."""
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""How many answers an expert may be lent from what is common to all; leaving one out says how many."""
ROUNDS = 30
"""Steps in which the common choices among classes are found."""
LARGEST = 1 << 28
"""Cells of a table (answers x classes), at most: a gigabyte."""


class Counts(Protocol):
    """What was learned about experts, such as the ``Statistics`` of a decoder."""

    panel: Panel

    def column(self, k: int) -> NDArray[np.float64]:
        """Return how often each answer was given to class k: expert by expert, its classes, then "none"."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Ask what lowers the expected error most per unit of cost; stop when the error is small enough.

    The rule relies on a model. With `counts` (see :meth:`learned`) the model is how often each expert gave
    each answer to each class. Where an expert has answered fewer than `least` items of a class that it does
    not know, its answers say nothing about that class, and a label that rests on such answers needs
    elimination: every other class contradicted by an authority. Without `counts` the model is that experts
    answer uniformly at random about what they do not know. Real experts do not: if they answer by similarity,
    that model promises 99% and delivers 60 to 74%. Use it for simulations only.

    theory: section 6.

    Parameters
    ----------
    error
        How probable a wrong label may be.
    accuracy
        How often experts are right about classes they know, without `counts`; one number, one per expert, or
        by name.
    prior
        One probability per class; equal unless given.
    none
        How often an expert that knows the class says "none of mine", and how often one that does not.
    counts
        Learned counts: (answers x classes), answers numbered expert by expert, its classes, then "none of
        mine".
    least
        How many items an expert must have answered about a class it does not know.
    """

    error: float = 0.01
    accuracy: Any = 0.95
    prior: ArrayLike | None = None
    none: tuple[float, float] = (0.0, 0.0)
    counts: Array | None = None
    least: int = LEAST
    name: ClassVar[str] = "posterior"
    times: ClassVar[int] = 0  # a probability needs no cover; classes that nobody tells apart stay probable

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
        _check_size(panel)
        if not isinstance(votes, Votes):
            columns = [votes.column(k) for k in range(len(panel.classes))]
            return cls(counts=np.stack(columns, axis=1).astype(np.float32), **options)
        known = np.asarray(truth)
        if known.shape != (len(votes),) or known.dtype.kind not in "iu":
            raise InputError(
                f"truth of shape {known.shape} for {len(votes)} gold items; give one class index per item"
            )
        if len(known) and not (known.min() >= 0 and known.max() < len(panel.classes)):
            raise InputError(
                f"truth names classes outside 0 to {len(panel.classes) - 1}; give gold items only"
            )
        runs = votes.ragged
        item = np.repeat(np.arange(len(votes)), np.diff(runs.indptr))
        cell = _cells(panel, runs.expert.astype(np.int64), runs.label.astype(np.int64))
        size = (len(panel.layout.cells.label), len(panel.classes))
        flat = np.bincount(cell * size[1] + known[item], minlength=size[0] * size[1])
        return cls(counts=flat.reshape(size).astype(np.float32), **options)

    def judge(self, panel: Panel) -> Weighing:
        """Return the rule at work on a panel."""
        prior = np.log(np.maximum(check_prior(self.prior, len(panel.classes)), 1e-300))
        lists = lists_of(panel)
        first = panel.layout.cells.start
        nothing = np.zeros((0, 0), dtype=np.float32)
        unknown = np.zeros((0, 0), dtype=np.bool_)
        if self.counts is None:
            coins = _coins(check_accuracy(self.accuracy, panel), panel.sizes, self.none)
            model = kernels.Model(first, False, nothing, nothing, unknown, coins, prior, self.error)
        else:
            tables = _tables(panel, first, np.asarray(self.counts), self.least)
            model = kernels.Model(first, True, *tables, np.zeros((0, 0)), prior, self.error)
        return Weighing(lists, model)

    def saved(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the options and arrays from which the rule can be made again."""
        options = {"error": self.error, "least": self.least, "none": list(self.none)}
        arrays = {} if self.counts is None else {"counts": np.asarray(self.counts)}
        if isinstance(self.accuracy, dict):
            options["accuracy"] = self.accuracy
        else:
            arrays["accuracy"] = np.asarray(self.accuracy)
        if self.prior is not None:
            arrays["prior"] = np.asarray(self.prior)
        return options, arrays


class Weighing:
    """The rule at work: weighs the answers about an item, anew each time."""

    def __init__(self, lists: Lists, model: kernels.Model) -> None:
        self._lists, self._model, self._space = lists, model, kernels.scratch(lists)

    def settle(self, log: Log, terms: Terms, rows: Array, status: Array) -> None:
        """Mark the items whose class is settled."""
        kernels.settle(log, self._lists, terms, self._model, rows, self._space, status)

    def choose(self, log: Log, terms: Terms, rows: Array, spent: Array, chosen: Array) -> None:
        """Choose the next questions about each item, one per column; -1 where there are no more."""
        kernels.choose(log, self._lists, terms, self._model, rows, self._space, spent, chosen)

    def verdict(self, log: Log, terms: Terms, rows: Array) -> Verdict:
        """Return what the answers say about some items."""
        index, against = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int32)
        confidence = np.empty(len(rows), dtype=np.float32)
        kernels.judge(log, self._lists, terms, self._model, rows, self._space, index, against, confidence)
        return Verdict(index, index < 0, against, confidence)

    def possible(self, log: Log, terms: Terms, rows: Array) -> NDArray[np.bool_]:
        """Return (items x classes): the classes that are more probable than the error that is allowed."""
        found = np.empty((len(rows), len(self._model.prior)), dtype=np.bool_)
        kernels.likely(log, self._lists, terms, self._model, rows, self._space, found)
        return found


def _check_size(panel: Panel) -> None:
    cells = (int(panel.sizes.sum()) + len(panel)) * len(panel.classes)
    if cells > LARGEST:
        raise TooLargeError(
            f"a table of {cells:,} cells for {len(panel)} experts and {len(panel.classes)} classes is too "
            "large; use the rule 'elimination' or 'vote'"
        )


def _cells(panel: Panel, expert: Array, label: Array) -> Array:
    """Return the number of each answer: expert by expert, the classes it knows, then "none of mine"."""
    place = np.cumsum(panel.knows, axis=1) - 1
    within = np.where(label == NONE_OF_MINE, panel.sizes[expert], place[expert, np.maximum(label, 0)])
    cells: Array = panel.layout.cells.start[expert] + within
    return cells


def _coins(accuracy: Array, sizes: Array, none: tuple[float, float]) -> NDArray[np.float64]:
    """Return, for each expert, how probable answers are if those outside expertise are uniform."""
    right = np.clip(accuracy, 1e-6, 1 - 1e-6)
    others = np.maximum(sizes - 1, 1)
    inside, outside = (np.clip(rate, 1e-9, 1 - 1e-9) for rate in none)
    heard, noise = 1 - inside, 1 - outside
    alone = sizes == 1  # an expert of one class has no wrong answer but "none of mine"
    return np.stack(
        [
            np.where(alone, 1.0, right) * heard,
            (1 - right) / others * heard,
            np.full(len(sizes), inside),
            noise / sizes,
            np.full(len(sizes), outside),
        ],
        axis=1,
    )


def _tables(panel: Panel, first: Array, counts: Array, least: int) -> tuple[Array, Array, Array]:
    """Return (chance, weight, seen): learned probabilities of answers, shrunk towards what is common.

    About a class that it knows, an expert is expected to be right as often as about all that it knows, and
    to err evenly; about another, to answer as all experts do that do not know the class (:func:`_choices`).
    How many such answers it is lent beside its own is found on the counts themselves: as many as make an
    answer most probable, given all the others (leave-one-out). Experts that always give the same answer are
    lent next to nothing, those that answer by a common similarity a lot.
    """
    _check_size(panel)
    if counts.shape != (first[-1], len(panel.classes)) or not (counts >= 0).all():
        raise InputError(
            f"counts have shape {counts.shape}; give one count, 0 or more, for each of {first[-1]} answers "
            f"and {len(panel.classes)} classes, or use Posterior.learned(votes, truth)"
        )
    common = _choices(panel, first, counts)
    expected = np.empty(counts.shape)
    known = np.repeat(panel.knows, np.diff(first), axis=0)
    for i, row in enumerate(panel.knows):
        span = slice(first[i], first[i + 1])
        mine = np.flatnonzero(row)
        size, own = len(mine), counts[span]
        right = own[np.arange(size), mine].sum()
        accuracy = (right + 9.0) / (own[:, mine].sum() + 10.0)
        rows = common[np.append(mine, len(row))]
        rows /= rows.sum(axis=0)
        rows[:, mine] = (1 - accuracy) / size
        rows[np.arange(size), mine] = accuracy
        expected[span] = rows
    total = np.add.reduceat(counts, first[:-1], axis=0)
    heard = np.repeat(total, np.diff(first), axis=0)
    strength = np.where(
        known, _strength(counts, heard, expected, known), _strength(counts, heard, expected, ~known)
    )
    chance = ((counts + strength * expected) / (heard + strength)).astype(np.float32)
    seen = panel.knows | (total >= least)
    weight = np.where(np.repeat(seen, np.diff(first), axis=0), np.log(chance), np.float32(0))
    return chance, weight, seen


def _strength(counts: Array, heard: Array, expected: Array, where: NDArray[np.bool_]) -> float:
    """Return how many expected answers make each answer most probable, given the others of its expert."""
    cells = where & (counts > 0)
    said, total, likely = counts[cells], heard[cells], expected[cells]
    scores = [
        float((said * np.log((np.maximum(said - 1, 0) + s * likely) / (np.maximum(total - 1, 0) + s))).sum())
        for s in STRENGTHS
    ]
    return STRENGTHS[int(np.argmax(scores))]


def _choices(panel: Panel, first: Array, counts: Array) -> NDArray[np.float64]:
    """Return (answers x classes): how much experts that do not know a class prefer each answer.

    The answers are the classes, then "none of mine". An expert chooses among those that it can give in
    proportion to these numbers (Luce, 1959, Individual Choice Behavior), which are found as by Hunter (2004,
    MM algorithms for generalized Bradley-Terry models). A choice among all answers is added to those that
    were made, spread evenly, so that no number is zero.
    """
    classes = len(panel.classes)
    made, more = np.full((classes + 1, classes), 0.02), 0.02 * (classes + 1)
    answers = [np.append(np.flatnonzero(row), classes) for row in panel.knows]
    outside = [np.where(row, 0.0, counts[first[i] : first[i + 1]]) for i, row in enumerate(panel.knows)]
    for mine, own in zip(answers, outside, strict=True):
        made[mine] += own
    total = [own.sum(axis=0) for own in outside]
    liking = np.full((classes + 1, classes), 1 / (classes + 1))
    for _ in range(ROUNDS):
        offered = np.full((classes + 1, classes), more)
        for mine, number in zip(answers, total, strict=True):
            offered[mine] += number / liking[mine].sum(axis=0)
        liking = made / offered
        liking /= liking.sum(axis=0)
    return liking
