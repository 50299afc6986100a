"""Statistics: what votes tell about the experts, as counts that add up."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import FileError, InputError
from covote.panel import Panel

from .patterns import cells

Array = NDArray[Any]

ONE = 1 << 30
"""One item in counts. Counts are whole numbers, so that parts add up exactly, in any order."""

DENSE = 1 << 23
"""A table of more counts than this is kept as a sorted list of the counts that are not 0."""

FORMAT = "covote statistics 1"


@dataclass(frozen=True, eq=False)
class Statistics:
    """How often each expert gave each answer to each class, as far as the classes are known.

    Statistics of two parts of the votes add up (``+``) to those of both. They can be saved, and continued
    with tomorrow's votes: ``decode(votes, statistics=...)``.

    Attributes
    ----------
    panel
        The panel of the votes.
    method
        The decoder that shared the items out among the classes.
    items
        How many items were counted.
    table
        Counts (answers x classes) in units of 1 / ONE items, answers numbered as in `patterns.cells`; None
        where it would be too large: then `keys` (answer x classes + class) and `values` list it.
    """

    panel: Panel
    method: str
    items: int
    table: NDArray[np.int64] | None
    keys: NDArray[np.int64] | None = None
    values: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, panel: Panel, method: str, items: int, keys: Array, values: Array, *, dense: bool | None = None
    ) -> Statistics:
        """Collect counts that are given as a list; a key may occur several times."""
        classes, answers = len(panel.classes), len(cells(panel))
        if answers * classes <= DENSE if dense is None else dense:
            table = np.zeros(answers * classes, dtype=np.int64)
            np.add.at(table, keys, values)
            return cls(panel, method, items, table.reshape(answers, classes))
        return cls(panel, method, items, None, *_summed(keys, values))

    def __add__(self, other: Statistics) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.panel != other.panel:
            raise InputError("statistics of two different panels cannot be added; count them for one panel")
        if self.method != other.method:
            raise InputError(
                f"statistics of {self.method!r} and of {other.method!r} cannot be added; use one method"
            )
        items = self.items + other.items
        if self.table is not None and other.table is not None:
            return replace(self, items=items, table=self.table + other.table)
        keys, values = zip(self._listed(), other._listed(), strict=True)
        return Statistics.of(
            self.panel, self.method, items, np.concatenate(keys), np.concatenate(values), dense=False
        )

    def _listed(self) -> tuple[Array, Array]:
        """Return (keys, values) of the counts that are not 0."""
        if self.table is None:
            assert self.keys is not None
            assert self.values is not None
            return self.keys, self.values
        keys = np.flatnonzero(self.table)
        return keys, self.table.ravel()[keys]

    # Counts as numbers of items

    def column(self, k: int) -> NDArray[np.float64]:
        """Return how often each answer was given to class k."""
        if self.table is not None:
            return self.table[:, k] / ONE
        answer, value = self._by_class[k]
        column = np.zeros(len(cells(self.panel)))
        column[answer] = value / ONE
        return column

    @property
    def _by_class(self) -> _Grouped:
        found = self.__dict__.get("_grouped")
        if found is None:
            found = _Grouped(*self._listed(), len(self.panel.classes))
            self.__dict__["_grouped"] = found  # derived from frozen arrays; only a shortcut
        return found

    def inside(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return for each expert: right answers and all answers to classes it knows, and "none of mine" ever."""
        layout, classes = cells(self.panel), len(self.panel.classes)
        keys, values = self._listed()
        answer, k = keys // classes, keys % classes
        expert = layout.expert[answer]
        known = self.panel.knows[expert, k]
        size = len(self.panel)
        amount = values / ONE
        right = np.bincount(expert, weights=amount * (layout.label[answer] == k), minlength=size)
        total = np.bincount(expert, weights=amount * known, minlength=size)
        none = np.bincount(expert, weights=amount * (layout.label[answer] == classes), minlength=size)
        return right, total, none

    def class_share(self) -> NDArray[np.float64]:
        """Return how many answers were given to each class: its share of the answers, not normalised."""
        keys, values = self._listed()
        classes = len(self.panel.classes)
        return np.bincount(keys % classes, weights=values / ONE, minlength=classes)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a ``.json`` or ``.npz`` file, completely or not at all."""
        keys, values = self._listed()
        head = {
            "format": FORMAT,
            "method": self.method,
            "items": self.items,
            "panel": self.panel.to_dict(),
        }
        if _kind(path) == "json":
            body = {**head, "keys": keys.tolist(), "values": values.tolist()}
            atomic.write_text(path, json.dumps(body))
            return
        text = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
        with atomic.replacing(path) as beside, beside.open("wb") as file:
            np.savez_compressed(file, head=text, keys=keys, values=values)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """Read what :meth:`save` wrote."""
        try:
            if _kind(path) == "json":
                head = json.loads(Path(path).read_text(encoding="utf-8"))
                keys, values = head["keys"], head["values"]
            else:
                with np.load(path, allow_pickle=False) as stored:
                    head = json.loads(stored["head"].tobytes())
                    keys, values = stored["keys"], stored["values"]
            if head["format"] != FORMAT:
                raise KeyError("format")
            panel = Panel.from_dict(head["panel"])
            keys, values = np.asarray(keys, dtype=np.int64), np.asarray(values, dtype=np.int64)
            limit = len(cells(panel)) * len(panel.classes)
            if keys.shape != values.shape or keys.ndim != 1 or (keys < 0).any() or (keys >= limit).any():
                raise ValueError("counts outside the panel")
            return cls.of(panel, str(head["method"]), int(head["items"]), keys, values)
        except FileNotFoundError as error:
            raise FileError(f"cannot read {path}: {error.strerror}") from error
        except (OSError, KeyError, ValueError, TypeError, AttributeError, EOFError) as error:
            raise FileError(f"{path} holds no statistics of covote; write them with Statistics.save") from error


class _Grouped:
    """Counts in a list, grouped by class."""

    def __init__(self, keys: Array, values: Array, classes: int) -> None:
        order = np.argsort(keys % classes, kind="stable")
        self._answer, self._value = keys[order] // classes, values[order]
        self._first = np.searchsorted((keys % classes)[order], np.arange(classes + 1))

    def __getitem__(self, k: int) -> tuple[Array, Array]:
        span = slice(self._first[k], self._first[k + 1])
        return self._answer[span], self._value[span]


def _summed(keys: Array, values: Array) -> tuple[Array, Array]:
    """Add up the values of equal keys; the keys come out sorted."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    if len(keys) == 0:
        return keys, values
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(values, first)


def _kind(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".npz"):
        raise InputError(f"statistics are kept in .json or .npz files, not in {Path(path).name!r}")
    return suffix[1:]
