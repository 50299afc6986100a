"""The review list: every item by the probability that its label is wrong, and how many of them to look at."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covote.labels import AGREED, GIVEN, STATUSES, Labels
from covote.labels.label_files import two_digits
from covote.panel import Name, Panel
from covote.tables.arrow_names import arrow_array, dictionary_of, flat, id_array, names_at, text_array
from covote.tables.writing import open_writer, output_format
from covote.votes import Votes

Proba = Callable[[Votes], NDArray[Any]]
"""Estimates the probabilities of all classes for some votes (items x classes)."""
GOALS = (0.95, 0.99)
"""Shares of right labels for which summary and report say how many items to look at."""
LEVELS = 1000
UNIT = 1 << 20
"""Probabilities are added up as multiples of 1 / UNIT, so that sums do not depend on their order."""
PIECE = 1 << 16
"""Rows that are written at a time."""
TABLE = 1 << 24
"""Probabilities (rows x classes) that are held at a time."""
MOST_COLUMNS = 60
"""Experts up to which each has a column of a spreadsheet."""


def error_probabilities(labels: Labels) -> NDArray[np.float64]:
    """Return the probability that each label is wrong; an item without a label comes before all others.

    It is 1 - confidence, and 2 more without a label. If a method gives no confidence, it is 0 for items on
    which all agree, and 1/2 for the others.
    """
    evidence = labels.evidence
    sure = (evidence.status == AGREED) | (evidence.status == GIVEN)
    doubt = 1 - evidence.confidence.astype(np.float64)
    known = np.isfinite(doubt)
    doubt = np.where(known, np.clip(doubt, 0, 1), np.where(sure, 0.0, 0.5))
    doubt[labels.index < 0] += 2
    return doubt


def _in_order(labels: Labels, most: int | None = None) -> NDArray[np.int64]:
    evidence = labels.evidence
    return most_doubtful(error_probabilities(labels), evidence.margin, evidence.violations, most)


def most_doubtful(
    doubt: NDArray[Any], margin: NDArray[Any], violations: NDArray[Any], most: int | None = None
) -> NDArray[np.int64]:
    """Return items in the order of the list: by doubt, then margin, then violations, then as they came."""
    some = np.arange(len(doubt))
    if most is not None and most < len(doubt):
        # Items at the edge may be equal; the other keys then decide.
        edge = np.partition(doubt, len(doubt) - most)[len(doubt) - most]
        some = np.flatnonzero(doubt >= edge)
    order = np.lexsort((-violations[some], np.nan_to_num(margin[some], nan=0.0), -doubt[some]))
    return some[order[:most]]


@dataclass(frozen=True, eq=False)
class ExpectedErrors:
    """How many labels are expected to be wrong among the first of the list.

    Attributes
    ----------
    count, wrong
        Items per level of doubt, the most doubtful first, and how many of them are expected to be wrong. The
        first level are items without a label, which are never right until someone has looked at them.
    """

    count: NDArray[np.int64]
    wrong: NDArray[np.float64]

    @classmethod
    def of(cls, labels: Labels) -> ExpectedErrors:
        """Return how many labels are expected to be wrong according to their confidence."""
        doubt = error_probabilities(labels)
        places = 1 + np.floor((1 - doubt) * LEVELS).astype(np.int64)
        level = np.where(doubt >= 2, 0, np.clip(places, 1, LEVELS))
        count = np.bincount(level, minlength=LEVELS + 1)
        wrong = np.bincount(level, weights=np.rint(doubt * UNIT), minlength=LEVELS + 1) / UNIT
        wrong[0] = count[0]
        return cls(count, wrong)

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.concatenate([[0], np.cumsum(self.count)]), np.concatenate([[0.0], np.cumsum(self.wrong)])

    def scaled(self, factor: float) -> ExpectedErrors:
        """Return the same, with the numbers of wrong labels times a factor.

        >>> ExpectedErrors(np.array([1, 4]), np.array([1.0, 2.0])).scaled(1.5).expected
        3.0
        """
        wrong = np.minimum(self.wrong * factor, self.count)
        wrong[0] = self.wrong[0]
        return ExpectedErrors(self.count, wrong)

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.count.sum())

    @property
    def open(self) -> int:
        """How many items have no label."""
        return int(self.count[0])

    @property
    def expected(self) -> float:
        """How many labels are expected to be wrong; items without a label do not count."""
        return float(self.wrong[1:].sum())

    def among(self, first: int) -> float:
        """Return how many of the first items of the list have no label, or probably a wrong one."""
        return float(np.interp(first, *self._steps))

    def needed(self, right: float) -> int:
        """Return how many items to look at until this share is expected to be right.

        >>> ExpectedErrors(np.array([1, 4, 5]), np.array([1.0, 2.0, 0.0])).needed(0.9)
        3
        """
        items, wrong = self._steps
        excess = wrong[-1] - (1 - right) * items[-1]
        if excess <= 1e-9:
            return 0
        at = int(np.searchsorted(wrong, excess - 1e-9))
        share = (excess - wrong[at - 1]) / (wrong[at] - wrong[at - 1])
        return int(np.ceil(items[at - 1] + share * (items[at] - items[at - 1]) - 1e-6))

    def curve(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return numbers of items looked at, and the share that is then expected to be right."""
        items, wrong = self._steps
        return items, 1 - (wrong[-1] - wrong) / max(self.items, 1)


