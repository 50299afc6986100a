"""A trained panel at work: ask everybody, then say what they mean together."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.asking import Asker, Vote
from covote.decoding import DECODERS, Decoder, InMemory, fusion, learned, make
from covote.errors import InputError
from covote.learn import inputs
from covote.models.scikit import Scikit
from covote.panel import Name, Panel
from covote.votes import NOT_ASKED, Votes
from covote.votes.vote_checks import smallest_int

Array = NDArray[Any]

MOST_VOTES = 1 << 24
"""Votes held at once; more items are labelled in parts."""


def decoder_of(name: str, truth: Array | None = None) -> Decoder:
    """Return the decoder of that name; `truth` has the classes of the training data.

    Every item is labelled by its own votes alone, so the authority vote leaves ties: what decides them in
    :func:`covote.decode` is learned from all items that it is given.
    """
    if name not in DECODERS:
        raise InputError(f"no decoder {name!r}; choose one of {', '.join(DECODERS)}")
    gold = np.zeros(1, dtype=np.intp) if truth is None else truth  # it cannot be made without any
    options: dict[str, dict[str, Any]] = {"supervised": {"gold": gold}}
    return make(name, options.get(name, {}))


class FittedDecoder(NamedTuple):
    """A decoder with its weights, and the panel that they are for."""

    decoder: Decoder
    weights: Any
    panel: Panel


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

    def scores(self, X: Any, method: str) -> NDArray[np.float64]:
        """Return (items x members) the scores of this kind."""
        table: NDArray[np.float64] = self._asked(lambda X: self.model.scores(X, method), X)
        return table[:, self.order]

    def probabilities(self, X: Any, votes: Array) -> NDArray[np.float64]:
        """Return (items x members) how probable the expert finds each class that it knows.

        A decision function goes through a softmax; a model that has neither gives all to its answer.
        """
        if self.model.has("predict_proba"):
            return self.scores(X, "predict_proba")
        if self.model.has("decision_function"):
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


def _voice(name: Name, model: Any, known: Array, classes: Array, rows: Array | None) -> Voice:
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


@dataclass(frozen=True)
class Hearing:
    """The experts that are asked, the panel they are, and how their votes are decoded.

    X is taken as it is: it was checked before.
    """

    panel: Panel
    voices: tuple[Voice, ...]
    trained: FittedDecoder | None = None

    @classmethod
    def of(
        cls, panel: Panel, models: Sequence[Any], classes: Array, rows: Sequence[Array] | None = None
    ) -> Hearing:
        """Choose whom to hear: who knows a single class says nothing by answering it."""
        heard = np.flatnonzero((panel.sizes > 1) | (len(classes) == 1)).tolist()
        if len(heard) == 0:
            raise InputError(
                "every expert knows a single class, so nobody can tell two classes apart; add other experts"
            )
        voices = tuple(
            _voice(
                panel.names[i], models[i], np.flatnonzero(panel.knows[i]), classes, rows[i] if rows else None
            )
            for i in heard
        )
        return cls(panel.only(*(panel.names[i] for i in heard)), voices)

    def only(self, names: Collection[Name]) -> Hearing:
        """Return the hearing of some of these experts."""
        left = tuple(voice for voice in self.voices if voice.name in names)
        if not left:
            raise InputError("no expert is left that could tell two classes apart; keep at least one")
        fewer = replace(self, panel=self.panel.only(*(voice.name for voice in left)), voices=left)
        if self.trained is None or self.trained.decoder.rounds:
            return fewer
        return fewer.with_decoder(self.trained.decoder)

    def with_decoder(self, decoder: Decoder, X: Any = None) -> Hearing:
        """Return the hearing with a decoder that has learned from the votes on X, if it learns."""
        weights = decoder.start(self.panel)
        if decoder.rounds:
            weights = learned(InMemory(self.votes(X)), decoder)
        return replace(self, trained=FittedDecoder(decoder, weights, self.panel))

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.panel.classes)

    @property
    def alone(self) -> Voice | None:
        """The expert whose word is final: the only one, if it knows everything."""
        one = self.voices[0]
        return one if len(self.voices) == 1 and len(one.members) == self.classes else None

    def votes(self, X: Any, probabilities: bool = False) -> Votes:
        """Return what the experts answer to all items."""
        columns = np.empty((len(self.voices), inputs.count(X)), dtype=smallest_int(self.classes))
        for row, one in zip(columns, self.voices, strict=True):
            row[:] = one.votes(X)
        votes = Votes.trusted(self.panel, columns=columns, complete=True)
        return self._with_probabilities(X, votes) if probabilities else votes

    def _with_probabilities(self, X: Any, votes: Votes) -> Votes:
        """Return the votes with what each expert gives to the classes it knows."""
        if votes.soft:
            return votes
        columns = _columns(votes)
        given = [
            one.probabilities(X, row)[:, np.argsort(one.members)].astype(np.float32)
            for one, row in zip(self.voices, columns, strict=True)
        ]
        return Votes.from_dense(columns.T, self.panel, probabilities=np.concatenate(given, axis=1))

    def labels(self, X: Any, *, adaptively: bool = False) -> Array:
        """Return the class index of every item; `adaptively`, ask only those whose answers can matter."""
        if self.alone is not None:
            return self.alone.votes(X)
        parts = self._parts(X)
        return np.concatenate([self._asked_for(X) if adaptively else self._labelled(X)[0] for X in parts])

    def _asked_for(self, X: Any) -> Array:
        """Return the labels of items; no answer that was not asked for could have changed the authority vote.

        Of items that tie, everybody is asked.
        """
        asker = Asker(self.panel, inputs.count(X), Vote())
        while len(questions := asker.next()):
            answers = np.empty(len(questions), dtype=np.intp)
            for i in np.unique(questions.expert).tolist():
                mine = questions.expert == i
                answers[mine] = self.voices[i].votes(inputs.take(X, questions.item[mine]))
            asker.tell_all(questions, answers)
        index = asker.labels().index.astype(np.intp)
        tied = np.flatnonzero(index < 0)
        if len(tied):
            index[tied] = self._labelled(inputs.take(X, tied))[0]
        return index

    def decision(self, X: Any) -> NDArray[np.float64]:
        """Return (items x classes) scores, the label has the highest; of two classes, their difference."""
        if self.alone is not None and self.alone.model.has("decision_function"):
            return np.asarray(self.alone.model.estimator.decision_function(X))
        score = np.concatenate([self._decided(part) for part in self._parts(X)])
        return score[:, -1] - score[:, 0] if self.classes <= 2 else score

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Return (items x classes) probabilities; the label has the highest."""
        if self.alone is not None and self.alone.model.has("predict_proba"):
            return self.alone.scores(X, "predict_proba")
        return np.concatenate([self._fused(part) for part in self._parts(X)])

    def _parts(self, X: Any) -> Iterator[Any]:
        """Yield the items in parts whose votes fit into memory."""
        items, size = inputs.count(X), max(1, MOST_VOTES // len(self.voices))
        for start in range(0, max(items, 1), size):
            yield X if items <= size else inputs.take(X, np.arange(start, min(start + size, items)))

    def _labelled(self, X: Any) -> tuple[Array, Votes]:
        """Return the class index of every item, and the votes behind it.

        Of the classes that the decoder leaves tied, the one that its authorities are surest of is taken.
        """
        assert self.trained is not None
        decoder, weights, panel = self.trained
        votes = self.votes(X, decoder.needs_probabilities)
        seen = _as_trained(votes, panel) if decoder.rounds else votes
        labels = decoder.score(seen, weights, evidence=False)
        index = labels.index.astype(np.intp)
        rows = np.flatnonzero(index < 0)
        if len(rows):
            sure = self._confidence(inputs.take(X, rows), votes, rows)
            index[rows] = _surest(labels.tied_indices(rows), sure, self.panel)
        return index, votes

    def _confidence(self, X: Any, votes: Votes, rows: Any = slice(None)) -> NDArray[np.float64]:
        """Return (items x classes) the mean confidence of the authorities of each class.

        Where all experts know two classes and have decision functions these are added, as one-versus-one
        does; otherwise probabilities, which can be compared between experts of all kinds and sizes.
        """
        columns = _columns(votes)[:, rows]
        total = np.zeros((self.classes, columns.shape[1]))
        margins = all(len(one.members) == 2 and one.model.has("decision_function") for one in self.voices)
        for one, row in zip(self.voices, columns, strict=True):
            if margins:
                score = one.scores(X, "decision_function")
                difference = score[:, 1] - score[:, 0]
                said = np.stack([-difference, difference], axis=1)
            else:
                said = one.probabilities(X, row)
            total[one.members] += said.T
        return np.asarray(total.T / _authorities(self.panel))

    def _decided(self, X: Any) -> NDArray[np.float64]:
        index, votes = self._labelled(X)
        return _on_top(_scores(_columns(votes), self._confidence(X, votes), self.panel), index)

    def _fused(self, X: Any) -> NDArray[np.float64]:
        index, votes = self._labelled(X)
        return _on_top(fusion.coupled(self._with_probabilities(X, votes), power=1), index)


def _columns(votes: Votes) -> Array:
    """Return (experts x items) votes."""
    columns = votes.to_dense().columns
    assert columns is not None
    return columns


def _as_trained(votes: Votes, panel: Panel) -> Votes:
    """Return the votes as the panel in training would give them, with those of lost experts missing."""
    if votes.panel is panel:
        return votes
    columns = np.full((len(panel), len(votes)), NOT_ASKED, dtype=smallest_int(len(panel.classes)))
    columns[[panel.expert_index(name) for name in votes.panel.names]] = _columns(votes)
    return Votes.trusted(panel, columns=columns)


def _authorities(panel: Panel) -> Array:
    """Return how many experts know each class, at least 1: nobody votes for a class that no expert knows."""
    return np.asarray(np.maximum(panel.knows.sum(axis=0), 1))


def _surest(tied: Sequence[Array], sure: Array, panel: Panel) -> Array:
    """Return one of the tied classes of every item.

    It is the class with the highest mean confidence of its authorities, then with most authorities, then
    whose name has the larger checksum (CRC-32): the order of the classes never matters.
    """
    checksum = np.array([zlib.crc32(str(name).encode()) for name in panel.classes])
    rank = np.argsort(np.lexsort((checksum, _authorities(panel))))
    allowed = np.zeros(sure.shape, dtype=bool)
    for row, classes in zip(allowed, tied, strict=True):
        row[classes if len(classes) else panel.knows.any(axis=0)] = True
    # Sums of the same numbers in another order differ in their last digits.
    value = np.where(allowed, np.round(sure, 9), -np.inf)
    best = value == value.max(axis=1, keepdims=True)
    return np.asarray(np.where(best, rank, -1).argmax(axis=1))


def _scores(columns: Array, sure: Array, panel: Panel) -> NDArray[np.float64]:
    """Return (items x classes) the authority score in votes, and confidence where that ties.

    The score of a class is N_k / d_k, times the most authorities that a class has: with equally many for all
    it is the number of votes. The mean confidence of its authorities adds less than half of the least
    difference between two scores, so it decides ties and nothing else. With one expert for every pair of
    classes, this is the decision function of scikit-learn's OneVsOneClassifier.
    """
    items, classes = sure.shape
    known = _authorities(panel)
    most = int(known.max())
    cells = columns.astype(np.intp) + np.arange(items) * classes
    counts = np.bincount(cells.ravel(), minlength=items * classes).reshape(items, classes)
    shares = np.unique(np.concatenate([np.arange(d + 1) / d for d in set(known.tolist())]))
    step = float(np.diff(shares).min() * most)
    score = counts * most / known + step * most * sure / (3 * (np.abs(most * sure) + 1))
    score[:, ~panel.knows.any(axis=0)] = -1
    return np.asarray(score)


def _on_top(table: Array, index: Array) -> Array:
    """Return the table with the labels' entries the largest of their rows, exchanged with those that were."""
    table = table.copy()
    rows = np.arange(len(table))
    best = table.argmax(axis=1)
    table[rows, index], table[rows, best] = table[rows, best], table[rows, index]
    equal = np.flatnonzero(table.argmax(axis=1) != index)  # another class, earlier in order, is as good
    table[equal, index[equal]] = np.nextafter(table[equal, index[equal]], np.inf)
    return table
