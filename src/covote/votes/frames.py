"""Display and export of votes and other tables: names, HTML for notebooks, polars, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covote.errors import MissingDependencyError
from covote.panel import Name
from covote.tables.arrow_names import id_array, name_array, names_at
from covote.votes.arrays import own_probabilities

if TYPE_CHECKING:
    import pyarrow as pa

    from covote.votes.votes import Votes

NONE = "none of mine"
"""What tables have for "none of mine"."""
SHOWN = 10
"""The number of rows that a notebook shows."""


def votes_table(votes: Votes, shape: Literal["long", "wide"]) -> pa.Table:
    """Return the votes as a table of names; see :meth:`covote.Votes.to_arrow`."""
    import pyarrow as pa

    classes = name_array(votes.panel.classes)
    ids = id_array(votes.ids, votes.start, votes.stop)
    if shape == "wide":
        dense = votes.dense
        return pa.table(
            [ids, *(names_at(dense[:, i], classes, NONE) for i in range(len(votes.panel)))],
            names=["item", *map(str, name_array(votes.panel.names).to_pylist())],
        )
    ragged = votes.ragged
    item = np.repeat(np.arange(len(votes)), np.diff(ragged.indptr))
    table = {
        "item": ids.take(pa.array(item)),
        "expert": names_at(ragged.expert, name_array(votes.panel.names)),
        "label": names_at(ragged.label, classes, NONE),
    }
    vote, per_class, starts = own_probabilities(votes.to_ragged())
    if vote is not None:
        table["probability"] = pa.array(vote)
    if per_class is not None:
        table["probabilities"] = pa.LargeListArray.from_arrays(pa.array(starts), pa.array(per_class))
    return pa.table(table)


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


def load_pandas() -> Any:
    """Return pandas, which is optional."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "to_pandas() needs pandas; install it with: pip install pandas"
        ) from error
    return pd


def plain_column(column: pa.Array, classes: Sequence[Name]) -> Any:
    """Return a column for pandas, in which integers with gaps stay integers."""
    import pandas as pd
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return np.from_dlpack(column)
    if pa.types.is_integer(column.type.value_type):
        return pd.array(column.to_pylist(), dtype="Int64")
    # Classes that are integers beyond 64 bits are text in Arrow.
    named = {str(name): name for name in classes}
    return np.array([named.get(text, text) for text in column.to_pylist()], dtype=object)
