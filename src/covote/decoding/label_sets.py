"""Items with several labels: from reports to the labels that are certain (theory: section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import CoverError
from covote.panel import Name, Panel
from covote.panel.several import check_model, closures, members
from covote.tables.names import name_array
from covote.votes import Votes
from covote.votes.reports import Reports

if TYPE_CHECKING:
    import pyarrow as pa


MANY = 10_000
"""Sets of labels of one item that are looked at before it is given up to find the only one that fits."""


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The labels of items that may have several.

    Attributes
    ----------
    panel
        Whose classes the labels are.
    holds
        (items x classes) the labels that are certain if experts are right about what they know.
    complete
        Whether these are all labels of an item.
    conflict
        Whether no labels fit all answers about an item: somebody erred about a class that it knows.
    ids
        The names of the items.
    """

    panel: Panel
    holds: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    conflict: NDArray[np.bool_]
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


def decode_sets(
    reports: Reports | Votes, *, report: str = "one", forced: bool = False, count: int | None = None
) -> LabelSets:
    """Say all labels of every item that are certain; see :func:`covote.decode` with ``labels="several"``."""
    given = Reports.from_votes(reports) if isinstance(reports, Votes) else reports
    panel = given.panel
    check_model(report, count, len(panel.classes))
    if not forced:
        return _union(given, report, count)
    return _all_report(given) if report == "all" else _closed(given, count)


class _Counts(NamedTuple):
    """Per item and class: how many experts named it, and how many of those that were asked know it."""

    named: NDArray[np.int64]
    asked: NDArray[np.int64]


def _counts(given: Reports) -> _Counts:
    named = np.zeros((len(given), len(given.panel.classes)), dtype=np.int64)
    np.add.at(named, (given.item, given.label), 1)
    return _Counts(named, given.asked.astype(np.int64) @ given.panel.knows.astype(np.int64))


def _named(given: Reports) -> NDArray[np.bool_]:
    """Return (items x experts) who named a class."""
    found = np.zeros(given.asked.shape, dtype=np.bool_)
    found[given.item, given.expert] = True
    return found


def _knowing(given: Reports, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (items x experts) who was asked and knows one of the labels."""
    some = holds.astype(np.float32) @ given.panel.knows.T.astype(np.float32) > 0
    knowing: NDArray[np.bool_] = given.asked & some
    return knowing


def _union(given: Reports, report: str, count: int | None) -> LabelSets:
    """Honest experts name labels only; every label is named if the panel supports that.

    Who reports all that it knows contradicts those who do not: there most authorities of a class decide.
    """
    heard: NDArray[np.bool_] = np.asarray(given.asked.all(axis=1))
    supported = bool(given.panel.supports(count, report=report))  # type: ignore[arg-type]
    named, asked = _counts(given)
    holds = named > 0 if report == "one" else 2 * named > asked
    conflict = (_knowing(given, holds) & ~_named(given)).any(axis=1)
    if report == "all":
        conflict |= ((named > 0) & (named < asked)).any(axis=1)
    if count is not None:
        conflict |= holds.sum(axis=1) > count
    if supported:
        nobody = ~given.panel.knows.any(axis=0)  # at most one such class, of items with one label
        silent = ~holds.any(axis=1) & heard & ~conflict
        holds[np.ix_(silent, nobody)] = True
    conflict |= heard & supported & ~holds.any(axis=1)  # every item has a label
    return LabelSets(given.panel, holds, heard & supported & ~conflict, conflict, given.ids)


def _all_report(given: Reports) -> LabelSets:
    """Of a cover, a class is a label if all its authorities report it: those of another would not."""
    _refuse_uncovered(given.panel)
    named, asked = _counts(given)
    heard: NDArray[np.bool_] = np.asarray(given.asked.all(axis=1))
    holds = (named == asked) & (asked > 0) & heard[:, None]
    stranger = np.zeros(given.asked.shape, dtype=np.bool_)  # named a class that is no label, ...
    wrong = ~holds[given.item, given.label]
    stranger[given.item[wrong], given.expert[wrong]] = True
    conflict = heard & (
        (_knowing(given, holds) & stranger).any(axis=1) | ~holds.any(axis=1)
    )  # ... beside one
    return LabelSets(given.panel, holds, heard & ~conflict, conflict, given.ids)


def _closed(given: Reports, count: int | None) -> LabelSets:
    """Whoever knows a label names one: so the labels are closed under "an authority of a named b".

    On a cover any two closed sets have a class in common, and there is one smallest closed set, the only
    terminal strongly connected component: it is in every possible set of labels, and may be all of them.
    """
    panel = given.panel
    holds = np.zeros((len(given), len(panel.classes)), dtype=np.bool_)
    complete, conflict = np.zeros((2, len(given)), dtype=np.bool_)
    bounds = np.searchsorted(given.item, np.arange(len(given) + 1))
    known = [np.flatnonzero(row).tolist() for row in panel.knows]
    found: dict[tuple[bytes, bytes], tuple[list[int], bool, bool]] = {}
    for n, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        said = given.expert[begin:end], given.label[begin:end]
        key = said[0].tobytes(), said[1].tobytes()
        if key not in found:
            successors = [0] * len(panel.classes)
            for i, k in zip(*(side.tolist() for side in said), strict=True):
                for a in known[i]:
                    successors[a] |= 1 << k
            found[key] = _certain(closures(successors), count)
        labels, complete[n], conflict[n] = found[key]
        holds[n, labels] = True
    return LabelSets(panel, holds, complete, conflict, given.ids)


def _certain(reach: list[int], count: int | None) -> tuple[list[int], bool, bool]:
    """Return the classes in every closed set (of `count` classes), whether there is one such, or none."""
    possible = _closed_sets(reach, count) if count is not None else None
    core = (1 << len(reach)) - 1
    for bits in reach if possible is None else possible:
        core &= bits
    if possible is not None and not possible:
        return [], False, True  # no set of labels fits: somebody erred
    return list(members(core)), possible is not None and len(possible) == 1, False


def _closed_sets(reach: list[int], count: int) -> list[int] | None:
    """Return all unions of closures that have exactly `count` classes; None if there are too many to look."""
    found: set[int] = set()
    seen = {0}
    waiting = [0]
    small = {bits for bits in reach if bits.bit_count() <= count}
    while waiting:
        base = waiting.pop()
        if base.bit_count() == count:
            found.add(base)
            continue
        for bits in small:
            more = base | bits
            if more not in seen and more.bit_count() <= count:
                seen.add(more)
                waiting.append(more)
        if len(seen) > MANY:
            return None
    return sorted(found)


def _refuse_uncovered(panel: Panel) -> None:
    pairs = panel.uncovered(most=3)
    if pairs:
        shown = ", ".join(f"{a!r} and {b!r}" for a, b in pairs)
        raise CoverError(
            f"experts that have to answer need a common expert for every pair of classes, and "
            f"{panel.count_uncovered()} pairs have none ({shown}); add experts (complete() says which)"
        )
