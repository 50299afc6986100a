"""What every construction returns: blocks of class indices, and in words how they were built."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Blocks = NDArray[np.int32]


class Cover(NamedTuple):
    """Blocks (experts x size, int32) of the classes 0..v-1, and the construction in words.

    While a cover is being built, -1 marks room that no class has taken yet.
    """

    blocks: Blocks
    construction: str
