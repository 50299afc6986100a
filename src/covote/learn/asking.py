"""Ask the experts: what each of them answers, and how sure it is."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.panel import Name
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]

TAKE_FROM_CLASSES = {
    "BaseDecisionTree.predict",
    "BaseSVC.predict",
    "ForestClassifier.predict",
    "HistGradientBoostingClassifier.predict",
    "LinearClassifierMixin.predict",
    "_BaseNB.predict",
}
"""Methods of scikit-learn that end in ``return self.classes_[...]``; a test looks at what they answer."""


@dataclass(frozen=True)
class Voice:
    """An expert that can be asked.

    Attributes
    ----------
    labels
        What it can answer, sorted.
    members
        The class index of each of these labels.
    order
        ``model.classes_[order]`` are the labels; None for a model that does not say what its classes are, and
        of whose probabilities nobody knows the order.
    trusted
        Whether it was trained here; the answers of other models are checked.
    twin
        A copy of the model that answers with class indices, where there can be one.
    rows
        For a precomputed kernel, the rows that it was trained on.
    """

    name: Name
    model: Any
    labels: Array
    members: NDArray[np.intp]
    order: NDArray[np.intp] | None
    trusted: bool
    rows: NDArray[np.intp] | None = None
    twin: Any = None

    @cached_property
    def direct(self) -> bool:
        """Whether labels are class indices already."""
        return self.labels.dtype.kind in "iu" and np.array_equal(self.labels, self.members)

    @cached_property
    def in_order(self) -> bool:
        """Whether the model has its classes in sorted order, as scikit-learn's have."""
        return self.order is not None and np.array_equal(self.order, np.arange(len(self.order)))

    def votes(self, X: Any) -> Array:
        """Return the class index of each answer."""
        if self.twin is not None:
            return np.asarray(self._asked("predict", X, self.twin))
        answers = np.asarray(self._asked("predict", X))
        if answers.ndim == 2 and answers.shape[1] == 1:
            answers = answers[:, 0]
        if self.trusted and self.direct:
            return answers
        if self.trusted and len(self.labels) == 2:
            second: Array = answers == self.labels[1]
            return self.members[second.astype(np.intp)]
        place = np.minimum(np.searchsorted(self.labels, answers), len(self.labels) - 1)
        if not self.trusted:
            wrong = np.flatnonzero(self.labels[place] != answers)
            if len(wrong):
                raise InputError(
                    f"expert {self.name!r} answered {str(answers[wrong[0]])!r} to item {wrong[0]}, "
                    f"which it does not know (it knows: {', '.join(map(str, self.labels))}); correct the "
                    "panel or the model"
                )
        return self.members[place]

    def has(self, method: str) -> bool:
        """Whether the model has scores of this kind for its classes."""
        return self.order is not None and hasattr(self.model, method)

    @cached_property
    def best(self) -> str | None:
        """The best scores that the model has for its classes."""
        return next((one for one in ("predict_proba", "decision_function") if self.has(one)), None)

    @cached_property
    def divides(self) -> bool:
        """Whether it knows two classes and has a decision function."""
        return len(self.members) == 2 and self.has("decision_function")

    def margin(self, X: Any) -> Array:
        """Return what the decision function of an expert with two classes says for the second label."""
        score = np.asarray(self._asked("decision_function", X)).reshape(-1)
        return score if self.in_order else -score

    def scores(self, X: Any, votes: Array) -> tuple[Array, bool]:
        """Return (items x members) the best that the model has, and whether these are probabilities.

        Otherwise they are values of a decision function. A model that has neither gives all to its answer.
        """
        if self.best == "predict_proba":
            return self._sorted(self._asked("predict_proba", X)), True
        if self.best == "decision_function":
            score = np.asarray(self._asked("decision_function", X))
            if score.ndim == 1:
                score = np.stack([np.zeros_like(score), score], axis=1)
            if score.shape[1] == len(self.members):
                return self._sorted(score), False
        return np.asarray(votes[:, None] == self.members, dtype=np.float64), True

    def probabilities(self, X: Any) -> Array:
        """Return (items x members) what the model itself gives."""
        return self._sorted(self._asked("predict_proba", X))

    def _sorted(self, scores: Any) -> Array:
        table: Array = np.asarray(scores, dtype=np.float64)
        return table if self.in_order else table[:, self.order]

    def _asked(self, method: str, X: Any, model: Any = None) -> Any:
        try:
            return getattr(self.model if model is None else model, method)(
                X if self.rows is None else X[:, self.rows]
            )
        except Exception as error:
            error.add_note(f"while asking expert {self.name!r}")
            raise


