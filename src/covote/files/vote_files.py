"""A file of votes, read in parts: long or wide, in any order, larger than memory."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from covote.errors import InputError
from covote.files import long, runs, wide
from covote.files.edges import begun
from covote.files.items import Retry
from covote.files.joining import joined
from covote.files.packed import Packed, fits, together
from covote.files.vote_batches import Source
from covote.panel import Panel
from covote.panel.checks import some_of
from covote.votes import Votes
from covote.votes.tables import vote_columns
from covote.votes.vote_checks import check_choice

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Piece = Votes | Packed
Progress = Callable[[int, int, str], None]
_ROOM = 1 << 29  # bytes of votes kept in memory between passes


class VoteSource(Protocol):
    """Votes kept somewhere, given part by part as often as asked."""

    panel: Panel
    keep: bool
    """Whether to keep the votes in memory for further passes, where they are small enough."""

    def over(self, task: Callable[[Iterator[Votes]], T], progress: Progress | None = None) -> T:
        """Run a task over all parts."""


class VoteFile:
    """Votes in a Parquet, CSV or JSON-lines file, given part by part as :class:`covote.Votes`.

    Long files have the columns ``item, expert, label`` (or ``task, worker, label``; optionally
    ``probability``, or ``probabilities``, a list over the classes the expert knows); wide files have an item
    column and one column per expert. Memory stays the same however long the file is. The items of a long
    file come in ascending order if they are not so already.

    Parameters
    ----------
    path
        The file; its ending says the format.
    panel
        Who could answer what.
    unknown
        Answers of an unknown expert, or of a class that the expert does not know.
    duplicates
        Two different answers of one expert to one item.
    none
        The label that means "none of mine".
    item, expert, label
        Other names of the columns.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        panel: Panel,
        *,
        unknown: Literal["error", "drop"] = "error",
        duplicates: Literal["error", "first", "last"] = "error",
        none: str = "none of mine",
        item: str | None = None,
        expert: str | None = None,
        label: str | None = None,
    ) -> None:
        check_choice("unknown", unknown, ("error", "drop"))
        check_choice("duplicates", duplicates, ("error", "first", "last"))
        self.panel = panel
        self.source = Source(path)
        self.unknown = unknown
        self.duplicates = duplicates
        self.none = none
        self.item, self.expert, self.label = columns_of(self.source, item, expert, label)
        self.in_order = True  # until a pass finds otherwise
        self.integers = True  # until a text file has an item that is no integer
        self.items_checked = False  # whether a wide file is known not to repeat an item
        self.pack = False  # whether to give rows of answers as numbers, where they fit
        self.keep = False  # whether to keep the votes for further passes, where they are small enough
        self._kept: list[Piece] | None = None

    @property
    def shape(self) -> str:
        """Either "long" or "wide"."""
        return "wide" if self.expert is None else "long"

    def over(self, task: Callable[[Iterator[Votes]], T], progress: Progress | None = None) -> T:
        """Run a task over all parts, in order of the items.

        The file is first read as it lies. Where it then turns out not to be ordered by item, or to have items
        that are not integers after all, the task is run again from its beginning, the other way.
        """
        while True:
            try:
                # Closed at once, so that no sorting goes on and no temporary folder stays.
                with closing(self._parts(progress)) as parts:
                    return task(parts)
            except Retry as found:
                self.learn(found)

    def learn(self, found: Retry) -> None:
        """Remember how the file must be read."""
        self.in_order = self.in_order and found.in_order
        self.integers = self.integers and found.integers
        self.pack = self.pack and found.pack

    @property
    def packs(self) -> bool:
        """Whether rows of answers come as numbers: :class:`Packed` instead of :class:`covote.Votes`."""
        soft = self.shape == "long" and {"probability", "probabilities"} & set(self.source.names)
        return self.pack and fits(self.panel) and not soft

    def within(self, groups: range) -> VoteFile:
        """Return the items of a Parquet file that begin in some of its row groups."""
        part = copy.copy(self)
        part.source = self.source.within(groups)
        return part

    def batches(self, columns: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the columns batch by batch, with the number of the first row; items come first."""
        if self.source.partial and self.shape == "long":
            yield from begun(self.source, columns)
            return
        first = self.source.first_row
        for batch in self.source.batches(columns, plain=(self.item,)):
            yield first, batch
            first += batch.num_rows

    def read(self) -> Votes:
        """Return all votes at once, in memory."""
        return self.over(lambda parts: joined([votes_of(part) for part in parts], self.panel))

    def unchecked(self) -> Generator[Piece, None, None]:
        """Read the votes once, as they come; they may not be as they seemed."""
        if self.expert is None:
            return wide.parts(self)
        return runs.parts(self) if self.packs else long.parts(self)

    def _parts(self, progress: Progress | None) -> Generator[Any, None, None]:
        if self._kept is not None:
            yield from self._kept
            return
        kept, room, empty = [], _ROOM if self.keep else 0, True
        with closing(self.unchecked()) as small:
            for part in gathered(small):
                empty = False
                if progress is not None:
                    progress(self.source.done, self.source.total, "")
                if room > 0:
                    room -= size_of(part)
                    kept.append(part)
                yield part
        if empty:
            raise InputError(f"{self.source.path} has no votes: it has no rows")
        if room > 0:
            self._kept = kept


def gathered(parts: Iterator[Piece], items: int = 1 << 19, room: int = 1 << 25) -> Iterator[Piece]:
    """Join small parts: decoders find equal rows of answers within a part, so large parts are less work."""
    waiting: list[Any] = []
    count = size = 0

    def whole() -> Piece:
        return together(waiting) if isinstance(waiting[0], Packed) else joined(waiting, waiting[0].panel)

    for part in parts:
        waiting.append(part)
        count, size = count + len(part), size + size_of(part)
        if count >= items or size >= room:
            yield whole()
            waiting, count, size = [], 0, 0
    if waiting:
        yield whole()


def votes_of(piece: Piece) -> Votes:
    """Return a piece as votes."""
    return piece.votes() if isinstance(piece, Packed) else piece


def size_of(part: Piece) -> int:
    """Return how many bytes a part of the votes takes."""
    if isinstance(part, Packed):
        return part.nbytes
    arrays = [part.columns, *(part.runs or ()), part.vote_probability, part.class_probability]
    return int(sum(array.nbytes for array in arrays if array is not None) + part._ids.nbytes)


def columns_of(
    source: Source, item: str | None = None, expert: str | None = None, label: str | None = None
) -> tuple[str, str | None, str | None]:
    """Return the (item, expert, label) columns; the last two are None in a wide file."""
    names = source.names
    long = len(names) <= 3 or expert is not None or label is not None
    try:
        item, expert, label = vote_columns(names, item, expert, label)
    except InputError as error:
        raise InputError(f"{source.path}: {error}") from error
    if item is None:
        raise InputError(
            f"{source.path} has no column 'item' (it has: {some_of(names)}); say which column names the item "
            "that a row is about, with item='...' (--item ...)"
        )
    if {"label", "confidence", "violations", "status"} <= set(names):
        raise InputError(
            f"{source.path} is a file of labels, as covote writes them; give the votes (item, expert, label) "
            "that they came from"
        )
    source.refuse_nested([item])
    if expert is not None and label is not None:
        source.refuse_nested([expert, label])
        return item, expert, label
    if label is not None and long:
        raise InputError(
            f"{source.path} has no column 'expert' (it has: {some_of(names)}); a long file has the columns "
            "item, expert, label: say which is which with expert='...' (--expert ...)"
        )
    if expert is not None and long:
        raise InputError(
            f"{source.path} has no column 'label' (it has: {some_of(names)}); a long file has the columns "
            "item, expert, label: say which is which with label='...' (--label ...)"
        )
    if len(names) == 1:
        raise InputError(f"{source.path} has no votes: its only column is {item!r}")
    return item, None, None
