"""How many classes an expert should know: cross-validated, and the cheapest of the equally good sizes."""

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
_FOLDS, _ROUNDS = 5, 2
_EQUAL = 0.001
"""Sizes whose accuracy is at most this much below the best are equally good."""
_SURE = 2.0
"""A size that is more standard errors than this behind the best is ruled out."""


class SizeScore(NamedTuple):
    """One size that was tried.

    Attributes
    ----------
    size, experts
        Classes per expert, and how many experts that makes.
    accuracy, error, folds
        The mean over the folds, its standard error, and how many folds there were.
    rows
        The fit cost: the rows that all experts together are trained on.
    """

    size: int
    experts: int
    accuracy: float
    error: float
    folds: int
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


def choose_size(classifier: Any, X: Any, y: NDArray[Any], weight: NDArray[Any] | None) -> SizeReport:
    """Return the size with the best cross-validated accuracy; of equally good ones, the cheapest to fit.

    Sizes that the first round does not rule out are tried again in other folds: one round depends too much
    on how the folds fall. `classifier` is a PanelClassifier, of which clones are trained.
    """
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) == 1:
        return SizeReport(1, (), "there is one class only")
    if counts.min() < 2:
        rare = labels[np.argmin(counts)]
        raise InputError(f"size='auto' needs two items of every class; {rare!r} has one: give a size instead")
    sizes = left = candidate_sizes(len(labels))
    accuracy: dict[int, list[float]] = {size: [] for size in sizes}
    panels, weights = {}, None if weight is None else {"sample_weight": weight}
    for number in range(_ROUNDS):
        folds = StratifiedKFold(min(_FOLDS, int(counts.min())), shuffle=True, random_state=number)
        for size in left:
            model = clone(classifier).set_params(size=size)
            found = cross_validate(
                model, X, y, cv=folds, params=weights, return_estimator=True, error_score="raise"
            )
            accuracy[size] += found["test_score"].tolist()
            panels[size] = found["estimator"][0].panel_
        left = _not_surely_worse({size: np.array(accuracy[size]) for size in left})
        if len(left) == 1:
            break
    candidates = []
    for size in sizes:
        rows = int((panels[size].knows.sum(axis=0) * counts).sum())
        mean, error = float(np.mean(accuracy[size])), _standard_error(np.array(accuracy[size]))
        candidates.append(SizeScore(size, len(panels[size]), mean, error, len(accuracy[size]), rows))
    good = [candidate for candidate in candidates if candidate.size in left]
    best = max(good, key=lambda candidate: candidate.accuracy)
    equal = [candidate for candidate in good if candidate.accuracy >= best.accuracy - _EQUAL]
    cheapest = min(equal, key=lambda candidate: (candidate.rows, candidate.size))
    reason = f"size {best.size} has the best accuracy, {best.accuracy:.1%}"
    if cheapest is not best:
        reason += (
            f"; size {cheapest.size} is as good ({cheapest.accuracy:.1%}) and trains on {cheapest.rows:,} "
            f"rows instead of {best.rows:,}"
        )
    return SizeReport(cheapest.size, tuple(candidates), reason)


def _not_surely_worse(accuracy: Mapping[int, NDArray[np.float64]]) -> list[int]:
    """Return the sizes that may be as good as the best; sizes are compared fold by fold.

    >>> _not_surely_worse({2: np.array([0.9, 0.8]), 4: np.array([0.7, 0.9]), 9: np.array([0.6, 0.5])})
    [2, 4]
    """
    best = max(accuracy.values(), key=np.mean)
    behind = {size: best - found for size, found in accuracy.items()}
    return [size for size, by in behind.items() if by.mean() <= max(_EQUAL, _SURE * _standard_error(by))]


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
