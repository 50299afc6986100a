"""Questions to experts, and the ids of their items."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.asking.answers import Ints
from covote.errors import InputError, UnknownNameError
from covote.panel import Name, Panel
from covote.tables.writing import write_table

Array = NDArray[Any]


class ItemIds:
    """The ids of items; a number of items stands for the ids 0, 1, 2, ..., and then `array` is None.

    >>> ItemIds(["a", "b"]).positions(["b"]), ItemIds(3).name(2)
    (array([1]), 2)
    """

    def __init__(self, items: int | Sequence[Any] | Array) -> None:
        self.array: Array | None = None
        if isinstance(items, int | np.integer):
            self._size = check_count(items, "items", 0)
        else:
            self.array = _checked(items)
            self._size = len(self.array)

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _positions(self) -> dict[Any, int]:
        assert self.array is not None
        return {name: n for n, name in enumerate(self.array.tolist())}

    def name(self, n: int) -> Any:
        """Return the id of an item."""
        return n if self.array is None else _plain(self.array[n])

    def positions(self, items: Iterable[Any]) -> Ints:
        """Return the positions of these ids; raise an error for an unknown id."""
        if self.array is None and isinstance(items, np.ndarray) and items.dtype.kind in "iu":
            found: Ints = items.astype(np.int64)
            if ((found >= 0) & (found < len(self))).all():
                return found
        return np.array([self._position_of(_plain(name)) for name in items], dtype=np.int64)

    def _position_of(self, name: Any) -> int:
        if self.array is None:
            if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(self):
                return name
            known = f"items are 0 to {len(self) - 1}" if len(self) else "there are no items"
            raise UnknownNameError(f"no item {name!r}; {known}")
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            raise UnknownNameError(f"no item {name!r}; use the ids that the Asker was given") from None


def _checked(items: Iterable[Any]) -> Array:
    """Return ids as an array; raise an error for a repeated id, or one that cannot be looked up."""
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InputError(f"items are a number of items or their ids, not {items!r}")
    given = list(items) if not isinstance(items, np.ndarray) else items
    plain = not isinstance(given, np.ndarray) and all(type(name) is str for name in given)
    plain = plain or (not isinstance(given, np.ndarray) and all(type(name) is int for name in given))
    if isinstance(given, np.ndarray) or plain:
        ids = np.asarray(given)
    else:  # as they are: numpy would turn [1, "1"] into two equal strings
        ids = np.empty(len(given), dtype=object)
        ids[:] = [_plain(name) for name in given]
    if ids.ndim != 1:
        raise InputError(f"ids of shape {ids.shape}; give a list with one id per item")
    for name in ids.tolist():
        if not _is_id(name):
            raise InputError(f"{name!r} is not an id of an item; use text or numbers")
    if len(set(ids.tolist())) < len(ids):
        twice = Counter(ids.tolist()).most_common(1)[0][0]
        raise InputError(f"item {twice!r} is listed twice; give every item its own id")
    return ids


def _is_id(name: Any) -> bool:
    """Whether an id can be looked up: None, NaN, lists and the like cannot."""
    try:
        hash(name)
        return name is not None and bool(name == name)
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class Question(NamedTuple):
    """One question: the item, the expert to ask, and the classes to choose from."""

    item: Any
    expert: Name
    classes: tuple[Name, ...]


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions as positions of items and experts; `ids` names the items (default: their positions).

    Iterating gives :class:`Question` objects with names.
    """

    panel: Panel
    item: Ints
    expert: Ints
    ids: ItemIds | None = None

    def __len__(self) -> int:
        return len(self.item)

    def __iter__(self) -> Iterator[Question]:
        blocks = self.panel.blocks()
        for n, i in zip(self.item.tolist(), self.expert.tolist(), strict=True):
            yield Question(n if self.ids is None else self.ids.name(n), self.panel.names[i], blocks[i])

    def save(
        self, path: str | os.PathLike[str], columns: Sequence[str] = ("item", "expert", "label")
    ) -> None:
        """Write a table with a row per question, to be filled in: .csv, .xlsx, .parquet or .jsonl.

        Its `columns` are the item, the expert and an empty label, so that the filled file is a table of
        answers; a spreadsheet offers the classes.
        """
        item = [str(question.item) for question in self]
        expert = [str(question.expert) for question in self]
        empty = pa.nulls(len(item), pa.string())
        classes = [*map(str, self.panel.classes)]
        arrays = [pa.array(item, pa.string()), pa.array(expert, pa.string()), empty]
        table = pa.record_batch(arrays, names=[*columns])
        write_table(path, table, "table of questions", choices={columns[2]: classes})
