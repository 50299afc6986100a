"""A stored table of probabilities as one more expert: items x classes, as ``--proba`` and models write it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.arguments import did_you_mean, some_of
from covote.errors import InputError, TooLargeError
from covote.panel import Name, Panel
from covote.tables.arrow_names import id_array
from covote.tables.column_roles import id_column
from covote.tables.table_file import TableFile
from covote.tables.words import ITEMS, is_called
from covote.votes import NOT_ASKED, Votes

_MOST = 1 << 30
"""Probabilities that are held at once: 4 GiB."""
_SLACK = 0.01  # how far above 1 the sum of a row may be


class StoredProbabilities(NamedTuple):
    """The content of a table: the items as text, the classes, and (items x classes) probabilities.

    A row of zeros is an item about which the table says nothing.
    """

    items: list[str]
    classes: list[str]
    probability: NDArray[np.float32]


def read_probabilities(path: str | os.PathLike[str], classes: tuple[Name, ...] | None) -> StoredProbabilities:
    """Read a table with the items and a column of probabilities for each class.

    Empty cells and NaN are no probability. Other columns than `classes` are left out; None takes all columns
    of numbers.
    """
    source = TableFile(Path(path))
    item = _item_column(source, path, classes)
    table = source.table()
    others = [name for name in source.names if name != item]
    if classes is not None:
        known = {str(name) for name in classes}
        for name in others:
            if name not in known and (near := did_you_mean(name, classes)):
                raise InputError(f"{path}: the column {name!r} is not a class of the panel{near}; rename it")
        others = [name for name in others if name in known]
    columns = {name: _numbers(table.column(name)) for name in others}
    found = {name: column for name, column in columns.items() if column is not None}
    text = [name for name, column in columns.items() if column is None]
    if text and classes is not None:
        raise InputError(f"{path}: the column {text[0]!r} is a class of the panel, but has no probabilities")
    if len(found) < 2:
        raise InputError(f"{path} has no columns of probabilities for two or more classes of the panel")
    probability = np.nan_to_num(np.stack(list(found.values()), axis=1), nan=0.0)
    sums = probability.sum(axis=1, dtype=np.float64)
    wrong = np.flatnonzero((probability < 0).any(axis=1) | (sums > 1 + _SLACK))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{path}, row {row + 1}: the probabilities add up to {sums[row]:.4g}, or one is below 0; a row "
            "has numbers from 0 to 1 that add up to 1 (scores before softmax or percentages do not)"
        )
    items = list(map(str, table.column(item).to_pylist()))
    if len(set(items)) < len(items):
        repeated = next(name for n, name in enumerate(items) if name in items[:n])
        raise InputError(f"{path}: item {repeated!r} is there twice; keep one row for each item")
    return StoredProbabilities(items, list(found), probability)


def _item_column(source: TableFile, path: str | os.PathLike[str], classes: tuple[Name, ...] | None) -> str:
    """Return the column that names the items: by its usual names, else the only one called so or of text."""
    item = id_column(source.names)
    if item is not None:
        return item
    rest = [name for name in source.names if name not in set(map(str, classes or ()))]
    called = [name for name in rest if is_called(name, ITEMS)]
    head = source.head()
    others = [name for name in rest if _numbers(head.column(name)) is None]
    for found in (called, others):
        if len(found) == 1:
            return found[0]
    raise InputError(f"{path}: which column names the items? Call it item (it has: {some_of(source.names)})")


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float32] | None:
    """Return a column as numbers, None if it has others; empty cells are NaN."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        cells = [cell if cell and cell.strip() else None for cell in column.to_pylist()]
        column = pa.chunked_array([pa.array(cells, pa.string())])
    try:
        values = column.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return np.asarray(values, dtype=np.float32)


