"""Ask the experts: what each of them answers, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.panel import Name
from covote.vote_checks import smallest_int

Array = NDArray[Any]


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

    def margin(self, X: Any) -> Array:
        """Return what the decision function of an expert with two classes says for the second label."""
        score = np.ravel(self._asked("decision_function", X))
        return score if self.in_order else -score

    def probabilities(self, X: Any, votes: Array) -> Array:
        """Return (items x members) probabilities, or the nearest thing that the model has.

        A decision function goes through a softmax; without one, the answer gets all.
        """
        if self.has("predict_proba"):
            given = np.asarray(self._asked("predict_proba", X), dtype=np.float64)
            return given if self.in_order else given[:, self.order]
        if self.has("decision_function"):
            score = np.asarray(self._asked("decision_function", X), dtype=np.float64)
            if score.ndim == 1:
                score = np.stack([np.zeros_like(score), score], axis=1)
            if score.shape[1] == len(self.members):
                score = np.exp(score - score.max(axis=1, keepdims=True))
                score /= score.sum(axis=1, keepdims=True)
                return np.asarray(score[:, self.order])
        return np.asarray(votes[:, None] == self.members, dtype=np.float64)

    def _asked(self, method: str, X: Any) -> Any:
        try:
            return getattr(self.model, method)(X if self.rows is None else X[:, self.rows])
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
    return Voice(name, model, labels[order], members, order, trusted)


def ask_votes(voices: Sequence[Voice], X: Any, items: int, classes: int) -> Array:
    """Return the votes, one contiguous row of the smallest integers for each expert."""
    columns = np.empty((len(voices), items), dtype=smallest_int(classes))
    for row, one in zip(columns, voices, strict=True):
        row[:] = one.votes(X)
    return columns


def ask_confidence(voices: Sequence[Voice], X: Any, columns: Array, classes: int) -> NDArray[np.float64]:
    """Return (items x classes) how sure the experts are of each class that they know, added up.

    Where all experts know two classes and have decision functions these are added, as one-versus-one does;
    otherwise probabilities, which can be compared between experts of all kinds and sizes.
    """
    total = np.zeros((columns.shape[1], classes))
    pairs = all(len(one.members) == 2 and one.has("decision_function") for one in voices)
    for votes, one in zip(columns, voices, strict=True):
        if pairs:
            margin = one.margin(X)
            total[:, one.members[0]] -= margin
            total[:, one.members[1]] += margin
        else:
            total[:, one.members] += one.probabilities(X, votes)
    return total


def ask_probabilities(voices: Sequence[Voice], X: Any, columns: Array) -> NDArray[np.float32]:
    """Return (sum of sizes x items) what each expert gives to the classes it knows, in their order."""
    rows = []
    for votes, one in zip(columns, voices, strict=True):
        given = one.probabilities(X, votes)
        rows.append(given[:, np.argsort(one.members)].T)
    return np.concatenate(rows).astype(np.float32)
