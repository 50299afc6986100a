"""Answers kept beside the labels, with what they belong to, so that nothing is asked twice.

Files of answers only grow: one record for each batch, one file for each process that asks.

A process that is killed leaves at most one record that is not complete, at the end of its own file; such a
record is as if it were not there. A file for each batch would do as well, but costs as much as a small model.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import FileError
from covote.models import Answers
from covote.panel import Name
from covote.votes import NOT_ASKED

ENDING = ".answers"
_HEAD = struct.Struct("<4sqqqIII")  # mark, start, stop, items asked, columns, bytes of the note, checksum
_SEAL = struct.Struct("<I")  # the checksum of the head, behind it: sizes are believed only if it is right
_MARK = b"CVA2"


@dataclass(frozen=True)
class Part:
    """What an expert said about the items start:stop; ``NOT_ASKED`` (-1) where it was not asked."""

    label: NDArray[np.int32]
    probability: NDArray[np.float32] | None = None
    note: str = ""

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Which items it was asked about."""
        known: NDArray[np.bool_] = self.label != NOT_ASKED
        return known

    def __add__(self, other: Part) -> Part:
        """Return both; of two answers to one item the first counts."""
        more = ~self.asked & other.asked
        label = np.where(more, other.label, self.label)
        soft = None
        if self.probability is None and not self.asked.any():
            soft = other.probability
        elif self.probability is not None and other.probability is not None:
            soft = np.where(more[:, None], other.probability, self.probability)
        return Part(label, soft, self.note or other.note)


@dataclass(frozen=True)
class Record:
    """Where a part is: its file, where it begins there, which items it is about, how many were asked."""

    path: Path
    offset: int
    start: int
    stop: int
    asked: int
    columns: int
    note: int
    checksum: int

    @property
    def size(self) -> int:
        """How many bytes follow the head."""
        return (self.stop - self.start) * 4 * (1 + self.columns) + self.note


def encoded(start: int, stop: int, rows: NDArray[np.bool_] | None, answers: Answers) -> bytes:
    """Return answers to some items of start:stop (None: to all) as a record."""
    label, soft = answers.label.astype(np.int32), answers.probability
    if rows is not None:
        label = np.full(stop - start, NOT_ASKED, dtype=np.int32)
        label[rows] = answers.label
        if soft is not None:
            soft = np.zeros((stop - start, soft.shape[1]), dtype=np.float32)
            soft[rows] = answers.probability
    note = answers.note.encode()
    body = label.tobytes() + (b"" if soft is None else soft.tobytes()) + note
    columns = 0 if soft is None else soft.shape[1]
    head = _HEAD.pack(_MARK, start, stop, len(answers), columns, len(note), zlib.crc32(body))
    return head + _SEAL.pack(zlib.crc32(head)) + body


def append(folder: Path, run: str, record: bytes) -> None:
    """Append a record to the file that this process has in a folder for a run."""
    try:
        with (folder / f"{run}-{_own_name(os.getpid())}{ENDING}").open("ab", buffering=0) as file:
            done = file.write(record)
    except OSError as error:
        raise FileError(f"cannot keep answers in {folder}: {error.strerror}; make room there") from error
    if done < len(record):
        raise FileError(f"cannot keep answers in {folder}: the disk is full; make room there")


@cache
def _own_name(process: int) -> str:
    """Return a name that no other process has, on this machine or another; a fork gets its own."""
    return uuid.uuid4().hex


def records(folder: Path) -> Iterator[Record]:
    """Yield the complete records of a folder.

    What was cut off at the end of a file is left out, and so is what stands behind a damaged head: nobody
    knows where the next record begins, so those batches are asked again.
    """
    for path in sorted(folder.glob(f"*{ENDING}")):
        size = path.stat().st_size
        with path.open("rb") as file:
            place = 0
            while place + _HEAD.size + _SEAL.size <= size:
                file.seek(place)
                head, seal = file.read(_HEAD.size), file.read(_SEAL.size)
                mark, start, stop, asked, columns, note, checksum = _HEAD.unpack(head)
                if mark != _MARK or _SEAL.pack(zlib.crc32(head)) != seal:
                    break
                body = place + _HEAD.size + _SEAL.size
                record = Record(path, body, start, stop, asked, columns, note, checksum)
                place = record.offset + record.size
                if place > size:
                    break
                yield record


