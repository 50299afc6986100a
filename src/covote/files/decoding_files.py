"""From a file of votes to a file of labels, in memory that does not grow."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from covote.decoding import Decoder, Statistics, compare, make
from covote.decoding.gold import gold_rows, like_items, no_gold
from covote.decoding.loop import Fitted, Parts, Wanted, estimates, fit, no_proba
from covote.errors import TooLargeError
from covote.files.label_files import label_format, proba_batch, writing_labels
from covote.files.report.tally import Tally
from covote.files.vote_files import Slice, VoteFile, VoteSource
from covote.labels import GoldScore
from covote.panel import Name, Panel
from covote.progress import Progress, Work
from covote.tables import Reading
from covote.votes import Votes
from covote.votes.arrays import joined
from covote.votes.findings import Findings
from covote.votes.rows import Rows, fits, merged

if TYPE_CHECKING:
    from covote.engines import Engine

T = TypeVar("T")
_ROOM = 1 << 29  # bytes of votes kept in memory between passes
_MOST_COLUMNS = 3000  # classes in a file of probabilities
_COMPARED = 200_000  # items that methods are compared on, besides the gold items
_PASS = 1000  # steps of a pass over the votes, for progress


@dataclass(frozen=True)
class Outcome:
    """What came of a file of votes: the counts behind summary and report, and what was learned.

    `statistics` is None for methods that learn nothing from the votes, `gold` without items whose class is
    known. `notes` say how the file was read, where that is not plain, and `dropped` what was left out of it
    with ``unknown="drop"``.
    """

    panel: Panel
    tally: Tally
    statistics: Statistics | None
    gold: GoldScore | None = None
    method: str = "learned"
    notes: tuple[str, ...] = ()
    dropped: Findings | None = None


class PartDone(NamedTuple):
    """The labels of a part and their probabilities, as they are written, and what they add up to."""

    labels: pa.RecordBatch | None
    proba: pa.RecordBatch | None
    tally: Tally
    gold: GoldScore | None


def decode_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    reading: Reading | None = None,
    proba: str | os.PathLike[str] | None = None,
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
        A .parquet, .csv, .jsonl or .xlsx file for the labels, complete or absent whatever happens; None to
        count only.
    panel
        Who knows what.
    method, options
        As for :func:`covote.decode`.
    gold
        Items whose class is known; they keep it.
    proba
        A Parquet or CSV file for how likely every class is: the item, then one column per class.
    reading
        How columns, names and cells of the votes are understood.
    looks
        How many of the most doubtful items to remember.
    progress
        Called as (done, total, what).
    engine
        Where slices of a Parquet file are read and labelled: an engine of :mod:`covote.engines`. Without one,
        and for other files, the file streams through this process. The labels are the same, byte for byte.
    """
    file = VoteFile(votes_file, panel, reading)
    file.warn_of_dropped()
    outcome = decode_votes(
        file, output, method=method, gold=gold, proba=proba, looks=looks, progress=progress, engine=engine,
        **options,
    )  # fmt: skip
    return replace(outcome, notes=tuple(file.notes()), dropped=file.dropped)


def _to_compare(source: VoteSource, gold: Mapping[Any, Name]) -> Votes:
    """Return the votes on gold items, and on enough others that every method learns what it would of all."""
    kept, items = [], 0
    for part in source.parts():
        rows = np.arange(len(part)) if items < _COMPARED else gold_rows(gold, part)[0]
        if len(rows):
            kept.append(part if len(rows) == len(part) else part[np.sort(rows)])
        items += len(rows)
    return joined(kept)


