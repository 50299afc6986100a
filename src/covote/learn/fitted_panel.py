"""A trained panel at work: ask every expert, and score the classes by what they say together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.fusion import couple
from covote.decoding.linear import softmax
from covote.errors import InputError
from covote.learn import inputs
from covote.models.scikit import Scikit
from covote.panel import Name, Panel
from covote.votes import Votes
from covote.votes.arrays import smallest_int

Array = NDArray[Any]

MOST_VOTES = 1 << 24
"""Votes held at once; more items are labelled in parts."""


FUSED, AUTHORITY = "fused", "authority"
"""The default: votes and probabilities together (:func:`fused_score`), and the vote (:func:`vote_score`)."""

WEIGHT = 4.0
"""What the votes of all its authorities add to the log-probability of a class.

Of 0, 2, 4 and 8, accuracy on digits, letter and satellite with logistic regression and trees was best with 4
and equal with 8, and the log-loss best with 2 and 4 (benchmarks/results/learning.md).
"""

FLOOR = 1e-3
"""Probabilities below this are taken as this: an expert may be wrong however sure it is."""

ROUNDS = 100
"""The most rounds of coupling: probabilities of pairs settle slowly."""


@dataclass(frozen=True)
class FittedExpert:
    """An expert that can be asked.

    Attributes
    ----------
    labels
        What it can answer, sorted.
    members
        The class index of each of these labels.
    order
        Which column of its scores belongs to each of them; None for a model that does not say.
    """

    name: Name
    model: Scikit
    labels: Array
    members: NDArray[np.intp]
    order: NDArray[np.intp] | None

    def votes(self, X: Any) -> NDArray[np.intp]:
        """Return the class index of each answer."""
        answers = self._ask(self.model.labels, X)
        place: NDArray[np.intp] = np.minimum(np.searchsorted(self.labels, answers), len(self.labels) - 1)
        wrong = self.labels[place] != answers
        if np.any(wrong):
            item = int(np.argmax(wrong))
            raise InputError(
                f"expert {self.name!r} answered {str(answers[item])!r} to item {item}, which it does not "
                f"know (it knows: {', '.join(map(str, self.labels))}); correct the panel or the model"
            )
        index: NDArray[np.intp] = self.members[place]
        return index

    def scores(self, X: Any, method: str) -> NDArray[np.float64]:
        """Return (items x members) the scores of this kind."""
        table: NDArray[np.float64] = self._ask(lambda X: self.model.scores(X, method), X)
        return table[:, self.order]

    def probabilities(self, X: Any, votes: Array) -> NDArray[np.float64]:
        """Return (items x members) how probable the expert finds each class that it knows.

        A decision function goes through a softmax; a model that has neither gives all to its answer.
        """
        if self.model.has("predict_proba"):
            return self.scores(X, "predict_proba")
        if self.model.has("decision_function"):
            score = self._ask(lambda X: self.model.scores(X, "decision_function"), X)
            if score.shape[1] == len(self.members):  # not so in one-versus-one
                score = np.exp(score - score.max(axis=1, keepdims=True))[:, self.order]
                return np.asarray(score / score.sum(axis=1, keepdims=True))
        return np.asarray(votes[:, None] == self.members, dtype=np.float64)

    def _ask(self, ask: Callable[[Any], Any], X: Any) -> Any:
        try:
            return ask(X)
        except Exception as error:
            error.add_note(f"while asking expert {self.name!r}")
            raise


def _fitted_expert(name: Name, model: Any, known: Array, classes: Array) -> FittedExpert:
    """Return the expert of a model that knows some of the classes, given as class indices."""
    fitted = Scikit(model)
    if fitted.classes is None:
        order = np.argsort(classes[known], kind="stable")
        return FittedExpert(name, fitted, classes[known][order], known[order], None)
    place = {value: k for k, value in zip(known.tolist(), classes[known].tolist(), strict=True)}
    unknown = [value for value in fitted.classes if value not in place]
    if unknown:
        raise InputError(
            f"the model of expert {name!r} can answer {unknown[0]!r}, which the expert does not know "
            f"(it knows: {', '.join(map(str, place))}); correct the panel, or take a model of these classes"
        )
    labels = np.asarray(model.classes_)
    order = np.argsort(labels, kind="stable")
    members = np.array([place[fitted.classes[k]] for k in order], dtype=np.intp)
    return FittedExpert(name, fitted, labels[order], members, order)


@dataclass(frozen=True)
class FittedPanel:
    """The experts that are asked, the panel they are, and how their votes are decoded (FUSED or AUTHORITY).

    X is taken as it is: it was checked before.
    """

    panel: Panel
    experts: tuple[FittedExpert, ...]
    decoder: str = FUSED

    @classmethod
    def of(cls, panel: Panel, models: Sequence[Any], classes: Array, decoder: str) -> FittedPanel:
        """Choose whom to ask: who knows a single class says nothing by answering it."""
        asked = np.flatnonzero((panel.sizes > 1) | (len(classes) == 1)).tolist()
        if len(asked) == 0:
            raise InputError(
                "every expert knows a single class, so no one can tell two classes apart; add other experts"
            )
        experts = tuple(
            _fitted_expert(panel.names[i], models[i], np.flatnonzero(panel.knows[i]), classes) for i in asked
        )
        return cls(panel.only(*(panel.names[i] for i in asked)), experts, decoder)

    def only(self, names: Collection[Name]) -> FittedPanel:
        """Return what is left with some of these experts."""
        left = tuple(expert for expert in self.experts if expert.name in names)
        if not left:
            raise InputError("no expert is left that could tell two classes apart; keep at least one")
        return replace(self, panel=self.panel.only(*(expert.name for expert in left)), experts=left)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.panel.classes)

    @property
    def alone(self) -> FittedExpert | None:
        """The only expert, if there is just one and it knows every class."""
        expert = self.experts[0]
        return expert if len(self.experts) == 1 and len(expert.members) == self.classes else None

    def votes(self, X: Any, probabilities: bool = False) -> Votes:
        """Return what the experts answer to all items, and how probable they find each class they know."""
        columns = np.empty((len(self.experts), inputs.count(X)), dtype=smallest_int(self.classes))
        for row, expert in zip(columns, self.experts, strict=True):
            row[:] = expert.votes(X)
        votes = Votes.from_valid_arrays(self.panel, by_expert=columns)
        return self._with_probabilities(X, votes) if probabilities else votes

    def _with_probabilities(self, X: Any, votes: Votes) -> Votes:
        """Return votes on X with what each expert gives to the classes that it knows."""
        pairs = zip(self.experts, _columns(votes), strict=True)
        by_expert = [expert.probabilities(X, row)[:, np.argsort(expert.members)] for expert, row in pairs]
        joined = np.concatenate(by_expert, axis=1, dtype=np.float32, casting="same_kind")
        return Votes.from_dense(votes.dense, self.panel, probabilities=joined)

    # One score, from which labels and probabilities follow

    def score(self, X: Any) -> NDArray[np.float64]:
        """Return (items x classes) the score of every class; the label has the highest."""
        return np.concatenate([self._score_part(part, self.votes(part)) for part in self._parts(X)])

    def _parts(self, X: Any) -> Iterator[Any]:
        """Yield the items in parts whose votes fit into memory."""
        items, size = inputs.count(X), max(1, MOST_VOTES // len(self.experts))
        for start in range(0, max(items, 1), size):
            yield X if items <= size else inputs.take(X, np.arange(start, min(start + size, items)))

    def _score_part(self, X: Any, votes: Votes) -> NDArray[np.float64]:
        if self.decoder == AUTHORITY:
            return vote_score(votes, self._confidence(X, votes), self.panel)
        return fused_score(self._with_probabilities(X, votes))

    def labels(self, X: Any) -> Array:
        """Return the class index of every item: the one with the highest score."""
        if self.alone is not None:
            return self.alone.votes(X)
        return np.concatenate([self._labels(part) for part in self._parts(X)])

    def _labels(self, X: Any) -> Array:
        votes = self.votes(X)
        # A class that alone has the votes of all its authorities has the highest score, whatever their
        # probabilities are: for most items nothing else need be known.
        whole = _counts(votes) == _authorities(self.panel)
        index: Array = whole.argmax(axis=1)
        rest = np.flatnonzero(whole.sum(axis=1) != 1)
        if len(rest):
            index[rest] = self._score_part(inputs.take(X, rest), votes.subset(rest)).argmax(axis=1)
        return index

    def decision(self, X: Any) -> NDArray[np.float64]:
        """Return (items x classes) scores, the label has the highest; of two classes, their difference."""
        if self.alone is not None and self.alone.model.has("decision_function"):
            return np.asarray(self.alone.model.estimator.decision_function(X))
        score = self.score(X)
        return score[:, -1] - score[:, 0] if self.classes <= 2 else score

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Return (items x classes) probabilities: the softmax of the score; 0 for a class that none knows."""
        if self.alone is not None and self.alone.model.has("predict_proba"):
            return self.alone.scores(X, "predict_proba")
        return softmax(np.where(self.panel.knows.any(axis=0), self.score(X), -np.inf))

    def _confidence(self, X: Any, votes: Votes) -> NDArray[np.float64]:
        """Return (items x classes) the mean confidence of the authorities of each class.

        Where all experts know two classes and have decision functions these are added, as one-versus-one
        does; otherwise probabilities, which can be compared between experts of all kinds and sizes.
        """
        columns = _columns(votes)
        total = np.zeros((self.classes, columns.shape[1]))
        margins = all(
            len(expert.members) == 2 and expert.model.has("decision_function") for expert in self.experts
        )
        for expert, row in zip(self.experts, columns, strict=True):
            if margins:
                score = expert.scores(X, "decision_function")
                difference = score[:, 1] - score[:, 0]
                confidence = np.stack([-difference, difference], axis=1)
            else:
                confidence = expert.probabilities(X, row)
            total[expert.members] += confidence.T
        return np.asarray(total.T / _authorities(self.panel))


