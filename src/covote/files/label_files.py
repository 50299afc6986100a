"""Files of labels and of the probabilities of all classes."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

import numpy as np
import pyarrow as pa

from covote.labels import Labels
from covote.tables.names import arrow, id_array
from covote.tables.writing import TableWriter, writing, written_format

_REPEATING = ("label", "runner_up", "status", "confidence", "margin", "violations")


def label_format(path: str | os.PathLike[str]) -> str:
    """Return "parquet", "csv", "json" (lines) or "xlsx" by the ending of the file's name."""
    return written_format(path, "file of labels")


def writing_labels(path: str | os.PathLike[str]) -> AbstractContextManager[TableWriter]:
    """Give a writer; the file appears when the block ends well, and not at all otherwise."""
    return writing(path, "file of labels", _REPEATING)


def proba_batch(labels: Labels) -> pa.RecordBatch:
    """Return how likely every class is: the item, then one column per class, named as the class."""
    columns = [id_array(labels.ids, labels.start, labels.start + len(labels))]
    columns += [arrow(np.ascontiguousarray(column)) for column in labels.proba.T]
    return pa.RecordBatch.from_arrays(columns, names=["item", *map(str, labels.panel.classes)])
