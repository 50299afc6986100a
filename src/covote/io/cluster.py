"""Votes that are learned from and labelled part by part, by whichever engine."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covote import atomic
from covote.errors import FileError, InputError
from covote.labels import Labels

from . import wide
from .items import Retry, ascending
from .labels import label_batch, writing_labels
from .numbered import Numbered, merged, numbering
from .packed import Packed, Rows
from .parts import Part, Slice, Stored, slices, storing
from .passes import Labelling
from .tally import Tally
from .votes import Piece, Progress, VoteFile

if TYPE_CHECKING:
    from covote.engines import Engine


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
    """Label a part; write the labels to the folder, if there is one."""

    labelling: Labelling
    folder: Path | None

    def __call__(self, part: Part) -> Done:
        """Return the tally, and where the labels are."""
        watched = _Watched(part, None)
        if self.folder is None:
            return watched.done((self.labelling(iter(watched), _unwritten), None))
        path = self.folder / f"labels-{part.number:06}"
        with atomic.replacing(path) as beside, pa.OSFile(str(beside), "wb") as sink:
            writers: list[Any] = []

            def write(labels: Labels) -> None:
                batch = label_batch(labels)
                if not writers:
                    writers.append(pa.ipc.new_stream(sink, batch.schema))
                writers[0].write_batch(batch)

            tally = self.labelling(iter(watched), write)
            for writer in writers:
                writer.close()
        return watched.done((tally, path if writers else None))


def _unwritten(_: Labels) -> None:
    pass


class OnEngine:
    """The votes of a file, spread over the workers of an engine.

    Workers read the row groups of a Parquet file by themselves. Other files, and long files that are not in
    the order of their items, are read and stored in parts here first. What is stored lies in a folder that
    all workers can see.
    """

    def __init__(self, engine: Engine, file: VoteFile, folder: Path, *, keep: bool) -> None:
        self.panel = file.panel
        self._engine = engine
        self._file = file
        self._folder = folder
        self._keep = keep
        self._checked = False
        self._parts: list[Part] | None = None
        self._numbered: list[Numbered] | None = None

    def each(self, function: Callable[[Iterator[Piece]], Any], report: Progress | None) -> Iterator[Any]:
        """Yield what the function says about each part."""
        parts = self._located()
        kept: list[Part] = []
        work = OnPart(function, self._folder if self._keep else None)
        for done in self._in_order(self._engine.map(work, parts), report, len(parts)):
            kept.append(done.part)
            yield done.result
        self._parts = kept

    def distinct(self, report: Progress | None) -> Rows | None:
        """Return the different rows of answers, None if there are too many of them."""
        parts = self._located()
        stores: list[Numbered] = []

        def found() -> Iterator[Rows | None]:
            work = NumberPart(self._folder)
            for done in self._in_order(self._engine.map(work, parts), report, len(parts)):
                rows, store = done.result
                stores.extend([store] if store is not None else [])
                yield rows

        rows = merged(found())
        self._numbered = None if rows is None else stores
        return rows

    def label(
        self, labelling: Labelling, output: str | os.PathLike[str] | None, report: Progress | None
    ) -> Tally:
        """Label all parts, and join their labels."""
        if self._numbered is not None and labelling.known is not None:
            return self._looked_up(labelling, output, report)
        parts = self._located()
        work = LabelPart(labelling, None if output is None else self._folder)
        results = self._in_order(self._engine.map(work, parts), report, len(parts))
        if output is None:
            return self._joined(results, None)
        with writing_labels(output) as writer:
            return self._joined(results, writer)

    def _looked_up(
        self, labelling: Labelling, output: str | os.PathLike[str] | None, report: Progress | None
    ) -> Tally:
        """Look the labels up by the numbers of the rows: less work than to have workers do it and tell."""
        assert self._numbered is not None
        assert labelling.known is not None
        rows, stores = labelling.known.rows, self._numbered

        def pieces() -> Iterator[Piece]:
            for number, store in enumerate(stores, start=1):
                yield from store.pieces(rows)
                store.path.unlink()
                if report is not None:
                    report(number, len(stores), "")

        if output is None:
            return labelling(pieces(), _unwritten)
        with writing_labels(output) as writer:
            return labelling(pieces(), writer.write)

    def _joined(self, results: Iterator[Done], writer: Any) -> Tally:
        whole = Tally(self.panel)
        for number, done in enumerate(results):
            tally, path = done.result
            whole = whole + tally if number else tally
            if path is not None:
                with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as batches:
                    for batch in batches:
                        writer.write_batch(batch)
                path.unlink()
        return whole

    def _located(self) -> list[Part]:
        if self._parts is None:
            alone = self._file.source.kind != "parquet" or not self._file.in_order
            self._parts = self._stored_here() if alone else slices(self._file)
            if not self._parts:
                raise InputError(f"{self._file.source.path} has no votes: it has no rows")
        return self._parts

    def _stored_here(self) -> list[Part]:
        """Read the file here, and store it in parts."""
        self._checked = True  # reading a whole file includes the checks
        parts: list[Part] = []

        def store(pieces: Iterator[Piece]) -> None:
            parts.clear()
            for number, piece in enumerate(pieces):
                path = self._folder / f"votes-{number:06}"
                for _ in storing(path, iter([piece])):
                    pass
                parts.append(Stored(number, path, self.panel))

        self._file.over(store)
        return parts

    def _in_order(self, results: Iterator[Done], report: Progress | None, size: int) -> Iterator[Done]:
        """Hand results on, and see that the items of a file that lies as it is do not come back."""
        last, ascends = None, True
        for number, done in enumerate(results, start=1):
            ascends = ascends and done.ascends and (last is None or done.first is None or last < done.first)
            last = last if done.last is None else done.last
            if report is not None:
                report(number, size, "")
            yield done
        if self._checked:
            return
        if not ascends and self._file.shape == "long":
            raise Retry(in_order=False)
        if not ascends:
            wide.refuse_repeated(self._file)
        self._checked = True


@contextmanager
def scratch(output: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Give a folder beside the output that is gone afterwards."""
    beside = None if output is None else Path(os.path.realpath(output))
    try:
        folder = Path(
            tempfile.mkdtemp(prefix="covote-")
            if beside is None
            else tempfile.mkdtemp(prefix=f".{beside.name}.", dir=beside.parent)
        )
    except OSError as error:
        raise FileError(
            f"cannot write beside {output}: {error.strerror or error}; choose another place"
        ) from error
    try:
        yield folder
    finally:
        for _ in range(100):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break
            time.sleep(0.02)  # after a mistake, a worker may still be writing its last part there
