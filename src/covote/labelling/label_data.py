"""Label data with the models of a panel: a file, or data in memory."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np

from covote import atomic
from covote.decoding import decode, make
from covote.errors import InputError
from covote.files import Output, decode_votes
from covote.files.decoding_files import check_proba
from covote.files.stored_probabilities import (
    StoredProbabilities,
    read_probabilities,
    table_of,
    with_probabilities,
)
from covote.labelling.answers_file import ENDING, AnswersFile
from covote.labelling.batch_files import RequestCount
from covote.labelling.data import DataPlace
from covote.labelling.running import Labelling, Progress, Run
from covote.labelling.strategy import EVERYONE, Asking
from covote.labels import Labels
from covote.panel import Name, Panel
from covote.tables.arrow_names import arrow_table, flat
from covote.votes import Votes


def answers_file(output: str | os.PathLike[str]) -> Path:
    """Return where the answers of a run are kept: next to the labels.

    >>> str(answers_file("labels.parquet"))
    'labels.answers.sqlite'
    """
    return Path(output).with_suffix(ENDING)


def label_file(
    data: DataPlace | str | os.PathLike[str],
    output: Output | str | os.PathLike[str],
    panel: Panel | str | os.PathLike[str],
    *,
    asking: Asking = EVERYONE,
    trust: bool = False,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Labelling:
    """Ask the models of a panel about every item, decode their answers, write the labels.

    Answers are kept next to the labels (``labels.answers.sqlite`` for ``labels.parquet``), batch by batch. To
    resume an interrupted run, call it again; the labels are the same byte for byte. `covote decode`,
    `compare` and `explain` read the file of answers as votes.

    Parameters
    ----------
    data
        A table (Parquet, CSV, TSV, JSON-lines), a ``.npy`` file (first axis: items), or a folder of images;
        or a :class:`DataPlace` that also names the column of ids (default: ``item``, ``task`` or ``id``; else
        their positions), the columns that experts see (default: all others), or the size of images.
    output
        A .parquet, .csv, .jsonl or .xlsx file for the labels, or a :class:`covote.files.Output` that names
        it and what else is written.
    panel
        Who knows what, with a model for every expert: a panel, or its file.
    asking
        Which experts to ask about what, and in batches of which size.
    trust
        Whether models may run their authors' code (Python modules, pickles, torch).
    method, gold, options
        As for :func:`covote.files.decode_file`.
    progress
        Called as (expert, batches done, batches in all).
    """
    output = output if isinstance(output, Output) else Output(output)
    output.check()
    if output.labels is None:
        raise InputError("label_file writes labels; name a file for them")
    place = data if isinstance(data, DataPlace) else DataPlace(Path(data))
    panel, models = asking.open_panel(panel)
    asked, stored = _split(panel, models)
    decoder = make("learned" if method == "auto" else method, options, gold)  # mistakes cost no question
    if output.proba is not None:
        check_proba(decoder, panel)
    with closing(AnswersFile(answers_file(output.labels))) as file:
        run = Run(place, asked, models, file, asking, trust, progress).ask()
        votes = _with_tables(run.votes(), stored)
        outcome = decode_votes(votes, output, method=method, gold=gold, **options)
        return run.result(outcome)


def request_file(
    data: DataPlace | str | os.PathLike[str],
    output: str | os.PathLike[str],
    panel: Panel | str | os.PathLike[str],
    requests: str | os.PathLike[str],
    *,
    asking: Asking = EVERYONE,
    trust: bool = False,
) -> RequestCount:
    """Write what language models have not answered yet as requests of a batch service, and ask no model.

    The service takes the file, and returns one of responses for ``Asking(responses=...)``. `data`, `output`,
    `panel`, `asking` and `trust` are as for :func:`label_file`, which uses the responses.
    """
    place = data if isinstance(data, DataPlace) else DataPlace(Path(data))
    panel, models = asking.open_panel(panel)
    asked, _ = _split(panel, models)
    with closing(AnswersFile(answers_file(output))) as file:
        return Run(place, asked, models, file, asking, trust, None).write_requests(Path(requests))


def label(
    data: Any,
    panel: Panel | str | os.PathLike[str],
    *,
    keep: str | os.PathLike[str] | None = None,
    asking: Asking = EVERYONE,
    trust: bool = False,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    **options: Any,
) -> Labels:
    """Ask the models of a panel about data in memory, and decode their answers.

    As :func:`label_file`, for a frame instead of a file. Experts whose answers are missing are named in a
    warning.

    Parameters
    ----------
    data
        A frame (pandas, polars, pyarrow, a dict of columns), or a numpy array (first axis: items). Experts
        see all columns of a frame apart from ``item``, ``task`` or ``id``, which names the items.
    panel
        Who knows what, with a model for every expert: a panel, or its file.
    keep
        A ``.sqlite`` file for the answers, so that a second call asks no expert twice (default: they are
        forgotten).
    asking, trust
        As for :func:`label_file`.
    method, gold, options
        As for :func:`covote.decode`.
    """
    make("learned" if method == "auto" else method, options, gold)  # a mistake here costs no question
    panel, models = asking.open_panel(panel)
    asked, stored = _split(panel, models)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="covote-")))
        file = stack.enter_context(closing(AnswersFile(None if keep is None else Path(keep))))
        place = DataPlace(_written(data, folder))
        run = Run(place, asked, models, file, asking, trust, None).ask()
        votes, experts = _with_tables(run.votes(), stored), run.ended()
    for expert in experts:
        if expert.missing:
            warnings.warn(f"{expert.missing:,} answers are missing: {expert.reason}", stacklevel=2)
    found: Labels = decode(votes, method=method, gold=gold, **options)
    return found


def _split(panel: Panel, folder: Path) -> tuple[Panel, Mapping[Name, StoredProbabilities]]:
    """Return the experts to ask, and what those say whose models are stored tables."""
    models = zip(panel.names, panel.models, strict=True)
    tables = {name: table for name, model in models if (table := table_of(model)) is not None}
    if len(tables) == len(panel):
        raise InputError("every expert is a stored table, which needs no asking; use covote decode")
    stored = {name: read_probabilities(folder / table, panel.classes) for name, table in tables.items()}
    return panel.without(*tables) if tables else panel, stored


def _with_tables(votes: Votes, stored: Mapping[Name, StoredProbabilities]) -> Votes:
    """Return votes with those of stored tables, on the same items."""
    items = np.arange(len(votes))
    for name, table in stored.items():
        votes = with_probabilities(votes, name, table)
    return votes.subset(items) if len(votes) > len(items) else votes


def _written(data: Any, folder: Path) -> Path:
    """Write data to a file of their kind, the same bytes for the same data."""
    if isinstance(data, np.ndarray):
        np.save(folder / "data.npy", data, allow_pickle=False)
        return folder / "data.npy"
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = arrow_table(data, "data", index=True)
    columns = {
        name: flat(column) if str(column.type).endswith("_view") else column  # not every pyarrow writes views
        for name, column in zip(table.column_names, table.columns, strict=True)
        if not name.startswith("__index_level_")
    }
    with atomic.replacing(folder / "data.parquet") as temporary:
        pq.write_table(pa.table(columns), temporary)
    return folder / "data.parquet"
