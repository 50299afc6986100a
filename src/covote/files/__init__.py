"""Files: votes, gold, labels, reports."""

from __future__ import annotations

from covote.files.decoding_files import Output, decode_file, decode_votes
from covote.files.outcome import Outcome
from covote.files.side_tables import read_gold, read_numbers
from covote.votes.vote_file import VoteFile

__all__ = [
    "Outcome",
    "Output",
    "VoteFile",
    "decode_file",
    "decode_votes",
    "read_gold",
    "read_numbers",
]
