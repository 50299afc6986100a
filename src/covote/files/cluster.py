"""Votes that are learned from and labelled part by part, by whichever engine."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covote.errors import FileError, InputError
from covote.files import wide
from covote.files.distinct import DistinctRows
from covote.files.items import Retry
from covote.files.label_files import writing_labels
from covote.files.numbered import Numbered, merged
from covote.files.packed import Rows
from covote.files.parts import Part, Stored, slices, storing
from covote.files.passes import Labelling
from covote.files.report.tally import Tally
from covote.files.vote_files import Piece, Progress, VoteFile
from covote.files.work import Done, LabelPart, NumberPart, OnPart, unwritten

if TYPE_CHECKING:
    from covote.engines import Engine


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
            return _total(done.result[0] for done in results)
        with writing_labels(output) as writer:
            return _total(self._joined(results, labelling, writer))

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
            return labelling(pieces(), unwritten)
        with writing_labels(output) as writer:
            return labelling(pieces(), writer.write)

    def _joined(self, results: Iterator[Done], labelling: Labelling, writer: Any) -> Iterator[Tally]:
        """Yield the tallies of parts whose labels, or numbers of rows, come one after the other."""
        rows, here = _by_row(labelling)
        for done in results:
            tally, place = done.result
            if isinstance(place, Numbered):
                if rows.full:  # of no more use to later parts
                    yield here.whole(Tally(self.panel, here.looks))
                    rows, here = _by_row(labelling)
                tally = here(place.pieces(rows), writer.write)
                place.path.unlink()
            elif place is not None:
                with pa.OSFile(str(place)) as source, pa.ipc.open_stream(source) as batches:
                    for batch in batches:
                        writer.write_batch(batch)
                place.unlink()
            yield tally
        yield here.whole(Tally(self.panel, here.looks))

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


def _by_row(labelling: Labelling) -> tuple[Rows, Labelling]:
    """Return rows of answers, none yet, and how to label items whose rows are numbered there."""
    rows = Rows(labelling.panel)
    return rows, replace(labelling, known=DistinctRows(rows, labelling.score))


def _total(tallies: Iterator[Tally]) -> Tally:
    whole = next(tallies)
    for tally in tallies:
        whole = whole + tally
    return whole


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
