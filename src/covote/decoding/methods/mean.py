"""Mean: the class to which its authorities gave the highest probability on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from covote.decoding import fusion
from covote.decoding.methods.soft import Soft


@dataclass(frozen=True)
class Mean(Soft):
    """Mean probability of the authorities outright; it is also the confidence (theory.md section 9)."""

    by: ClassVar[int] = fusion.MEAN
