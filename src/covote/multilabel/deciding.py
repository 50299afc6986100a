"""From answers to the labels that are certain (theory: section 8).

Every decision is exact: the certain labels of an item are those in every label set that fits its answers.
They are complete if only one set fits, and in conflict if none does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from covote.errors import InputError
from covote.multilabel.reports import Reports
from covote.multilabel.support import Report, check_model
from covote.panel import Name, Panel
from covote.tables.arrow_names import name_array
from covote.votes import Votes

if TYPE_CHECKING:
    import pyarrow as pa

Flags = NDArray[np.bool_]
PIECE = 1 << 22
"""Cells (items x classes) that are decided together."""
MOST_STEPS = 20_000
"""Steps of the search for label sets of a given size, per item; an item that needs more stays incomplete."""


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


def decode(
    reports: Reports | Votes, *, report: Report = "one", forced: bool = False, count: int | None = None
) -> LabelSets:
    """Find the labels of every item that are certain, and whether they are all of them.

    Parameters
    ----------
    reports
        The answers; :class:`covote.Votes` are answers that name one class, or "none of mine".
    report
        Whether an expert names ``"one"`` of the labels they know, or ``"all"`` of them.
    forced
        Whether an expert who knows none of the labels must name a class, instead of "none of mine".
    count
        The largest number of labels of an item; the exact number if experts name one label and must answer.
        By default any number.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> reports = Reports.from_lists([[["cat"], ["fox"], ["fox"]], [["cat"], None, ["fox"]]], panel)
    >>> found = decode(reports, count=2)
    >>> found.value, found.complete
    ([('cat', 'fox'), ('cat', 'fox')], array([ True,  True]))
    """
    if not isinstance(reports, Reports | Votes):
        raise InputError(
            f"reports are a {type(reports).__name__}; make Reports first, with Reports.from_table(table, "
            "panel)"
        )
    given = Reports.from_votes(reports) if isinstance(reports, Votes) else reports
    panel = given.panel
    check_model(report, count, len(panel.classes))
    pieces = [
        _decide(piece, report, forced, count)
        for piece in given.pieces(max(1, PIECE // max(1, len(panel.classes))))
    ]
    holds, complete, conflict = (np.concatenate(some) for some in zip(*pieces, strict=True))
    return LabelSets(panel, holds, complete, conflict, given.ids)


class _Decided(NamedTuple):
    """Of each item: its certain labels (items x classes), whether they are all, and whether none fit."""

    holds: Flags
    complete: Flags
    conflict: Flags


def _decide(given: Reports, report: str, forced: bool, count: int | None) -> _Decided:
    most = len(given.panel.classes) if count is None else count
    if not forced:
        found = _honest(given, report, most)
    elif report == "all":
        found = _components(given, most)
    else:
        found = _closed(given, count)
    impossible = _impossible(given, report, forced)
    return _Decided(found.holds, found.complete & ~impossible, found.conflict | impossible)


def _impossible(given: Reports, report: str, forced: bool) -> Flags:
    """Return the items with an answer that no expert can give: several classes, or none if one is due."""
    named = np.zeros(given.asked.shape, dtype=np.int64)
    np.add.at(named, (given.item, given.expert), 1)
    wrong = np.zeros(len(given), dtype=np.bool_)
    if report == "one":
        wrong |= (named > 1).any(axis=1)
    if forced:
        wrong |= (given.asked & (named == 0)).any(axis=1)
    return wrong


def _honest(given: Reports, report: str, most: int) -> _Decided:
    """Decide where experts may say "none of mine": labels are named, and others are ruled out.

    A class that was named is a label. A class is ruled out by an expert who knows it and named nothing or, in
    full reports, did not name it. The other classes are open: any of them may be labels, up to `most` labels
    in all. Of a class on which full reports disagree, most of the experts who know it decide.
    """
    named, asked = _counts(given)
    holds = named > 0
    if report == "all":
        ruled_out = named < asked
    else:
        silent = given.asked.copy()
        silent[given.item, given.expert] = False
        ruled_out = silent.astype(np.float32) @ given.panel.knows.astype(np.float32) > 0
    conflict = (holds & ruled_out).any(axis=1) | (holds.sum(axis=1) > most)
    if report == "all":
        holds = np.where(conflict[:, None], 2 * named > asked, holds)
    open_ = ~holds & ~ruled_out
    size, left = holds.sum(axis=1), open_.sum(axis=1)
    only = (size == 0) & (left == 1) & ~conflict  # every item has a label
    conflict |= (size == 0) & (left == 0)
    complete = (only | ((size > 0) & ((left == 0) | (size == most)))) & ~conflict
    return _Decided(holds | (open_ & only[:, None]), complete, conflict)


def _components(given: Reports, most: int) -> _Decided:
    """Decide where experts report all labels they know, and anything if they know none.

    A label is reported by all experts who know it and were asked, together with all other labels that they
    know. So classes that one expert reported together are labels together, and a label set is a union of
    components of this relation in which every class is reported by all its experts. On a cover there is at
    most one such component. Ours.
    """
    items, classes = len(given), len(given.panel.classes)
    named, asked = _counts(given)
    together = (given.item[1:] == given.item[:-1]) & (given.expert[1:] == given.expert[:-1])
    cell = given.item * classes + given.label
    links = coo_array(
        (np.ones(int(together.sum()), dtype=np.int8), (cell[:-1][together], cell[1:][together])),
        shape=(items * classes, items * classes),
    )
    number, component = connected_components(links, directed=False)
    possible = (named == asked).reshape(-1)
    size = np.bincount(component, minlength=number)
    fits = (np.bincount(component, weights=~possible, minlength=number) == 0) & (size <= most)
    inside = fits[component].reshape(items, classes)
    first = np.unique(component, return_index=True)[1]  # a cell of each component
    parts = np.bincount(first[fits] // max(1, classes), minlength=items)
    conflict = parts == 0
    guess = (named == asked) & (asked > 0) & conflict[:, None]
    return _Decided((inside & (parts == 1)[:, None]) | guess, parts == 1, conflict)


def _closed(given: Reports, count: int | None) -> _Decided:
    """Decide where experts name one label they know, and anything if they know none.

    If a is a label, so is every class that an expert who knows a named: label sets are the closed sets of
    this relation. Without a count, the certain labels are those in every closed set. On a cover any two
    closed sets meet, and these labels are the only terminal strongly connected component.
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
            found[key] = _certain(_closures(successors), count)
        labels, complete[n], conflict[n] = found[key]
        holds[n, labels] = True
    return _Decided(holds, complete, conflict)


