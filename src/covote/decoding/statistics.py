"""Statistics: what votes reveal about the experts, as counts that add up."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.arguments import no_file
from covote.decoding.linear import ONE
from covote.decoding.tuning import HABITS, MARGINS, POWERS, READINESS, TEMPERATURES
from covote.errors import FileError, InputError
from covote.panel import Panel

Array = NDArray[Any]

DENSE = 1 << 23
"""Tables with more counts than this are stored as a sparse matrix."""

FORMAT = "covote statistics 1"


class ProbabilityCounts(NamedTuple):
    """What votes reveal about the experts' probabilities; see :mod:`covote.decoding.curves`.

    Attributes
    ----------
    powers
        The log-likelihood of the labels under the experts' probabilities, raised to each power (experts x
        powers).
    margins
        How often each expert's margin was in each interval, on items whose class it knows and on others
        (experts x 2 x margins), in units of 1 / ONE items.
    """

    powers: NDArray[np.int64]
    margins: NDArray[np.int64]

    def plus(self, other: ProbabilityCounts | None) -> ProbabilityCounts:
        """Return the sum of the counts."""
        if other is None:
            return self
        return ProbabilityCounts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class HeldOut(NamedTuple):
    """How well held-out answers were predicted; see :mod:`covote.decoding.cross_validation`.

    Attributes
    ----------
    answers
        How many answers were predicted.
    habits
        Their log-likelihood, in whole units (kinds of habits).
    temperatures
        The log-likelihood of the answers at each temperature (kinds of habits x temperatures).
    sizes
        By how much it is higher if classes differ in size (kinds of habits).
    readiness
        The log-likelihood if experts answer what they know more readily (kinds of habits x odds).
    authorities
        The sum of the numbers of experts who answered and know a class, and how many of these are above 0.
    """

    answers: NDArray[np.int64]
    habits: NDArray[np.int64]
    temperatures: NDArray[np.int64]
    sizes: NDArray[np.int64]
    readiness: NDArray[np.int64]
    authorities: NDArray[np.int64]

    @classmethod
    def empty(cls) -> HeldOut:
        """Return counts of nothing."""
        habits, temperatures, odds = map(len, (HABITS, TEMPERATURES, READINESS))
        shapes = (1,), (habits,), (habits, temperatures), (habits,), (habits, odds), (2,)
        return cls(*(np.zeros(shape, np.int64) for shape in shapes))

    def plus(self, other: HeldOut) -> HeldOut:
        """Return the sum."""
        return HeldOut(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class ExpertTotals(NamedTuple):
    """Answers of each expert, in items: right ones, all to classes that it knows, and all to other classes.

    `none_inside` and `none_outside` are those that say "none of mine".
    """

    right: NDArray[np.float64]
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    none_inside: NDArray[np.float64]
    none_outside: NDArray[np.float64]

    @property
    def none(self) -> NDArray[np.float64]:
        """How often each expert said "none of mine"."""
        return self.none_inside + self.none_outside


@dataclass(frozen=True, eq=False)
class Statistics:
    """How often each expert gave each answer to each class, by the labels of a decoder.

    Statistics of two parts of the votes add up (``+``) to those of both. They can be saved, and tomorrow's
    votes added to them: ``decode(votes, past=...)``.

    Attributes
    ----------
    panel
        The panel of the votes.
    method
        The decoder that assigned the items to the classes.
    items
        How many items were counted.
    share
        How many items each class has, in units of 1 / ONE.
    counts
        Items by answer and class (cells x classes, see `Layout.cells`), in units of 1 / ONE: an array, or a
        sparse matrix of scipy where that would be too large.
    probabilities
        What the votes reveal about the experts' probabilities; None if no votes had any.
    held_out
        How well the default predicted held-out answers; None for other methods.
    """

    panel: Panel
    method: str
    items: int
    share: NDArray[np.int64]
    counts: Any
    probabilities: ProbabilityCounts | None = None
    held_out: HeldOut | None = None

    @classmethod
    def of(
        cls, panel: Panel, method: str, items: int, share: Array, keys: Array, values: Array
    ) -> Statistics:
        """Build statistics from a list of counts with keys (cell x classes + class), which may repeat."""
        from scipy.sparse import coo_array

        shape = len(panel.layout.cells.label), len(panel.classes)
        counts = coo_array((values, np.divmod(keys, shape[1])), shape=shape).tocsr()
        return cls(panel, method, items, share, counts)

    def __post_init__(self) -> None:
        dense, small = isinstance(self.counts, np.ndarray), fits_dense(self.panel)
        if dense and not small:
            from scipy.sparse import csr_array

            object.__setattr__(self, "counts", csr_array(self.counts))
        elif small and not dense:
            object.__setattr__(self, "counts", self.counts.toarray())

    def __add__(self, other: Statistics) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.panel != other.panel:
            raise InputError("statistics of two different panels cannot be added; count them for one panel")
        if self.method != other.method:
            raise InputError(
                f"statistics of {self.method!r} and of {other.method!r} cannot be added; use one method"
            )
        mine, theirs = self.probabilities, other.probabilities
        probabilities = theirs if mine is None else mine.plus(theirs)
        items, share, counts = self.items + other.items, self.share + other.share, self.counts + other.counts
        tests = [one.held_out for one in (self, other) if one.held_out is not None]
        held_out = tests[0].plus(tests[1]) if len(tests) > 1 else tests[0] if tests else None
        return Statistics(self.panel, self.method, items, share, counts, probabilities, held_out)

    def listed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the counts that are not 0: (cell x classes + class in ascending order, count)."""
        if isinstance(self.counts, np.ndarray):
            keys = np.flatnonzero(self.counts)
            return keys, self.counts.reshape(-1)[keys]
        self.counts.sum_duplicates()
        row = np.repeat(np.arange(self.counts.shape[0]), np.diff(self.counts.indptr))
        return row * len(self.panel.classes) + self.counts.indices, self.counts.data

    # Counts as numbers of items

    def block(self, cells: Array) -> NDArray[np.float64]:
        """Return how often some answers were given to each class (cells x classes)."""
        some = self.counts[cells]
        return (some if isinstance(some, np.ndarray) else some.toarray()) / ONE

    def totals(self, experts: Array) -> NDArray[np.float64]:
        """Return how often some experts answered items of each class (experts x classes)."""
        if isinstance(self.counts, np.ndarray):
            sums: Array = np.add.reduceat(self.counts, self.panel.layout.cells.start[:-1], axis=0)
            return sums[experts] / ONE
        return np.asarray(self._by_expert[experts].toarray() / ONE)

    @cached_property
    def _by_expert(self) -> Any:
        from scipy.sparse import csr_array

        start = self.panel.layout.cells.start
        ones = np.ones(start[-1], np.int64), np.arange(start[-1]), start
        return csr_array(ones, shape=(len(self.panel), start[-1])) @ self.counts

    def expert_totals(self) -> ExpertTotals:
        """Return the number of answers of each expert to classes that it knows, and to others."""
        return self._inside

    @cached_property
    def _inside(self) -> ExpertTotals:
        keys, values = self.listed()
        cells, classes = self.panel.layout.cells, len(self.panel.classes)
        cell, k = keys // classes, keys % classes
        expert, label = cells.expert[cell], cells.label[cell]
        knows, none = self.panel.knows[expert, k], label == classes

        def per_expert(which: NDArray[np.bool_]) -> NDArray[np.float64]:
            amount = np.where(which, values, 0) / ONE
            return np.bincount(expert, weights=amount, minlength=len(self.panel)).astype(np.float64)

        return ExpertTotals(
            per_expert(label == k), per_expert(knows), per_expert(~knows),
            per_expert(knows & none), per_expert(~knows & none),
        )  # fmt: skip

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the statistics atomically to a ``.json`` file."""
        check_json(path)
        keys, values = self.listed()
        body = {
            "format": FORMAT,
            "method": self.method,
            "items": self.items,
            "panel": self.panel.to_dict(),
            "share": self.share.tolist(),
            "held_out": _lists(self.held_out),
            "probabilities": _lists(self.probabilities),
            "keys": keys.tolist(),
            "values": values.tolist(),
        }
        atomic.write_text(path, json.dumps(body))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """Read what :meth:`save` wrote."""
        try:
            head = json.loads(Path(path).read_text(encoding="utf-8"))
            if head["format"] != FORMAT or head.get("coins") is not None:  # earlier versions of em had coins
                raise KeyError("format")
            panel = Panel.from_dict(head["panel"])
            keys, values = (np.asarray(head[name], dtype=np.int64) for name in ("keys", "values"))
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
            found = cls.of(panel, method, items, share, keys, values)
            if head.get("held_out") is not None:
                test = HeldOut(**{k: np.asarray(v, np.int64) for k, v in head["held_out"].items()})
                if [counts.shape for counts in test] != [counts.shape for counts in HeldOut.empty()]:
                    raise ValueError("not one number per choice")
                found = replace(found, held_out=test)
            if head.get("probabilities") is None:  # files of earlier versions have none
                return found
            given = ProbabilityCounts(
                **{k: np.asarray(v, np.int64) for k, v in head["probabilities"].items() if k != "wins"}
            )
            shapes = [(len(panel), len(POWERS)), (len(panel), 2, len(MARGINS) + 1)]
            if [counts.shape for counts in given] != shapes:
                raise ValueError("not one row of counts per expert")
            _check_counts(given.margins, items)
            return replace(found, probabilities=given)
        except FileNotFoundError as error:
            raise no_file(path) from error
        except Exception as error:  # whatever is missing, of another type, or not text
            raise FileError(
                f"{path} holds no statistics of covote; write them with Statistics.save"
            ) from error


def _lists(counts: ProbabilityCounts | HeldOut | None) -> dict[str, list[Any]] | None:
    return None if counts is None else {name: array.tolist() for name, array in counts._asdict().items()}


def _check_counts(counts: Array, items: int) -> None:
    """Reject counts below 0, and counts above the number of items."""
    if counts.min(initial=0) < 0 or int(counts.max(initial=0)) > items * ONE:
        raise ValueError("counts below 0, or of more items than there are")


def fits_dense(panel: Panel) -> bool:
    """Whether a table of all answers by all classes is small enough to be stored densely."""
    return len(panel.layout.cells.label) * len(panel.classes) <= DENSE


def check_json(path: str | os.PathLike[str]) -> None:
    """Reject another ending of the file's name than ``.json``."""
    if Path(path).suffix.lower() != ".json":
        raise InputError(f"statistics are kept in .json files, not in {Path(path).name!r}")
