"""The interface of decoders, and the decoding loop: learn from all parts of the votes, then label them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding.gold import Gold, with_gold
from covote.decoding.statistics import Statistics
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import PART, Votes
from covote.votes.patterns import AnswerPatterns

T = TypeVar("T")


class HasStatistics(Protocol):
    """Weights that were learned."""

    @property
    def statistics(self) -> Statistics | None:
        """The counts behind the weights, to which later votes can be added."""


class Pass:
    """One pass over all votes, from which a decoder learns better weights.

    A pass sees one part of the votes at a time. Counts of two parts add up (``+``) to the counts of both, so
    parts may be counted in any order and on any machine.
    """

    def needed(self, weights: Any) -> bool:
        """Whether the pass could change the weights; if not, it is skipped."""
        return True

    def count(self, votes: Votes, weights: Any) -> Any:
        """Return what a part of the votes reveals about the experts, given the current weights."""
        raise NotImplementedError

    def learn(self, panel: Panel, counts: Any, weights: Any) -> HasStatistics:
        """Return better weights from the counts of all parts."""
        raise NotImplementedError


@dataclass(frozen=True)
class Decoder(Pass):
    """A way to label votes: a frozen dataclass whose fields are its options.

    A decoder only needs :meth:`score`. One that learns from the votes also has `passes`, often only itself.
    One that estimates the probability of every class has a method ``proba(votes, weights)``, which returns
    (items x classes).
    """

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes in which the decoder learns; those that are not needed are skipped."""
        return ()

    def start(self, panel: Panel) -> Any:
        """Return the weights that follow from the panel alone."""
        return None

    def score(self, votes: Votes, weights: Any, evidence: bool = True) -> Labels:
        """Return the labels of a part of the votes, with or without their evidence."""
        raise NotImplementedError


@dataclass(frozen=True)
class Estimator(Decoder):
    """A decoder that estimates the probability of every class."""

    def proba(self, votes: Votes, weights: Any) -> NDArray[np.float64]:
        """Return the probability of every class (items x classes); the label need not have the highest."""
        raise NotImplementedError


def estimates(decoder: Decoder) -> TypeGuard[Estimator]:
    """Whether a decoder estimates the probability of every class."""
    return hasattr(decoder, "proba")


def checked(decoder: object) -> Decoder:
    """Return a user's decoder, or raise an error that names what it lacks."""
    if isinstance(decoder, type):
        name = decoder.__name__
        raise InputError(f"method is the class {name}; give an object of it, {name}()")
    if not isinstance(decoder, Decoder) or type(decoder).score is Decoder.score:
        raise InputError(
            f"a {type(decoder).__name__} is not a decoder; make it a subclass of covote.decoding.Decoder "
            "with score(votes, weights, evidence); see covote docs methods"
        )
    return decoder


class Parts(Protocol):
    """Votes in parts: in memory, in a file, or on the workers of a cluster."""

    @property
    def panel(self) -> Panel:
        """The panel of the votes."""

    def map(self, task: Callable[[Votes], T]) -> Iterator[T]:
        """Yield the result of a task for every part, in order; the task can be pickled."""

    def distinct(self) -> Votes | None:
        """Return the distinct answer rows of all parts, or None if every part is labelled by itself."""


