"""From answers to the labels that are certain (theory: section 8).

Every decision is exact: the certain labels of an item are those in every label set that fits its answers.
They are complete if only one set fits, and in conflict if none does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.multilabel.reports import Reports
from covote.multilabel.support import Report, check_model
from covote.panel import Name, Panel
from covote.tables.arrow_names import name_array
from covote.votes import Votes

if TYPE_CHECKING:
    import pyarrow as pa

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The labels of items that may have several.

    Attributes
    ----------
    panel
        Whose classes the labels are.
    holds
        (items x classes) the labels that are certain if experts are right about the classes they know.
    complete
        Whether these are all labels of the item: no other label set fits the answers.
    conflict
        Whether no label set fits the answers: an expert is wrong about a class they know. The labels of such
        an item are a guess.
    ids
        The names of the items.
    """

    panel: Panel
    holds: Flags
    complete: Flags
    conflict: Flags
    ids: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.holds)

    @cached_property
    def value(self) -> list[tuple[Name, ...]]:
        """The labels of each item."""
        return [tuple(self.panel.classes[k] for k in np.flatnonzero(row)) for row in self.holds]

    def to_table(self) -> pa.Table:
        """Return the columns ``item``, ``labels`` (lists of classes), ``complete`` and ``conflict``."""
        import pyarrow as pa

        offsets = np.concatenate([[0], np.cumsum(self.holds.sum(axis=1))]).astype(np.int32)
        names = name_array(self.panel.classes).take(pa.array(np.nonzero(self.holds)[1]))
        lists = pa.ListArray.from_arrays(pa.array(offsets), names)
        columns = {"labels": lists, "complete": self.complete, "conflict": self.conflict}
        return pa.table({"item": list(self.ids), **columns})


def decode(reports: Reports | Votes, *, report: Report = "one", count: int | None = None) -> LabelSets:
    """Find the labels of every item that are certain, and whether they are all of them.

    A class that was named is a label. A class is ruled out by an expert who knows it and answered "none of
    mine" or, in full reports, did not name it. The other classes are open: any of them may be labels, up to
    `count` labels in all. Of a class on which full reports disagree, most of the experts who know it decide.

    Parameters
    ----------
    reports
        The answers; :class:`covote.Votes` are answers that name one class, or "none of mine".
    report
        Whether an expert names ``"one"`` of the labels they know, or ``"all"`` of them.
    count
        The largest number of labels of an item (default: any number).

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> reports = Reports.from_lists([[["cat"], ["fox"], ["fox"]], [["cat"], [], ["cat"]]], panel)
    >>> found = decode(reports, count=2)
    >>> found.value, found.complete
    ([('cat', 'fox'), ('cat',)], array([ True,  True]))
    """
    if isinstance(reports, Votes):
        reports = Reports.from_votes(reports)
    if not isinstance(reports, Reports):
        raise InputError(
            f"reports are a {type(reports).__name__}; make Reports first, with Reports.from_table(table, "
            "panel)"
        )
    panel, knows = reports.panel, reports.panel.knows.astype(np.float32)
    check_model(report, count, len(panel.classes))
    named = np.zeros((len(reports), len(panel.classes)), dtype=np.int32)
    np.add.at(named, (reports.item, reports.label), 1)
    holds: Any = named > 0
    several: Any = np.zeros(len(reports), dtype=bool)
    if report == "all":
        asked = reports.asked.astype(np.float32) @ knows  # experts who know the class
        ruled_out = named < asked
    else:
        answers = np.zeros(reports.asked.shape, dtype=np.int32)
        np.add.at(answers, (reports.item, reports.expert), 1)
        ruled_out = (reports.asked & (answers == 0)).astype(np.float32) @ knows > 0
        several = (answers > 1).any(axis=1)
    most = len(panel.classes) if count is None else count
    conflict = (holds & ruled_out).any(axis=1) | (holds.sum(axis=1) > most)
    if report == "all":
        holds = np.where(conflict[:, None], 2 * named > asked, holds)
    possible = ~holds & ~ruled_out
    size, left = holds.sum(axis=1), possible.sum(axis=1)
    only = (size == 0) & (left == 1) & ~conflict  # every item has a label
    holds |= possible & only[:, None]
    conflict |= (size == 0) & (left == 0) | several
    complete = (only | ((size > 0) & ((left == 0) | (size == most)))) & ~conflict
    return LabelSets(panel, holds, complete, conflict, reports.ids)
