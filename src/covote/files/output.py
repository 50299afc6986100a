"""The files that are written about labels, and the rows of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote import atomic
from covote.decoding.statistics import statistics_format
from covote.errors import InputError
from covote.files.review import ExpectedErrors, ReviewList, review_batch, review_list
from covote.labels import Labels
from covote.labels.files import WHAT, written
from covote.panel import Name
from covote.tables.arrow_names import arrow_array, id_array
from covote.tables.writing import TableWriter, open_writer, output_format
from covote.votes import Votes

Place = str | os.PathLike[str] | None
Proba = Callable[[Votes], NDArray[Any]]
_TABLE = 1 << 24  # probabilities that are held at once
_REPEATING = ("label", "runner_up", "status", "confidence", "margin", "violations")


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
        The title of the report; by default the name of the file of answers.
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
            statistics_format(self.stats)
        check_report(self.report)
        for path in self.paths:
            atomic.check_place(path)
        atomic.check_apart(self.paths, [])
        if self.title is not None and self.report is None:
            raise InputError("title (--title) is for a report: add report (--report)")
        until = self.review_until
        if until is not None and not 0 < until <= 1:
            raise InputError(f"the share that should be right must be above 0 and at most 1, not {until}")
        if until is not None and self.review is None:
            raise InputError("review_until (--review-until) needs a review file: add review (--review)")

    def rows(self, votes: Votes, labels: Labels, proba: Proba | None = None) -> dict[str, pa.RecordBatch]:
        """Return the rows of a part for every file; `proba` estimates the probabilities of all classes."""
        found: dict[str, pa.RecordBatch] = {}
        if self.labels is not None:
            found["labels"] = written(labels, output_format(self.labels, WHAT), self.columns)
        if self.proba is not None:
            found["proba"] = proba_batch(labels)
        if self.review is not None:
            sheet = output_format(self.review) == "xlsx"
            found["review"] = _review_sheet(votes, labels, proba) if sheet else review_batch(votes, labels)
        return found

    @contextmanager
    def open(self) -> Iterator[Writers]:
        """Open the files; they appear if the block succeeds, and not at all otherwise."""
        with ExitStack() as stack:
            writers: dict[str, Any] = {}
            for name, path in (("labels", self.labels), ("proba", self.proba)):
                if path is not None:
                    writers[name] = stack.enter_context(writing_labels(path))
            review = None if self.review is None else stack.enter_context(review_list())
            yield Writers(self, writers, review)


@dataclass(frozen=True)
class Writers:
    """Open files of labels."""

    output: Output
    files: Mapping[str, Any]
    review: ReviewList | None

    def write(self, rows: Mapping[str, pa.RecordBatch]) -> None:
        """Append the rows of a part."""
        for name, file in self.files.items():
            file.write_batch(rows[name])
        if self.review is not None:
            self.review.add(rows["review"])

    def finish(self, doubt: ExpectedErrors, classes: Sequence[Name]) -> None:
        """Write what needs all parts: the review list, in which one of the `classes` is chosen."""
        if self.review is not None and self.output.review is not None:
            until = self.output.review_until
            most = None if until is None else doubt.needed(until)
            self.review.write(self.output.review, most, [*map(str, classes)])


def _review_sheet(votes: Votes, labels: Labels, proba: Proba | None) -> pa.RecordBatch:
    """Return the rows of the review list for a spreadsheet, with the probabilities of the candidates."""
    step = max(1, _TABLE // len(votes.panel.classes))
    pieces = []
    for start in range(0, len(labels), step):
        stop = min(start + step, len(labels))
        some, found = votes.part(start, stop), labels[start:stop]
        if proba is not None and found.found_proba is None:
            found = found.with_proba(proba(some))
        pieces.append(review_batch(some, found, sheet=True))
    return pa.concat_batches(pieces) if pieces else review_batch(votes, labels, sheet=True)


def check_report(path: Place) -> None:
    """Reject a report that cannot be written, before any work is done."""
    if path is None:
        return
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report ends in .html, not in {Path(path).suffix!r}")
    atomic.check_place(path)


def writing_labels(path: str | os.PathLike[str]) -> AbstractContextManager[TableWriter]:
    """Return a writer for a ``with`` block; the file appears only if the block succeeds."""
    return open_writer(path, WHAT, _REPEATING)


def proba_batch(labels: Labels) -> pa.RecordBatch:
    """Return the probability of every class: the item, then one column per class, named as the class."""
    columns = [id_array(labels.ids, labels.start, labels.start + len(labels))]
    columns += [arrow_array(np.ascontiguousarray(column)) for column in labels.proba.T]
    return pa.RecordBatch.from_arrays(columns, names=["item", *map(str, labels.panel.classes)])
