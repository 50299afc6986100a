"""Features of images without labels: how much the patches of an image resemble typical patches.

Whitened patches, filters found by k-means, a soft threshold on either side, sums over the cells of a grid
(Coates, Lee and Ng, 2011; Coates and Ng, 2011). Filters and their mirror images together make features that
do not change when the image is mirrored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paper.cores import in_threads

Bank = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Filters (pixels x filters) and their offsets."""
BLOCK = 100  # images between two reports of progress
_ROUNDS = 8  # of k-means


@dataclass(frozen=True)
class PatchFeatures:
    """The settings of the features.

    Attributes
    ----------
    side
        Patches are side x side pixels, at every place of the image.
    filters
        How many filters; as many mirrored ones are added with `mirrored`.
    cells
        Responses are summed over cells x cells parts of the image.
    threshold
        Responses below it count as none.
    mirrored
        Whether an image and its mirror image get the same features.
    sample
        How many patches k-means sees.
    calm
        Added to the variance of a patch before dividing by it (pixel values squared).
    floor
        Added to the eigenvalues before whitening.
    """

    side: int = 6
    filters: int = 200
    cells: int = 3
    threshold: float = 0.5
    mirrored: bool = True
    sample: int = 50_000
    calm: float = 10.0
    floor: float = 0.03

    @property
    def length(self) -> int:
        """How many features an image has."""
        return 2 * self.filters * self.cells * self.cells

    def bank(self, images: NDArray[np.uint8], seed: int) -> Bank:
        """Find filters from random patches of images, without labels."""
        rng = np.random.default_rng([seed, 1])
        patches = self._sample(images, rng)
        shape = (self.side, self.side, -1)
        both = np.concatenate([patches, _mirrored(patches, shape)]) if self.mirrored else patches
        mean, whiten = whitening(both, self.floor)
        found = spherical_means((patches - mean) @ whiten, self.filters, rng) @ whiten
        if self.mirrored:
            found = np.concatenate([found, _mirrored(found, shape)])
        return np.ascontiguousarray(found.T, dtype=np.float32), (-found @ mean).astype(np.float32)

    def _sample(self, images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.float64]:
        """Cut random patches out of random images, each centred and divided by its spread."""
        which = rng.integers(0, len(images), self.sample)
        tops, lefts = (rng.integers(0, size - self.side + 1, self.sample) for size in images.shape[1:3])
        patches = np.stack(
            [
                images[n, top : top + self.side, left : left + self.side]
                for n, top, left in zip(which, tops, lefts, strict=True)
            ]
        ).reshape(self.sample, -1)
        centred = patches - patches.mean(axis=1, keepdims=True)
        return np.asarray(centred / np.sqrt(centred.var(axis=1, keepdims=True) + self.calm))

    def of(self, images: NDArray[np.uint8], bank: Bank, done: Callable[[int], None]) -> NDArray[np.float32]:
        """Return the features of images; `done` is called with the number of images that are ready."""
        features = np.empty((len(images), self.length), dtype=np.float32)

        def block(start: int) -> int:
            return self._block(images[start : start + BLOCK], bank, features[start : start + BLOCK])

        ready = 0
        for number in in_threads(block, range(0, len(images), BLOCK)):
            ready += number
            done(ready)
        return features

    def _block(self, images: NDArray[np.uint8], bank: Bank, features: NDArray[np.float32]) -> int:
        """Write the features of a few images; return how many."""
        from paper.trainers import patch_kernels

        filters, offsets = bank
        if images.ndim == 3:
            images = images[..., None]
        places = images.shape[1] - self.side + 1
        patches = np.empty((places * places, len(filters)), dtype=np.float32)
        answers = np.empty((places * places, filters.shape[1]), dtype=np.float32)
        pooled = np.empty((self.cells * self.cells, 2, self.filters), dtype=np.float32)
        for image, row in zip(images, features, strict=True):
            patch_kernels.cut(np.ascontiguousarray(image), self.side, np.float32(self.calm), patches)
            np.matmul(patches, filters, out=answers)
            answers += offsets
            patch_kernels.pool(answers, places, self.cells, np.float32(self.threshold), self.mirrored, pooled)
            # The square root keeps a few strong responses from drowning the others.
            np.sqrt(pooled.reshape(-1), out=row)
        return len(images)


def whitening(rows: NDArray[np.float64], floor: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of rows, and the symmetric matrix that makes their covariance nearly the identity."""
    mean = rows.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(rows - mean, rowvar=False))
    whiten: NDArray[np.float64] = (vectors / np.sqrt(values + floor)) @ vectors.T
    return mean, whiten


def spherical_means(rows: NDArray[np.float64], number: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the centres of k-means by angle (spherical k-means)."""
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12)).astype(np.float32)
    centres = unit[rng.choice(len(unit), number, replace=False)]
    for _ in range(_ROUNDS):
        nearest = (unit @ centres.T).argmax(axis=1)
        order = np.argsort(nearest, kind="stable")
        first = np.searchsorted(nearest[order], np.arange(number))
        occupied = np.bincount(nearest, minlength=number) > 0
        sums = np.zeros_like(centres)
        sums[occupied] = np.add.reduceat(unit[order], first[occupied], axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 1e-6, sums / lengths.clip(1e-6), centres)
    return np.asarray(centres, dtype=np.float64)


def _mirrored(rows: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.asarray(rows.reshape(len(rows), *shape)[:, :, ::-1].reshape(len(rows), -1))
