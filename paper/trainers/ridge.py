"""Quick experts: ridge regression in closed form, on patch features of images.

Products of features, added up for each class once, make the normal equations of every subset of the classes
by addition, so another expert costs a second, however many images there are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.progress import Progress
from paper.cores import in_threads, one_thread_each
from paper.datasets import ImageSet
from paper.trainers import Subset, TrainedExpert
from paper.trainers.patches import PatchFeatures

_TOGETHER = 8  # experts whose answers are computed in one product


@dataclass(frozen=True)
class PatchRidge:
    """A trainer: patch features found without labels, then one ridge regression per expert.

    Attributes
    ----------
    features
        The settings of the features.
    penalty
        The weight of the penalty, as a share of the mean variance of the features.
    sharpness
        Probabilities are the softmax of `sharpness` times the regression's answers.
    """

    features: PatchFeatures
    penalty: float
    sharpness: float
    seed: int = 0
    surrogate: ClassVar = True
    remarks: ClassVar = (
        "The features are found by k-means without labels, from random patches of the training images of "
        "all classes, and shared by all experts; labels enter only through each expert's own regression.",
    )

    @property
    def name(self) -> str:
        """What the experts are, in words."""
        return f"ridge regression on {self.features.length} k-means patch features"

    @property
    def recipe(self) -> str:
        """Everything that determines the result."""
        return f"version 2, {self}"

    def train(
        self, data: ImageSet, subsets: Sequence[Subset], progress: Progress, folder: Path | None = None
    ) -> Iterator[TrainedExpert]:
        """Train one expert per subset."""
        images = len(data.train_y) + len(data.test_y)
        total = images + 100 * len(subsets)
        started = time.process_time()

        def report(done: int, what: str) -> None:
            progress(done, total, f"{data.name}: {what}")

        report(0, "filters")
        with one_thread_each():
            bank = self.features.bank(data.train_x, self.seed)
        train = self.features.of(data.train_x, bank, lambda n: report(n, "features"))
        first = len(data.train_y)
        test = self.features.of(data.test_x, bank, lambda n: report(first + n, "features"))
        report(images, "products of features")
        products = Products.of(train, data.train_y, len(data.classes))
        # The cost of what all experts share is split evenly.
        shared = (time.process_time() - started) / max(1, len(subsets))
        groups = [subsets[n : n + _TOGETHER] for n in range(0, len(subsets), _TOGETHER)]
        done = 0
        for trained in in_threads(lambda group: self._group(group, products, (train, test), shared), groups):
            yield from trained
            done += len(trained)
            report(images + 100 * done, "experts")

    def _group(
        self,
        subsets: Sequence[Subset],
        products: Products,
        rows: tuple[NDArray[np.float32], NDArray[np.float32]],
        shared: float,
    ) -> list[TrainedExpert]:
        """Train a few experts, and record their answers for every row."""
        started = time.thread_time()
        solved = [products.solve(subset, self.penalty) for subset in subsets]
        train, test = (self._probabilities(part, solved) for part in rows)
        each = shared + (time.thread_time() - started) / len(subsets)
        return [TrainedExpert(*expert, each) for expert in zip(subsets, train, test, strict=True)]

    def _probabilities(
        self, rows: NDArray[np.float32], solved: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]
    ) -> list[NDArray[np.float32]]:
        """Return each expert's probabilities for every row."""
        scores = rows @ np.concatenate([weights for weights, _ in solved], axis=1)
        scores += np.concatenate([offsets for _, offsets in solved])
        ends = np.cumsum([len(offsets) for _, offsets in solved])[:-1]
        return [softmax(part, self.sharpness) for part in np.split(scores, ends, axis=1)]


@dataclass(frozen=True)
class Products:
    """Sums over the images of each class: how many, features, products of features."""

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[np.float32], truth: NDArray[np.int64], classes: int) -> Products:
        """Add up the rows of each class."""
        length = rows.shape[1]
        sums = np.zeros((classes, length))
        squares = np.empty((classes, length, length), dtype=np.float32)

        def add(k: int) -> None:
            mine = rows[truth == k]
            sums[k] = mine.sum(axis=0, dtype=np.float64)
            np.matmul(mine.T, mine, out=squares[k])

        for _ in in_threads(add, range(classes)):
            pass
        return cls(np.bincount(truth, minlength=classes), sums, squares)

    def solve(self, subset: Subset, penalty: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return weights (features x classes) and offsets of the ridge regression on these classes."""
        from scipy.linalg import cho_factor, cho_solve

        known = list(subset)
        number = self.counts[known].sum()
        mean = self.sums[known].sum(axis=0) / number
        spread = self.squares[known[0]].copy()
        for k in known[1:]:
            spread += self.squares[k]
        centre = mean.astype(np.float32)
        spread -= np.float32(number) * np.outer(centre, centre)
        diagonal = np.einsum("ii->i", spread)
        diagonal += np.float32(penalty * diagonal.mean())
        targets = self.sums[known].T - mean[:, None] * self.counts[known]
        # The transpose is the same matrix, laid out as LAPACK wants it: nothing is copied.
        factor = cho_factor(spread.T, lower=True, overwrite_a=True, check_finite=False)
        weights = cho_solve(factor, targets.astype(np.float32), check_finite=False)
        offsets = self.counts[known] / number - mean @ weights
        return weights, offsets.astype(np.float32)


def softmax(scores: NDArray[np.float32], sharpness: float) -> NDArray[np.float32]:
    """Return the softmax of each row, after multiplying by `sharpness`."""
    raised = np.exp(np.float32(sharpness) * (scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float32)


def mnist(seed: int = 0) -> PatchRidge:
    """Return the quick trainer for grey images of 28 x 28."""
    return PatchRidge(PatchFeatures(side=8, mirrored=False), 3e-3, 12.0, seed)


def cifar10(seed: int = 0) -> PatchRidge:
    """Return the quick trainer for CIFAR-10."""
    return PatchRidge(PatchFeatures(), 1e-2, 9.0, seed)
