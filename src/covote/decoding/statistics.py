"""Statistics: what votes tell about the experts, as counts that add up."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.decoding.linear import ONE
from covote.decoding.tuning import MARGINS, POWERS
from covote.errors import FileError, InputError
from covote.panel import Panel

Array = NDArray[Any]

DENSE = 1 << 23
"""A table of more counts than this is kept as a sorted list of the counts that are not 0."""

FORMAT = "covote statistics 1"


class ProbabilityCounts(NamedTuple):
    """What votes tell about the experts' probabilities; see :mod:`covote.decoding.confidence`.

    Attributes
    ----------
    powers
        How likely the experts' probabilities make the labels, raised to one power or another (experts x
        powers).
    margins
        How often each expert was so sure, of items whose class it knows and of others (experts x 2 x
        margins), in units of 1 / ONE items.
    wins
        How many clear labels only one of two readings confirms: that of all probabilities alike, and that of
        each expert's by its own curve.
    """

    powers: NDArray[np.int64]
    margins: NDArray[np.int64]
    wins: NDArray[np.int64]

    def plus(self, other: ProbabilityCounts | None) -> ProbabilityCounts:
        """Return the counts of both."""
        if other is None:
            return self
        return ProbabilityCounts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Statistics:
    """How often each expert gave each answer to each class, as far as the classes are known.

    Statistics of two parts of the votes add up (``+``) to those of both. They can be saved, and continued
    with tomorrow's votes: ``decode(votes, past=...)``.

    Attributes
    ----------
    panel
        The panel of the votes.
    method
        The decoder that shared the items out among the classes.
    items
        How many items were counted.
    share
        How many items each class got, in units of 1 / ONE.
    table
        Counts (answers x classes) in units of 1 / ONE items, answers numbered as in `Layout.cells`; None
        where it would be too large: then `keys` (answer x classes + class) and `values` list it.
    coins
        For methods that know one accuracy per expert, instead of a table: (2 x experts), right answers and
        all answers to classes that the expert knows, in units of 1 / ONE. Where "none of mine" has a rate,
        three more rows: "none of mine" about classes it knows and others, and other answers about these.
    probabilities
        What the votes tell about the experts' probabilities; None where no votes had any.
    """

    panel: Panel
    method: str
    items: int
    share: NDArray[np.int64]
    table: NDArray[np.int64] | None
    keys: NDArray[np.int64]
    values: NDArray[np.int64]
    coins: NDArray[np.int64] | None = None
    probabilities: ProbabilityCounts | None = None

    @classmethod
    def of(
        cls, panel: Panel, method: str, items: int, share: Array, keys: Array, values: Array
    ) -> Statistics:
        """Collect counts that are given as a list; a key may occur several times."""
        if not fits(panel):
            return cls(panel, method, items, share, None, *_summed(keys, values))
        table = np.zeros((len(panel.layout.cells.label), len(panel.classes)), dtype=np.int64)
        np.add.at(table.reshape(-1), keys, values)
        return cls.of_table(panel, method, items, share, table)

    @classmethod
    def of_coins(cls, panel: Panel, method: str, items: int, share: Array, coins: Array) -> Statistics:
        """Take right answers and all answers inside expertise, one each per expert."""
        none = np.empty(0, dtype=np.int64)
        return cls(panel, method, items, share, None, none, none, coins)

    @classmethod
    def of_table(cls, panel: Panel, method: str, items: int, share: Array, table: Array) -> Statistics:
        """Take counts that are given as a table (answers x classes)."""
        none = np.empty(0, dtype=np.int64)
        return cls(panel, method, items, share, table, none, none)

    def __add__(self, other: Statistics) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.panel != other.panel:
            raise InputError("statistics of two different panels cannot be added; count them for one panel")
        if self.method != other.method:
            raise InputError(
                f"statistics of {self.method!r} and of {other.method!r} cannot be added; use one method"
            )
        items, share = self.items + other.items, self.share + other.share
        mine, theirs = self.probabilities, other.probabilities
        probabilities = theirs if mine is None else mine.plus(theirs)
        if self.coins is not None and other.coins is not None:
            if len(self.coins) != len(other.coins):
                raise InputError(
                    "statistics with and without rates of 'none of mine' cannot be added; use one option none"
                )
            return replace(self, items=items, share=share, coins=self.coins + other.coins)
        if self.table is not None and other.table is not None:
            return replace(
                self, items=items, share=share, table=self.table + other.table, probabilities=probabilities
            )
        keys = np.concatenate([self.keys, other.keys])
        values = np.concatenate([self.values, other.values])
        whole = Statistics.of(self.panel, self.method, items, share, keys, values)
        return replace(whole, probabilities=probabilities)

    def _listed(self) -> tuple[Array, Array]:
        """Return (keys, values) of the counts that are not 0."""
        if self.table is None:
            return self.keys, self.values
        keys = np.flatnonzero(self.table)
        return keys, self.table.reshape(-1)[keys]

    # Counts as numbers of items

    def column(self, k: int) -> NDArray[np.float64]:
        """Return how often each answer was given to class k."""
        if self.table is not None:
            return self.table[:, k] / ONE
        answer, value = self._by_class[k]
        column = np.zeros(len(self.panel.layout.cells.label))
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
        """Return for each expert: right answers to classes it knows, all answers to them, "none of mine"."""
        if self.coins is not None:
            right, total = self.coins[:2] / ONE
            none = self.coins[2:4].sum(axis=0) / ONE
            return right, total, none
        layout, classes = self.panel.layout.cells, len(self.panel.classes)
        keys, values = self._listed()
        answer, k = keys // classes, keys % classes
        expert, label = layout.expert[answer], layout.label[answer]

        def per_expert(which: NDArray[np.bool_]) -> NDArray[np.float64]:
            amount = np.where(which, values, 0) / ONE
            return np.bincount(expert, weights=amount, minlength=len(self.panel)).astype(np.float64)

        return per_expert(label == k), per_expert(self.panel.knows[expert, k]), per_expert(label == classes)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a ``.json`` or ``.npz`` file, completely or not at all."""
        keys, values = self._listed()
        head = {
            "format": FORMAT,
            "method": self.method,
            "items": self.items,
            "panel": self.panel.to_dict(),
            "share": self.share.tolist(),
            "coins": None if self.coins is None else self.coins.tolist(),
            "probabilities": None
            if self.probabilities is None
            else {name: counts.tolist() for name, counts in self.probabilities._asdict().items()},
        }
        if statistics_format(path) == "json":
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
            if statistics_format(path) == "json":
                head = json.loads(Path(path).read_text(encoding="utf-8"))
                keys, values = head["keys"], head["values"]
            else:
                # Opened here, since numpy leaves a file open that is no archive.
                with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                    head = json.loads(stored["head"].tobytes())
                    keys, values = stored["keys"], stored["values"]
            if head["format"] != FORMAT:
                raise KeyError("format")
            panel = Panel.from_dict(head["panel"])
            keys, values = np.asarray(keys, dtype=np.int64), np.asarray(values, dtype=np.int64)
            share = np.asarray(head["share"], dtype=np.int64)
            limit = len(panel.layout.cells.label) * len(panel.classes)
            if keys.shape != values.shape or keys.ndim != 1 or share.shape != (len(panel.classes),):
                raise ValueError("counts of unequal lengths")
            if ((keys < 0) | (keys >= limit)).any():
                raise ValueError("counts outside the panel")
            method, items = str(head["method"]), int(head["items"])
            if not 0 <= items < 1 << 32:
                raise ValueError(f"{items} items")
            _check_counts(values, items)
            _check_counts(share, items)
            if head["coins"] is not None:
                coins = np.asarray(head["coins"], dtype=np.int64)
                _check_counts(coins, items)
                if coins.shape not in ((2, len(panel)), (5, len(panel))) or (coins[0] > coins[1]).any():
                    raise ValueError("more right answers than answers")
                return cls.of_coins(panel, method, items, share, coins)
            found = cls.of(panel, method, items, share, keys, values)
            if head.get("probabilities") is None:  # files of earlier versions have none
                return found
            given = ProbabilityCounts(
                **{k: np.asarray(v, np.int64) for k, v in head["probabilities"].items()}
            )
            shapes = [(len(panel), len(POWERS)), (len(panel), 2, len(MARGINS) + 1), (2,)]
            if [counts.shape for counts in given] != shapes or given.wins.min() < 0:
                raise ValueError("not one row of counts per expert")
            _check_counts(given.margins, items)
            return replace(found, probabilities=given)
        except FileNotFoundError as error:
            raise FileError(f"cannot read {path}: {error.strerror}") from error
        except Exception as error:  # zip, zlib, numpy and json each have errors of their own for damage
            raise FileError(
                f"{path} holds no statistics of covote; write them with Statistics.save"
            ) from error


def _check_counts(counts: Array, items: int) -> None:
    """Refuse counts below 0, or of more than all items."""
    if counts.min(initial=0) < 0 or int(counts.max(initial=0)) > items * ONE:
        raise ValueError("counts below 0, or of more items than there are")


def fits(panel: Panel) -> bool:
    """Whether a table of all answers by all classes is small enough to be kept whole."""
    return len(panel.layout.cells.label) * len(panel.classes) <= DENSE


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


def statistics_format(path: str | os.PathLike[str]) -> str:
    """Return "json" or "npz" by the ending of the file's name."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".npz"):
        raise InputError(f"statistics are kept in .json or .npz files, not in {Path(path).name!r}")
    return suffix[1:]
