"""Batches of items as models want them: one matrix, some columns, channels first, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError

Batch = NDArray[Any] | Mapping[str, NDArray[Any]]
"""Some items: an array with one entry per item (its first axis), or the columns of a table by name. The
arrays that models are given are read-only, because all experts of a panel see the same data."""


def size(batch: Batch) -> int:
    """Return how many items a batch has.

    >>> size({"age": np.array([50, 60])}), size(np.zeros((3, 8, 8)))
    (2, 3)
    """
    return len(batch) if isinstance(batch, np.ndarray) else len(next(iter(batch.values()), ()))


def read_only(batch: Batch) -> Batch:
    """Return the batch with arrays that cannot be changed through it."""
    if isinstance(batch, Mapping):
        return {name: _read_only(column) for name, column in batch.items()}
    return _read_only(batch)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def take(batch: Batch, rows: Any) -> Batch:
    """Return some items of a batch: a slice, positions or a mask."""
    if isinstance(batch, Mapping):
        return {name: column[rows] for name, column in batch.items()}
    part: NDArray[Any] = batch[rows]
    return part


def chunks(batch: Batch, rows: int | None) -> Iterator[Batch]:
    """Yield a batch in pieces of at most `rows` items; the whole if there is no limit."""
    count = size(batch)
    if rows is None or count <= rows:
        yield batch
        return
    for start in range(0, count, rows):
        yield take(batch, slice(start, start + rows))


def select(batch: Batch, columns: Sequence[str] | None) -> Batch:
    """Return only these columns of a table."""
    if columns is None:
        return batch
    if not isinstance(batch, Mapping):
        raise ExpertError("has columns = [...], but the data are an array without named columns; remove it")
    missing = [name for name in columns if name not in batch]
    if missing:
        raise ExpertError(
            f"wants the column {missing[0]!r}, which the data do not have (they have: {', '.join(batch)})"
        )
    return {name: batch[name] for name in columns}


def matrix(batch: Batch) -> NDArray[Any]:
    """Return a batch as one array: the columns of numbers side by side, or a single column of text as it is.

    >>> matrix({"age": np.array([50, 60]), "dose": np.array([0.5, 1.0]), "who": np.array(["a", "b"])})
    array([[50. ,  0.5],
           [60. ,  1. ]])
    """
    if isinstance(batch, np.ndarray):
        return batch
    columns = [column for column in batch.values() if column.dtype.kind in "fiub"]
    if not columns and len(batch) == 1:
        return next(iter(batch.values()))
    if not columns:
        raise ExpertError(
            f"takes numbers, or one column of text, and the data have several: {', '.join(batch)}; choose "
            "one with --columns, or for this expert alone with columns = [...] next to its model"
        )
    if len(columns) == 1 and columns[0].ndim > 1:
        return columns[0]
    flat = [column.reshape(len(column), -1) for column in columns]
    return np.concatenate(flat, axis=1)


def arrays_for(batch: Batch, names: Sequence[str]) -> list[NDArray[Any]]:
    """Return what a model takes with these inputs: one matrix, or columns by the names of several."""
    if len(names) == 1:
        return [matrix(batch)]
    if not isinstance(batch, Mapping):
        raise ExpertError(
            f"takes several inputs ({', '.join(names)}), but the data have no columns with these names"
        )
    columns = select(batch, names)
    assert isinstance(columns, Mapping)
    return [columns[name] for name in names]


def prepare_images(batch: Batch, channels: str, scale: float) -> Batch:
    """Return images with their channels first, if asked, and their values times `scale`, if that is not 1."""
    if channels == "last" and scale == 1:
        return batch
    array = matrix(batch)
    if channels == "first":
        array = np.moveaxis(array, -1, 1)
    return array if scale == 1 else np.asarray(array * np.float32(scale), dtype=np.float32)


def in_fixed_batches(
    run: Callable[[list[NDArray[Any]]], Any], inputs: list[NDArray[Any]], rows: int | None
) -> Any:
    """Run a model that takes exactly `rows` items at a time (None: any number); repeat an item to fill up."""
    if rows is None or len(inputs[0]) == rows:
        return run(inputs)
    count, pieces = len(inputs[0]), []
    for start in range(0, count, rows):
        part = [array[start : start + rows] for array in inputs]
        short = rows - len(part[0])
        if short:
            part = [np.concatenate([array, np.repeat(array[-1:], short, axis=0)]) for array in part]
        pieces.append(run(part)[: rows - short])
    if isinstance(pieces[0], list):
        return [row for piece in pieces for row in piece]
    return np.concatenate(pieces)
