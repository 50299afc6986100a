"""Labels: the class of every item, and the evidence for it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.colours import LIGHT
from covote.errors import InputError
from covote.labels.statuses import AGREED, CONFLICT, GIVEN, STATUSES
from covote.panel import Name, Panel
from covote.tables import arrow_names
from covote.votes.arrays import gather, plain_ids
from covote.votes.frames import SHOWN, html_table, load_pandas, plain_column, polars_frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

NO_LABEL = -1


class Evidence(NamedTuple):
    """The evidence for the labels, one entry per item; see :class:`Labels` for the meaning."""

    confidence: NDArray[np.float32]
    margin: NDArray[np.float32]
    runner_up: NDArray[Any]
    violations: NDArray[np.int32]
    status: NDArray[np.uint8]


class Ties(NamedTuple):
    """The classes that share the best score, for the tied items one after another.

    Those of the t-th tied item are ``classes[start[t]:start[t + 1]]``, in ascending order.
    """

    start: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[Any], classes: NDArray[np.int64]) -> Ties:
        """Return ties, given the number of classes of each tied item, and all classes."""
        return cls(np.concatenate([[0], np.cumsum(sizes)]), classes)

    def take(self, which: NDArray[Any]) -> Ties:
        """Return the classes of some of the tied items, which may repeat."""
        bounds, places = gather(self.start, which)
        return Ties(bounds, self.classes[places])


NO_TIES = Ties(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class GoldScore:
    """How labels and experts did on items whose class is known; scores of two parts add up (``+``).

    Attributes
    ----------
    known, right
        How many items have a known class, and how many of these the votes alone labelled right.
    expert_asked, expert_right
        Per expert: the number of these items that belong to a class it knows, and how many it named right.
    learned
        Whether the method learned from these same items, so that other items may do worse.
    labelled, expected, variance
        How many of these items the votes alone gave a label; how many of these labels the confidence expected
        to be right, and the variance of that number. NaN for a method that gives no confidence.
    doubtful
        Whether these items are more doubtful than the others, as those of a review list are, so that they do
        not show how many of the others are right.
    """

    known: int
    right: int
    expert_asked: NDArray[np.int64] = field(repr=False)
    expert_right: NDArray[np.int64] = field(repr=False)
    learned: bool
    labelled: int = 0
    expected: float = math.nan
    variance: float = math.nan
    doubtful: bool = False

    @property
    def refutes(self) -> bool:
        """Whether the number of right labels contradicts the confidence, at the level of 5%.

        It does not if the method learned from the same items.
        """
        if self.learned:
            return False
        return abs(self.right - self.expected) > max(1.0, 1.96 * math.sqrt(self.variance))

    @property
    def errors_per_expected(self) -> float:
        """How many labels are wrong for every one that the confidence expected to be wrong."""
        return (self.labelled - self.right) / max(self.labelled - self.expected, 0.5)

    def __add__(self, other: GoldScore) -> GoldScore:
        return GoldScore(
            self.known + other.known,
            self.right + other.right,
            self.expert_asked + other.expert_asked,
            self.expert_right + other.expert_right,
            self.learned or other.learned,
            self.labelled + other.labelled,
            self.expected + other.expected,
            self.variance + other.variance,
            self.doubtful or other.doubtful,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """One label per item, with the evidence for and against it.

    `value` has the labels by name (None where an item is open), `items` the ids; `confidence`, `status` and
    `runner_up` say how far to trust them. :meth:`to_pandas` returns a table, :meth:`save` writes a file.
    Labels are plain arrays: they can be pickled, and of the answers they keep only those on tied items.

    Attributes
    ----------
    panel
        The panel whose classes the labels are.
    index
        The class of every item as an index into ``panel.classes``; -1 where several classes are equally good
        or no expert answered. A tie is never broken by the order of the classes: such an item has no label,
        and :meth:`tied_classes` returns the classes.
    tied
        Where several classes share the best score. If a tie rule decided, `index` has its choice.
    gold
        The accuracy of the labels on gold items, before these were given their known class; None without
        gold items.

    Labels that were decoded with ``evidence=False`` have no `confidence`, `margin`, `runner_up`, `violations`
    and `status`.

    >>> from covote import decode
    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> said = {"item": ["p1"], "expert-1": ["cat"], "expert-2": ["dog"], "expert-3": ["cat"]}
    >>> labels = decode(said, panel)
    >>> labels.value.tolist(), labels.status.tolist(), labels.runner_up.tolist()
    (['cat'], ['agreed'], ['dog'])
    """

    panel: Panel
    index: NDArray[Any]
    tied: NDArray[np.bool_]
    lazy_ties: Ties | Callable[[], Ties] = NO_TIES
    evidence_or_none: Evidence | None = None
    ids: Any = None
    start: int = 0
    gold: GoldScore | None = None
    proba_or_none: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, which: int | slice | Sequence[int] | NDArray[Any]) -> Labels:
        """Return the labels of some items: by position, slice, positions or a boolean mask.

        >>> labels = Labels(Panel(2, [[1, 1]]), np.array([0, 1, 1]), np.zeros(3, dtype=bool))
        >>> labels[1:].value.tolist(), labels[labels.index == 0].items.tolist()
        ([1, 1], [0])
        """
        rows = np.atleast_1d(np.arange(len(self))[which])
        ids = arrow_names.id_array(self.ids, self.start, self.start + len(self)).take(rows)
        return self.take(rows, ids)

    @cached_property
    def items(self) -> NDArray[Any]:
        """The id of every item."""
        return plain_ids(self.ids, self.start, self.start + len(self))

    @cached_property
    def value(self) -> NDArray[np.object_]:
        """The class name of every item, None where there is no label."""
        return self._names(self.index)

    @cached_property
    def ties(self) -> Ties:
        """The classes that share the best score, for the tied items."""
        return self.lazy_ties() if callable(self.lazy_ties) else self.lazy_ties

    @cached_property
    def _tie_places(self) -> NDArray[np.int64]:
        """Where `ties` has the classes of each item, if it is tied."""
        return np.cumsum(self.tied) - 1

    @property
    def evidence(self) -> Evidence:
        """The evidence for all labels."""
        if self.evidence_or_none is None:
            raise InputError(
                "these labels were decoded without evidence; decode with evidence=True for confidence, "
                "margin, runner-up, violations and status"
            )
        return self.evidence_or_none

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The probability that the label is right; NaN if the method does not estimate it."""
        return self.evidence.confidence

    @property
    def proba(self) -> NDArray[np.float32]:
        """The probability of every class (items x classes); rows sum to 1, or are 0 where no one answered.

        The label's probability is its confidence. The label need not be the most likely class: the method
        decides, by default mostly by the authority vote.
        """
        if self.proba_or_none is None:
            raise InputError("these labels were decoded without probabilities; decode with proba=True")
        return self.proba_or_none

    @property
    def margin(self) -> NDArray[np.float32]:
        """The score of the best class minus that of the next, 0 in a tie; NaN with a single candidate."""
        return self.evidence.margin

    @cached_property
    def runner_up(self) -> NDArray[np.object_]:
        """The name of the next best class; None if there is none, or if several are equally good."""
        return self._names(self.evidence.runner_up)

    @property
    def runner_up_index(self) -> NDArray[Any]:
        """The next best class as an index, -1 where `runner_up` is None."""
        return self.evidence.runner_up

    @property
    def violations(self) -> NDArray[np.int32]:
        """The fewest answers that must be wrong, whichever class that someone knows is the truth."""
        return self.evidence.violations

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """The status of every item, what the answers prove about it (:mod:`covote.labels.statuses`).

        ``agreed``, ``tied``, ``conflict``, ``incomplete`` or ``given``.
        """
        return np.array(STATUSES)[self.evidence.status]

    def count(self) -> dict[str, int]:
        """Return how many items have each status."""
        counts = np.bincount(self.evidence.status, minlength=len(STATUSES))
        return {name: int(count) for name, count in zip(STATUSES, counts, strict=True)}

    def tied_classes(self, position: int) -> tuple[Name, ...]:
        """Return the classes that share the best score at a position; one class if there is no tie."""
        if not 0 <= position < len(self):
            raise InputError(f"no item at position {position}; there are {len(self)}")
        (best,) = self.tied_indices([position])
        return tuple(self.panel.classes[k] for k in best)

    def tied_indices(self, positions: ArrayLike) -> list[NDArray[np.int64]]:
        """Return the indices of the classes that share the best score, for each of several positions.

        Without a tie, this is only the label, or nothing.
        """
        places = self._tie_places
        return [
            self.ties.classes[self.ties.start[places[n]] : self.ties.start[places[n] + 1]]
            if self.tied[n]
            else np.array([self.index[n]] if self.index[n] >= 0 else [], dtype=np.int64)
            for n in np.asarray(positions, dtype=np.int64)
        ]

    def expected_score(self, truth: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each label: 1 or 0, or in a tie without label the chance of a fair draw.

        `truth` has the true class of every item as an index.

        >>> index, ties = np.array([0, -1]), Ties(np.array([0, 2]), np.array([0, 1]))
        >>> Labels(Panel(2, [[1, 1]]), index, np.array([False, True]), ties).expected_score([0, 1])
        array([1. , 0.5])
        """
        true = np.asarray(truth)
        right: NDArray[np.float64] = (self.index == true).astype(np.float64)
        sizes = np.diff(self.ties.start)
        owner, sizes = np.repeat(np.flatnonzero(self.tied), sizes), np.repeat(sizes, sizes)
        hit = (self.ties.classes == true[owner]) & (self.index[owner] < 0)
        right[owner[hit]] = 1 / sizes[hit]
        return right

    def take(self, rows: NDArray[Any], ids: Any = None, start: int = 0) -> Labels:
        """Return the labels at `rows`, which may repeat, for items with these ids."""
        ties, rows = NO_TIES, rows.astype(np.intp, copy=False)  # once for all arrays
        tied = self.tied[rows]
        if len(self.ties.classes):
            ties = self.ties.take(self._tie_places[rows[tied]])
        evidence = self.evidence_or_none
        if evidence is not None:
            evidence = Evidence(*(values[rows] for values in evidence))
        proba = None if self.proba_or_none is None else self.proba_or_none[rows]
        return Labels(self.panel, self.index[rows], tied, ties, evidence, ids, start, proba_or_none=proba)

    def with_proba(self, table: NDArray[Any]) -> Labels:
        """Return the labels with the probabilities of all classes (items x classes).

        The label gets its confidence, if there is one, and the other classes share the rest in the
        proportions of the table.
        """
        table = np.array(table, dtype=np.float64)
        rows = np.flatnonzero(self.index >= 0)
        rows = rows[np.isfinite(self.confidence[rows])]
        own, confidence = self.index[rows], self.confidence[rows].astype(np.float64)
        rest = table[rows].sum(axis=1) - table[rows, own]
        few = rest <= 0  # no other class is possible, up to rounding
        factor = np.divide(1 - confidence, rest, out=np.zeros(len(rows)), where=~few)
        table[rows] *= factor[:, None]
        table[rows, own] = np.where(few, 1.0, confidence)
        return replace(self, proba_or_none=table.astype(np.float32))

    def with_confidence(self, proba: NDArray[Any]) -> Labels:
        """Return the labels with a confidence: the probability of the label; without one, of the best class.

        A label is no longer agreed if another class is more probable.
        """
        row, most = np.arange(len(self)), proba.max(axis=1, initial=0)
        own = np.where(self.index >= 0, proba[row, self.index], most)
        status = self.evidence.status.copy()
        status[(status == AGREED) & (own < most)] = CONFLICT
        evidence = self.evidence._replace(confidence=own.astype(np.float32), status=status)
        return replace(self, evidence_or_none=evidence)

    def with_given(self, rows: NDArray[Any], truth: NDArray[Any], gold: GoldScore) -> Labels:
        """Return labels in which the items at `rows` have their known class."""
        index, tied = self.index.copy(), self.tied.copy()
        index[rows], tied[rows] = truth, False
        ties = self.ties
        if len(ties.classes):
            ties = ties.take(self._tie_places[tied])
        evidence, proba = self.evidence_or_none, self.proba_or_none
        if evidence is not None:
            evidence = Evidence(*map(np.copy, evidence))
            evidence.confidence[rows], evidence.margin[rows] = 1, np.nan
            evidence.runner_up[rows], evidence.status[rows] = NO_LABEL, GIVEN
        if proba is not None:
            proba = proba.copy()
            proba[rows] = 0
            proba[rows, truth] = 1
        return replace(
            self,
            index=index,
            tied=tied,
            lazy_ties=ties,
            evidence_or_none=evidence,
            gold=gold,
            proba_or_none=proba,
        )

    def _names(self, index: NDArray[Any]) -> NDArray[np.object_]:
        classes = np.empty(len(self.panel.classes) + 1, dtype=object)
        classes[:-1] = self.panel.classes
        found: NDArray[np.object_] = classes[index]
        return found

    def to_arrow(self) -> pa.Table:
        """Return a table: item, label, confidence, margin, runner_up, violations, status.

        Names that are text are dictionary-encoded.
        """
        import pyarrow as pa

        found = self.arrow_columns()
        columns = [
            column.dictionary_decode()
            if pa.types.is_dictionary(column.type) and pa.types.is_integer(column.type.value_type)
            else column
            for column in found.values()
        ]
        return pa.table(columns, names=list(found))

    def arrow_columns(self) -> dict[str, pa.Array]:
        """Return the columns of the labels by name, in order; classes and statuses are dictionary-encoded.

        All tables, frames, files and reports take their columns from here.
        """
        evidence, classes = self.evidence, arrow_names.name_array(self.panel.classes)
        return {
            "item": arrow_names.id_array(self.ids, self.start, self.start + len(self)),
            "label": arrow_names.dictionary_of(self.index, classes),
            "confidence": arrow_names.arrow_array(evidence.confidence),
            "margin": arrow_names.arrow_array(evidence.margin),
            "runner_up": arrow_names.dictionary_of(evidence.runner_up, classes),
            "violations": arrow_names.arrow_array(evidence.violations),
            "status": arrow_names.dictionary_of(
                evidence.status.view(np.int8), arrow_names.text_array(STATUSES)
            ),
        }

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Let any library that supports Arrow (polars, duckdb, ...) read the table of :meth:`to_arrow`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """Return the table of :meth:`to_arrow` as a polars DataFrame."""
        return polars_frame(self.to_arrow())

    def save(self, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> None:
        """Write the labels atomically to a .parquet, .csv, .jsonl or .xlsx file.

        `columns` are the columns to write, ``["all"]`` for all. By default .csv and .xlsx files have the
        columns that people read (item, label, confidence with two digits, runner_up and status), others all.
        """
        from covote.labels.label_files import save

        save(self, path, columns)

    @classmethod
    def load(cls, path: str | os.PathLike[str], panel: Panel | None = None) -> Labels:
        """Read labels that were written by :meth:`save` or ``covote decode -o``.

        The file does not have the classes of ties. Without a `panel`, the classes are those that occur, in
        order of first occurrence, and one expert knows them all.
        """
        from covote.labels.label_files import load

        return load(path, panel)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a histogram of the confidence, by status; return the axes."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6.4, 3.4), layout="constrained").add_subplot()
        confidence, status = self.confidence, self.evidence.status
        shown = [code for code in range(len(STATUSES)) if (status == code).any()]
        ax.hist(
            [confidence[np.isfinite(confidence) & (status == code)] for code in shown],
            bins=np.linspace(0, 1, 21).tolist(),
            stacked=True,
            color=[LIGHT[STATUSES[code]] for code in shown],
            label=[f"{STATUSES[code]} ({(status == code).sum():,})" for code in shown],
        )
        ax.set_xlabel("confidence")
        ax.set_ylabel("items")
        ax.legend(frameon=False)
        return ax

    def _repr_html_(self) -> str:
        few = self[: min(len(self), SHOWN)]
        if self.evidence_or_none is None:
            columns = {"item": few.items.tolist(), "label": few.value.tolist()}
        else:
            found = few.arrow_columns()
            columns = {name: found[name].to_pylist() for name in ("item", "label", "confidence", "status")}
            columns["confidence"] = [f"{value:.3f}" for value in columns["confidence"]]
        return html_table(repr(self)[len("Labels(") : -1], columns, len(self))

    def to_pandas(self, *, proba: bool = False) -> pd.DataFrame:
        """Return the table of :meth:`to_arrow` as a pandas DataFrame.

        With `proba`, a column ``proba_CLASS`` has the probability of each class.
        """
        pd = load_pandas()
        columns = self.arrow_columns()
        del columns["item"]
        plain = {name: plain_column(some, self.panel.classes) for name, some in columns.items()}
        if proba:
            plain |= {f"proba_{name}": self.proba[:, k] for k, name in enumerate(self.panel.classes)}
        return pd.DataFrame({"item": self.items} | plain)

    def __repr__(self) -> str:
        return f"Labels({len(self)} items, {int((self.index < 0).sum())} without a label)"


def joined(parts: Sequence[Labels], ids: Any = None, start: int = 0) -> Labels:
    """Join the labels of consecutive parts; `ids` and `start` are those of the whole."""
    if len(parts) == 1:
        return replace(parts[0], ids=ids, start=start)
    evidence = None
    if parts[0].evidence_or_none is not None:
        evidence = Evidence(*map(np.concatenate, zip(*(part.evidence for part in parts), strict=True)))
    sizes = np.concatenate([np.diff(part.ties.start) for part in parts])
    scores = [part.gold for part in parts if part.gold is not None]
    tables = [part.proba_or_none for part in parts if part.proba_or_none is not None]
    return Labels(
        parts[0].panel,
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.tied for part in parts]),
        Ties.of(sizes, np.concatenate([part.ties.classes for part in parts])),
        evidence,
        ids,
        start,
        sum(scores[1:], scores[0]) if scores else None,
        np.concatenate(tables) if tables else None,
    )
