"""A trained panel at work: ask everybody, then say what they mean together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.learn import asking, fusing, inputs
from covote.learn.decoding import Decoding
from covote.learn.probability import fused_probabilities
from covote.panel import Name, Panel
from covote.votes import Votes

Array = NDArray[Any]

MOST_VOTES = 1 << 24
"""Votes held at once; more items are labelled in parts."""


class Answers(NamedTuple):
    """The votes (experts x items), and perhaps what each expert gives to the classes it knows."""

    votes: Array
    given: Array | None


@dataclass(frozen=True)
class Hearing:
    """The experts that are asked, the panel they are, and how their votes are decoded.

    X is taken as it is: it was checked before. Without a `decoding`, by authority vote and confidence.
    """

    panel: Panel
    voices: tuple[asking.Voice, ...]
    decoding: Decoding | None = None

    @classmethod
    def of(
        cls,
        panel: Panel,
        models: Sequence[Any],
        classes: Array,
        trusted: bool,
        rows: Sequence[NDArray[np.intp]] | None,
    ) -> Hearing:
        """Choose whom to hear: who knows a single class says nothing by answering it."""
        heard = np.flatnonzero((panel.sizes > 1) | (len(classes) == 1)).tolist()
        if len(heard) == 0:
            raise InputError(
                "every expert knows a single class, so nobody can tell two classes apart; add other experts"
            )
        voices = []
        for i in heard:
            known = np.flatnonzero(panel.knows[i])
            voice = asking.voice(panel.names[i], models[i], known, classes, trusted)
            voices.append(voice if rows is None else replace(voice, rows=rows[i]))
        return cls(panel.only(*(panel.names[i] for i in heard)), tuple(voices))

    def only(self, names: Collection[Name]) -> Hearing:
        """Return the hearing of some of these experts."""
        left = [voice for voice in self.voices if voice.name in names]
        if not left:
            raise InputError("no expert is left that could tell two classes apart; keep at least one")
        return Hearing(self.panel.only(*(voice.name for voice in left)), tuple(left), self.decoding)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.panel.classes)

    @property
    def alone(self) -> asking.Voice | None:
        """The expert whose word is final: the only one, if it knows everything."""
        one = self.voices[0]
        return one if len(self.voices) == 1 and len(one.members) == self.classes else None

    def labels(self, X: Any) -> Array:
        """Return the class index of every item."""
        return np.concatenate([self._labelled(part)[0] for part in self._parts(X)])

    def decision(self, X: Any) -> NDArray[np.float64]:
        """Return (items x classes) scores; the label has the highest."""
        return np.concatenate([self._decided(part) for part in self._parts(X)])

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Return (items x classes) probabilities; the label has the highest."""
        return np.concatenate([self._weighed(part) for part in self._parts(X)])

    def votes(self, X: Any, probabilities: bool = False) -> Votes:
        """Return what the experts answer to all items."""
        return self._votes(self._asked(X, probabilities))

    def _parts(self, X: Any) -> Iterator[Any]:
        """Yield the items in parts whose votes fit into memory."""
        items, size = inputs.count(X), max(1, MOST_VOTES // len(self.voices))
        for start in range(0, max(items, 1), size):
            yield X if items <= size else inputs.take(X, np.arange(start, min(start + size, items)))

    def _asked(self, X: Any, probabilities: bool) -> Answers:
        votes = asking.ask_votes(self.voices, X, inputs.count(X), self.classes)
        return Answers(votes, self._given(X, votes) if probabilities else None)

    def _given(self, X: Any, votes: Array) -> Array:
        return asking.by_class(self.voices, asking.ask_probabilities(self.voices, X, votes))

    def _votes(self, answers: Answers) -> Votes:
        if answers.given is None:
            return Votes.trusted(self.panel, columns=answers.votes, complete=True)
        return Votes.from_dense(answers.votes.T, self.panel, probabilities=answers.given.T)

    def _labelled(self, X: Any) -> tuple[Array, Answers]:
        """Return the class index of every item, and the answers behind it."""
        answers = self._asked(X, self.decoding is not None and self.decoding.soft)
        if self.decoding is None:
            index = fusing.leading(answers.votes, self.panel)
        else:
            index = self.decoding.labels(self._votes(answers)).copy()
        rows = np.flatnonzero(index < 0)
        if len(rows):
            index[rows] = self._score(inputs.take(X, rows), answers.votes[:, rows]).argmax(axis=1)
        return index, answers

    def _score(self, X: Any, votes: Array) -> NDArray[np.float64]:
        confidence = asking.ask_confidence(self.voices, X, votes, self.classes)
        return fusing.decision(votes, confidence, self.panel)

    def _decided(self, X: Any) -> NDArray[np.float64]:
        if self.decoding is None:
            return self._score(X, self._asked(X, False).votes)
        index, answers = self._labelled(X)
        return fusing.on_top(self._score(X, answers.votes), index)

    def _weighed(self, X: Any) -> NDArray[np.float64]:
        index, (votes, given) = self._labelled(X)
        if given is None:
            given = self._given(X, votes)
        return fusing.on_top(fused_probabilities(given, votes, self.panel), index)
