"""Answers in files that only grow: one record for each batch, one file for each process that asks.

A process that is killed leaves at most one record that is not complete, at the end of its own file; such a
record is as if it were not there. A file for each batch would do as well, but costs as much as a small model.
"""

from __future__ import annotations

import os
import struct
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import FileError
from covote.models import Answers
from covote.votes import NOT_ASKED

ENDING = ".answers"
_HEAD = struct.Struct("<4sqqqIII")  # mark, start, stop, items asked, columns, bytes of the note, checksum
_SEAL = struct.Struct("<I")  # the checksum of the head, behind it: sizes are believed only if it is right
_MARK = b"CVA2"
_OPEN = 8  # files that a process keeps open


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


class Writers:
    """The files that this process appends to: one for each folder and run."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, str, str], int] = OrderedDict()
        self._lock = Lock()

    def append(self, folder: Path, run: str, record: bytes) -> None:
        """Append a record to this process's own file in a folder."""
        with self._lock:
            try:
                file = self._file(folder, run)
                done = os.write(file, record)
            except OSError as error:
                raise FileError(
                    f"cannot keep answers in {folder}: {error.strerror}; make room there"
                ) from error
        if done < len(record):
            raise FileError(f"cannot keep answers in {folder}: the disk is full; make room there")

    def _file(self, folder: Path, run: str) -> int:
        key = os.getpid(), str(folder), run
        if key not in self._files:
            path = folder / f"{run}-{uuid.uuid4().hex}{ENDING}"
            self._files[key] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            while len(self._files) > _OPEN:
                os.close(self._files.popitem(last=False)[1])
        self._files.move_to_end(key)
        return self._files[key]


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
