"""Files of labels: written part by part, there complete or not at all."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from covote import atomic
from covote.errors import InputError
from covote.labels import Labels
from covote.panel.checks import shown
from covote.tables.names import arrow, id_array
from covote.tables.sheets import write_sheet

ROWS = 1 << 19
"""Labels in a row group."""
_TYPES = {
    "parquet": "parquet", "pq": "parquet", "csv": "csv", "jsonl": "json", "ndjson": "json", "xlsx": "xlsx"
}  # fmt: skip
_SHEET = 1_048_575
"""Labels that fit into a spreadsheet, below the heading."""
_FORMULA = r"^[=+@\t\r]|^-[^0-9.]"
_DICTIONARIES = ["label", "runner_up", "status", "confidence", "margin", "violations"]


def label_format(path: str | os.PathLike[str]) -> str:
    """Return "parquet", "csv", "json" (lines) or "xlsx" by the ending of the file's name."""
    kind = _TYPES.get(Path(path).suffix.lower().removeprefix("."))
    if kind is None:
        raise InputError(
            f"{path}: a file of labels ends in .parquet, .csv, .jsonl or .xlsx, not in {Path(path).suffix!r}"
        )
    return kind


class LabelWriter:
    """Writes labels to a file, one part after another; see :func:`writing_labels`.

    The file is the same byte for byte, whatever the parts (a spreadsheet has the time in it).
    """

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        self._kind = kind
        self._writer: Any = None
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, labels: Labels) -> None:
        """Append the labels of a part."""
        self.write_batch(labels.to_batch())

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append the labels of a part, as :meth:`covote.Labels.to_batch` gives them."""
        while self._rows + batch.num_rows >= ROWS:
            fits = ROWS - self._rows
            self._waiting.append(batch.slice(0, fits))
            batch = batch.slice(fits)
            self._flush()
        if batch.num_rows:
            self._waiting.append(batch)
            self._rows += batch.num_rows

    def _flush(self) -> None:
        """Write what waits, as one row group."""
        one = self._waiting[0] if len(self._waiting) == 1 else pa.concat_batches(self._waiting)
        self._waiting, self._rows = [], 0
        # Parquet keeps the zone of times only with Arrow's schema, in which names by code are categories.
        times = pa.types.is_temporal(one.schema.field(0).type)
        batch = one if self._kind == "parquet" and not times else _dense(one)
        if self._kind == "csv":
            _warn_of_formulas(batch)
        if self._writer is None:
            self._writer = self._open(batch.schema)
        try:
            self._writer.write_batch(batch)
        except pa.ArrowInvalid as error:
            raise InputError(
                f"these labels cannot be written as CSV ({error}); write them to a .parquet file"
            ) from error

    def _open(self, schema: pa.Schema) -> Any:
        if self._kind == "json":
            return _Lines(self._path)
        if self._kind == "xlsx":
            return _Sheet(self._path, schema.names)
        if self._kind == "csv":
            from pyarrow import csv

            return csv.CSVWriter(
                str(self._path), schema, write_options=csv.WriteOptions(quoting_style="needed")
            )
        import pyarrow.parquet as pq

        # Whole ids go by their differences, which are small where items are in order.
        whole = pa.types.is_integer(schema.field(0).type)  # the items
        return pq.ParquetWriter(
            str(self._path),
            schema,
            use_dictionary=_DICTIONARIES,
            column_encoding={"item": "DELTA_BINARY_PACKED"} if whole else None,
            write_statistics=["item"],
            store_schema=not any(map(pa.types.is_dictionary, schema.types)),
        )

    def close(self) -> None:
        """Finish the file."""
        if self._waiting:
            self._flush()
        if self._writer is not None:
            self._writer.close()


class _Lines:
    """Writes one JSON object per row; what is no number is null."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def write_batch(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            plain = {name: _json_value(value) for name, value in row.items()}
            self._file.write(json.dumps(plain, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return float(str(np.float32(value))) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | list) else str(value)


class _Sheet:
    """Writes the rows of a spreadsheet."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self._path = path
        self._rows: list[list[Any]] = [names]

    def write_batch(self, batch: pa.RecordBatch) -> None:
        if len(self._rows) + batch.num_rows > _SHEET + 1:
            raise InputError(f"a spreadsheet has room for {_SHEET:,} labels; write them to a .parquet file")
        columns = [[_json_value(value) for value in column.to_pylist()] for column in batch.columns]
        self._rows += [list(row) for row in zip(*columns, strict=True)]

    def close(self) -> None:
        write_sheet(self._path, self._rows)


@contextmanager
def writing_labels(path: str | os.PathLike[str]) -> Iterator[LabelWriter]:
    """Give a writer; the file appears when the block ends well, and not at all otherwise."""
    kind = label_format(path)
    with atomic.replacing(path) as beside:
        writer = LabelWriter(beside, kind)
        try:
            yield writer
        finally:
            writer.close()


def proba_batch(labels: Labels) -> pa.RecordBatch:
    """Return how likely every class is: the item, then one column per class, named as the class."""
    columns = [id_array(labels.ids, labels.start, labels.start + len(labels))]
    columns += [arrow(np.ascontiguousarray(column)) for column in labels.proba.T]
    return pa.RecordBatch.from_arrays(columns, names=["item", *map(str, labels.panel.classes)])


def _warn_of_formulas(batch: pa.RecordBatch) -> None:
    """Warn of names that are formulas to a spreadsheet; the file says what the votes said, so they stay."""
    import pyarrow.compute as pc

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        found = column.filter(pc.match_substring_regex(column, _FORMULA))
        if len(found):
            warnings.warn(
                f"a spreadsheet would take {shown(found[0].as_py())} in column {name!r} for a formula: "
                "import this column as text",
                stacklevel=2,
            )


def _dense(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
