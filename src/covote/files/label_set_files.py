"""From a file of answers that may name several classes to a file of label sets (theory: section 8)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covote import atomic
from covote.decoding.label_sets import LabelSets, decode_sets
from covote.errors import InputError
from covote.files.label_files import label_format, writing_labels
from covote.files.vote_files import VoteFile
from covote.panel import Name, Panel
from covote.panel.several import check_model
from covote.votes import Reports
from covote.votes.names import arrow
from covote.votes.reports import SEPARATOR
from covote.votes.tables import Codes

PART = 1 << 16
"""Items that are decoded together."""


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


def decode_sets_file(
    votes_file: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    panel: Panel,
    *,
    report: Literal["one", "all"] = "one",
    forced: bool = False,
    count: int | None = None,
    **read: Any,
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
    read
        `unknown`, `none`, `item`, `expert`, `label`, `match`, `rename` as for :class:`covote.files.VoteFile`.
    """
    check_model(report, count, len(panel.classes))
    if output is not None:
        _check_names(panel, label_format(output))
        atomic.check_place(output)
    file = VoteFile(votes_file, panel, lists=True, **read)
    reader = file.collecting()
    assert reader.found is not None
    codes = Codes.joined(list(file.codes(reader)))
    file.remember(reader.loosely())
    ids, at = _in_order(codes, ascending=file.shape == "long")
    parts: list[LabelSets] = []
    answers = 0
    for start in range(0, len(ids), PART):
        some = (at >= start) & (at < start + PART)
        part = Codes(codes.item, codes.who[some], codes.what[some], codes.row[some])
        reports = Reports.from_codes(reader, part, at[some] - start, ids[start : start + PART].to_pylist())
        answers += int(reports.asked.sum())
        parts.append(decode_sets(reports, report=report, forced=forced, count=count))
    dropped = reader.found.judge(file.reader.unknown)
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
