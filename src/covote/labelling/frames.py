"""Labelling data in memory: a frame or an array goes to a folder, where a run finds it as it finds files."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np

from covote import atomic
from covote.asking import Asker
from covote.decoding import decode, make
from covote.files.data import DataPlace
from covote.labelling.journal import Kept
from covote.labelling.running import Asking, asked
from covote.labels import Labels
from covote.models.kind import Trust
from covote.panel import Name, Panel, cells


def label(
    data: Any,
    panel: Panel,
    *,
    keep: str | os.PathLike[str] | None = None,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    models: str | os.PathLike[str] = ".",
    batch: int = 1024,
    strict: bool = False,
    ask: str | Asker = "everyone",
    refresh: bool = False,
    trust: Trust = False,
    method: str = "authority",
    gold: Mapping[Any, Name] | None = None,
    **options: Any,
) -> Labels:
    """Ask the models of a panel about data in memory, and decode their answers.

    As :func:`label_file`, for a frame instead of a file. Experts whose answers are missing are named in a
    warning.

    Parameters
    ----------
    data
        A frame (pandas, polars, pyarrow, a dict of columns), or a numpy array (first axis: items).
    panel
        Who knows what, with a model for every expert.
    keep
        A folder for the answers, so that a second call asks nobody twice; they are forgotten unless given.
    id, columns, models, batch, strict, ask, refresh, trust
        As for :func:`label_file`.
    method, gold, options
        As for :func:`covote.decode`.
    """
    make(method, options, gold)  # a mistake here costs no question
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="covote-")))
        kept = stack.enter_context(closing(Kept(folder / "votes" if keep is None else Path(keep))))
        place = DataPlace(_written(data, folder), id, None if columns is None else tuple(columns))
        run = asked(place, panel, kept, Asking(Path(models), batch, strict, ask, None, refresh, trust))
        votes = run.votes.whole()
    for expert in run.ended():
        if expert.missing:
            warnings.warn(f"{expert.missing:,} answers are missing: {expert.reason}", stacklevel=2)
    found: Labels = decode(votes, method=method, gold=gold, **options)
    return found


def _written(data: Any, folder: Path) -> Path:
    """Write data to a file of their kind, the same bytes for the same data."""
    if isinstance(data, np.ndarray):
        np.save(folder / "data.npy", data, allow_pickle=False)
        return folder / "data.npy"
    import pyarrow.parquet as pq

    table = cells.arrow_table(data, "data")
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    with atomic.replacing(folder / "data.parquet") as beside:
        pq.write_table(table.drop_columns(index).replace_schema_metadata(None), beside)
    return folder / "data.parquet"
