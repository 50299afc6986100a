"""Simulated answers about items with several labels, for the four ways of answering (theory: section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_count
from covote.errors import InputError
from covote.multilabel.reports import Reports
from covote.multilabel.support import Report, check_model
from covote.panel import Name, Panel
from covote.simulation import rate_per_expert


def simulate(
    panel: Panel,
    truth: Sequence[Iterable[Name]] | NDArray[np.bool_],
    *,
    report: Report = "one",
    forced: bool = False,
    accuracy: float | ArrayLike = 1.0,
    missing: float | ArrayLike = 0.0,
    seed: int = 0,
) -> Reports:
    """Let a panel answer about items whose labels are known.

    Parameters
    ----------
    panel
        Who knows what.
    truth
        The labels of each item: a list of classes per item, or (items x classes) flags.
    report, forced
        How experts answer, as for :func:`covote.multilabel.supports`. An expert who names one label chooses
        among those they know with equal probability.
    accuracy
        How often experts are right about classes they know; one number, or one per expert. An expert who is
        wrong takes one more or one fewer of their classes for a label.
    missing
        How often an answer is missing; one number, or one per expert.
    seed
        The same seed gives the same answers.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> simulate(panel, [["cat", "dog"]], report="all").lists()
    [[('cat', 'dog'), ('dog',), ('cat',)]]
    """
    check_model(report, None, len(panel.classes))
    check_count(seed, "seed", 0)
    rates = rate_per_expert(accuracy, len(panel), "accuracy")
    silence = rate_per_expert(missing, len(panel), "missing")
    labels = _label_rows(panel, truth)
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
            # The expert names something: one class or, in a full report, any set of classes.
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
    """Return what a mistaken expert takes for the labels: one of their classes more, or one fewer."""
    changed = rows ^ _one_of(rng, np.ones_like(rows))
    return changed | (_one_of(rng, ~rows) & _empty(changed)[:, None] & forced)


def _label_rows(panel: Panel, truth: Any) -> NDArray[np.bool_]:
    """Return the labels of items as (items x classes) flags, from flags or lists of classes."""
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
