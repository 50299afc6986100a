"""What an expert is: a name, what it knows, and answers to batches of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from covote.panel import Name

Batch = NDArray[Any] | Mapping[str, NDArray[Any]]
"""Some items: an array with one entry per item (its first axis), or the columns of a table by name. The
arrays that models are given are read-only, because all experts of a panel see the same data."""

NO_ANSWER = -3
"""The expert was asked and gave nothing that can be used."""


@dataclass(frozen=True)
class Answers:
    """What an expert says about the items of a batch.

    Attributes
    ----------
    label
        One index into what the expert knows per item; ``NONE_OF_MINE`` (-2) or ``NO_ANSWER`` (-3) where there
        is none.
    probability
        (items x classes it knows), if the expert gives probabilities.
    note
        What the first answer that cannot be used was, and what to do about it; empty if there is none.
    """

    label: NDArray[np.int64]
    probability: NDArray[np.float32] | None = None
    note: str = ""

    def __len__(self) -> int:
        return len(self.label)


class Expert(Protocol):
    """Anything that can be asked about items."""

    @property
    def name(self) -> Name:
        """The expert's name in the panel."""

    @property
    def knows(self) -> tuple[Name, ...]:
        """The classes it can tell apart."""

    def answer(self, batch: Batch) -> Answers:
        """Return labels or probabilities; raise :class:`covote.errors.ExpertError` if it fails."""


class Model(Protocol):
    """What answers for an expert, in its own words: one adapter per kind."""

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """What the columns of its probabilities are, in its own words; None if it does not say."""

    def __call__(self, batch: Batch) -> Any:
        """Return one label per item or probabilities (items x classes)."""
