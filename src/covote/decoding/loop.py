"""The one loop of decoding: learn from all parts of the votes, then label them part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from covote.decoding.protocol import Decoder, learns
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


def decode_parts(parts: Parts, decoder: Decoder, *, evidence: bool = True) -> Iterator[Labels]:
    """Yield the labels of every part, after having learned from all of them what the decoder learns."""
    weights = decoder.start(parts.panel)
    if learns(decoder):
        # The bare vote costs next to nothing; where nothing ties, nothing needs to be learned.
        bare = None if evidence or not decoder.only_for_ties else _without_ties(parts, decoder, weights)
        if bare is not None:
            yield from bare
            return
        weights = learned(parts, decoder)
    yield from parts.map(partial(decoder.score, weights=weights, evidence=evidence))


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
