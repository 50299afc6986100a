"""What experts answer about classes they do not know: by similarity, or all together against the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.errors import InputError
from covote.panel import Panel


@dataclass(frozen=True, eq=False)
class Similar:
    """Answers by similarity: a class that an expert does not know looks like the nearest one it knows.

    Real classifiers do this, all in the same way for the same class, so that noise agrees with noise: the
    hard case (theory: section 5).

    Attributes
    ----------
    similarity
        (classes x classes) Larger is more alike (default: the distances of random points in a plane).
    temperature
        0 always answers the most similar class; above, the answer v has weight exp(similarity / temperature).
    """

    similarity: ArrayLike | None = None
    temperature: float = 0.0

    def matrix(self, classes: int, seed: int) -> NDArray[np.float64]:
        """Return how alike the classes are (classes x classes)."""
        if not self.temperature >= 0:
            raise InputError(f"temperature must be 0 or more, not {self.temperature}")
        if self.similarity is None:
            # Classes as random points in the plane: neighbours confuse, and confusion is symmetric.
            points = np.random.default_rng([seed, 0x51]).normal(size=(classes, 2))
            apart: NDArray[np.float64] = np.hypot(
                *(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1)
            )
            return -apart
        try:
            matrix = np.asarray(self.similarity, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"similarity must be a {classes} x {classes} matrix of numbers") from error
        if matrix.shape != (classes, classes):
            raise InputError(
                f"similarity has shape {matrix.shape}; it must be {classes} x {classes}, one row per class"
            )
        if not np.isfinite(matrix).all():
            k, j = np.argwhere(~np.isfinite(matrix))[0]
            raise InputError(f"similarity[{k}, {j}] is {matrix[k, j]}; it must be a finite number")
        return matrix

    def answers(
        self,
        matrix: NDArray[np.float64],
        known: NDArray[np.intp],
        truth: NDArray[np.int64],
        drawn: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        """Return what an expert who knows some classes says, by numbers drawn from [0, 1), one per item."""
        near = matrix[:, known]
        if self.temperature == 0:
            return np.asarray(known[near.argmax(axis=1)][truth])
        weights = np.exp((near - near.max(axis=1, keepdims=True)) / self.temperature)
        chances = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        place = (chances[truth] <= drawn[:, None]).sum(axis=1)
        return np.asarray(known[np.minimum(place, len(known) - 1)])


def strongest_rivals(panel: Panel) -> list[NDArray[np.intp]]:
    """Return for every true class the wrong classes that come closest to beating it in the paper's vote.

    When the truth is k, the experts who do not know it can give rival j at most d_j - lambda_kj votes, all
    of which are consistent with j. The rival with the least lambda_kj / d_j scores highest; it ties with the
    truth where the pair is uncovered.
    """
    degrees = panel.knows.sum(axis=0).astype(np.float64)
    chosen = []
    for k, together in enumerate(panel.pair_counts()):
        # Quotients of small integers: equal fractions are equal as float64, and unequal ones are not.
        held = np.where(degrees > 0, together / np.maximum(degrees, 1), np.inf)
        held[k] = np.inf
        # A panel in which no one knows any other class has no rival to offer.
        chosen.append(np.flatnonzero(held == held.min()) if np.isfinite(held).any() else np.empty(0, np.intp))
    return chosen
