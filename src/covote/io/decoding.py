"""From a file of votes to a file of labels, in memory that does not grow with the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from covote.decode import Decoder, Statistics, make
from covote.decode.authority import Authority
from covote.decode.protocol import total
from covote.labels import Labels
from covote.panel import Name, Panel
from covote.votes import Votes

from .distinct import DistinctRows
from .labels import label_format, writing_labels
from .tally import Tally
from .votes import Progress, VoteFile, VoteSource


@dataclass(frozen=True)
class Outcome:
    """What came of a file of votes: the counts behind summary and report, and what was learned.

    `statistics` is None for methods that learn nothing from the votes.
    """

    panel: Panel
    tally: Tally
    statistics: Statistics | None


def decode_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    method: str = "authority",
    gold: Mapping[Any, Name] | None = None,
    unknown: Literal["error", "drop"] = "error",
    duplicates: Literal["error", "first", "last"] = "error",
    none: str = "none of mine",
    looks: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome:
    """Label every item of a file of votes; write the labels as they come.

    Parameters
    ----------
    votes_file
        A Parquet, CSV or JSON-lines file, long or wide; see :class:`covote.io.VoteFile`.
    output
        A Parquet or CSV file for the labels, complete or absent whatever happens; None to count only.
    panel
        Who knows what.
    method, options
        As for :func:`covote.decode`.
    gold
        Items whose class is known.
    unknown, duplicates, none
        As for :class:`covote.io.VoteFile`.
    looks
        How many of the most doubtful items to remember.
    progress
        Called as (done, total, what).
    """
    if output is not None:
        label_format(output)
    file = VoteFile(votes_file, panel, unknown=unknown, duplicates=duplicates, none=none)
    return decode_votes(file, output, method=method, gold=gold, looks=looks, progress=progress, **options)


def decode_votes(
    file: VoteSource,
    output: str | os.PathLike[str] | None,
    *,
    method: str = "authority",
    gold: Mapping[Any, Name] | None = None,
    looks: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome:
    """Label every item of votes that come in parts; as :func:`decode_file`, from wherever they are kept."""
    panel = file.panel
    if gold is not None:
        options["gold"] = file.over(lambda parts: _like_items(gold, next(parts)))
    decoder = make(method, options)
    file.keep = decoder.rounds > 0
    decoder, weights, statistics, passes = _learned(file, decoder, progress)

    def score(part: Votes) -> Labels:
        return decoder.score(part, weights)

    def label(parts: Iterator[Votes]) -> Tally:
        tally = Tally(panel, looks)
        rows = DistinctRows(panel, score)
        with writing_labels(output) if output is not None else nullcontext() as writer:
            for part in parts:
                # Gold belongs to items, not to rows of answers.
                labels = rows.labels(part) if gold is None else None
                if labels is None:
                    labels = score(part)
                    tally.add(part, labels)
                tally.remember(part, labels)
                if writer is not None:
                    writer.write(labels)
            for votes, labels, count in rows.counted():
                tally.add(votes, labels, count)
        return tally

    tally = file.over(label, _share(progress, passes, passes + 1, "labelling"))
    return Outcome(panel, tally, statistics)


def _learned(file: VoteSource, decoder: Decoder, progress: Progress | None) -> tuple[Decoder, Any, Any, int]:
    """Return (the decoder, its weights, its statistics, how many passes they took).

    Decides as :func:`covote.decode` does in memory.
    """
    weights, number = decoder.start(file.panel), 0
    for number in range(1, decoder.rounds + 1):
        before = weights
        report = _share(progress, number - 1, decoder.rounds + 1, "learning")
        counts, needed = file.over(partial(_counted, decoder, before), report)
        weights = decoder.learn(file.panel, counts, before)
        if not needed:
            bare = Authority(ties="report")
            return bare, bare.start(file.panel), getattr(weights, "statistics", None), number
        if weights is before:
            break
    return decoder, weights, getattr(weights, "statistics", None), number


def _counted(decoder: Decoder, weights: Any, parts: Iterator[Votes]) -> tuple[Any, bool]:
    """Return the counts of all parts, and whether the decoder needs them.

    The authority vote does not where nothing ties: then the bare vote says it all.
    """
    needed = not (isinstance(decoder, Authority) and decoder.ties == "default")
    bare = Authority(ties="report")

    def statistics() -> Iterator[Any]:
        nonlocal needed
        for part in parts:
            needed = needed or part.soft or bool(bare.score(part, bare.start(part.panel)).tied.any())
            yield decoder.statistics(part, weights)

    return total(statistics()), needed


def _share(progress: Progress | None, number: int, passes: int, what: str) -> Progress | None:
    """Return a progress callback for one pass of several."""
    if progress is None:
        return None
    report: Callable[[int, int, str], None] = progress
    return lambda done, all_, _: report(number * all_ + done, passes * all_, what)


def _like_items(gold: Mapping[Any, Name], part: Votes) -> Mapping[Any, Name]:
    """Return gold whose ids have the type of the votes' ids: a CSV file cannot tell 7 from "7"."""
    text = isinstance(part.items[0], str)
    if text and not all(isinstance(item, str) for item in gold):
        return {str(item): label for item, label in gold.items()}
    if not text and part.items.dtype.kind in "iu" and any(isinstance(item, str) for item in gold):
        return {_integer(item): label for item, label in gold.items()}
    return gold


def _integer(item: Any) -> Any:
    try:
        return int(item)
    except ValueError:
        return item
