"""The one loop of decoding: learn from all parts of the votes, then label them part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from covote.decoding.gold import Gold, given
from covote.decoding.protocol import Decoder, estimates, learns
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import PART, Votes

T = TypeVar("T")


class Parts(Protocol):
    """Votes in parts: in memory, in a file, or on the workers of a cluster."""

    @property
    def panel(self) -> Panel:
        """Who could answer what."""

    def map(self, task: Callable[[Votes], T]) -> Iterator[T]:
        """Yield what a task makes of every part, in order; the task can be pickled."""


@dataclass(frozen=True)
class InMemory:
    """Votes in memory; with several threads, in a few parts per thread."""

    votes: Votes
    workers: int = 1

    @property
    def panel(self) -> Panel:
        """Who could answer what."""
        return self.votes.panel

    def map(self, task: Callable[[Votes], T]) -> Iterator[T]:
        """Yield what a task makes of every part; compiled loops let other threads run."""
        if self.workers == 1:
            yield task(self.votes)
            return
        size = min(PART, max(1, -(-len(self.votes) // (4 * self.workers))))
        with ThreadPoolExecutor(self.workers) as pool:
            yield from pool.map(task, list(self.votes.parts(size)) or [self.votes])


@dataclass(frozen=True)
class Wanted:
    """What labels shall have beside the class: evidence, probabilities of all classes, known classes."""

    evidence: bool = True
    proba: bool = False
    gold: Gold | None = None


def decode_parts(parts: Parts, decoder: Decoder, wanted: Wanted = Wanted()) -> Iterator[Labels]:  # noqa: B008
    """Yield the labels of every part, after having learned from all of them what the decoder learns."""
    if wanted.proba and not estimates(decoder):
        raise no_proba(decoder)
    weights = decoder.start(parts.panel)
    if learns(decoder):
        # The bare vote costs next to nothing; where nothing ties, nothing needs to be learned.
        simple = decoder.only_for_ties and not wanted.evidence and not wanted.proba and wanted.gold is None
        bare = _without_ties(parts, decoder, weights) if simple else None
        if bare is not None:
            yield from bare
            return
        weights = learned(parts, decoder)
    yield from parts.map(partial(labelled, decoder=decoder, weights=weights, wanted=wanted))


def labelled(votes: Votes, *, decoder: Decoder, weights: Any, wanted: Wanted) -> Labels:
    """Return the labels of a part of the votes, by weights that were learned."""
    labels = decoder.score(votes, weights, wanted.evidence or wanted.proba)
    if wanted.proba and estimates(decoder):
        labels = labels.with_proba(decoder.proba(votes, weights))
    return given(labels, votes, wanted.gold, learned=learns(decoder))


def no_proba(decoder: Decoder) -> InputError:
    """Say that a decoder has no probabilities of classes."""
    return InputError(
        f"{decoder} gives no probabilities of classes; choose another method, such as 'authority' with its "
        "default for ties"
    )


def _without_ties(parts: Parts, decoder: Decoder, weights: Any) -> list[Labels] | None:
    """Return labels without evidence, if no item is tied."""
    found = []
    for labels in parts.map(partial(_if_none_tied, decoder=decoder, weights=weights)):
        if labels is None:
            return None
        found.append(labels)
    return found


def _if_none_tied(votes: Votes, decoder: Decoder, weights: Any) -> Labels | None:
    if votes.soft:
        return None
    labels = decoder.score(votes, weights, evidence=False)
    return None if labels.index.min(initial=0) < 0 and labels.tied.any() else labels


def learned(parts: Parts, decoder: Decoder) -> Any:
    """Return the decoder's weights, learned from all parts."""
    weights = decoder.start(parts.panel)
    if not learns(decoder):
        return weights
    for _ in range(decoder.rounds):
        before = weights
        counts = total(parts.map(partial(decoder.count, weights=before)))
        weights = decoder.learn(parts.panel, counts, before)
        if weights is before:
            break
    return weights


def total(counts: Iterable[T]) -> T:
    """Add up the counts of parts."""
    iterator = iter(counts)
    whole: Any = next(iterator)
    for more in iterator:
        whole = whole + more
    return whole  # type: ignore[no-any-return]
