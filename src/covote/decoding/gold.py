"""Gold items: items whose class is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.panel.checks import some_of
from covote.votes import Votes

Gold = Mapping[Any, Any] | NDArray[Any]
"""Known classes: ``{item id: class name}``, or one class index per item, -1 where it is not known."""

_looked_up: WeakKeyDictionary[Votes, tuple[Gold, NDArray[np.int64], NDArray[np.int64]]] = WeakKeyDictionary()
"""Estimation asks for the same items in every round."""


def gold_rows(gold: Gold | None, part: Votes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (positions, class indices) of the items in a part whose class is known."""
    if gold is None or len(gold) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if isinstance(gold, Mapping):
        before = _looked_up.get(part)
        if before is None or before[0] is not gold:
            _looked_up[part] = before = gold, *_named(gold, part)
        return before[1:]
    index = np.asarray(gold)
    if index.ndim != 1 or index.dtype.kind not in "iu" or len(index) < part.stop:
        raise InputError(
            f"gold has shape {index.shape} for {part.stop} items; give one class index per item, "
            "-1 where the class is not known, or {item: class}"
        )
    index = index[part.start : part.stop]
    wrong = (index < -1) | (index >= len(part.panel.classes))
    if wrong.any():
        n = int(np.argmax(wrong))
        raise InputError(f"gold class {index[n]} of item {n}: there are {len(part.panel.classes)} classes")
    rows = np.flatnonzero(index >= 0)
    return rows, index[rows].astype(np.int64)


def no_gold(gold: Gold) -> InputError:
    """Say that no item of the votes is among those whose class is known."""
    return InputError(
        f"none of the {len(gold):,} items whose class is known has votes (known: "
        f"{some_of(list(map(repr, gold)))}); name them as in the votes"
    )


def _named(gold: Mapping[Any, Any], part: Votes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Look up the items of a part in ``{item: class}``."""
    keys = np.array(list(gold)) if all(isinstance(item, int | np.integer) for item in gold) else None
    if keys is not None and keys.dtype.kind in "iu" and part.items.dtype.kind in "iu":
        at = np.flatnonzero(np.isin(part.items, keys))
    else:
        at = np.flatnonzero([item in gold for item in part.items.tolist()])
    truth = [part.panel.class_index(gold[item]) for item in part.items[at].tolist()]
    return at.astype(np.int64), np.array(truth, dtype=np.int64)
