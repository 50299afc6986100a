"""What is done with the pieces of a part of the votes; a whole file is one part, or many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from covote.decoding import Decoder, Learner, learns
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.loop import total
from covote.files.distinct import DistinctRows, Score
from covote.files.packed import Packed, Rows, fits, packed
from covote.files.report.tally import Tally
from covote.files.vote_files import Piece, votes_of
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import Votes


@dataclass(frozen=True)
class Distinct:
    """Find the different rows of answers; None where there are too many, or where votes say more."""

    panel: Panel

    def __call__(self, pieces: Iterator[Piece]) -> Rows | None:
        """Return the rows with their counts."""
        rows = Rows(self.panel)
        for piece in pieces:
            small = packed(piece) if isinstance(piece, Votes) else piece
            if isinstance(small, Votes) or rows.full:
                return None
            rows.numbers(small)
        return None if rows.full else rows


@dataclass(frozen=True)
class Counting:
    """Add up what a decoder counts, and how many gold items there are."""

    decoder: Learner
    weights: Any

    def __call__(self, pieces: Iterator[Piece]) -> tuple[Any, int]:
        """Return (counts, gold items)."""
        golden = 0

        def counts() -> Iterator[Any]:
            nonlocal golden
            for piece in pieces:
                part = votes_of(piece)
                golden += len(gold_rows(self.decoder.gold, part)[0])
                # Whether all of a part was answered must not decide how the whole is counted.
                yield self.decoder.count(replace(part, complete=False), self.weights)

        return total(counts()), golden


@dataclass(frozen=True)
class Labelling:
    """Label the items, hand the labels on, and tally them.

    `known` are the different rows of answers, if all of them are there already: they are labelled once, and
    tallied by :meth:`whole`. `by_row` is False where items with the same answers are not the same: gold
    belongs to items.
    """

    panel: Panel
    score: Score
    by_row: bool
    looks: int
    known: DistinctRows | None = None

    def __call__(self, pieces: Iterator[Piece], write: Callable[[Labels], None]) -> Tally:
        """Return the tally."""
        tally = Tally(self.panel, self.looks)
        rows = DistinctRows(Rows(self.panel), self.score) if self.known is None else self.known
        for piece in pieces:
            small = packed(piece) if isinstance(piece, Votes) else piece
            labels = rows.labels(small) if self.by_row and isinstance(small, Packed) else None
            if labels is None:
                part = votes_of(piece)
                labels = self.score(part)
                tally.add(part, labels)
            tally.remember(piece, labels)
            write(labels)
        return tally if rows is self.known else _with_rows(tally, rows)

    def whole(self, tally: Tally) -> Tally:
        """Return the tally of all parts with what was known before."""
        return tally if self.known is None else _with_rows(tally, self.known)


def _with_rows(tally: Tally, rows: DistinctRows) -> Tally:
    for votes, labels, count in rows.counted():
        tally.add(votes, labels, count)
    return tally


def gold_of(decoder: Decoder) -> Gold | None:
    """Return the items whose class is known to a decoder."""
    return decoder.gold if learns(decoder) else None


def countable(decoder: Decoder, panel: Panel) -> bool:
    """Whether a decoder can learn from the different rows of answers alone."""
    return learns(decoder) and fits(panel) and decoder.gold is None