def _certain(reach: list[int], count: int | None) -> tuple[list[int], bool, bool]:
    """Return the classes in every closed set (of `count` classes), whether there is one such set, or none.

    `reach[a]` has the bits of the smallest closed set with a.
    """
    everything = (1 << len(reach)) - 1
    core = everything
    for bits in reach:
        if count is None or bits.bit_count() <= count:
            core &= bits
    if count is None:
        return list(_members(core)), core == everything, False
    certain, sets = everything, 0
    for one in _closed_sets(reach, count):
        if one is None:  # too many steps: at least the core is certain
            return list(_members(core)), False, False
        certain, sets = certain & one, sets + 1
        if sets > 1 and certain == core:
            break
    return list(_members(certain if sets else 0)), sets == 1, sets == 0


def _closed_sets(reach: list[int], count: int) -> Iterator[int | None]:
    """Yield all closed sets of `count` classes, each once; None, at the end, if there are too many to try."""
    waiting = [(0, 0)]  # classes in the set, and classes outside of it
    for _ in range(MOST_STEPS):
        if not waiting:
            return
        inside, outside = waiting.pop()
        if inside.bit_count() == count:
            yield inside
            continue
        choices = [
            a
            for a, bits in enumerate(reach)
            if not inside >> a & 1 and not bits & outside and (inside | bits).bit_count() <= count
        ]
        reachable = inside
        for a in choices:
            reachable |= reach[a]
        if reachable.bit_count() >= count:
            a = max(choices, key=lambda a: reach[a].bit_count())
            waiting += [(inside, outside | 1 << a), (inside | reach[a], outside)]
    if waiting:
        yield None


def _closures(successors: list[int]) -> list[int]:
    """Return, as bits, the classes that must be labels if a class is one.

    `successors[a]` has a bit for each class that experts who know a named.
    """
    reach = [bits | (1 << a) for a, bits in enumerate(successors)]
    for via in range(len(reach)):
        for a in range(len(reach)):
            if reach[a] >> via & 1:
                reach[a] |= reach[via]
    return reach


def _members(bits: int) -> Iterator[int]:
    """Yield the positions of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def _counts(given: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (items x classes) how many experts named a class, and how many who know it were asked."""
    named = np.zeros((len(given), len(given.panel.classes)), dtype=np.int64)
    np.add.at(named, (given.item, given.label), 1)
    asked = given.asked.astype(np.float32) @ given.panel.knows.astype(np.float32)
    return named, asked.astype(np.int64)
