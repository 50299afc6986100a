"""How experts are trained: one file per kind of model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from covote.progress import Progress
from paper.datasets import ImageSet

Subset = tuple[int, ...]
"""What an expert knows: class indices, ascending."""


class TrainedExpert(NamedTuple):
    """An expert's probabilities for the classes it knows, for every image, whatever its class.

    Attributes
    ----------
    subset
        The classes it knows.
    train, test
        (images x classes it knows), each row sums to 1. `train` may hold only the first training images.
    seconds
        CPU time that its training took.
    curve
        Of the centralised network, after each epoch: CPU seconds so far, and test accuracy (0 to 1).
    """

    subset: Subset
    train: NDArray[np.float32]
    test: NDArray[np.float32]
    seconds: float
    curve: tuple[tuple[float, float], ...] = ()


class Trainer(Protocol):
    """A way to train experts on the images of the classes that they know."""

    @property
    def name(self) -> str:
        """What the experts are, in words."""

    @property
    def surrogate(self) -> bool:
        """Whether these are other models than the paper's."""

    @property
    def recipe(self) -> str:
        """Everything that determines the result; votes of different recipes are stored separately."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about their training, in sentences."""

    def train(
        self, data: ImageSet, subsets: Sequence[Subset], progress: Progress, folder: Path | None = None
    ) -> Iterator[TrainedExpert]:
        """Train one expert per subset, and yield each when it is ready, in any order.

        Intermediate states are saved in `folder`, where an interrupted run resumes.
        """


def file_name(subset: Subset) -> str:
    """Return the name of an expert and of its files: the classes it knows.

    >>> file_name((0, 3, 7))
    '0-3-7'
    """
    return "-".join(map(str, subset))