@dataclass(frozen=True)
class ReviewItem:
    """An item to look at, and what was said about it.

    Attributes
    ----------
    tied
        The classes that share the best score; empty unless there are several.
    answers
        What each expert said: a class, or None for "none of mine".
    """

    item: Any
    label: Name | None
    tied: tuple[Name, ...]
    runner_up: Name | None
    confidence: float
    margin: float
    violations: int
    status: str
    answers: dict[Name, Name | None]

    @property
    def candidates(self) -> tuple[Name, ...]:
        """The classes that it may be: the label, then those that share its score, or else the next best."""
        shown = (self.label, *(self.tied or (self.runner_up,)))
        return tuple(dict.fromkeys(name for name in shown if name is not None))


def first_items(votes: Votes, labels: Labels, most: int) -> list[ReviewItem]:
    """Return the first items of the list, and what was said about them."""
    ids = id_array(labels.ids, labels.start, labels.start + len(labels))
    return [_review_item(votes, labels, n, ids[n].as_py()) for n in _in_order(labels, most).tolist()]


def _review_item(votes: Votes, labels: Labels, n: int, item: Any) -> ReviewItem:
    evidence, classes = labels.evidence, (*labels.panel.classes, None)
    own_votes = votes.part(n, n + 1)
    ragged = own_votes.ragged
    return ReviewItem(
        item=item,
        label=classes[labels.index[n]],
        tied=labels.tied_classes(n) if labels.tied[n] else (),
        runner_up=classes[evidence.runner_up[n]],
        confidence=float(evidence.confidence[n]),
        margin=float(evidence.margin[n]),
        violations=int(evidence.violations[n]),
        status=STATUSES[evidence.status[n]],
        answers={
            votes.panel.names[i]: own_votes.label_name(int(v))
            for i, v in zip(ragged.expert.tolist(), ragged.label.tolist(), strict=True)
        },
    )


# The list as a file


