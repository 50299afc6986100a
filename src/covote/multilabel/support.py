"""Which label sets a panel can tell apart (theory: section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.errors import InputError
from covote.panel import Name, Panel

Report = Literal["one", "all"]
"""Whether an expert names one of the labels they know, or all of them."""


@dataclass(frozen=True)
class Support:
    """Whether perfect answers always determine an item's labels; true if they do.

    Attributes
    ----------
    holds
        Whether they do.
    first, second
        Otherwise, two label sets that can lead to the same answers.
    """

    holds: bool
    first: tuple[Name, ...] = ()
    second: tuple[Name, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


def supports(panel: Panel, count: int | None = None, *, report: Report = "one") -> Support:
    """Check whether perfect answers always determine the labels of an item that may have several.

    Theory: section 8. The condition is exact: where it fails, the result has two label sets that can lead to
    the same answers.

    Parameters
    ----------
    panel
        Who knows what.
    count
        The largest number of labels of an item (default: any number).
    report
        Whether an expert names ``"one"`` of the labels they know, or ``"all"`` of them.

    >>> panel = Panel.from_blocks(list("abc"), ["ab", "ac", "bc"])
    >>> bool(supports(panel, 2)), bool(supports(panel, 3))
    (True, False)
    >>> supports(panel, 3).first, supports(panel, 3).second  # who knows a can name b or c for both
    (('b', 'c'), ('a', 'b', 'c'))
    """
    check_model(report, count, len(panel.classes))
    most = len(panel.classes) if count is None else count
    found = (_unknown if report == "all" or most == 1 else _hidden)(panel.knows, most)
    if found is None:
        return Support(True)
    return Support(False, *(tuple(panel.classes[k] for k in some) for some in found))


def check_model(report: str, count: int | None, classes: int) -> None:
    """Reject an unknown way of answering and an impossible number of labels."""
    if report not in ("one", "all"):
        raise InputError(f"report={report!r} is unknown; experts name 'one' of the labels, or 'all'")
    if count is not None and check_count(count, "count", 1) > classes:
        raise InputError(f"count={count} labels for {classes} classes; an item has at most {classes}")


def _unknown(knows: NDArray[np.bool_], most: int) -> tuple[list[int], list[int]] | None:
    """A class that no expert knows is never reported; a single one follows if every item has one label."""
    unknown = np.flatnonzero(~knows.any(axis=0)).tolist()
    if len(unknown) > 1:
        return [unknown[0]], [unknown[1]]
    if not unknown or most == 1:
        return None  # also for a panel of a single class: it is the label of every item
    other = 0 if unknown[0] else 1
    return [other], sorted([other, unknown[0]])


def _hidden(knows: NDArray[np.bool_], most: int) -> tuple[list[int], list[int]] | None:
    """A class is hidden behind others if each of its authorities can name one of them instead."""
    blocks = [frozenset(np.flatnonzero(row).tolist()) for row in knows]
    for b, column in enumerate(knows.T):
        mine = [blocks[i] - {b} for i in np.flatnonzero(column).tolist()]
        others = _hitting(mine, most - 1)
        if others is not None:
            base = sorted(others) or [0 if b else 1]
            return base, sorted([*base, b])
    return None


def _hitting(sets: Sequence[frozenset[int]], size: int) -> frozenset[int] | None:
    """Return at most `size` elements that meet every set; None if that is impossible.

    >>> sorted(_hitting([frozenset({1, 2}), frozenset({2, 3}), frozenset({4})], 2))
    [2, 4]
    """
    if not sets:
        return frozenset()
    often: dict[int, int] = {}
    for one in sets:
        for k in one:
            often[k] = often.get(k, 0) + 1
    if size * max(often.values(), default=0) < len(sets):
        return None
    smallest = min(sets, key=lambda one: len(one))
    for k in sorted(smallest, key=lambda k: -often[k]):
        found = _hitting([one for one in sets if k not in one], size - 1)
        if found is not None:
            return found | {k}
    return None
