"""What labelled items add to the default for votes with probabilities.

Log-odds of the classes are made of the default's scores and of log q, each by a factor that fits the labelled
items, and of a multinomial logistic regression on what every expert gave to its classes. The regression is
pulled towards adding nothing, and all this is used only if it labels better what it was not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.methods.supervised_calibration import fitted_temperature

Array = NDArray[Any]

PULLS = (np.inf, 1000.0, 100.0, 10.0)
"""How strongly the regression may be pulled towards 0; each fit begins where the one before ended."""

FOLDS, STEPS = 5, 30
"""Parts that labelled items are cut into to choose the pull, and the most steps of a fit."""

FAINT = 0.01
"""Pull of the logarithms of both factors."""

LONGEST = 1 << 31
"""The most that labelled items x features x classes may be; it takes minutes then."""


@dataclass(frozen=True, eq=False)
class Correction:
    """Log-odds of the classes: factors of default and log q + features @ weights + bias."""

    factors: Array
    weights: Array  # features x classes
    bias: Array

    def scores(self, default: Array, coupled: Array, features: Array) -> Array:
        """Return the log-odds (items x classes)."""
        mixed = self.factors[0] * heard(default) + self.factors[1] * heard(coupled)
        found: Array = mixed + features @ self.weights + self.bias
        return found


def heard(score: Array) -> Array:
    """Give a class that was not heard a score, one below the least: labelled items may still speak for it."""
    there = np.isfinite(score)
    least = np.where(there, score, np.inf).min(axis=1, keepdims=True)
    found: Array = np.where(there, score, np.where(np.isfinite(least), least, 0) - 1)
    return found


def corrected(
    default: Array, coupled: Array, features: Array, truth: Array, *, needed: bool
) -> Correction | None:
    """Learn a correction from (items x classes), (items x features) and the truth about the items.

    None if it does not put right more than it spoils among items that it was not shown, unless it is `needed`
    all the same.
    """
    default, coupled = heard(default), heard(coupled)
    smaller, back = _turned(features)
    factors = _factors(default, coupled, truth)
    # In 64 bits: a fit that is stopped early would show the rounding of 32, another for each order.
    score = (factors[0] * default + factors[1] * coupled).astype(np.float64)
    columns = np.hstack([smaller, np.ones((len(truth), 1))]).astype(np.float64)
    best, not_shown = _chosen(columns, score, truth)
    before, after = (np.count_nonzero(some.argmax(axis=1) == truth) for some in (default, not_shown))
    if after <= before and not needed:
        return None
    weights = np.zeros((columns.shape[1], score.shape[1]))
    for pull in PULLS[: best + 1]:
        weights = _fitted(columns, score, truth, pull, weights)
    temperature = fitted_temperature(not_shown, truth)
    return Correction(factors / temperature, back @ weights[:-1] / temperature, weights[-1] / temperature)


def _factors(default: Array, coupled: Array, truth: Array) -> Array:
    """Return the two factors that make the truth most likely; a faint pull towards 1 keeps them finite."""
    from scipy.optimize import minimize

    rows = np.arange(len(truth))

    def loss(logs: Array) -> tuple[float, Array]:
        size = np.exp(logs)
        surprise, chance = _surprise(size[0] * default + size[1] * coupled, truth)
        slope = [float((chance * score).sum() - score[rows, truth].sum()) for score in (default, coupled)]
        return surprise + FAINT / 2 * float(logs @ logs), np.array(slope) * size + FAINT * logs

    found: Array = np.exp(minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B").x)
    return found


def _turned(features: Array) -> tuple[Array, Array]:
    """Return as many features as there are items, if that is fewer, and the way back; no fit can tell."""
    if len(features) >= features.shape[1]:
        return features, np.eye(features.shape[1])
    left, size, right = np.linalg.svd(features.astype(np.float64), full_matrices=False)
    return left * size, right.T


def _chosen(columns: Array, score: Array, truth: Array) -> tuple[int, Array]:
    """Return which pull makes items most likely that were not shown, and their scores with it."""
    fold = _folds(truth)
    found = np.empty((len(PULLS), *score.shape))
    for shown in (fold != f for f in range(FOLDS)):
        weights = np.zeros((columns.shape[1], score.shape[1]))
        for n, pull in enumerate(PULLS):
            weights = _fitted(columns[shown], score[shown], truth[shown], pull, weights)
            found[n, ~shown] = score[~shown] + columns[~shown] @ weights
    best = int(np.argmin([_surprise(some, truth)[0] for some in found]))
    return best, found[best]


def _folds(truth: Array) -> Array:
    """Deal the items of every class out in turn."""
    order = np.argsort(truth, kind="stable")
    place = np.arange(len(truth)) - np.searchsorted(truth[order], truth[order])
    fold = np.empty(len(truth), dtype=np.int64)
    fold[order] = place % FOLDS
    return fold


def _fitted(columns: Array, score: Array, truth: Array, pull: float, weights: Array) -> Array:
    """Return the weights that make `score + columns @ weights` fit best, from some weights on."""
    from scipy.optimize import minimize

    if np.isinf(pull):
        return np.zeros_like(weights)
    shape = weights.shape

    def loss(flat: Array) -> tuple[float, Array]:
        surprise, chance = _surprise(score + columns @ flat.reshape(shape), truth)
        chance[np.arange(len(truth)), truth] -= 1
        slope = (columns.T @ chance).ravel() + pull * flat
        return surprise + pull / 2 * float(flat @ flat), slope

    found = minimize(loss, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x).reshape(shape)


def _surprise(score: Array, truth: Array) -> tuple[float, Array]:
    """Return minus the log-likelihood of the truth, and the chances of all classes."""
    above = score - score.max(axis=1, keepdims=True)
    own = above[np.arange(len(truth)), truth]
    chance = np.exp(above)
    total = chance.sum(axis=1, keepdims=True)
    return float(np.log(total, dtype=np.float64).sum() - own.sum(dtype=np.float64)), chance / total
