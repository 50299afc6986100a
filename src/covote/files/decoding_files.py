"""From a file of votes to a file of labels; with one label per item, in memory that does not grow."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covote import atomic
from covote.decoding import Decoder, Statistics, compare, make
from covote.decoding.gold import gold_rows, like_items, no_gold
from covote.decoding.label_sets import LabelSets, decode_sets
from covote.decoding.loop import Fitted, Parts, Wanted, estimates, fit, no_proba
from covote.errors import InputError, TooLargeError
from covote.files.label_files import label_format, proba_batch, writing_labels
from covote.files.report.tally import Tally
from covote.files.vote_files import Slice, VoteFile, VoteSource
from covote.labels import GoldScore
from covote.panel import Name, Panel
from covote.panel.several import check_model
from covote.progress import Progress, Work
from covote.tables import Reading
from covote.tables.names import arrow
from covote.votes import Reports, Votes
from covote.votes.arrays import joined
from covote.votes.findings import Findings
from covote.votes.reports import SEPARATOR
from covote.votes.rows import Rows, fits, merged
from covote.votes.tables import Codes
from covote.votes.vote_checks import check_choice

if TYPE_CHECKING:
    from covote.engines import Engine

T = TypeVar("T")
_ROOM = 1 << 29  # bytes of votes kept in memory between passes
_MOST_COLUMNS = 3000  # classes in a file of probabilities
_COMPARED = 200_000  # items that methods are compared on, besides the gold items
_SETS = 1 << 16  # items with several labels that are decoded together
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


@dataclass(frozen=True)
class SetsOutcome:
    """What came of a file of answers about items that may have several labels.

    Attributes
    ----------
    panel
        Who knows what.
    items, answers
        How many items there are, and how many answers about them.
    complete, conflict
        How many items have all their labels, and of how many no labels fit the answers.
    sizes
        How many items have 0, 1, 2, ... labels.
    classes
        How many items have each class among their labels.
    notes
        How the file was read, where that is not plain.
    """

    panel: Panel
    items: int
    answers: int
    complete: int
    conflict: int
    sizes: tuple[int, ...]
    classes: dict[Name, int]
    notes: tuple[str, ...] = ()


class PartDone(NamedTuple):
    """The labels of a part and their probabilities, as they are written, and what they add up to."""

    labels: pa.RecordBatch | None
    proba: pa.RecordBatch | None
    tally: Tally
    gold: GoldScore | None


@overload
def decode_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    labels: Literal["one"] = "one",
    **options: Any,
) -> Outcome: ...


@overload
def decode_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    labels: Literal["several"],
    **options: Any,
) -> SetsOutcome: ...


def decode_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    labels: Literal["one", "several"] = "one",
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    reading: Reading | None = None,
    proba: str | os.PathLike[str] | None = None,
    looks: int = 0,
    progress: Progress | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Outcome | SetsOutcome:
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
    labels
        ``"several"`` for items that may have several labels: cells may hold lists of classes, and so do the
        labels; see :func:`covote.files.decode_sets_file`.
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
    check_choice("labels", labels, ("one", "several"))
    if labels == "several":
        given: dict[str, Any] = {
            "method": method != "learned",
            "gold": gold,
            "duplicates": reading is not None and reading.duplicates != "error",
        }
        given |= {"proba": proba, "looks": looks, "engine": engine}
        refuse_for_sets([name for name, value in given.items() if value])
        return decode_sets_file(votes_file, output, panel, reading=reading, **options)
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


# Several labels per item (theory: section 8)


def decode_sets_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    report: Literal["one", "all"] = "one",
    forced: bool = False,
    count: int | None = None,
    reading: Reading | None = None,
) -> SetsOutcome:
    """Say all labels of every item of a file that are certain, and write them.

    Cells hold a class, a list of classes, or classes between semicolons; see
    :meth:`covote.votes.Reports.from_table`. Labels are lists in Parquet and JSON-lines, and text between
    semicolons in CSV files and spreadsheets. All answers have to fit into memory.

    Parameters
    ----------
    votes_file
        A Parquet, CSV, JSON-lines or Excel file, long or wide; see :class:`covote.files.VoteFile`.
    output
        A .parquet, .csv, .jsonl or .xlsx file with the columns item, labels, complete and conflict; None to
        count only.
    panel, report, forced, count
        As for :func:`covote.decode` with ``labels="several"``.
    reading
        How columns, names and cells of the answers are understood.
    """
    check_model(report, count, len(panel.classes))
    if output is not None:
        _check_names(panel, label_format(output))
        atomic.check_place(output)
    file = VoteFile(votes_file, panel, reading, lists=True)
    reader = file.collecting()
    assert reader.found is not None
    codes = Codes.joined(list(file.codes(reader)))
    file.remember(reader.loosely())
    ids, at = _in_order(codes, ascending=file.shape == "long")
    parts: list[LabelSets] = []
    answers = 0
    for start in range(0, len(ids), _SETS):
        some = (at >= start) & (at < start + _SETS)
        part = Codes(codes.item, codes.who[some], codes.what[some], codes.row[some])
        reports = Reports.from_codes(reader, part, at[some] - start, ids[start : start + _SETS].to_pylist())
        answers += int(reports.asked.sum())
        parts.append(decode_sets(reports, report=report, forced=forced, count=count))
    dropped = reader.found.judge(file.reader.reading.unknown)
    if output is not None:
        with writing_labels(output) as writer:
            for sets in parts:
                for batch in _as_written(sets, ids.type, label_format(output)).to_batches():
                    writer.write_batch(batch)
    return _counted(panel, parts, answers, [*file.notes(), *([dropped] if dropped else [])])


def refuse_for_sets(given: Sequence[str]) -> None:
    """Refuse options that say nothing about several labels."""
    if given:
        raise InputError(
            f"{given[0]!r} says nothing about several labels; leave it out, and say how experts answer with "
            "report, forced and count (--full, --forced, --count)"
        )


def _in_order(codes: Codes, *, ascending: bool) -> tuple[pa.Array, Any]:
    """Return the ids of the items, ascending or as they come, and which of them each row is about."""
    found = codes.item.dictionary_encode()
    at = np.from_dlpack(found.indices).astype(np.int64)
    if not ascending:
        return found.dictionary, at
    order = np.from_dlpack(pc.array_sort_indices(found.dictionary)).astype(np.int64)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return found.dictionary.take(arrow(order)), place[at]


def _check_names(panel: Panel, kind: str) -> None:
    """Refuse classes that cannot be told from two in one cell of text."""
    if kind in ("csv", "xlsx"):
        for name in panel.classes:
            if SEPARATOR.search(str(name)):
                raise InputError(
                    f"class {name!r} has a separator in its name, so that a cell with several labels could "
                    "not be read; write the labels to a .parquet or .jsonl file"
                )


def _as_written(sets: LabelSets, ids: pa.DataType, kind: str) -> pa.Table:
    table = sets.to_table()
    table = table.set_column(0, "item", table.column("item").cast(ids))
    if kind not in ("csv", "xlsx"):
        return table
    texts = ["; ".join(map(str, labels)) for labels in table.column("labels").to_pylist()]
    return table.set_column(1, "labels", pa.array(texts, pa.string()))


def _counted(panel: Panel, parts: list[LabelSets], answers: int, notes: list[str]) -> SetsOutcome:
    holds = [part.holds for part in parts]
    sizes = np.bincount(np.concatenate([some.sum(axis=1) for some in holds]))
    classes = np.sum([some.sum(axis=0) for some in holds], axis=0)
    return SetsOutcome(
        panel,
        sum(map(len, parts)),
        answers,
        int(sum(part.complete.sum() for part in parts)),
        int(sum(part.conflict.sum() for part in parts)),
        tuple(sizes.tolist()),
        dict(zip(panel.classes, classes.tolist(), strict=True)),
        tuple(notes),
    )
