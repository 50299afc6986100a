"""What twenty published networks answered about ImageNet's 50,000 validation images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covote.reproduction.datasets.data_files import Source
from covote.reproduction.datasets.published import IMAGENET


@dataclass(frozen=True, eq=False)
class Predictions:
    """The five best classes of every network for every image, best first (images x networks x 5)."""

    networks: tuple[str, ...]
    best: NDArray[np.uint16]
    truth: NDArray[np.int64]
    classes: int = 1000


def load_predictions(source: Source) -> Predictions:
    """Read the stored predictions."""
    with np.load(source.path(IMAGENET), allow_pickle=False) as stored:
        networks = tuple(str(name) for name in stored["models"])
        return Predictions(networks, stored["top5"], stored["truth"].astype(np.int64))
