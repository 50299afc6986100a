"""Parts of a file of votes that can be read anywhere: some row groups of it, or pieces that were stored."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote import atomic
from covote.files.packed import Packed
from covote.files.vote_files import Piece, VoteFile, gathered
from covote.panel import Panel
from covote.votes import Ragged, Votes
from covote.votes.item_ids import id_array
from covote.votes.vote_checks import frozen

VOTES = 1 << 22
"""Votes in a part, about: large enough that starting a part costs nothing, small enough for many workers."""


@dataclass(frozen=True)
class Slice:
    """Some row groups of a Parquet file."""

    number: int
    file: VoteFile
    groups: range

    @property
    def panel(self) -> Panel:
        """Who could answer what."""
        return self.file.panel

    def pieces(self) -> Iterator[Piece]:
        """Read the votes on the items that begin in these row groups."""
        return gathered(self.file.within(self.groups).unchecked())


@dataclass(frozen=True)
class Stored:
    """Pieces in a file of their own; see :func:`storing`."""

    number: int
    path: Path
    panel: Panel

    def pieces(self) -> Iterator[Piece]:
        """Read them."""
        with self.path.open("rb") as file:
            while (piece := _read(file, self.panel)) is not None:
                yield piece


Part = Slice | Stored


def slices(file: VoteFile) -> list[Part]:
    """Cut a Parquet file into parts."""
    width = len(file.source.names) - 1 if file.shape == "wide" else 1
    found: list[Part] = []
    start = votes = 0
    rows = file.source.group_rows()
    for group, size in enumerate(rows, start=1):
        votes += size * width
        if votes >= VOTES or (group == len(rows) and votes):
            found.append(Slice(len(found), copy.copy(file), range(start, group)))
            start, votes = group, 0
    return found


def storing(path: Path, pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Hand pieces on, and store them in a file, which appears after the last one.

    The file is a sequence of numpy arrays: for every piece its kind, its items (an Arrow stream), its votes.
    """
    with atomic.replacing(path) as beside, beside.open("wb") as file:
        for piece in pieces:
            for array in _arrays(piece):
                np.save(file, array, allow_pickle=False)
            yield piece


def _arrays(piece: Piece) -> Iterator[NDArray[Any]]:
    if isinstance(piece, Packed):
        yield np.zeros(1, np.int8)
        yield ids_to_bytes(piece.ids)
        yield piece.keys
        return
    runs = (None, None, None) if piece.runs is None else piece.runs
    arrays = (piece.columns, *runs, piece.vote_probability, piece.class_probability, piece.class_start)
    yield np.array([1, piece.complete, *(array is not None for array in arrays)], np.int8)
    yield ids_to_bytes(id_array(piece._ids, piece.start, piece.stop))
    yield from (array for array in arrays if array is not None)


def _read(file: Any, panel: Panel) -> Piece | None:
    try:
        head = np.load(file, allow_pickle=False)
    except EOFError:
        return None
    ids = ids_from_bytes(np.load(file, allow_pickle=False))
    if head[0] == 0:
        return Packed(panel, np.load(file, allow_pickle=False), ids)
    columns, indptr, expert, label, *soft = (
        frozen(np.load(file, allow_pickle=False)) if there else None for there in head[2:]
    )
    runs = None if indptr is None or expert is None or label is None else Ragged(indptr, expert, label)
    vote, per_class, class_start = soft
    return Votes(panel, columns, runs, 0, len(ids), bool(head[1]), vote, per_class, class_start, ids)


def ids_to_bytes(ids: pa.Array) -> NDArray[np.uint8]:
    """Return items as the bytes of an Arrow stream."""
    batch = pa.RecordBatch.from_arrays([ids], names=["item"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), np.uint8)


def ids_from_bytes(data: NDArray[np.uint8]) -> pa.Array:
    """Return the items back."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch().column(0)
