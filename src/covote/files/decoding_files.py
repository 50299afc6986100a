"""From a file of votes to a file of labels, in memory that does not grow with the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from covote.decoding import Decoder, Learner, Statistics, learns, make
from covote.decoding.gold import no_gold
from covote.decoding.loop import total
from covote.files.cluster import OnEngine, scratch
from covote.files.distinct import DistinctRows
from covote.files.items import Retry
from covote.files.label_files import label_format, writing_labels
from covote.files.packed import Rows
from covote.files.passes import Counting, Distinct, Labelling, countable, gold_of
from covote.files.report.tally import Tally
from covote.files.vote_files import Progress, VoteFile, VoteSource
from covote.panel import Name, Panel
from covote.votes import Votes

if TYPE_CHECKING:
    from covote.engines import Engine


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
    item: str | None = None,
    expert: str | None = None,
    label: str | None = None,
    looks: int = 0,
    progress: Progress | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Outcome:
    """Label every item of a file of votes; write the labels as they come.

    Parameters
    ----------
    votes_file
        A Parquet, CSV or JSON-lines file, long or wide; see :class:`covote.files.VoteFile`.
    output
        A Parquet or CSV file for the labels, complete or absent whatever happens; None to count only.
    panel
        Who knows what.
    method, options
        As for :func:`covote.decode`.
    gold
        Items whose class is known.
    unknown, duplicates, none, item, expert, label
        As for :class:`covote.files.VoteFile`.
    looks
        How many of the most doubtful items to remember.
    progress
        Called as (done, total, what).
    engine
        Where parts of the file are read and labelled: an engine of :mod:`covote.engines`. Without one, the
        file streams through this process. The labels are the same, byte for byte.
    """
    if output is not None:
        label_format(output)
    file = VoteFile(
        votes_file, panel, unknown=unknown, duplicates=duplicates, none=none, item=item, expert=expert,
        label=label,
    )  # fmt: skip
    if engine is not None:
        if gold is not None:
            options["gold"] = file.over(lambda parts: _like_items(gold, next(parts)))
        return _on_engine(engine, file, make(method, options), output, looks, progress)
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
    if gold is not None:
        options["gold"] = file.over(lambda parts: _like_items(gold, next(parts)))
    decoder = make(method, options)
    return _decoded(Here(file, keep=decoder.rounds > 0), decoder, output, looks, progress)


def _on_engine(
    engine: Engine, file: VoteFile, decoder: Decoder, output: str | os.PathLike[str] | None, looks: int,
    progress: Progress | None,
) -> Outcome:  # fmt: skip
    """Decode with an engine; begin again where the file turns out not to be what it seemed."""
    file.pack = True
    while True:
        with scratch(output) as folder:
            try:
                votes = OnEngine(engine, file, folder, keep=decoder.rounds > 0)
                return _decoded(votes, decoder, output, looks, progress)
            except Retry as found:
                file.learn(found)


class Here:
    """Votes that are learned from and labelled in this process, as one part."""

    def __init__(self, source: VoteSource, *, keep: bool) -> None:
        self.panel = source.panel
        self._source = source
        source.keep = keep
        if isinstance(source, VoteFile):
            source.pack = True

    def each(self, function: Callable[[Iterator[Any]], Any], report: Progress | None) -> Iterator[Any]:
        """Yield what the function says about all votes."""
        yield self._source.over(function, report)

    def distinct(self, report: Progress | None) -> Rows | None:
        """Return the different rows of answers, None if there are too many of them."""
        return self._source.over(Distinct(self.panel), report)

    def label(
        self, labelling: Labelling, output: str | os.PathLike[str] | None, report: Progress | None
    ) -> Tally:
        """Label all votes."""

        def label(pieces: Iterator[Any]) -> Tally:
            if output is None:
                return labelling(pieces, lambda _: None)
            with writing_labels(output) as writer:
                return labelling(pieces, writer.write)

        return self._source.over(label, report)


def _decoded(
    votes: Here | OnEngine,
    decoder: Decoder,
    output: str | os.PathLike[str] | None,
    looks: int,
    progress: Progress | None,
) -> Outcome:
    """Learn what the decoder needs, then label; decides as :func:`covote.decode` does in memory."""
    panel, rows = votes.panel, None
    if countable(decoder, panel):
        rows = votes.distinct(_share(progress, 0, 2, "learning"))

    def counted(learner: Learner, weights: Any, number: int) -> Any:
        if part is not None:
            return learner.count(part, weights)
        report = _share(progress, number - 1, learner.rounds + 1, "learning")
        counts, golden = zip(*votes.each(Counting(learner, weights), report), strict=True)
        if learner.gold is not None and not any(golden):
            raise no_gold(learner.gold)
        return total(counts)

    part = None if rows is None else rows.votes()
    weights, statistics, passes = _learned(decoder, panel, counted)
    passes = passes if rows is None else 1
    by_row = gold_of(decoder) is None  # gold belongs to items, not to rows of answers
    score = partial(decoder.score, weights=weights)
    known = None if rows is None else DistinctRows(rows, score)
    labelling = Labelling(panel, score, by_row, looks, known)
    tally = votes.label(labelling, output, _share(progress, passes, passes + 1, "labelling"))
    return Outcome(panel, labelling.whole(tally), statistics)


def _learned(
    decoder: Decoder, panel: Panel, counted: Callable[[Learner, Any, int], Any]
) -> tuple[Any, Statistics | None, int]:
    """Return (weights, statistics, how many rounds they took)."""
    weights = decoder.start(panel)
    if not learns(decoder):
        return weights, None, 0
    number = 0
    for number in range(1, decoder.rounds + 1):
        before = weights
        weights = decoder.learn(panel, counted(decoder, before, number), before)
        if weights is before:
            break
    return weights, weights.statistics, number


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
