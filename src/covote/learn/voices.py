"""Ask the experts: what each of them answers, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.models.scikit import Scikit
from covote.panel import Name
from covote.votes.vote_checks import smallest_int

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
        Which column of its scores belongs to each of them; None for a model that does not say.
    rows
        For a precomputed kernel, the rows that it was trained on.
    """

    name: Name
    model: Scikit
    labels: Array
    members: NDArray[np.intp]
    order: NDArray[np.intp] | None
    rows: NDArray[np.intp] | None = None

    def votes(self, X: Any) -> NDArray[np.intp]:
        """Return the class index of each answer."""
        answers = self._asked(self.model.labels, X)
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

    def has(self, method: str) -> bool:
        """Whether the model has scores of this kind for its classes."""
        return self.model.has(method)

    def scores(self, X: Any, method: str) -> NDArray[np.float64]:
        """Return (items x members) the scores of this kind."""
        table: NDArray[np.float64] = self._asked(lambda X: self.model.scores(X, method), X)
        return table[:, self.order]

    def probabilities(self, X: Any, votes: Array) -> NDArray[np.float64]:
        """Return (items x members) how probable the expert finds each class that it knows.

        A decision function goes through a softmax; a model that has neither gives all to its answer.
        """
        if self.has("predict_proba"):
            return self.scores(X, "predict_proba")
        if self.has("decision_function"):
            score = self._asked(lambda X: self.model.scores(X, "decision_function"), X)
            if score.shape[1] == len(self.members):  # not so in one-versus-one
                score = np.exp(score - score.max(axis=1, keepdims=True))[:, self.order]
                return np.asarray(score / score.sum(axis=1, keepdims=True))
        return np.asarray(votes[:, None] == self.members, dtype=np.float64)

    def _asked(self, ask: Callable[[Any], Any], X: Any) -> Any:
        try:
            return ask(X if self.rows is None else X[:, self.rows])
        except Exception as error:
            error.add_note(f"while asking expert {self.name!r}")
            raise


def voice(name: Name, model: Any, known: Array, classes: Array, rows: Array | None = None) -> Voice:
    """Return the voice of a model that knows some of the classes, given as class indices."""
    fitted = Scikit(model)
    if fitted.classes is None:
        order = np.argsort(classes[known], kind="stable")
        return Voice(name, fitted, classes[known][order], known[order], None, rows)
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
    return Voice(name, fitted, labels[order], members, order, rows)


def ask_votes(voices: Sequence[Voice], X: Any, items: int, classes: int) -> Array:
    """Return the votes, one contiguous row of the smallest integers for each expert."""
    columns = np.empty((len(voices), items), dtype=smallest_int(classes))
    for row, one in zip(columns, voices, strict=True):
        row[:] = one.votes(X)
    return columns


def ask_probabilities(voices: Sequence[Voice], X: Any, votes: Array) -> NDArray[np.float32]:
    """Return (items x sum of sizes) what each expert gives to the classes it knows, in their order."""
    given = [
        one.probabilities(X, row)[:, np.argsort(one.members)].astype(np.float32)
        for one, row in zip(voices, votes, strict=True)
    ]
    return np.concatenate(given, axis=1)


def ask_confidence(voices: Sequence[Voice], X: Any, votes: Array, classes: int) -> NDArray[np.float64]:
    """Return (items x classes) how sure the experts are of each class that they know, added up.

    Where all experts know two classes and have decision functions these are added, as one-versus-one does;
    otherwise probabilities, which can be compared between experts of all kinds and sizes.
    """
    total = np.zeros((classes, votes.shape[1]))
    margins = all(len(one.members) == 2 and one.has("decision_function") for one in voices)
    for one, row in zip(voices, votes, strict=True):
        if margins:
            score = one.scores(X, "decision_function")
            difference = score[:, 1] - score[:, 0]
            said = np.stack([-difference, difference], axis=1)
        else:
            said = one.probabilities(X, row)
        total[one.members] += said.T
    return total.T
