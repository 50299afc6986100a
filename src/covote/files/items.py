"""Item ids in files: their type, where one item ends, whether they are in order.

``pyarrow.compute`` is imported where text needs it: ids that are integers do without, and start sooner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.errors import InputError
from covote.votes.item_ids import comparable, first_missing

_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"


class Retry(Exception):
    """The file is not what it seemed; read it again the other way."""

    def __init__(self, *, in_order: bool = True, integers: bool = True, pack: bool = True) -> None:
        super().__init__()
        self.in_order = in_order
        self.integers = integers
        self.pack = pack


def plain_items(ids: pa.Array, path: Any, first_row: int, integers: bool) -> pa.Array:
    """Return ids without dictionary; text as integers, if asked (text files have no types)."""
    try:
        ids = comparable(ids)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    missing = first_missing(ids)
    if missing >= 0:
        raise InputError(f"{path}, row {first_row + missing}: no item; give every row an item")
    if integers:
        import pyarrow.compute as pc

        # "007" and "+7" are not integers here: as such they would not come back as they were.
        if not pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
            raise Retry(integers=False)
        ids = ids.cast(pa.int64())
    return ids


def starts_of(ids: pa.Array) -> NDArray[np.int64]:
    """Return where each run of equal ids starts.

    >>> starts_of(pa.array(["a", "a", "b"]))
    array([0, 2])
    """
    if not len(ids):
        return np.zeros(0, dtype=np.int64)
    if pa.types.is_integer(ids.type):
        values = np.from_dlpack(ids)
        change: Any = np.flatnonzero(values[1:] != values[:-1])
    else:
        import pyarrow.compute as pc

        change = np.from_dlpack(pc.indices_nonzero(pc.not_equal(ids[1:], ids[:-1])))
    return np.concatenate([np.zeros(1, dtype=np.int64), change.astype(np.int64) + 1])


def ascending(ids: pa.Array) -> bool:
    """Whether every id is greater than the one before."""
    if pa.types.is_integer(ids.type):
        values = np.from_dlpack(ids)
        return bool((values[1:] > values[:-1]).all())
    import pyarrow.compute as pc

    return len(ids) < 2 or bool(pc.all(pc.greater(ids[1:], ids[:-1])).as_py())
