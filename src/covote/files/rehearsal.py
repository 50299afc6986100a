"""Decoding that only loads what decoding needs."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from covote.errors import CovoteError
from covote.files.decoding_files import decode_file
from covote.panel import Panel

ROWS = 2000


class _Here:
    def map(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        return map(function, parts)


def rehearse(votes_file: str | os.PathLike[str], panel: Panel, **options: Any) -> None:
    """Decode the first rows of a Parquet file as an engine would, and forget the labels.

    Compiled loops are then loaded, and processes that are forked from this one need not load them again.
    What is wrong with the file will be told when it is decoded.

    Parameters
    ----------
    votes_file, panel, options
        As for :func:`covote.files.decode_file`.
    """
    mistakes = (CovoteError, OSError, pa.ArrowException, StopIteration)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), suppress(*mistakes):
        warnings.simplefilter("ignore", UserWarning)
        first = next(pq.ParquetFile(votes_file).iter_batches(ROWS, use_threads=False))
        few = Path(folder) / "votes.parquet"
        pq.write_table(pa.Table.from_batches([first]), few)
        decode_file(few, Path(folder) / "labels.parquet", panel, engine=_Here(), **options)
