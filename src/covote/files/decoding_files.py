"""From a file of votes to a file of labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from covote.arguments import some_of
from covote.decoding import Decoder, Statistics, compare, make
from covote.decoding.comparing import better_than_default
from covote.decoding.gold import gold_rows, like_items, no_gold
from covote.decoding.loop import DecodeOptions, Fitted, estimates, fit, no_proba
from covote.errors import InputError, TooLargeError
from covote.files.output import Output
from covote.files.review import ExpectedErrors, ReviewHead
from covote.files.side_tables import read_gold
from covote.files.stored_probabilities import add_tables, table_of
from covote.files.tally import Tally
from covote.labels import GoldScore
from covote.panel import Name, Panel
from covote.progress import Progress, Work
from covote.tables import ReadOptions
from covote.tables.words import fold_accents
from covote.votes import Votes
from covote.votes.arrays import joined
from covote.votes.patterns import distinct_rows, fits_key, merged
from covote.votes.problems import TableProblems
from covote.votes.vote_file import Assumed, VoteFile

T = TypeVar("T")
PART_ITEMS = 1 << 19
"""Items of a part: equal answer rows are found within a part, so large parts are less work."""
_MOST_COLUMNS = 3000  # classes in a file of probabilities
_COMPARED = 200_000  # items from which methods learn that are compared, besides the gold items
_RIVALS = 5_000  # the same, and gold items, where the default is held against the others in passing
SHOWN = 25
"""Items of the review list that an outcome keeps, for the report."""
_PASS = 1000  # steps of a pass over the votes, for progress


@dataclass(frozen=True)
class Outcome:
    """The outcome of a file of votes: the counts behind summary and report, and what was learned.

    `statistics` is None for methods that learn nothing from the votes, `gold` without items whose class is
    known. `notes` describe how the file was read, where that is not obvious, and `dropped` what was left out
    with ``unknown="drop"``. `review_head` has the first items of the review list. `better` says which method
    is significantly better on the gold items than the default, if one is; `findings` what the method found
    out about the answers.
    """

    panel: Panel
    tally: Tally
    statistics: Statistics | None
    gold: GoldScore | None = None
    method: str = "learned"
    notes: tuple[str, ...] = ()
    dropped: TableProblems | None = None
    review_head: ReviewHead = field(default_factory=lambda: ReviewHead(SHOWN))
    better: str = ""
    findings: tuple[str, ...] = ()

    @property
    def expected_errors(self) -> ExpectedErrors:
        """How many labels are expected to be wrong; corrected by the gold items if they refute it."""
        return _corrected(self.tally, self.gold)

    def all_notes(self) -> list[str]:
        """Return notes on experts without answers, on how the votes were read, and on what was dropped."""
        return [*self.warnings(), *self.notes]

    def warnings(self) -> list[str]:
        """Return notes on experts without answers, and on what was dropped."""
        dropped = "" if self.dropped is None else self.dropped.drop_note
        return [*self.unanswered_experts(), *([dropped] if dropped else [])]

    def unanswered_experts(self) -> list[str]:
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
    reading: ReadOptions | None = None,
    models: Sequence[str | os.PathLike[str]] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Outcome:
    """Label every item of a file of votes; write the labels as they come.

    Parameters
    ----------
    votes_file
        A Parquet, CSV, JSON-lines or Excel file, long or wide.
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
    models
        Stored tables of probabilities (items x classes), each of which is one more expert with the name of
        its file. The panel may name such tables, too: ``model = "table:birds.parquet"``.
    progress
        Called as (done, total, what).
    """
    output = output if isinstance(output, Output) else Output(output)
    output.check()
    file = VoteFile(votes_file, panel_or_word(panel), reading)
    work = Work(3 * _PASS, progress)
    votes = file.read(_reported(work.part("reading", share=_PASS)))
    if models or any(map(table_of, votes.panel.models)):
        folder = Path() if isinstance(panel, Panel) else Path(panel).resolve().parent
        votes = add_tables(votes, folder, models, more_classes=panel in ("all", "infer"))
    if gold is None and reading is not None and reading.gold_column is not None:
        gold = votes_file
    if gold is not None and not isinstance(gold, Mapping):
        gold = read_gold(gold, votes.panel, reading)
    outcome = decode_votes(votes, output, method=method, gold=gold, work=work, **options)
    dropped = file.problems if file.problems.dropped else None
    notes = (*_assumed(panel, file.panel), *file.notes(), *outcome.notes)
    outcome = replace(outcome, notes=notes, dropped=dropped)
    if output.report is not None:
        from covote.files.report.report import write_report

        write_report(output.report, outcome, source=Path(votes_file).name, title=output.title)
    return outcome


def _reported(work: Work) -> Progress:
    """Return a callback that counts the steps of some work."""

    def report(done: int, total: int, _: str) -> None:
        work.total = total
        if work.advance(done - work.done):
            raise KeyboardInterrupt

    return report


def panel_or_word(panel: Panel | str | os.PathLike[str]) -> Panel | Assumed:
    """Return the panel in a file, or the word for one that the answers give: "all" or "infer"."""
    if isinstance(panel, Panel):
        return panel
    return "all" if panel == "all" else "infer" if panel == "infer" else Panel.load(panel)


def _assumed(given: Panel | str | os.PathLike[str], found: Panel) -> list[str]:
    """Return notes on what is assumed about the panel."""
    if given == "all":
        return [
            f"every expert is assumed to know every class ({_sizes(found)}); say who knows what with --panel"
        ]
    if given == "infer":
        return [
            f"every expert is assumed to know exactly the labels they gave in this file ({_sizes(found)})"
        ]
    return []


def _sizes(panel: Panel) -> str:
    """Return how many experts and classes the votes name, and two of them that may be the same."""
    experts, classes = len(panel), len(panel.classes)
    sizes = f"{experts:,} expert{'s' * (experts != 1)}, {classes:,} class{'es' * (classes != 1)}"
    first: dict[str, Name] = {}
    for name in (*panel.names, *panel.classes):
        other = first.setdefault(fold_accents(str(name)), name)
        if other != name:
            return (
                f"{sizes}, though {other!r} and {name!r} differ only in case, blanks or accents: see --rename"
            )
    return sizes


class VoteSource(Protocol):
    """Votes in memory, or from wherever they are kept."""

    @property
    def panel(self) -> Panel:
        """Who could answer what."""

    def __len__(self) -> int: ...

    def parts(self, size: int) -> Iterator[Votes]:
        """Yield all votes in parts of at most `size` items, as often as needed."""


def _to_compare(source: VoteSource, gold: Mapping[Any, Name], most: int) -> Votes:
    """Return the votes on gold items, and on enough others for every method to learn from."""
    chosen, items = [], 0
    for part in source.parts(PART_ITEMS):
        rows = np.arange(len(part)) if items < most else gold_rows(gold, part)[0]
        if len(rows):
            chosen.append(part if len(rows) == len(part) else part[np.sort(rows)])
        items += len(rows)
    return joined(chosen)


def decode_votes(
    votes: VoteSource,
    output: Output,
    *,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    work: Work | None = None,
    **options: Any,
) -> Outcome:
    """Label every item and write the labels, part by part; as :func:`decode_file`, from votes.

    The caller has checked the output, and writes the report, if any, with :func:`covote.write_report`.
    """
    work = work or Work(2 * _PASS, None)
    parts = LocalParts(votes, work.part("learning", share=_PASS))
    if gold is not None:
        gold = like_items(gold, next(votes.parts(PART_ITEMS)))
    if method == "auto":
        method = "learned" if gold is None else compare(_to_compare(votes, gold, _COMPARED), gold).best
    decoder = make(method, options, gold)
    if output.proba is not None:
        check_proba(decoder, votes.panel)
    if output.stats is not None and not decoder.passes:
        raise no_statistics(method)
    if gold is not None and not sum(parts.map(partial(_golden, gold=gold))):
        raise no_gold(gold)
    fitted = fit(parts, decoder, DecodeOptions(proba=output.proba is not None, gold=gold))
    parts = replace(parts, work=work.part("labelling", share=_PASS))
    tally, head, score = Tally(votes.panel), ReviewHead(SHOWN), None
    if fitted.known is not None:
        tally = Tally.of(fitted.known.rows.votes, fitted.known.labels)
    with output.open() as writers:
        for part in parts.map(partial(label_part, fitted=fitted, output=output)):
            tally = tally if part.tally is None else tally + part.tally
            head = head + part.review_head
            score = part.gold if score is None or part.gold is None else score + part.gold
            writers.write(part.written)
        writers.finish(_corrected(tally, score), votes.panel.classes)
    if output.stats is not None:
        if fitted.statistics is None:
            raise no_statistics(method)
        fitted.statistics.save(output.stats)
    better = ""
    if gold is not None and method == "learned":
        some = dict(islice(gold.items(), _RIVALS))
        better = better_than_default(_to_compare(votes, some, _RIVALS), some, fitted)
    return Outcome(
        votes.panel,
        tally,
        fitted.statistics,
        score,
        method,
        review_head=head,
        better=better,
        findings=fitted.notes,
    )


def _corrected(tally: Tally, gold: GoldScore | None) -> ExpectedErrors:
    expected = tally.expected_errors
    return expected if gold is None or not gold.refutes else expected.scaled(gold.errors_per_expected)


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
    review_head: ReviewHead
    gold: GoldScore | None


def label_part(votes: Votes, *, fitted: Fitted, output: Output) -> PartDone:
    """Label a part; count its labels unless they are those of answer rows that were counted before."""
    labels = fitted(votes)
    tally = Tally.of(votes, labels) if fitted.known is None else None
    decoder = fitted.decoder
    proba = partial(decoder.proba, weights=fitted.weights) if estimates(decoder) else None
    return PartDone(
        output.rows(votes, labels, proba), tally, ReviewHead.of(votes, labels, SHOWN), labels.gold
    )


def check_proba(decoder: Decoder, panel: Panel) -> None:
    """Reject probabilities that the method does not give, or that need too many columns."""
    if not estimates(decoder):
        raise no_proba(decoder)
    if len(panel.classes) > _MOST_COLUMNS:
        raise TooLargeError(
            f"a file of probabilities would have {len(panel.classes):,} columns; the limit is "
            f"{_MOST_COLUMNS:,} classes"
        )


@dataclass(frozen=True)
class LocalParts:
    """Votes that are learned from and labelled in this process, a part at a time."""

    votes: VoteSource
    work: Work

    @property
    def panel(self) -> Panel:
        """Who could answer what."""
        return self.votes.panel

    def map(self, task: Callable[[Votes], T]) -> Iterator[T]:
        """Yield the result of a task for every part."""
        self.work.done, self.work.total = 0, max(len(self.votes), 1)
        for part in self.votes.parts(PART_ITEMS):
            yield task(part)
            if self.work.advance(len(part)):
                raise KeyboardInterrupt

    def distinct(self) -> Votes | None:
        """Return the distinct answer rows of all parts, if they are few."""
        return merged(self.map(distinct_rows)) if fits_key(self.panel) else None


def _golden(votes: Votes, gold: Mapping[Any, Name]) -> int:
    return len(gold_rows(gold, votes)[0])
