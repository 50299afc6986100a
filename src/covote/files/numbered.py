"""Parts whose different rows of answers were numbered by workers: all that is left is to look labels up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote import atomic
from covote.files.packed import Packed, Rows, packed
from covote.files.parts import ids_from_bytes, ids_to_bytes
from covote.files.vote_files import Piece
from covote.panel import Panel
from covote.votes import Votes


@dataclass(frozen=True)
class Numbered:
    """The items of a part and the numbers of their rows, in a file of their own; see :func:`numbering`."""

    number: int
    path: Path
    panel: Panel

    def pieces(self, rows: Rows) -> Iterator[Packed]:
        """Read the items and their answers; `rows` learns their numbers, and rows that are new to it."""
        with self.path.open("rb") as file:
            keys, ids, which = (np.load(file, allow_pickle=False) for _ in range(3))
        piece = Packed(self.panel, keys.take(which), ids_from_bytes(ids))
        rows.remember(piece, rows.number(keys, np.zeros(len(keys), np.int64)).take(which))
        yield piece


def numbering(store: Numbered, pieces: Iterable[Piece], share: float = 1.0) -> Rows | None:
    """Return the different rows of answers with their counts, and store the items with the numbers of theirs.

    None where there are too many rows (at most this share of the items), or where votes say more; then
    nothing is stored. Nor is it where there are no items.
    """
    rows = Rows(store.panel)
    items = 0
    ids: list[pa.Array] = []
    which: list[NDArray[np.int32]] = []
    for piece in pieces:
        small = packed(piece) if isinstance(piece, Votes) else piece
        if isinstance(small, Votes) or rows.full:
            return None
        ids.append(small.ids)
        which.append(rows.number(small.keys))
        items += len(small)
        if len(rows) > share * items:
            return None
    if not ids:
        return rows
    arrays: tuple[NDArray[Any], ...] = (
        rows.keys[: len(rows)], ids_to_bytes(pa.concat_arrays(ids)), np.concatenate(which)
    )  # fmt: skip
    with atomic.replacing(store.path) as beside, beside.open("wb") as file:
        for array in arrays:
            np.save(file, array, allow_pickle=False)
    return rows


def merged(found: Iterator[Rows | None]) -> Rows | None:
    """Return the different rows of all parts, in the order in which they come; None if some are missing."""
    rows = next(found)
    for part in found:
        if rows is None or part is None or rows.full:
            return None
        if len(part):
            rows.number(part.keys[: len(part)], part.count)
    return None if rows is None or rows.full else rows
