"""Files: votes, gold, labels, reports; larger than memory."""

from __future__ import annotations

from covote.files.decoding_files import Outcome, decode_file, decode_votes
from covote.files.output import Output, writing_labels
from covote.files.side_tables import read_gold, read_numbers
from covote.files.vote_files import VoteFile, VoteSource, inferred_panel, open_panel

__all__ = [
    "Outcome",
    "Output",
    "VoteFile",
    "VoteSource",
    "decode_file",
    "decode_votes",
    "inferred_panel",
    "open_panel",
    "read_gold",
    "read_numbers",
    "writing_labels",
]
