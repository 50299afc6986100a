"""From a file of votes to a file of labels, in memory that does not grow."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from covote.arguments import some_of
from covote.decoding import Decoder, Statistics, compare, make
from covote.decoding.gold import gold_rows, like_items, no_gold
from covote.decoding.loop import Fitted, Parts, Wanted, estimates, fit, no_proba
from covote.errors import InputError, TooLargeError
from covote.files.output import Output
from covote.files.review import Looks
from covote.files.side_tables import read_gold
from covote.files.tally import Tally
from covote.files.vote_files import Slice, VoteFile, VoteSource, inferred_panel, open_panel
from covote.labels import GoldScore
from covote.panel import Name, Panel
from covote.progress import Progress, Work
from covote.tables import Reading
from covote.tables.words import folded
from covote.votes import Votes
from covote.votes.arrays import joined
from covote.votes.findings import Findings
from covote.votes.rows import Rows, fits_key, merged

if TYPE_CHECKING:
    from covote.engines import Engine

T = TypeVar("T")
_ROOM = 1 << 29  # bytes of votes kept in memory between passes
_MOST_COLUMNS = 3000  # classes in a file of probabilities
_COMPARED = 200_000  # items that methods are compared on, besides the gold items
LOOKS = 25
"""Items of the review list that an outcome keeps, for the report."""
_PASS = 1000  # steps of a pass over the votes, for progress


@dataclass(frozen=True)
class Outcome:
    """The outcome of a file of votes: the counts behind summary and report, and what was learned.

    `statistics` is None for methods that learn nothing from the votes, `gold` without items whose class is
    known. `notes` describe how the file was read, where that is not obvious, and `dropped` what was left out
    with ``unknown="drop"``. `looks` are the first items of the review list.
    """

    panel: Panel
    tally: Tally
    statistics: Statistics | None
    gold: GoldScore | None = None
    method: str = "learned"
    notes: tuple[str, ...] = ()
    dropped: Findings | None = None
    looks: Looks = field(default_factory=lambda: Looks(LOOKS))

    def told(self) -> list[str]:
        """Return notes on experts without answers, on how the votes were read, and on what was dropped."""
        dropped = "" if self.dropped is None else self.dropped.drop_note
        return [*self.silent(), *self.notes, *([dropped] if dropped else [])]

    def silent(self) -> list[str]:
        """Name the experts of the panel who have no answer among the votes."""
        lost = [
            str(name) for name, n in zip(self.panel.names, self.tally.answers.tolist(), strict=True) if not n
        ]
        if not lost or len(lost) == len(self.panel):
            return []
        return [
            f"no answer from {some_of(lost)} was counted; if there should be any, check how the votes spell "
            "the name"
        ]


def decode_file(
    votes_file: str | os.PathLike[str],
    output: Output | str | os.PathLike[str] | None,
    panel: Panel | str | os.PathLike[str],
    *,
    method: str = "learned",
    gold: Mapping[Any, Name] | str | os.PathLike[str] | None = None,
    reading: Reading | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Outcome:
    """Label every item of a file of votes; write the labels as they come.

    Parameters
    ----------
    votes_file
        A Parquet, CSV, JSON-lines or Excel file, long or wide; see :class:`covote.files.VoteFile`.
    output
        A .parquet, .csv, .jsonl or .xlsx file for the labels, or an :class:`Output` that names what else is
        written: probabilities, a review list, a report, statistics. None to count only. Files are complete
        or absent whatever happens.
    panel
        Who knows what: a panel, its file, ``"all"`` (every expert knows every class) or ``"infer"`` (each
        expert knows the labels they used).
    method, options
        As for :func:`covote.decode`.
    gold
        Items whose class is known, or a file of them; they keep it.
    reading
        How columns, names and cells of the votes are understood.
    progress
        Called as (done, total, what).
    engine
        Where slices of a Parquet file are read and labelled: an engine of :mod:`covote.engines`. Without one,
        and for other files, the file streams through this process. The labels are the same, byte for byte.
    """
    output = output if isinstance(output, Output) else Output(output)
    output.check()
    panel, assumed = _panel(votes_file, panel, reading)
    file = VoteFile(votes_file, panel, reading)
    if gold is not None and not isinstance(gold, Mapping):
        gold = read_gold(gold, panel, reading)
    file.warn_of_dropped()
    outcome = decode_votes(
        file, output, method=method, gold=gold, progress=progress, engine=engine, **options
    )
    outcome = replace(outcome, notes=(*assumed, *file.notes(), *outcome.notes), dropped=file.dropped)
    if output.report is not None:
        from covote.files.report.report import write_report

        write_report(output.report, outcome, source=Path(votes_file).name)
    return outcome


def _panel(
    votes_file: str | os.PathLike[str], panel: Panel | str | os.PathLike[str], reading: Reading | None
) -> tuple[Panel, list[str]]:
    """Return the panel, and notes on what is assumed about it."""
    if isinstance(panel, Panel):
        return panel, []
    if panel == "all":
        found = open_panel(votes_file, reading)
        return found, [
            f"every expert is assumed to know every class ({_who(found)}); say who knows what with --panel"
        ]
    if panel == "infer":
        found = inferred_panel(votes_file, reading)
        return found, [
            f"every expert is assumed to know exactly the labels they gave in this file ({_who(found)})"
        ]
    return Panel.load(panel), []


def _who(panel: Panel) -> str:
    """Return how many experts and classes the votes name, and two of them that may be the same."""
    experts, classes = len(panel), len(panel.classes)
    said = f"{experts:,} expert{'s' * (experts != 1)}, {classes:,} class{'es' * (classes != 1)}"
    first: dict[str, Name] = {}
    for name in (*panel.names, *panel.classes):
        other = first.setdefault(folded(str(name)), name)
        if other != name:
            return (
                f"{said}, though {other!r} and {name!r} differ only in case, blanks or accents: see --rename"
            )
    return said


def _to_compare(source: VoteSource, gold: Mapping[Any, Name]) -> Votes:
    """Return the votes on gold items, and on enough others for every method to learn from."""
    kept, items = [], 0
    for part in source.parts():
        rows = np.arange(len(part)) if items < _COMPARED else gold_rows(gold, part)[0]
        if len(rows):
            kept.append(part if len(rows) == len(part) else part[np.sort(rows)])
        items += len(rows)
    return joined(kept)


def decode_votes(
    source: VoteSource,
    output: Output,
    *,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Outcome:
    """Label every item of votes that come in parts; as :func:`decode_file`, from wherever they are kept.

    The caller has checked the output, and writes the report, if any, with :func:`covote.write_report`.
    """
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
    if output.proba is not None:
        check_proba(decoder, source.panel)
    if output.stats is not None and not decoder.passes:
        raise no_statistics(method)
    if gold is not None and not sum(parts.map(partial(_golden, gold=gold))):
        raise no_gold(gold)
    fitted = fit(parts, decoder, Wanted(proba=output.proba is not None, gold=gold))
    parts = replace(parts, work=work.part("labelling", share=_PASS))
    tally, looks, score = Tally(source.panel), Looks(LOOKS), None
    if fitted.known is not None:
        tally = Tally.of(fitted.known.rows.votes, fitted.known.labels)
    with output.open() as writers:
        for part in parts.map(partial(label_part, fitted=fitted, output=output)):
            tally = tally if part.tally is None else tally + part.tally
            looks = looks + part.looks
            score = part.gold if score is None or part.gold is None else score + part.gold
            writers.write(part.written)
        writers.finish(tally.doubt)
    if output.stats is not None:
        if fitted.statistics is None:
            raise no_statistics(method)
        fitted.statistics.save(output.stats)
    return Outcome(source.panel, tally, fitted.statistics, score, method, notes=fitted.notes, looks=looks)


def no_statistics(method: str) -> InputError:
    """Return the error for a method that has no statistics to save."""
    return InputError(
        f"method {method!r} learns nothing from the votes with these options, so there are no statistics to "
        "save; leave out --save-stats, or choose another --method"
    )


class PartDone(NamedTuple):
    """The rows of a part for every file that is written, and the counts over its labels."""

    written: dict[str, pa.RecordBatch]
    tally: Tally | None
    looks: Looks
    gold: GoldScore | None


def label_part(votes: Votes, *, fitted: Fitted, output: Output) -> PartDone:
    """Label a part; count its labels unless they are those of answer rows that were counted before."""
    labels = fitted(votes)
    tally = Tally.of(votes, labels) if fitted.known is None else None
    return PartDone(output.rows(votes, labels), tally, Looks.of(votes, labels, LOOKS), labels.gold)


def check_proba(decoder: Decoder, panel: Panel) -> None:
    """Reject probabilities that the method does not give, or that need too many columns."""
    if not estimates(decoder):
        raise no_proba(decoder)
    if len(panel.classes) > _MOST_COLUMNS:
        raise TooLargeError(
            f"a file of probabilities would have {len(panel.classes):,} columns; the limit is "
            f"{_MOST_COLUMNS:,} classes"
        )


def _distinct(parts: Parts) -> Votes | None:
    """Return the distinct answer rows of all parts, if they are few."""
    return merged(parts.map(_rows)) if fits_key(parts.panel) else None


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
        """Yield the result of a task for every part."""
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
            self._kept[:] = [*kept, None]  # None marks the end: these are all

    distinct = _distinct


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
        """Yield the result of a task for every part."""
        self.work.done, self.work.total = 0, len(self.slices)
        for results, names in self.engine.map(OnSlice(task, self.run), self.slices):
            self.slices[0].file.remember(names)
            if self.work.advance(1):
                raise KeyboardInterrupt
            yield from results

    distinct = _distinct


_KEPT: dict[str, dict[int, list[Votes]]] = {}
"""Slices of the last run that this worker has read, by their number. Reading them again takes as long as
everything else (`benchmarks/scaling.py`)."""


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
