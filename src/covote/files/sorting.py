"""Votes in the order of their items, larger than memory: DuckDB sorts and streams."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa

from covote.errors import FileError, InputError

_MEMORY = "1GB"  # beyond it, DuckDB sorts on disk


def by_item(batches: Iterator[pa.RecordBatch], rows: int) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of all batches ordered by ``item``, and for one item by ``row``."""
    yield from _asked(batches, "SELECT * FROM votes ORDER BY item, row", rows)


def first_repeated(batches: Iterator[pa.RecordBatch]) -> tuple[Any, int, int] | None:
    """Return (item, its first row, its last row) of an item with more than one row, if there is any."""
    question = (
        "SELECT item, min(row) AS first, max(row) AS last FROM votes GROUP BY item HAVING count(*) > 1 "
        "ORDER BY last LIMIT 1"
    )
    with closing(_asked(batches, question, 1)) as answer:
        for batch in answer:
            for found in batch.to_pylist():
                return found["item"], found["first"], found["last"]
    return None


def _asked(
    batches: Iterator[pa.RecordBatch], question: str, rows: int
) -> Generator[pa.RecordBatch, None, None]:
    """Put a question about a stream of batches to DuckDB; it spills to disk what does not fit."""
    import duckdb  # only files in no order need it

    first = next(batches)
    failure: list[Exception] = []

    def guarded() -> Iterator[pa.RecordBatch]:
        try:
            yield first
            yield from batches
        except Exception as error:
            failure.append(error)  # DuckDB would bury it in a message of its own
            raise

    with tempfile.TemporaryDirectory(prefix="covote-") as folder, duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{_MEMORY}'")
        connection.execute("SET temp_directory = ?", [folder])
        try:
            connection.register("votes", pa.RecordBatchReader.from_batches(first.schema, guarded()))
            yield from connection.sql(question).to_arrow_reader(rows)
        except (duckdb.Error, OSError) as error:
            if failure:
                raise failure[0] from None
            if isinstance(error, duckdb.NotImplementedException):
                kind = first.schema.field("item").type
                raise InputError(
                    f"items of type {kind} cannot be sorted; name them by whole numbers or text"
                ) from error
            if isinstance(error, FileError):
                raise
            reason = str(error).splitlines()[0]
            raise FileError(
                f"cannot sort the votes by item: {reason}; make room in {tempfile.gettempdir()} or set TMPDIR"
            ) from error
