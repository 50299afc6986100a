"""A small set of images that can be learned: bright bars at ten places, with noise."""

from __future__ import annotations

import numpy as np

from paper.datasets import ImageSet


def bars(
    train: int = 200, test: int = 100, seed: int = 0, noise: float = 60.0, name: str = "mnist"
) -> ImageSet:
    rng = np.random.default_rng(seed)
    parts = []
    for number in (train, test):
        truth = np.arange(number) % 10
        images = rng.normal(60, noise, (number, 12, 12))
        for image, k in zip(images, truth, strict=True):
            if k < 5:
                image[2 * k : 2 * k + 2] += 150
            else:
                image[:, 2 * (k - 5) : 2 * (k - 5) + 2] += 150
        parts += [images.clip(0, 255).astype(np.uint8), truth.astype(np.int64)]
    return ImageSet(name, tuple("0123456789"), *parts)
