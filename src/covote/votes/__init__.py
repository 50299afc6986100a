"""Votes: what each expert answered about each item."""

from covote.votes.votes import NONE_OF_MINE, NOT_ASKED, PART, Ragged, Votes

__all__ = ["NONE_OF_MINE", "NOT_ASKED", "PART", "Ragged", "Votes"]
