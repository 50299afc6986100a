"""Files of answers about items with several labels: read, decoded and written in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from covote import atomic
from covote.errors import InputError
from covote.labels.label_files import WHAT
from covote.multilabel.deciding import LabelSets, decode
from covote.multilabel.reports import SEPARATOR, Reports, spread, without_lists
from covote.multilabel.support import Report, check_model
from covote.panel import Name, Panel
from covote.tables import ReadOptions
from covote.tables.table_file import TableFile
from covote.tables.writing import output_format, write_table
from covote.votes.problems import TableProblems
from covote.votes.reader import IndexedRows, Reader


@dataclass(frozen=True)
class SetsOutcome:
    """The result of decoding a file of answers about items that may have several labels.

    Attributes
    ----------
    panel
        Who knows what.
    items, answers
        The number of items, and of answers about them.
    complete, conflict
        How many items have all their labels, and how many have answers that no label set fits.
    sizes
        How many items have 0, 1, 2, ... labels.
    classes
        How many items have each class among their labels.
    notes
        How the file was interpreted, where that is not obvious.
    """

    panel: Panel
    items: int
    answers: int
    complete: int
    conflict: int
    sizes: tuple[int, ...]
    classes: dict[Name, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportFile:
    """The answers in a file, everything that is wrong with it, and how it was interpreted."""

    reports: Reports
    found: TableProblems
    notes: tuple[str, ...]
    shape: Literal["long", "wide"]
    items: pa.DataType


def read_reports(
    path: str | os.PathLike[str],
    panel: Panel,
    reading: ReadOptions | None = None,
) -> ReportFile:
    """Read a Parquet, CSV, JSON-lines or Excel file; see :meth:`covote.multilabel.Reports.from_table`.

    Problems are collected in `found`; call ``found.judge`` to raise them.
    """
    source = TableFile(path)
    reader = Reader(panel, reading or ReadOptions(), f"{source.path}, ")
    columns = reader.columns(source.names, lambda: without_lists(source.head()))
    if columns.item is None:
        raise source.no_items()
    source.refuse_nested([columns.item])
    parts: list[IndexedRows] = []
    first = 0
    for batch in source.batches(columns.read, plain=(columns.item,)):
        for name in columns.unknown_columns:
            reader.problems.add_column(name, batch.num_rows - batch.column(name).null_count)
        given = [batch.column(name) for name in (columns.item, *columns.of_answers)]
        parts.append(spread(reader, columns, given, source.row_numbers(first, batch.num_rows)))
        first += batch.num_rows
    if not parts:
        raise InputError(f"{source.path} has no answers: it has no rows")
    wide = columns.answers is not None
    reports, kind = Reports.from_rows(reader, IndexedRows.joined(parts), wide=wide, untyped=source.untyped)
    notes = [*source.notes, *columns.notes(), *reader.notes()]
    return ReportFile(reports, reader.problems, tuple(notes), "wide" if wide else "long", kind)


def decode_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    report: Report = "one",
    count: int | None = None,
    reading: ReadOptions | None = None,
) -> SetsOutcome:
    """Find the labels of every item of a file that are certain, and write them.

    Labels are lists in Parquet and JSON-lines, and text between semicolons in CSV files and spreadsheets. All
    answers have to fit into memory.

    Parameters
    ----------
    votes_file
        A Parquet, CSV, JSON-lines or Excel file, long or wide.
    output
        A .parquet, .csv, .jsonl or .xlsx file with the columns item, labels, complete and conflict; None only
        counts.
    panel
        Who knows what.
    report, count
        As for :func:`covote.multilabel.decode`.
    reading
        How the columns, names and cells of the answers are understood.
    """
    check_model(report, count, len(panel.classes))
    kind = None if output is None else output_format(output, WHAT)
    if output is not None:
        _check_names(panel, kind)
        atomic.check_place(output)
    file = read_reports(votes_file, panel, reading)
    dropped = file.found.judge("error" if reading is None else reading.unknown)
    sets = decode(file.reports, report=report, count=count)
    if output is not None:
        write_table(output, _as_written(sets, file.items, kind), WHAT)
    notes = [*file.notes, *([dropped] if dropped else [])]
    if report == "one" and (many := file.reports.count_several()):
        notes.append(
            f"{many:,} answers name several classes, although experts are taken to name one; use "
            "report='all' (--full) if they name all labels they know"
        )
    return SetsOutcome(
        panel,
        len(sets),
        int(file.reports.asked.sum()),
        int(sets.complete.sum()),
        int(sets.conflict.sum()),
        tuple(np.bincount(sets.holds.sum(axis=1)).tolist()),
        dict(zip(panel.classes, sets.holds.sum(axis=0).tolist(), strict=True)),
        tuple(notes),
    )


def _check_names(panel: Panel, kind: str | None) -> None:
    """Reject classes that would look like two in a cell of text."""
    if kind in ("csv", "xlsx"):
        for name in panel.classes:
            if SEPARATOR.search(str(name)):
                raise InputError(
                    f"class {name!r} has a separator in its name, so a cell with several labels could not be "
                    "read back; write the labels to a .parquet or .jsonl file"
                )


def _as_written(sets: LabelSets, items: pa.DataType, kind: str | None) -> pa.Table:
    table = sets.to_table()
    table = table.set_column(0, "item", table.column("item").cast(items))
    if kind not in ("csv", "xlsx"):
        return table
    texts = ["; ".join(map(str, labels)) for labels in table.column("labels").to_pylist()]
    return table.set_column(1, "labels", pa.array(texts, pa.string()))