@dataclass(frozen=True)
class InMemory:
    """Votes in memory; with several threads, in a few parts per thread."""

    votes: Votes
    workers: int = 1

    @property
    def panel(self) -> Panel:
        """The panel of the votes."""
        return self.votes.panel

    def map(self, task: Callable[[Votes], T]) -> Iterator[T]:
        """Yield the result of a task for every part; compiled loops release the interpreter lock."""
        if self.workers == 1:
            yield task(self.votes)
            return
        size = min(PART, max(1, -(-len(self.votes) // (4 * self.workers))))
        with ThreadPoolExecutor(self.workers) as pool:
            yield from pool.map(task, list(self.votes.parts(size)) or [self.votes])

    def distinct(self) -> None:
        """Return None: votes in memory keep their own rows."""


@dataclass(frozen=True)
class DecodeOptions:
    """What labels should have besides the class: evidence, probabilities of all classes, gold items."""

    evidence: bool = True
    proba: bool = False
    gold: Gold | None = None


def decode_parts(parts: Parts, decoder: Decoder, wanted: DecodeOptions = DecodeOptions()) -> Iterator[Labels]:
    """Yield the labels of every part, after the decoder has learned from all parts."""
    yield from parts.map(fit(parts, decoder, wanted))


class LabelledRows(NamedTuple):
    """The distinct answer rows of all parts, and their labels."""

    rows: AnswerPatterns
    labels: Labels


@dataclass(frozen=True)
class Fitted:
    """A decoder with the weights it learned from all parts; calling it with a part returns the part's labels.

    `known` has the labels of all answer rows, if these were collected.
    """

    decoder: Decoder
    weights: Any
    wanted: DecodeOptions
    known: LabelledRows | None = None

    def held_out(self, votes: Votes) -> NDArray[np.int64] | None:
        """Return the labels that gold items get without their known classes, if the decoder finds them."""
        apart = getattr(self.decoder, "held_out", None)
        return None if apart is None or self.wanted.gold is None else apart(votes, self.weights)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for a summary on how the labels were found."""
        return tuple(getattr(self.weights, "notes", ()))

    @property
    def statistics(self) -> Statistics | None:
        """The counts behind the weights, if the decoder learns."""
        return getattr(self.weights, "statistics", None)

    def __call__(self, votes: Votes) -> Labels:
        """Return the labels of a part of the votes."""
        rows = None if self.known is None else votes.rows
        if self.known is not None and rows is not None and rows.inverse is not None:
            places = rows.places(self.known.rows)
            return self.known.labels.take(places[rows.inverse], votes.ids, votes.start)
        labels = self.decoder.score(votes, self.weights, self.wanted.evidence or self.wanted.proba)
        if not isinstance(labels, Labels):
            raise InputError(
                f"score of {type(self.decoder).__name__} returned a {type(labels).__name__}, not Labels; "
                "covote.decoding.labels_from_scores makes them from scores"
            )
        if estimates(self.decoder) and (self.wanted.proba or _lacks_confidence(labels)):
            proba = self.decoder.proba(votes, self.weights)
            if _lacks_confidence(labels):
                labels = labels.with_confidence(proba)
            labels = labels.with_proba(proba) if self.wanted.proba else labels
        labels = with_gold(
            labels, votes, self.wanted.gold, self.held_out(votes), learned=bool(self.decoder.passes)
        )
        return replace(labels, ids=votes.ids, start=votes.start)


def _lacks_confidence(labels: Labels) -> bool:
    """Whether labels have evidence, but no confidence: scores of your own decoder are no probabilities."""
    return labels.evidence_or_none is not None and bool(np.isnan(labels.confidence).all())


def fit(parts: Parts, decoder: Decoder, wanted: DecodeOptions = DecodeOptions()) -> Fitted:
    """Let a decoder learn from all parts."""
    if wanted.proba and not estimates(decoder):
        raise no_proba(decoder)
    # Items with the same answers have the same label, unless some of them are known.
    rows = parts.distinct() if wanted.gold is None else None
    fitted = Fitted(decoder, learn_weights(parts if rows is None else InMemory(rows), decoder), wanted)
    if rows is None or wanted.proba:  # probabilities of all classes would take too much memory
        return fitted
    return replace(fitted, known=LabelledRows(rows.rows, fitted(rows)))


def no_proba(decoder: Decoder) -> InputError:
    """Return the error that a decoder has no probabilities of classes."""
    return InputError(
        f"{decoder} gives no probabilities of classes; choose another method, such as 'learned'"
    )


def learn_weights(parts: Parts, decoder: Decoder) -> Any:
    """Return the decoder's weights, learned from all parts."""
    weights = decoder.start(parts.panel)
    for one in decoder.passes:
        if one.needed(weights):
            counts = reduce(add, parts.map(partial(one.count, weights=weights)))
            weights = one.learn(parts.panel, counts, weights)
    return weights