def fused_score(votes: Votes) -> NDArray[np.float64]:
    """Return (items x classes) log q_k + 4 N_k / d_k for votes with probabilities.

    Every expert has answered. q is what the probabilities say together (:mod:`covote.decoding.fusion`), and
    N_k / d_k the share of the authorities of class k that vote for it. A class with the votes of all its
    authorities is at least twice as probable as every other, so with a full cover and perfect votes the label
    is right whatever the probabilities are. Paper: Corollary 1.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> votes = Votes.from_dense([[0, 1, 0]], panel, probabilities=[[0.9, 0.1, 0.5, 0.5, 0.9, 0.1]])
    >>> fused_score(votes).round(1)
    array([[ 3.8, -0.4, -2.4]])
    """
    panel = votes.panel
    share = _counts(votes) / _authorities(panel)
    score = np.log(np.maximum(_couple_experts(votes), FLOOR)) + WEIGHT * share
    score[:, ~panel.knows.any(axis=0)] = np.log(FLOOR) - WEIGHT
    rows, agreed = np.nonzero(share == 1)
    alone = np.bincount(rows, minlength=len(share))[rows] == 1
    rows, agreed = rows[alone], agreed[alone]
    top = score[rows, agreed]
    score[rows] = np.minimum(score[rows], top[:, None] - np.log(2))
    score[rows, agreed] = top
    return np.asarray(score)


