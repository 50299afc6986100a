"""Labels of plain votes learned from labelled items: a logistic regression on the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import scoring
from covote.decoding.scoring import softmax
from covote.decoding.tie_score import Weights, remembered
from covote.votes import Votes
from covote.votes.rows import row_parts

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Combination:
    """What every feature says about every class."""

    weights: Array  # features x classes
    bias: Array

    def scores(self, features: Array) -> Array:
        """Return the scores of all classes (items x classes); -inf for a class without labelled items."""
        found: Array = features @ self.weights + self.bias
        return found


def combined(features: Array, truth: Array, classes: int) -> Combination:
    """Learn how to combine the answers."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, max_iter=200, tol=1e-3).fit(features, truth)
    slopes, bias = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # one row of log-odds stands for both
        slopes, bias = np.vstack([-slopes, slopes]) / 2, np.concatenate([-bias, bias]) / 2
    weights, shift = np.zeros((features.shape[1], classes)), np.full(classes, -np.inf)
    weights[:, model.classes_], shift[model.classes_] = slopes.T, bias
    return Combination(weights, shift)


def features(part: Votes, weights: Weights) -> Array:
    """Return [0.3 one-hot answers, 3 softmax(I / 2)] (theory.md section 9)."""
    column = remembered(weights)
    inside = scoring.scores(part, lambda k: column(k, 1.0, 0.0))
    return np.concatenate([0.3 * answers(part), 3 * softmax(0.5 * inside)], axis=1)


def answers(part: Votes) -> NDArray[np.float32]:
    """Return which answers every item got (items x possible answers), 1 or 0."""
    found = np.zeros((len(part), len(part.panel.layout.cells.label)), dtype=np.float32)
    for patterns, span in row_parts(part):
        table = np.zeros((len(patterns), found.shape[1]), dtype=np.float32)
        table[np.repeat(np.arange(len(patterns)), np.diff(patterns.runs.indptr)), patterns.cell] = 1
        found[span] = patterns.spread_values(table)
    return found