def piece_size(panel: Panel) -> int:
    """Return how many rows to write at a time, if each needs a probability for every class."""
    return max(1, min(PIECE, TABLE // len(panel.classes)))


def review_batch(votes: Votes, labels: Labels, *, sheet: bool = False) -> pa.RecordBatch:
    """Return rows of the list; only gold items have a label.

    In a `sheet`, which people read, every expert has a column, and candidates come with their probabilities
    if the labels have them.
    """
    evidence = labels.evidence
    classes = text_array(map(str, labels.panel.classes))
    likely = sheet and labels.proba_or_none is not None
    columns = {
        "item": id_array(labels.ids, labels.start, labels.start + len(labels)),
        "label": dictionary_of(
            np.where(evidence.status == GIVEN, labels.index, -1), classes
        ).dictionary_decode(),
        "suggested": dictionary_of(labels.index, classes).dictionary_decode(),
        "candidates": _with_percent(labels) if likely else _candidates(labels, classes),
        "confidence": two_digits(evidence.confidence),
        "status": dictionary_of(evidence.status.view(np.int8), text_array(STATUSES)).dictionary_decode(),
    }
    experts = tuple(map(str, votes.panel.names))
    if sheet and len(experts) <= MOST_COLUMNS and columns.keys().isdisjoint(experts):
        wide = votes.to_arrow("wide")
        columns |= {name: flat(wide.column(n)) for n, name in enumerate(experts, start=1)}
    else:
        columns["answers"] = _answers(votes, classes)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _with_percent(labels: Labels) -> pa.Array:
    """Return the classes that each item may be, with their probabilities: "robin 59% | magpie 34%".

    For an item without a label, the most probable class is among them even if nobody has named it.
    """
    assert labels.proba_or_none is not None
    percent = np.clip(np.rint(100 * labels.proba_or_none), 0, 99).astype(np.int64)
    percent[labels.proba_or_none >= 1] = 100
    names = [*map(str, labels.panel.classes)]
    best = labels.tied_indices(np.arange(len(labels)))
    others = [
        some.tolist() if tied else [second]
        for some, tied, second in zip(
            best, labels.tied.tolist(), labels.runner_up_index.tolist(), strict=True
        )
    ]
    likeliest = labels.proba_or_none.argmax(axis=1)
    first = np.where(labels.index >= 0, labels.index, likeliest)
    listed = [
        [k for k in dict.fromkeys([label, *some]) if k >= 0]
        for label, some in zip(first.tolist(), others, strict=True)
    ]
    shown = (
        sorted(some, key=lambda k: -int(percent[n, k])) if labels.index[n] < 0 else some
        for n, some in enumerate(listed)
    )
    return text_array(
        " | ".join(f"{names[k]} {percent[n, k]}%" for k in some) for n, some in enumerate(shown)
    )


def _candidates(labels: Labels, classes: pa.Array) -> pa.Array:
    """Return the classes that each item may be, as text."""
    first, second = (
        dictionary_of(some, classes).dictionary_decode() for some in (labels.index, labels.runner_up_index)
    )
    found = pc.coalesce(pc.binary_join_element_wise(first, second, " | "), first, second)
    tied = np.flatnonzero(labels.tied)
    if not len(tied):
        return found
    names = classes.to_pylist()
    shown = found.to_pylist()
    for n, best in zip(tied.tolist(), labels.tied_indices(tied), strict=True):
        own = [k for k in (labels.index[n],) if k >= 0]
        shown[n] = " | ".join(names[k] for k in dict.fromkeys([*own, *best.tolist()]))
    return text_array(shown)


def _answers(votes: Votes, classes: pa.Array) -> pa.Array:
    """Return the answers about each item, as text; equal answer rows share it."""
    rows = votes.rows
    ragged = rows.votes.ragged
    experts = text_array(map(str, votes.panel.names))
    names = _decoded(names_at(ragged.expert, experts))
    answers = _decoded(names_at(ragged.label, classes, "none of mine"))
    each = pc.binary_join_element_wise(names, answers, ": ")
    found = pc.binary_join(pa.ListArray.from_arrays(arrow_array(ragged.indptr.astype(np.int32)), each), "; ")
    return found if rows.inverse is None else found.take(arrow_array(rows.inverse))


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def write_review(
    path: str | os.PathLike[str],
    votes: Votes,
    labels: Labels,
    most: int | None = None,
    proba: Proba | None = None,
) -> None:
    """Write the list to a file, or the first rows of it; a spreadsheet offers the classes.

    In a spreadsheet, candidates have the probabilities that `proba` estimates for some votes.
    """
    classes, sheet = [*map(str, labels.panel.classes)], output_format(path) == "xlsx"
    order, step = _in_order(labels)[:most], piece_size(labels.panel)
    with open_writer(path, "review file", choices={"label": classes}) as writer:
        for start in range(0, max(len(order), 1), step):
            rows = order[start : start + step]
            some, found = votes.subset(rows), labels[rows]
            if sheet and proba is not None:
                found = found.with_proba(proba(some))
            writer.write_batch(review_batch(some, found, sheet=sheet))
