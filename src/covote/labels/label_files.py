"""Files of labels: write them for people or programs, and read them back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.errors import InputError
from covote.labels.labels import NO_LABEL, Evidence, Labels, Ties
from covote.labels.statuses import STATUSES, TIED
from covote.panel import Panel
from covote.tables.arrow_names import item_ids, whole_ids
from covote.tables.table_file import TableFile
from covote.tables.writing import output_format, write_table

FOR_PEOPLE = ("item", "label", "confidence", "runner_up", "status")
"""The columns that files for people have by default."""
WHAT = "file of labels"
"""What messages call the file."""


def columns_for_file(labels: Labels, kind: str, columns: Sequence[str] | None = None) -> pa.RecordBatch:
    """Return the columns for a file of some kind ("parquet", "csv", "json" or "xlsx").

    CSV files and spreadsheets are for people: by default they have the columns of `FOR_PEOPLE`, and the
    confidence has two digits.
    """
    people = kind in ("csv", "xlsx")
    found = labels.arrow_columns()
    chosen = (FOR_PEOPLE if people else ("all",)) if columns is None else tuple(columns)
    chosen = tuple(found) if chosen == ("all",) else chosen
    unknown = [name for name in chosen if name not in found]
    if unknown:
        raise InputError(f"labels have no column {unknown[0]!r}; choose from {', '.join(found)}")
    if people:
        found["confidence"] = two_digits(labels.evidence.confidence)
    return pa.RecordBatch.from_arrays([found[name] for name in chosen], names=list(chosen))


def save(labels: Labels, path: str | os.PathLike[str], columns: Sequence[str] | None) -> None:
    """Write labels to a file; see :meth:`covote.Labels.save`."""
    batch = columns_for_file(labels, output_format(path, WHAT), columns)
    write_table(path, batch, WHAT, repeating=batch.schema.names[1:])


def two_digits(confidence: NDArray[np.float32]) -> pa.Array:
    """Return shares as decimal numbers with two digits; a share below 1 stays below 1.

    >>> two_digits(np.array([0.5, 0.999, 1, np.nan], np.float32)).to_pylist()
    [Decimal('0.50'), Decimal('0.99'), Decimal('1.00'), None]
    """
    words = np.zeros((len(confidence), 2), np.int64)  # a decimal number is an integer of 128 bits
    known = np.isfinite(confidence)
    shares = confidence[known].astype(np.float64)
    words[known, 0] = np.where(shares < 1, np.minimum(np.rint(100 * shares), 99), 100)
    valid = pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.decimal128(3, 2), len(words), [valid, pa.py_buffer(words)])


def load(path: str | os.PathLike[str], panel: Panel | None) -> Labels:
    """Return the labels in a file; see :meth:`covote.Labels.load`."""
    source = TableFile(path)
    if not {"item", "label"} <= set(source.names):
        raise InputError(
            f"{source.path} has the columns {', '.join(source.names)}; a file of labels has item and label"
        )
    batches = list(source.batches(source.names, plain=tuple(source.names)))
    size = sum(batch.num_rows for batch in batches)

    def values(name: str) -> list[Any]:
        if name not in source.names:
            return [None] * size
        return [value for batch in batches for value in batch.column(name).to_pylist()]

    if panel is None:
        found = dict.fromkeys(name for name in (*values("label"), *values("runner_up")) if name is not None)
        if not found:
            raise InputError(f"{source.path} has no labels; give the panel whose classes they would be")
        panel = Panel(list(found), [[True] * len(found)])
    places = {str(name): k for k, name in enumerate(panel.classes)}

    def index(name: str) -> NDArray[np.int64]:
        texts = [None if value is None else str(value) for value in values(name)]
        unknown = [text for text in texts if text is not None and text not in places]
        if unknown:
            raise InputError(f"{source.path}: {unknown[0]!r} is not a class of the panel")
        return np.array([NO_LABEL if text is None else places[text] for text in texts], np.int64)

    def numbers(name: str, missing: float) -> NDArray[Any]:
        return np.array([missing if v is None else float(v) for v in values(name)])

    codes = {text: code for code, text in enumerate(STATUSES)}
    label = index("label")
    evidence = None
    if {"confidence", "status"} <= set(source.names):
        unknown = sorted({str(text) for text in values("status") if text not in codes})
        if unknown:
            raise InputError(f"{source.path}: {unknown[0]!r} is not one of {', '.join(STATUSES)}")
        evidence = Evidence(
            numbers("confidence", np.nan).astype(np.float32),
            numbers("margin", np.nan).astype(np.float32),
            index("runner_up"),
            numbers("violations", 0).astype(np.int32),
            np.array([codes[text] for text in values("status")], np.uint8),
        )
    tied = np.zeros(len(label), bool) if evidence is None else (evidence.status == TIED)
    column = pa.chunked_array([batch.column("item") for batch in batches], None if batches else pa.string())
    ids = item_ids(column, f"{source.path}, ")
    integers = whole_ids(ids) if source.untyped else None
    ties = Ties(np.zeros(int(tied.sum()) + 1, np.int64), np.empty(0, np.int64))
    return Labels(panel, label, tied, ties, evidence, ids if integers is None else integers)
