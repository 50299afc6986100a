"""What a decoder is: two small protocols."""

from __future__ import annotations

from dataclasses import Field
from typing import Any, ClassVar, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from covote.decoding.gold import Gold
from covote.decoding.statistics import Statistics
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import Votes


class Decoder(Protocol):
    """A way to label votes: a frozen dataclass whose fields are its options.

    Attributes
    ----------
    rounds
        The most passes over the votes that it learns from. A decoder with 0 rounds learns nothing, any other
        is a :class:`Learner`.
    needs_probabilities
        Whether it can only label votes that carry the experts' probabilities.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    needs_probabilities: ClassVar[bool]

    @property
    def rounds(self) -> int:
        """The most passes over the votes that it learns from."""

    def start(self, panel: Panel) -> Any:
        """Return the weights that follow from the panel alone."""

    def score(self, votes: Votes, weights: Any, evidence: bool = True) -> Labels:
        """Return the labels of a part of the votes, with or without what stands behind them."""

    @property
    def has_proba(self) -> bool:
        """Whether it says how likely every class is; it is a :class:`Estimator` then."""


class Estimator(Decoder, Protocol):
    """A decoder that says how likely every class is."""

    def proba(self, votes: Votes, weights: Any) -> NDArray[np.float64]:
        """Return how likely every class is (items x classes); the label need not be the most likely one."""


class Learned(Protocol):
    """Weights that were learned."""

    @property
    def statistics(self) -> Statistics | None:
        """The counts behind the weights, which later votes can go on from."""


class Learner(Decoder, Protocol):
    """A decoder that finds its weights from the votes.

    It sees one part of the votes at a time. Counts of two parts add up (``+``) to the counts of both, so
    parts may be counted in any order and anywhere.

    Attributes
    ----------
    gold
        Items whose class is known; items with the same answers then differ.
    only_for_ties
        Whether its labels (of votes without probabilities) depend on what it learns only where there are
        ties: where the weights that it starts from leave none, labels without evidence need no others.
    """

    only_for_ties: ClassVar[bool]

    @property
    def gold(self) -> Gold | None:
        """Items whose class is known; items with the same answers then differ."""

    def count(self, votes: Votes, weights: Any) -> Any:
        """Return what a part of the votes tells about the experts, under the weights so far."""

    def learn(self, panel: Panel, counts: Any, weights: Any) -> Learned:
        """Return better weights from the counts of all parts; the same object when they have settled."""


def learns(decoder: Decoder) -> TypeGuard[Learner]:
    """Whether a decoder learns from the votes."""
    return decoder.rounds > 0


def estimates(decoder: Decoder) -> TypeGuard[Estimator]:
    """Whether a decoder says how likely every class is."""
    return decoder.has_proba
