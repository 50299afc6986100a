"""From a file of votes to a file of labels, and to what else is written about them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from covote import atomic
from covote.decoding import Decoder, InMemory, compare, make
from covote.decoding.comparing import better_than_default
from covote.decoding.gold import gold_rows, like_items, no_gold
from covote.decoding.loop import DecodeOptions, estimates, fit, no_proba
from covote.decoding.statistics import check_json
from covote.errors import InputError, TooLargeError
from covote.files.outcome import Outcome
from covote.files.review import Proba, piece_size, write_review
from covote.files.side_tables import read_gold
from covote.files.stored_probabilities import add_tables
from covote.labels import Labels
from covote.labels.label_files import WHAT
from covote.panel import Name, Panel
from covote.progress import Progress
from covote.tables import ReadOptions
from covote.tables.arrow_names import arrow_array, id_array
from covote.tables.dialect import workbook_and_sheet
from covote.tables.words import fold_accents
from covote.tables.writing import open_writer, output_format
from covote.votes import Votes
from covote.votes.vote_file import VoteFile

Place = str | os.PathLike[str] | None
_MOST_COLUMNS = 3000  # classes in a file of probabilities
_COMPARED = 1 << 19  # items from which methods learn that are compared, besides the gold items
_RIVALS = 5_000  # gold items on which the default is held against the others in passing


@dataclass(frozen=True)
class Output:
    """The files to write about labels; None for those that are not wanted.

    Attributes
    ----------
    labels
        A .parquet, .csv, .jsonl or .xlsx file with one row per item.
    proba
        A file of these kinds for the probability of every class: the item, then one column per class.
    review
        A file of these kinds that lists every item by the probability that its label is wrong, items without
        a label first. Filled in, it is a file of gold items.
    review_until
        The share of the items that should be right after the review: the list ends there.
    report
        An .html file with numbers and pictures.
    title
        The title of the report (default: the name of the file of answers).
    stats
        A .json file for what was learned about the experts.
    columns
        The columns of the labels to write; see :meth:`covote.Labels.save`.
    """

    labels: Place = None
    proba: Place = None
    review: Place = None
    review_until: float | None = None
    report: Place = None
    title: str | None = None
    stats: Place = None
    columns: Sequence[str] | None = None

    @property
    def paths(self) -> list[str | os.PathLike[str]]:
        """The files that are written."""
        every = (self.labels, self.proba, self.stats, self.report, self.review)
        return [path for path in every if path is not None]

    def check(self) -> None:
        """Reject files that cannot be written, before any work is done."""
        for path in (self.labels, self.proba):
            if path is not None:
                output_format(path, WHAT)
        if self.review is not None:
            output_format(self.review, "review file")
        if self.stats is not None:
            check_json(self.stats)
        check_report(self.report)
        for path in self.paths:
            atomic.check_place(path)
        atomic.check_apart(self.paths, [])
        until = self.review_until
        if until is not None and not 0 < until <= 1:
            raise InputError(f"the share that should be right must be above 0 and at most 1, not {until}")
        if until is not None and self.review is None:
            raise InputError("review_until (--review-until) needs a review file: add review (--review)")

    def save(self, outcome: Outcome, proba: Proba | None) -> None:
        """Write the files; `proba` estimates the probabilities of all classes.

        The report is written by :func:`covote.write_report`, once there is nothing to add to the outcome.
        """
        votes, labels = outcome.votes, outcome.labels
        if self.labels is not None:
            labels.save(self.labels, self.columns)
        if self.proba is not None and proba is not None:
            write_proba(self.proba, votes, labels, proba)
        if self.review is not None:
            until = self.review_until
            most = None if until is None else outcome.expected_errors.needed(until)
            write_review(self.review, votes, labels, most, proba)
        if self.stats is not None and outcome.statistics is not None:
            outcome.statistics.save(self.stats)


def check_report(path: Place) -> None:
    """Reject a report that cannot be written, before any work is done."""
    if path is None:
        return
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report ends in .html, not in {Path(path).suffix!r}")
    atomic.check_place(path)


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
    file = VoteFile(votes_file, panel, reading)
    votes = file.read(progress)
    if models or any(votes.panel.models):
        folder = Path() if isinstance(panel, Panel) else Path(panel).resolve().parent
        votes = add_tables(votes, folder, models, more_classes=panel in ("all", "infer"))
    if gold is None and reading is not None and reading.gold_column is not None:
        gold = votes_file
    if gold is not None and not isinstance(gold, Mapping):
        gold = read_gold(gold, votes.panel, reading)
    if progress is not None:
        progress(0, 1, "labelling")
    outcome = decode_votes(votes, output, method=method, gold=gold, **options)
    dropped = file.problems if file.problems.dropped else None
    notes = (*_assumed(panel, file.panel), *file.notes(), *outcome.notes)
    outcome = replace(outcome, notes=notes, dropped=dropped)
    if output.report is not None:
        from covote.files.report import write_report

        name = Path(workbook_and_sheet(votes_file)[0]).name
        write_report(output.report, outcome, source=output.title or name)
    return outcome


def _assumed(panel_option: Panel | str | os.PathLike[str], found: Panel) -> list[str]:
    """Return notes on what is assumed about the panel."""
    if panel_option == "all":
        return [
            f"every expert is assumed to know every class ({_sizes(found)}); say who knows what with --panel"
        ]
    if panel_option == "infer":
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


def decode_votes(
    votes: Votes,
    output: Output,
    *,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    **options: Any,
) -> Outcome:
    """Label every item and write the labels; as :func:`decode_file`, from votes.

    The caller has checked the output, and writes the report, if any, with :func:`covote.write_report`.
    """
    if gold is not None:
        gold = like_items(gold, votes)
    if method == "auto":
        method = "learned" if gold is None else compare(_to_compare(votes, gold), gold).best
    decoder = make(method, options, gold)
    if output.proba is not None:
        check_proba(decoder, votes.panel)
    if output.stats is not None and not decoder.passes:
        raise no_statistics(method)
    if gold is not None and not len(gold_rows(gold, votes)[0]):
        raise no_gold(gold)
    fitted = fit(InMemory(votes), decoder, DecodeOptions(gold=gold))
    if output.stats is not None and fitted.statistics is None:
        raise no_statistics(method)
    outcome = Outcome(votes, fitted(votes), method, fitted.statistics, findings=fitted.notes)
    output.save(outcome, partial(decoder.proba, weights=fitted.weights) if estimates(decoder) else None)
    if gold is None or method != "learned" or (outcome.gold is not None and outcome.gold.doubtful):
        return outcome
    some = dict(islice(gold.items(), _RIVALS))
    return replace(outcome, better=better_than_default(_to_compare(votes, some), some, fitted))


def _to_compare(votes: Votes, gold: Mapping[Any, Name]) -> Votes:
    """Return the votes on gold items, and on enough others for every method to learn from."""
    if len(votes) <= _COMPARED:
        return votes
    return votes.subset(np.union1d(np.arange(_COMPARED), gold_rows(gold, votes)[0]))


def no_statistics(method: str) -> InputError:
    """Return the error for a method that has no statistics to save."""
    return InputError(
        f"method {method!r} learns nothing from the answers with these options, so there are no statistics "
        "to save; leave out --save-stats, or choose another --method"
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


def write_proba(path: str | os.PathLike[str], votes: Votes, labels: Labels, proba: Proba) -> None:
    """Write the probability of every class: the item, then one column per class, named as the class."""
    step = piece_size(labels.panel)
    with open_writer(path, WHAT) as writer:
        for start in range(0, max(len(labels), 1), step):
            stop = min(start + step, len(labels))
            found = labels[start:stop].with_proba(proba(votes.part(start, stop)))
            columns = [id_array(found.ids, 0, len(found))]
            columns += [arrow_array(np.ascontiguousarray(column)) for column in found.proba.T]
            names = ["item", *map(str, labels.panel.classes)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, names=names))