def with_probabilities(
    votes: Votes, name: Name, stored: StoredProbabilities, *, more_classes: bool = False
) -> Votes:
    """Return votes with a stored table as the answers of one more expert.

    Parameters
    ----------
    votes
        What the others answered; they may have probabilities or not.
    name
        What the expert is called. One of the panel without any answer gets the table; others are new.
    stored
        The table. Its items are added to those of the votes.
    more_classes
        Whether classes that the panel does not have are added to it.
    """
    # Experts and classes stay where they are; new ones follow.
    panel = _panel_with(votes.panel, name, stored, more_classes)
    i = panel.expert_index(name)
    items = id_array(votes.ids, votes.start, votes.stop).to_pylist()
    place = {str(item): n for n, item in enumerate(items)}
    new = [item for item in stored.items if item not in place]
    place |= {item: len(items) + n for n, item in enumerate(new)}
    size, width = len(items) + len(new), int(panel.sizes.sum())
    if size * width > _MOST:
        raise TooLargeError(
            f"{size:,} items times {width:,} pairs of an expert and a class they know are too many "
            "probabilities for this machine; decode in parts"
        )
    answers = np.full((size, len(panel)), NOT_ASKED, dtype=np.int64)
    answers[: len(votes), : len(votes.panel)] = votes.dense
    if (answers[:, i] != NOT_ASKED).any():
        raise InputError(f"expert {name!r} has answers and a table of probabilities; rename one of them")
    probability = np.full((size, width), np.nan, dtype=np.float32)
    if votes.soft:
        probability[: len(votes), : votes.panel.sizes.sum()] = _class_probabilities(votes)
    # The table: its columns in the order of the panel, its rows at their items.
    by_text = {str(label): k for k, label in enumerate(panel.classes)}
    index = np.array([by_text[label] for label in stored.classes])
    known, order = np.sort(index), np.argsort(index)
    answered = stored.probability.max(axis=1) > 0
    rows = np.array([place[item] for item in stored.items], dtype=np.intp)[answered]
    inside = stored.probability[:, order][answered]
    answers[rows, i] = known[inside.argmax(axis=1)]
    first = int(panel.sizes[:i].sum())
    probability[rows, first : first + len(known)] = np.minimum(inside, 1)
    return Votes.from_dense(answers, panel, items=[*items, *new], probabilities=probability)


def _class_probabilities(votes: Votes) -> NDArray[np.float32]:
    """Return the probabilities that experts gave (items x all classes of each expert that it knows)."""
    dense = votes.to_dense()
    if dense.class_probability is not None:
        return dense.class_probability.T
    assert dense.vote_probability is not None
    owner, member = np.nonzero(votes.panel.knows)
    sure = dense.vote_probability.T[:, owner]
    rest = (1 - sure) / np.maximum(1, votes.panel.sizes[owner] - 1)
    return np.where(votes.dense[:, owner] == member, sure, rest)


def _panel_with(panel: Panel, name: Name, stored: StoredProbabilities, more_classes: bool) -> Panel:
    """Return the panel in which the expert knows the classes of the table."""
    known = {str(label) for label in panel.classes}
    added = [label for label in stored.classes if label not in known] if more_classes else []
    classes = [*panel.classes, *added]
    mine = [str(label) in set(stored.classes) for label in classes]
    knows = np.zeros((len(panel), len(classes)), dtype=bool)
    knows[:, : len(panel.classes)] = panel.knows
    if name in panel.names:
        i = panel.expert_index(name)
        other = [classes[k] for k in np.flatnonzero(knows[i] != np.array(mine))]
        if other:
            raise InputError(
                f"the panel and the table of expert {name!r} disagree about {some_of(other)}: the expert "
                "knows the columns of the table; correct one of them"
            )
        return Panel(classes, knows, panel.names, panel.cost, models=panel.models, left=panel.left)
    cost = [*panel.cost.tolist(), 1.0]
    models = [*panel.models, None]
    left = [*panel.left.tolist(), False]
    return Panel(classes, [*knows.tolist(), mine], [*panel.names, name], cost, models=models, left=left)


def table_of(model: Any) -> str | None:
    """Return the file of a model that is a stored table, ``table:birds.parquet``; None for other models.

    >>> table_of("table:birds.parquet"), table_of("onnx:birds.onnx")
    ('birds.parquet', None)
    """
    use = model.get("use") if isinstance(model, dict) else model
    return use.removeprefix("table:") if isinstance(use, str) and use.startswith("table:") else None


def add_tables(
    votes: Votes, folder: Path, models: Sequence[str | os.PathLike[str]], *, more_classes: bool = False
) -> Votes:
    """Return votes with the stored tables that the panel names, and with others, each called as its file.

    Paths in the panel begin in `folder`.
    """
    panel = votes.panel
    named = [(name, table_of(model)) for name, model in zip(panel.names, panel.models, strict=True)]
    places = [(name, folder / place) for name, place in named if place is not None]
    places += [(Path(path).stem, Path(path)) for path in models]
    for name, place in places:
        stored = read_probabilities(place, None if more_classes else votes.panel.classes)
        votes = with_probabilities(votes, name, stored, more_classes=more_classes)
    return votes
