"""Answers about items that have several labels, under the four ways of answering (theory: section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.panel.several import check_model
from covote.votes import Reports


def simulate_reports(
    panel: Panel,
    truth: Sequence[Iterable[Name]] | NDArray[np.bool_],
    *,
    report: str = "one",
    forced: bool = False,
    rates: NDArray[np.float64],
    silence: NDArray[np.float64],
    seed: int = 0,
) -> Reports:
    """Let a panel answer about items whose labels are known; see :func:`covote.simulate`.

    `rates` and `silence` are how often each expert is right, and how often it gives no answer.
    """
    check_model(report, None, len(panel.classes))
    labels = label_rows(panel, truth)
    rng = np.random.default_rng([seed, 0x5E7])
    items, classes = labels.shape
    asked = rng.random((items, len(panel))) >= silence
    said = np.zeros((items, len(panel), classes), dtype=np.bool_)
    for i, row in enumerate(panel.knows):
        known = np.flatnonzero(row)
        mine = labels[:, known]
        wrong = rng.random(items) >= rates[i]
        mine = np.where(wrong[:, None], _others(rng, mine, forced), mine)
        if report == "one":
            mine = _one_of(rng, mine)
        if forced:
            # Something is named: one class, or (in a full report) some of them, all equally likely.
            silent = _empty(mine)
            anything = rng.random((items, len(known))) < (0.5 if report == "all" else 0.0)
            anything |= _one_of(rng, np.ones_like(mine)) & _empty(anything)[:, None]
            mine = np.where(silent[:, None], anything, mine)
        said[:, i, known] = mine & asked[:, i, None]
    item, expert, label = (side.astype(np.int64) for side in np.nonzero(said))
    return Reports(panel, item, expert, label, asked, tuple(range(items)))


def _empty(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.logical_not(rows.any(axis=1))
    return found


def _one_of(rng: np.random.Generator, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return one of the true cells of each row, all equally likely."""
    draws = np.where(rows, rng.random(rows.shape), -1.0)
    one = np.zeros_like(rows)
    one[np.arange(len(rows)), draws.argmax(axis=1)] = True
    one &= rows
    return one


def _others(rng: np.random.Generator, rows: NDArray[np.bool_], forced: bool) -> NDArray[np.bool_]:
    """Return what an expert takes for the labels if it errs: one class of its own more, or one less."""
    changed = rows ^ _one_of(rng, np.ones_like(rows))
    return changed | (_one_of(rng, ~rows) & _empty(changed)[:, None] & forced)


def label_rows(panel: Panel, truth: Any) -> NDArray[np.bool_]:
    """Return (items x classes) the labels of items: given so, or as a list of classes for each item."""
    if isinstance(truth, np.ndarray) and truth.dtype == np.bool_:
        labels = truth
        if labels.ndim != 2 or labels.shape[1] != len(panel.classes):
            raise InputError(
                f"truth has shape {labels.shape}; give a row of {len(panel.classes)} flags for each item"
            )
    else:
        labels = np.zeros((len(truth), len(panel.classes)), dtype=np.bool_)
        for n, names in enumerate(truth):
            if isinstance(names, str | int | np.integer):
                raise InputError(f"truth of item {n} is {names!r}; give a list of classes for each item")
            labels[n, [panel.class_index(name) for name in names]] = True
    empty = np.flatnonzero(_empty(labels))
    if len(empty):
        raise InputError(f"item {empty[0]} has no label; every item has at least one")
    return labels