def decode_votes(
    source: VoteSource,
    output: str | os.PathLike[str] | None,
    *,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    proba: str | os.PathLike[str] | None = None,
    looks: int = 0,
    progress: Progress | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Outcome:
    """Label every item of votes that come in parts; as :func:`decode_file`, from wherever they are kept."""
    for path in (output, proba):
        if path is not None:
            label_format(path)
    work = Work(2 * _PASS, progress)
    slices = source.slices() if engine is not None and isinstance(source, VoteFile) else []
    parts: Here | OnEngine = Here(source, work.part("learning", share=_PASS))
    if engine is not None and slices:
        parts = OnEngine(engine, slices, parts.work)
    if gold is not None:
        gold = like_items(gold, next(source.parts()))
    if method == "auto":
        method = "learned" if gold is None else compare(_to_compare(source, gold), gold).best
    decoder = make(method, options, gold)
    if proba is not None:
        check_proba(decoder, source.panel)
    if gold is not None and not sum(parts.map(partial(_golden, gold=gold))):
        raise no_gold(gold)
    fitted = fit(parts, decoder, Wanted(proba=proba is not None, gold=gold))
    parts = replace(parts, work=work.part("labelling", share=_PASS))
    tally, score = Tally(source.panel, looks), None
    if fitted.known is not None:
        tally.add(fitted.known.rows.votes, fitted.known.labels)
    task = partial(label_part, fitted=fitted, looks=looks, write=output is not None)
    with ExitStack() as files:
        writer = None if output is None else files.enter_context(writing_labels(output))
        proba_writer = None if proba is None else files.enter_context(writing_labels(proba))
        for part in parts.map(task):
            tally = tally + part.tally
            score = part.gold if score is None or part.gold is None else score + part.gold
            if writer is not None:
                writer.write_batch(part.labels)
            if proba_writer is not None:
                proba_writer.write_batch(part.proba)
    return Outcome(source.panel, tally, fitted.statistics, score, method)


def label_part(votes: Votes, *, fitted: Fitted, looks: int, write: bool) -> PartDone:
    """Return the labels of a part as they are written, and what they add up to unless the rows are known."""
    labels = fitted(votes)
    tally = Tally(votes.panel, looks)
    if fitted.known is None:
        tally.add(votes, labels)
    tally.remember(votes, labels)
    return PartDone(
        labels.to_batch() if write else None,
        proba_batch(labels) if labels.found_proba is not None else None,
        tally,
        labels.gold,
    )


def check_proba(decoder: Decoder, panel: Panel) -> None:
    """Refuse probabilities that a method does not give, or that make too many columns."""
    if not estimates(decoder):
        raise no_proba(decoder)
    if len(panel.classes) > _MOST_COLUMNS:
        raise TooLargeError(
            f"a file of probabilities would have {len(panel.classes):,} columns; the limit is "
            f"{_MOST_COLUMNS:,} classes"
        )


def _distinct(parts: Parts) -> Votes | None:
    return merged(parts.map(_rows)) if fits(parts.panel) else None


def _rows(votes: Votes) -> Rows | None:
    """Return the answer rows of a part, without the items that have them."""
    return None if votes.soft else replace(votes.rows, inverse=None)


@dataclass(frozen=True)
class Here:
    """Votes that are learned from and labelled in this process, kept for further passes if they are small."""

    source: VoteSource
    work: Work
    _kept: list[Votes | None] = field(default_factory=list)

    @property
    def panel(self) -> Panel:
        """Who could answer what."""
        return self.source.panel

    def map(self, task: Callable[[Votes], T]) -> Iterator[T]:
        """Yield what a task makes of every part."""
        if self._kept and self._kept[-1] is None:
            yield from (task(part) for part in self._kept if part is not None)
            return
        kept: list[Votes | None] = []
        room = _ROOM

        def report(done: int, total: int, _: str) -> None:
            self.work.total = total
            if self.work.advance(done - self.work.done):
                raise KeyboardInterrupt

        self.work.done = 0
        for part in self.source.parts(report):
            room -= part.nbytes
            if room > 0:
                kept.append(part)
            yield task(part)
        if room > 0:
            self._kept[:] = [*kept, None]  # None: these are all

    def distinct(self) -> Votes | None:
        """Return the different answer rows of all parts, if they are few."""
        return _distinct(self)


@dataclass(frozen=True)
class OnEngine:
    """Slices of a file that are learned from and labelled by an engine."""

    engine: Engine
    slices: list[Slice]
    work: Work
    run: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def panel(self) -> Panel:
        """Who could answer what."""
        return self.slices[0].file.panel

    def map(self, task: Callable[[Votes], T]) -> Iterator[T]:
        """Yield what a task makes of every part."""
        self.work.done, self.work.total = 0, len(self.slices)
        for results, names in self.engine.map(OnSlice(task, self.run), self.slices):
            self.slices[0].file.remember(names)
            if self.work.advance(1):
                raise KeyboardInterrupt
            yield from results

    def distinct(self) -> Votes | None:
        """Return the different answer rows of all parts, if they are few."""
        return _distinct(self)


_KEPT: dict[str, dict[int, list[Votes]]] = {}
"""What this worker has read of the slices of the last run, by their number. A second read takes as long as
all the rest (`benchmarks/scaling.py`)."""


@dataclass(frozen=True)
class OnSlice:
    """Applies a task to the parts of a slice, on a worker; `run` names all passes over the same slices."""

    task: Callable[[Votes], Any]
    run: str

    def __call__(self, some: Slice) -> tuple[list[Any], dict[str, Name | None]]:
        """Return what the task makes of every part, and the names that were matched loosely."""
        if self.run not in _KEPT:
            _KEPT.clear()
        kept = _KEPT.setdefault(self.run, {})
        parts = kept.get(some.number)
        if parts is None:
            parts = list(some.parts())
            if sum(part.nbytes for read in (*kept.values(), parts) for part in read) < _ROOM // 4:
                kept[some.number] = parts
        return [self.task(part) for part in parts], some.file.loosely()


def _golden(votes: Votes, gold: Mapping[Any, Name]) -> int:
    return len(gold_rows(gold, votes)[0])
