"""How many classes an expert shall know: cross-validated, and the cheapest of what is equally good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_validate

from covote.errors import InputError
from covote.learn.training import default_size

AUTO = "auto"
_FOLDS = 5
_EQUAL = 0.002
"""Sizes whose accuracy is at most this much below the best are equally good."""


class SizeScore(NamedTuple):
    """One size that was tried.

    Attributes
    ----------
    size, experts
        Classes per expert, and how many experts that makes.
    accuracy, error
        The mean over the folds, and its standard error.
    rows
        The fit cost: the rows that all experts together are trained on.
    """

    size: int
    experts: int
    accuracy: float
    error: float
    rows: int


@dataclass(frozen=True)
class SizeReport:
    """Why a size was chosen.

    Attributes
    ----------
    size
        The size.
    candidates
        All that were tried.
    reason
        Why this one, in a sentence.
    """

    size: int
    candidates: tuple[SizeScore, ...]
    reason: str


def candidate_sizes(classes: int) -> list[int]:
    """Return the sizes to try: pairs, the default, half of the classes, and the estimator itself.

    >>> candidate_sizes(26), candidate_sizes(3), candidate_sizes(2)
    ([2, 6, 13, 26], [2, 3], [2])
    """
    return sorted({min(2, classes), default_size(classes), max(2, classes // 2), classes} - {0, 1})


def chosen_size(classifier: Any, X: Any, y: NDArray[Any], fit_params: Mapping[str, Any]) -> SizeReport:
    """Return the size with the best cross-validated accuracy; of equally good ones, the cheapest to fit.

    `classifier` is a PanelClassifier, of which clones with different sizes are trained.
    """
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) == 1:
        return SizeReport(1, (), "there is one class only")
    if counts.min() < 2:
        rare = labels[np.argmin(counts)]
        raise InputError(f"size='auto' needs two items of every class; {rare!r} has one: give a size instead")
    folds = StratifiedKFold(min(_FOLDS, int(counts.min())), shuffle=True, random_state=0)
    candidates = []
    for size in candidate_sizes(len(labels)):
        model = clone(classifier).set_params(size=size)
        found = cross_validate(
            model, X, y, cv=folds, params=dict(fit_params), return_estimator=True, error_score="raise"
        )
        accuracy = found["test_score"]
        panel = found["estimator"][0].panel_
        rows = int((panel.knows.sum(axis=0) * counts).sum())
        error = float(accuracy.std(ddof=1) / np.sqrt(len(accuracy)))
        candidates.append(SizeScore(size, len(panel), float(accuracy.mean()), error, rows))
    best = max(candidates, key=lambda one: one.accuracy)
    equal = [one for one in candidates if one.accuracy >= best.accuracy - _EQUAL]
    cheapest = min(equal, key=lambda one: (one.rows, one.size))
    reason = f"size {best.size} has the best accuracy, {best.accuracy:.1%}"
    if cheapest is not best:
        reason += (
            f"; size {cheapest.size} is as good ({cheapest.accuracy:.1%}) and trains on {cheapest.rows:,} "
            f"rows instead of {best.rows:,}"
        )
    return SizeReport(cheapest.size, tuple(candidates), reason)
