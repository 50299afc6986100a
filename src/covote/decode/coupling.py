"""Coupling: the class probabilities that fit best what all experts gave to the classes they know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .soft import COUPLED, Soft


@dataclass(frozen=True)
class Coupling(Soft):
    """Pairwise coupling generalised to experts of any size: argmax q_k, and q_k is the confidence.

    With ``power=1`` the probabilities are taken as they are (theory.md section 9).
    """

    by: ClassVar[int] = COUPLED