def _couple_experts(votes: Votes) -> NDArray[np.float64]:
    """Return (items x classes) what the probabilities of all experts say together."""
    panel = votes.panel
    items, experts, last = len(votes), len(panel), np.cumsum(panel.sizes)
    one_each = votes.class_probability is None  # every expert knows one class
    table: Any = votes.vote_probability if one_each else votes.class_probability
    probability = table.T.astype(np.float64, order="C")
    total = np.add.reduceat(probability, last - panel.sizes, axis=1)
    probability /= np.repeat(np.where(total > 0, total, 1.0), panel.sizes, axis=1)
    start = np.append(0, np.arange(items)[:, None] * last[-1] + last)
    member = np.tile(np.nonzero(panel.knows)[1], items)
    answers = np.arange(items + 1) * experts
    return couple(answers, start, member, probability.ravel(), len(panel.classes), ROUNDS)


def vote_score(votes: Votes, sure: Array, panel: Panel) -> NDArray[np.float64]:
    """Return (items x classes) the authority score in votes, and confidence where that ties.

    The score of a class is N_k / d_k, times the most authorities that a class has: with equally many for all
    it is the number of votes. The mean confidence of its authorities adds less than half of the least
    difference between two scores, so it decides ties and nothing else. With one expert for every pair of
    classes, this is the decision function of scikit-learn's OneVsOneClassifier.
    """
    known = _authorities(panel)
    most = int(known.max())
    shares = np.unique(np.concatenate([np.arange(d + 1) / d for d in set(known.tolist())]))
    step = float(np.diff(shares).min() * most)
    score = _counts(votes) * most / known + step * _squash(most * sure) / 3
    score[:, ~panel.knows.any(axis=0)] = -1
    return np.asarray(score)


def _squash(value: Array) -> Array:
    """Return values between -1 and 1 in the same order, as OneVsOneClassifier does."""
    return np.asarray(value / (np.abs(value) + 1))


def _columns(votes: Votes) -> Array:
    """Return (experts x items) votes."""
    columns = votes.to_dense().by_expert
    assert columns is not None
    return columns


def _counts(votes: Votes) -> NDArray[np.intp]:
    """Return (items x classes) the number of votes for each class."""
    items, classes = len(votes), len(votes.panel.classes)
    cells = _columns(votes).astype(np.intp) + np.arange(items) * classes
    return np.bincount(cells.ravel(), minlength=items * classes).reshape(items, classes)


def _authorities(panel: Panel) -> Array:
    """Return how many experts know each class, at least 1: no expert votes for a class that none knows."""
    return np.asarray(np.maximum(panel.knows.sum(axis=0), 1))
