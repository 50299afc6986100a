"""Tables in notebooks and in other libraries: HTML, polars, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covote import atomic
from covote.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 10
"""Rows that a notebook shows."""


def html_table(title: str, columns: Mapping[str, Sequence[Any]], total: int) -> str:
    """Return the first rows of a table for a notebook."""

    def row(cells: Iterable[Any], tag: str) -> str:
        inner = "".join(f"<{tag}>{'' if cell is None else escape(str(cell))}</{tag}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    rows = [row(cells, "td") for cells in zip(*columns.values(), strict=True)]
    more = f"<p>{len(rows)} of {total:,} shown</p>" if total > len(rows) else ""
    return f"<p>{escape(title)}</p><table>{row(columns, 'th')}{''.join(rows)}</table>{more}"


def polars_frame(table: pa.Table) -> Any:
    """Return a table as a polars DataFrame."""
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError(
            "to_polars() needs polars; install it with: pip install polars"
        ) from error
    return polars.DataFrame(table)


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a ``.parquet`` or ``.csv`` file, completely or not at all."""
    ending = Path(path).suffix.lower()
    if ending not in (".parquet", ".pq", ".csv"):
        raise InputError(f"{path}: a table is saved as .parquet or .csv, not as {ending!r}")
    with atomic.replacing(path) as beside:
        if ending == ".csv":
            from pyarrow import csv

            csv.write_csv(table, beside)
        else:
            import pyarrow.parquet as pq

            pq.write_table(table, beside)
