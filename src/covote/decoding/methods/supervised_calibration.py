"""How likely a label is right: scores made into chances that fit labelled items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.scoring import softmax

Array = NDArray[Any]

USUAL_SHIFT, SHIFT_SPREAD, SLOPE_SPREAD = 0.3, 0.5, 0.25
"""What shift to expect for plain votes, and how far shift and logarithm of the slope usually stray.

So they are where many items are labelled (digits, MNIST, soybean): labels of the authority vote are right
more often than the share of I + O / 2 says. With probabilities no shift is expected.
"""


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
