"""What is done with a part of the votes, wherever: what comes of it lies in a folder that all can see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from covote import atomic
from covote.files.items import ascending
from covote.files.label_files import label_batch
from covote.files.numbered import Numbered, numbering
from covote.files.packed import Packed
from covote.files.parts import Part, Slice, Stored, storing
from covote.files.passes import Labelling
from covote.files.report.tally import Tally
from covote.files.vote_files import Piece
from covote.labels import Labels

MOST_DIFFERENT = 0.5
"""Rows of answers in a part, as a share of its items, up to which the rows are worth numbering."""


@dataclass(frozen=True)
class Done:
    """What came of a part, where its votes are now, and its first and last item."""

    result: Any
    part: Part
    first: Any
    last: Any
    ascends: bool


class _Watched:
    """Pieces, and what their items were."""

    def __init__(self, part: Part, folder: Path | None) -> None:
        self.part = part
        self.first: Any = None
        self.last: Any = None
        self.ascends = True
        self._folder = folder

    def __iter__(self) -> Iterator[Piece]:
        pieces = self.part.pieces()
        if self._folder is None or isinstance(self.part, Stored):
            yield from self._seen(pieces)
            return
        number, panel = self.part.number, self.part.panel
        store = Stored(number, self._folder / f"votes-{number:06}", panel)
        yield from self._seen(storing(store.path, pieces))
        self.part = store

    def _seen(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            ids = piece.ids if isinstance(piece, Packed) else piece._ids
            first = ids[0].as_py()
            if isinstance(self.part, Slice) and self.part.file.shape == "wide":
                self.ascends = self.ascends and ascending(ids) and (self.last is None or self.last < first)
            self.first = first if self.first is None else self.first
            self.last = ids[-1].as_py()
            yield piece

    def done(self, result: Any) -> Done:
        return Done(result, self.part, self.first, self.last, self.ascends)


@dataclass(frozen=True)
class OnPart:
    """Apply a function to the pieces of a part; store them in the folder on the way, if there is one."""

    function: Callable[[Iterator[Piece]], Any]
    folder: Path | None

    def __call__(self, part: Part) -> Done:
        """Return what the function says, and where the part is now."""
        watched = _Watched(part, self.folder)
        pieces = iter(watched)
        result = self.function(pieces)
        for _ in pieces:  # what the function did not want to see must be stored too
            pass
        return watched.done(result)


@dataclass(frozen=True)
class NumberPart:
    """Number the different rows of answers in a part; store the numbers in the folder."""

    folder: Path

    def __call__(self, part: Part) -> Done:
        """Return the rows, None if there are too many; and where the numbers are, None if there are none."""
        watched = _Watched(part, None)
        store = Numbered(part.number, self.folder / f"rows-{part.number:06}", part.panel)
        rows = numbering(store, iter(watched))
        return watched.done((rows, store if rows else None))


@dataclass(frozen=True)
class LabelPart:
    """Label a part; write the labels to the folder, if there is one.

    Where items have few different rows of answers, the numbers of their rows are written instead: whoever
    joins the parts looks the labels up sooner than it reads them.
    """

    labelling: Labelling
    folder: Path | None

    def __call__(self, part: Part) -> Done:
        """Return the tally and where the labels are; or no tally, and where the numbers are."""
        watched = _Watched(part, None)
        if self.folder is None:
            return watched.done((self.labelling(iter(watched), unwritten), None))
        pieces = list(watched)
        if self.labelling.by_row:
            store = Numbered(part.number, self.folder / f"rows-{part.number:06}", part.panel)
            rows = numbering(store, pieces, MOST_DIFFERENT)
            if rows:
                return watched.done((None, store))
        return watched.done(self._labelled(pieces, self.folder / f"labels-{part.number:06}"))

    def _labelled(self, pieces: list[Piece], path: Path) -> tuple[Tally, Path | None]:
        with atomic.replacing(path) as beside, pa.OSFile(str(beside), "wb") as sink:
            writers: list[Any] = []

            def write(labels: Labels) -> None:
                batch = label_batch(labels)
                if not writers:
                    writers.append(pa.ipc.new_stream(sink, batch.schema))
                writers[0].write_batch(batch)

            tally = self.labelling(iter(pieces), write)
            for writer in writers:
                writer.close()
        return tally, path if writers else None


def unwritten(_: Labels) -> None:
    """Do nothing with labels."""
