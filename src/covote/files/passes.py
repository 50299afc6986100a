"""What is done with the pieces of a part of the votes; a whole file is one part, or many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from covote.decoding import Decoder
from covote.decoding.gold import gold_rows
from covote.decoding.methods.authority import Authority
from covote.decoding.protocol import total
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
    """Add up a decoder's statistics; also say whether they are needed, and how many gold items there are.

    The authority vote does not need them where nothing ties: then the bare vote says it all.
    """

    decoder: Decoder
    weights: Any

    def __call__(self, pieces: Iterator[Piece]) -> tuple[Any, bool, int]:
        """Return (statistics, whether they are needed, gold items)."""
        needed, golden = not may_do_without(self.decoder), 0
        gold = getattr(self.decoder, "gold", None)

        def statistics() -> Iterator[Any]:
            nonlocal needed, golden
            for piece in pieces:
                part = votes_of(piece)
                needed = needed or part.soft or ties(part)
                golden += len(gold_rows(gold, part)[0])
                # Whether all of a part was answered must not decide how the whole is counted.
                yield self.decoder.statistics(replace(part, complete=False), self.weights)

        return total(statistics()), needed, golden


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


def may_do_without(decoder: Decoder) -> bool:
    """Whether a decoder is the bare authority vote where nothing ties."""
    return isinstance(decoder, Authority) and decoder.ties == "default"


def ties(part: Votes) -> bool:
    """Whether the bare authority vote leaves a tie."""
    bare = Authority(ties="report")
    return bool(bare.score(part, bare.start(part.panel)).tied.any())


def countable(decoder: Decoder, panel: Panel) -> bool:
    """Whether a decoder can learn from the different rows of answers alone."""
    return decoder.rounds > 0 and fits(panel) and getattr(decoder, "gold", None) is None
