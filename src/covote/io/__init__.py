"""Files: votes, gold, labels, reports; larger than memory."""

from __future__ import annotations

from .decoding import Outcome, decode_file
from .gold import read_gold
from .inference import inferred_panel
from .labels import writing_labels
from .votes import VoteFile

__all__ = ["Outcome", "VoteFile", "decode_file", "inferred_panel", "read_gold", "writing_labels"]
