"""The decoders that a PanelClassifier can use, learned in training where they learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding import DECODERS, Decoder, InMemory, learned, make
from covote.decoding.methods.soft import Soft
from covote.errors import InputError
from covote.panel import Panel
from covote.votes import NOT_ASKED, Votes

Array = NDArray[Any]

NAMES = (*DECODERS, "soft")


class Decoding(NamedTuple):
    """A decoder with its weights, and the panel that it was made for."""

    decoder: Decoder
    weights: Any
    panel: Panel

    @property
    def soft(self) -> bool:
        """Whether it combines probabilities."""
        return self.decoder.needs_probabilities

    def labels(self, votes: Votes) -> Array:
        """Return the class of every item, -1 where the decoder leaves several."""
        return self.decoder.score(self._seen(votes), self.weights, evidence=False).index

    def _seen(self, votes: Votes) -> Votes:
        """Return the votes as the panel in training would give them, with those of lost experts missing."""
        if votes.panel is self.panel or self.decoder.rounds == 0:
            return votes
        assert votes.columns is not None
        columns = np.full((len(self.panel), len(votes)), NOT_ASKED, dtype=votes.columns.dtype)
        columns[[self.panel.expert_index(name) for name in votes.panel.names]] = votes.columns
        return Votes.trusted(self.panel, columns=columns)


def check_decoder(name: object) -> None:
    """Refuse a decoder that does not exist."""
    if name not in NAMES:
        raise InputError(f"no decoder {name!r}; choose one of {', '.join(NAMES)}")


def prepare(name: str, votes: Votes | None, truth: Array, panel: Panel) -> Decoding | None:
    """Return the decoder, with what it learns from votes on training data; None for the authority vote."""
    if name == "authority":
        return None
    options = {"gold": truth} if name == "supervised" else {}
    decoder = Soft() if name == "soft" else make(name, options)
    if decoder.rounds == 0:
        return Decoding(decoder, decoder.start(panel), panel)
    assert votes is not None
    return Decoding(decoder, learned(InMemory(votes), decoder), votes.panel)


def learns(name: str) -> bool:
    """Whether a decoder needs votes on the training data."""
    if name in ("authority", "soft"):
        return False
    return name == "supervised" or make(name, {}).rounds > 0
