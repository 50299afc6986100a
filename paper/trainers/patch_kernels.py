"""Compiled loops of the patch features: cut an image into patches, pool the filters' responses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel


def _always(*_: object) -> int:
    """Return so large a number of steps that the loop is always compiled.

    With fastmath, sums of a hundred pixels are added in any order, so plain Python would give other last
    digits; stored votes must not depend on how much there was to do.
    """
    return 1 << 40


@kernel(steps=_always, fastmath=True)
def cut(image: NDArray[np.uint8], side: int, calm: float, patches: NDArray[np.float32]) -> None:
    """Write every patch of an image as a row, centred and divided by its spread.

    `calm` is added to the variance, so that patches with little contrast stay small.
    """
    rows, columns, colours = image.shape
    size = side * side * colours
    row = 0
    for top in range(rows - side + 1):
        for left in range(columns - side + 1):
            total = np.float32(0.0)
            squares = np.float32(0.0)
            n = 0
            for a in range(side):
                for b in range(side):
                    for c in range(colours):
                        value = np.float32(image[top + a, left + b, c])
                        patches[row, n] = value
                        total += value
                        squares += value * value
                        n += 1
            mean = total / size
            spread = max(squares / size - mean * mean, np.float32(0.0))
            scale = np.float32(1.0) / np.sqrt(spread + calm)
            for n in range(size):
                patches[row, n] = (patches[row, n] - mean) * scale
            row += 1


@kernel(steps=_always, fastmath=True)
def pool(
    answers: NDArray[np.float32],
    places: int,
    cells: int,
    threshold: float,
    mirrored: bool,
    pooled: NDArray[np.float32],
) -> None:
    """Sum the responses beyond the threshold, on either side of zero, in each cell of the image.

    `answers` are (places x places) rows of filter answers. With `mirrored`, the second half of the filters
    are mirror images of the first: their answers are added where a mirrored image would have put them, so
    an image and its mirror image get the same features.
    """
    filters = pooled.shape[2]
    pooled[:] = 0.0
    for i in range(places):
        for j in range(places):
            row = i * places + j
            cell = (i * cells // places) * cells + j * cells // places
            for f in range(filters):
                value = answers[row, f]
                pooled[cell, 0, f] += max(value - threshold, np.float32(0.0))
                pooled[cell, 1, f] += max(-value - threshold, np.float32(0.0))
            if mirrored:
                cell = (i * cells // places) * cells + (places - 1 - j) * cells // places
                for f in range(filters):
                    value = answers[row, filters + f]
                    pooled[cell, 0, f] += max(value - threshold, np.float32(0.0))
                    pooled[cell, 1, f] += max(-value - threshold, np.float32(0.0))
