"""The files that are written about labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from covote import atomic
from covote.decoding.statistics import statistics_format
from covote.errors import InputError
from covote.files.review import Proba, piece_size, write_review
from covote.labels import Labels
from covote.labels.files import WHAT
from covote.tables.arrow_names import arrow_array, id_array
from covote.tables.writing import open_writer, output_format
from covote.votes import Votes

if TYPE_CHECKING:
    from covote.files.outcome import Outcome

Place = str | os.PathLike[str] | None


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
