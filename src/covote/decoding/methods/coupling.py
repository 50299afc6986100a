"""Coupling: the class probabilities that fit best what all experts gave to the classes they know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import fusion
from covote.decoding.methods.soft import Soft
from covote.decoding.scoring import softmax
from covote.votes import Votes


@dataclass(frozen=True)
class Coupling(Soft):
    """Pairwise coupling generalised to experts of any size: argmax q_k.

    The confidence is q_k, sharpened again by as much as the probabilities were tempered. With ``power=1``
    they are taken as they are (theory.md section 9).
    """

    by: ClassVar[int] = fusion.COUPLED

    def proba(self, votes: Votes, weights: object) -> NDArray[np.float64]:
        """Return q, sharpened again by as much as the probabilities were tempered."""
        with np.errstate(divide="ignore"):
            return softmax(np.log(np.maximum(self.table(votes), 0)) / self.power)
