"""Files: votes, gold, labels, reports; larger than memory."""

from __future__ import annotations

from .decoding import Outcome, decode_file, decode_votes
from .gold import read_gold
from .inference import inferred_panel
from .labels import writing_labels
from .votes import VoteFile, VoteSource

__all__ = [
    "Outcome",
    "VoteFile",
    "VoteSource",
    "decode_file",
    "decode_votes",
    "inferred_panel",
    "read_gold",
    "writing_labels",
]