def voice(name: Name, model: Any, known: Array, classes: Array, trusted: bool) -> Voice:
    """Return the voice of a model that knows some of the classes, given as class indices."""
    said = getattr(model, "classes_", None)
    if said is None:
        order = np.argsort(classes[known], kind="stable")
        return Voice(name, model, classes[known][order], known[order], None, trusted=False)
    labels = np.asarray(said)
    place = {value: k for k, value in zip(known.tolist(), classes[known].tolist(), strict=True)}
    unknown = [value for value in labels.tolist() if value not in place]
    if unknown:
        raise InputError(
            f"the model of expert {name!r} can answer {unknown[0]!r}, which the expert does not know "
            f"(it knows: {', '.join(map(str, place))}); correct the panel, or take a model of these classes"
        )
    order = np.argsort(labels, kind="stable")
    members = np.array([place[value] for value in labels[order].tolist()], dtype=np.intp)
    index = members[np.argsort(order)].astype(smallest_int(len(classes)))
    twin = answers_by_index(model, index)
    return Voice(name, model, labels[order], members, order, trusted, twin=twin)


def answers_by_index(model: Any, members: Array) -> Any:
    """Return a copy of the model that answers with class indices, or None if there can be none.

    These families take what they answer from `classes_`, which is why a copy with other classes answers with
    them. Names would have to be looked up again, which takes longer than a linear model needs.
    """
    predict: Any = getattr(type(model), "predict", None)
    here = getattr(predict, "__module__", "").startswith("sklearn.")
    if not here or predict.__qualname__ not in TAKE_FROM_CLASSES:
        return None
    twin = copy.copy(model)
    twin.classes_ = members
    return twin


def ask_votes(voices: Sequence[Voice], X: Any, items: int, classes: int) -> Array:
    """Return the votes, one contiguous row of the smallest integers for each expert."""
    columns = np.empty((len(voices), items), dtype=smallest_int(classes))
    for row, one in zip(columns, voices, strict=True):
        row[:] = one.votes(X)
    return columns


def ask_probabilities(voices: Sequence[Voice], X: Any, columns: Array) -> NDArray[np.float64]:
    """Return (sum of sizes x items) what each expert gives to the classes it knows, as its members are.

    The values of a decision function go through a softmax, those of all experts of a size at once.
    """
    sizes = np.array([len(one.members) for one in voices])
    start = np.cumsum(sizes) - sizes
    table = np.empty((sizes.sum(), columns.shape[1]))
    plain = np.zeros(len(voices), dtype=bool)
    for i, (votes, one) in enumerate(zip(columns, voices, strict=True)):
        values, are_probabilities = one.scores(X, votes)
        table[start[i] : start[i] + sizes[i]] = values.T
        plain[i] = not are_probabilities
    for size in np.unique(sizes[plain]):
        rows = start[plain & (sizes == size)][:, None] + np.arange(size)
        score = table[rows]
        score -= score.max(axis=1, keepdims=True)
        soft = np.exp(score.astype(np.float32))  # numpy has no quick way for 64 bits
        table[rows] = soft / soft.sum(axis=1, keepdims=True)
    return table


def ask_confidence(voices: Sequence[Voice], X: Any, columns: Array, classes: int) -> NDArray[np.float64]:
    """Return (items x classes) how sure the experts are of each class that they know, added up.

    Where all experts know two classes and have decision functions these are added, as one-versus-one does;
    otherwise probabilities, which can be compared between experts of all kinds and sizes.
    """
    if all(one.divides for one in voices):
        total = np.zeros((classes, columns.shape[1]))
        for one in voices:
            margin = one.margin(X)
            first, second = one.members.tolist()
            total[first] -= margin
            total[second] += margin
        return total.T
    table = ask_probabilities(voices, X, columns)
    members = np.concatenate([one.members for one in voices])
    of_class = (np.arange(classes)[:, None] == members).astype(np.float64)
    return np.asarray(of_class @ table).T


def by_class(voices: Sequence[Voice], table: Array) -> NDArray[np.float32]:
    """Return (sum of sizes x items) what each expert gives to the classes it knows, in their order."""
    members = np.concatenate([one.members for one in voices])
    expert = np.repeat(np.arange(len(voices)), [len(one.members) for one in voices])
    return table[np.lexsort((members, expert))].astype(np.float32)
