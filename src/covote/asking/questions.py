"""Questions to experts, and the ids of their items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.asking.answers import Ints
from covote.errors import InputError, UnknownNameError
from covote.panel import Name, Panel

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
    def _position(self) -> dict[Any, int]:
        assert self.array is not None
        return {name: n for n, name in enumerate(self.array.tolist())}

    def name(self, n: int) -> Any:
        """Return the id of an item."""
        return n if self.array is None else _plain(self.array[n])

    def positions(self, items: Sequence[Any] | Array) -> Ints:
        """Return the positions of these ids; raise an error for an unknown id."""
        if self.array is None:
            given = np.asarray(items)
            if given.dtype.kind in "iu" or not len(given):
                wrong = (given < 0) | (given >= len(self))
                if not wrong.any():
                    return given.astype(np.int64)
                given = given[wrong]
            raise UnknownNameError(f"no item {_plain(given[0])!r}; items are 0 to {len(self) - 1}")
        try:
            return np.array([self._position[_plain(item)] for item in items], dtype=np.int64)
        except (KeyError, TypeError) as error:
            raise UnknownNameError(
                f"no item {error.args[0]!r}; use the ids that the Asker was given"
            ) from None


def _checked(items: Sequence[Any] | Array) -> Array:
    """Return ids as an array; raise an error for a repeated id."""
    given = list(items) if not isinstance(items, np.ndarray) else items
    ids = np.asarray(given)
    if ids.ndim != 1 or (ids.dtype.kind == "U" and not all(isinstance(name, str) for name in given)):
        ids = np.empty(len(given), dtype=object)
        ids[:] = given
    if len(set(ids.tolist())) < len(ids):
        twice = Counter(ids.tolist()).most_common(1)[0][0]
        raise InputError(f"item {twice!r} is listed twice; give every item its own id")
    return ids


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
