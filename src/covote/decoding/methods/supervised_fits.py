"""What labelled items teach: how likely a label is right, and what labels better than the default.

A temperature, and then a shift and a slope of log-odds, make scores into chances that fit the labelled items.
A :class:`Combination` is a logistic regression on plain answers.

A :class:`Correction` is for votes with probabilities. Log-odds of the classes are made of the default's
scores and of log q, each by a factor that fits the labelled items, and of a multinomial logistic regression
on what every expert gave to its classes. The regression is pulled towards adding nothing, and all this is
used only if it labels better what it was not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.linear import softmax

Array = NDArray[Any]

USUAL_SHIFT, SHIFT_SPREAD, SLOPE_SPREAD = 0.3, 0.5, 0.25
"""What shift to expect for plain votes, and how far shift and logarithm of the slope usually stray.

So they are where many items are labelled (digits, MNIST, soybean): labels of the authority vote are right
more often than the share of I + O / 2 says. With probabilities no shift is expected.
"""

PULLS = (np.inf, 1000.0, 100.0, 10.0)
"""How strongly the regression may be pulled towards 0; each fit begins where the one before ended."""

FOLDS, STEPS = 5, 30
"""Parts that labelled items are cut into to choose the pull, and the most steps of a fit."""

FAINT = 0.01
"""Pull of the logarithms of both factors."""

LONGEST = 1 << 31
"""The most that labelled items x features x classes may be; it takes minutes then."""


def fitted_temperature(score: Array, truth: Array) -> float:
    """Return the temperature that makes the labelled items most likely.

    Items whose class was not heard are left out: no temperature can make them likely.
    """
    own = score[np.arange(len(truth)), truth]
    score, own = score[np.isfinite(own)], own[np.isfinite(own)]
    if len(own) == 0:
        return 1.0
    gap = score - own[:, None]
    steps = np.geomspace(0.02, 50, 120)
    with np.errstate(over="ignore"):
        loss = [np.logaddexp.reduce(gap / t, axis=1).mean() for t in steps]
    return float(steps[int(np.argmin(loss))])


def own_share(score: Array, label: Array, mean: Array | None) -> Array:
    """Return the softmax share of each item's label; with probabilities, halfway to their mean."""
    share: Array = softmax(score)[np.arange(len(label)), np.maximum(label, 0)]
    return share if mean is None else (share + mean) / 2


def trusted(share: Array, trust: tuple[float, float]) -> Array:
    """Return the chance that a label is right: its share, shifted and stretched as log-odds."""
    clipped = np.clip(share, 1e-6, 1 - 1e-6)
    found: Array = 1 / (1 + np.exp(-(trust[0] + trust[1] * np.log(clipped / (1 - clipped)))))
    return found


def fitted_trust(share: Array, right: NDArray[np.bool_], usual: float) -> tuple[float, float]:
    """Return (shift, slope) that make what happened most likely; without labelled items (usual, 1).

    A normal prior on the shift and on the logarithm of the slope keeps few items from saying too much.
    """
    from scipy.optimize import minimize

    def loss(x: Array) -> float:
        chance = trusted(share, (x[0], np.exp(x[1])))
        strange = ((x[0] - usual) / SHIFT_SPREAD) ** 2 + (x[1] / SLOPE_SPREAD) ** 2
        return float(-np.log(np.where(right, chance, 1 - chance)).sum() + strange / 2)

    shift, slope = minimize(loss, np.array([usual, 0.0]), method="Nelder-Mead").x
    return float(shift), float(np.exp(slope))


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