def read(record: Record) -> Part:
    """Return the part of a record."""
    with record.path.open("rb") as file:
        file.seek(record.offset)
        body = file.read(record.size)
    if zlib.crc32(body) != record.checksum:
        raise FileError(f"{record.path} is damaged; remove it, and its batches are asked again")
    items = record.stop - record.start
    label = np.frombuffer(body, dtype=np.int32, count=items)
    soft: NDArray[Any] | None = None
    if record.columns:
        soft = np.frombuffer(body, dtype=np.float32, count=items * record.columns, offset=items * 4)
        soft = soft.reshape(items, record.columns)
    return Part(label, soft, body[len(body) - record.note :].decode() if record.note else "")


class Kept:
    """The folder with all answers of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None

    def make(self) -> None:
        """Make the folder, and keep other runs out of it until it is closed."""
        atomic.make_folder(self.folder, "-o")
        self._lock = atomic.locked(
            self.folder / "lock",
            f"another run is writing to {self.folder}; wait for its end, or choose another -o",
        )

    def close(self) -> None:
        """Let other runs in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def expert_folder(self, name: Name) -> Path:
        """Return the folder of one expert; its name is for people, its end makes it unique."""
        written = json.dumps(name, ensure_ascii=False)
        short = re.sub(r"[^\w.-]+", "_", str(name))[:40].strip("._") or "expert"
        # Long enough that nobody finds two names with the same end.
        end = hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.folder / f"{short}-{end}"

    # What the answers belong to

    def read_facts(self, name: str) -> dict[str, Any] | None:
        """Return facts written before, None if there are none."""
        path = self.folder / name
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise FileError(f"{path} cannot be read ({error}); remove the folder {self.folder}") from error

    def write_facts(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write facts, completely or not at all."""
        (self.folder / name).parent.mkdir(exist_ok=True)
        atomic.write_text(self.folder / name, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")

    def forget(self, name: Name) -> None:
        """Remove all answers of an expert."""
        shutil.rmtree(self.expert_folder(name), ignore_errors=True)

    # Answers

    def parts(self, name: Name) -> Answered:
        """Return the answers of an expert that are there now."""
        return Answered(records(self.expert_folder(name)))


class Answered:
    """Which batches an expert has answered, and what it said about them."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records: dict[tuple[int, int], list[Record]] = {}
        for record in records:
            self._records.setdefault((record.start, record.stop), []).append(record)

    def __len__(self) -> int:
        return len(self._records)

    def whole(self, start: int, stop: int) -> bool:
        """Whether the expert was asked about all items of a batch at once."""
        return any(record.asked == stop - start for record in self._records.get((start, stop), ()))

    def read(self, start: int, stop: int) -> Part:
        """Return what the expert said about a batch."""
        part = Part(np.full(stop - start, NOT_ASKED, dtype=np.int32))
        for record in self._records.get((start, stop), ()):
            part = part + read(record)
        return part

    def missing(
        self, items: int, batch: int, wanted: NDArray[np.bool_] | None
    ) -> Iterator[tuple[int, int, NDArray[np.bool_] | None]]:
        """Yield the batches that the expert is still to be asked about: start, stop, which items (None: all).

        `wanted` are the items that it should answer, all if None.
        """
        for start in range(0, items, batch):
            stop = min(start + batch, items)
            if self.whole(start, stop):
                continue
            due = np.ones(stop - start, dtype=bool) if wanted is None else wanted[start:stop]
            due = due & ~self.read(start, stop).asked
            if due.any():
                yield start, stop, None if due.all() else due

    def labels(self, rows: NDArray[np.int64], items: int, batch: int) -> NDArray[np.int64]:
        """Return what the expert said about some of the items: indices into what it knows, or other codes."""
        found = np.full(len(rows), NOT_ASKED, dtype=np.int64)
        begins = rows // batch * batch
        for start in np.unique(begins).tolist():
            here = begins == start
            found[here] = self.read(start, min(start + batch, items)).label[rows[here] - start]
        return found
