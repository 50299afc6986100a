"""How easily experts that err confuse two classes, and what that says about a panel (theory: section 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_prior
from covote.panel import Panel

Array = NDArray[Any]


def confusion_bound(panel: Panel, accuracy: Any = 1.0, prior: ArrayLike | None = None) -> float:
    """Bound the error probability of a panel whose experts err: the sum of sqrt(pi_k pi_j) prod BC_i(k, j).

    BC_i(k, j) is the Bhattacharyya coefficient of what expert i answers to k and to j: 1 if it knows neither,
    less the better it tells them apart. An expert is right with its accuracy where it knows the class, errs
    evenly among its other classes, and answers evenly among all of them where it does not.

    Parameters
    ----------
    panel
        Who knows what.
    accuracy
        One for all experts, one for each, or a mapping by name.
    prior
        How likely every class is; equally, unless given.

    >>> panel = Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2], [1, 3], [0, 3], [1, 2]])
    >>> confusion_bound(panel), round(confusion_bound(panel, 0.99), 3)
    (0.0, 0.107)
    """
    weight = pair_weights(panel, check_prior(prior, len(panel.classes)))
    for row, both, one in zip(panel.knows, *confusion(panel, check_accuracy(accuracy, panel)), strict=True):
        apply(weight, row, both, one)
    return min(1.0, float(weight.sum() / 2))


def pair_weights(panel: Panel, prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sqrt(pi_k pi_j) for every pair of classes; 0 on the diagonal."""
    weight: NDArray[np.float64] = np.sqrt(np.outer(prior, prior))
    np.fill_diagonal(weight, 0)
    return weight


def confusion(panel: Panel, accuracy: NDArray[np.float64]) -> tuple[Array, Array]:
    """Return BC of every expert, for two classes that it knows and for two of which it knows one.

    An expert of a single class always names it, and tells nothing apart.
    """
    size = panel.sizes.astype(np.float64)
    other = np.maximum(size - 1, 1)
    wrong = np.where(size > 1, 1 - accuracy, 0.0)
    right = 1 - wrong
    both = 2 * np.sqrt(right * wrong / other) + wrong * (size - 2) / other
    one = (np.sqrt(right) + np.sqrt(wrong * (size - 1))) / np.sqrt(np.maximum(size, 1))
    # Who knows nothing answers nothing.
    return np.where(size > 1, both, 1.0), np.where(size > 1, one, 1.0)


def apply(weight: Array, knows: NDArray[np.bool_], both: float, one: float) -> None:
    """Multiply the weights of pairs, in place, by what an expert confuses."""
    mine = np.flatnonzero(knows)
    weight[mine] *= one
    weight[:, mine] *= one
    weight[np.ix_(mine, mine)] *= both / one**2 if one > 0 else 0.0
