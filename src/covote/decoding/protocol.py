"""What a decoder is, and how one is run over votes in parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from covote.labels import Labels, joined
from covote.panel import Panel
from covote.votes import PART, Votes

T = TypeVar("T")


class Decoder(Protocol):
    """A way to find vote weights; applying them to votes is the same for all.

    `statistics` and `score` see one part of the votes at a time. Counts of two parts add up (``+``) to the
    counts of both, so parts may be handled in any order and anywhere. A `score` that takes `workers` is given
    all votes at once and runs its own threads.
    """

    @property
    def rounds(self) -> int:
        """How many passes of statistics the weights need; 0 if they need no data."""

    def start(self, panel: Panel) -> Any:
        """Return the weights to begin with."""

    def statistics(self, part: Votes, weights: Any) -> Any:
        """Return what a part of the votes tells about the experts; it can be added to another part's."""

    def learn(self, panel: Panel, counts: Any, weights: Any) -> Any:
        """Return better weights from the counts of all parts; the same object when they have settled."""

    def score(self, part: Votes, weights: Any) -> Labels:
        """Return the labels of a part of the votes."""


def run(decoder: Decoder, votes: Votes, workers: int = 1) -> Labels:
    """Learn the weights from all parts, then label all parts, with `workers` threads."""
    weights = learned(decoder, votes, workers)
    if workers > 1 and "workers" in inspect.signature(decoder.score).parameters:
        return decoder.score(votes, weights, workers=workers)  # type: ignore[call-arg]
    return joined(list(over_parts(lambda part: decoder.score(part, weights), votes, workers)))


def learned(decoder: Decoder, votes: Votes, workers: int = 1) -> Any:
    """Return the weights after all rounds of statistics."""
    weights = decoder.start(votes.panel)
    for _ in range(decoder.rounds):
        now = weights
        counts = total(over_parts(lambda part: decoder.statistics(part, now), votes, workers))  # noqa: B023
        weights = decoder.learn(votes.panel, counts, weights)
        if weights is now:
            break
    return weights


def total(counts: Iterable[Any]) -> Any:
    """Add up the counts of parts."""
    iterator = iter(counts)
    whole = next(iterator)
    for more in iterator:
        whole = whole + more
    return whole


def over_parts(task: Callable[[Votes], T], votes: Votes, workers: int) -> Iterator[T]:
    """Apply a task to the parts of the votes, in order; the compiled loops let other threads run."""
    if workers == 1:
        # The compiled loops go through the votes in blocks by themselves.
        yield task(votes)
        return
    parts = even_parts(votes, workers)
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(task, parts)


def even_parts(votes: Votes, workers: int) -> Sequence[Votes]:
    """Cut the votes into a few parts per worker, none larger than PART items."""
    size = min(PART, max(1, -(-len(votes) // (4 * workers))))
    return list(votes.parts(size)) or [votes]
