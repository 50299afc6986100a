"""Data to be labelled: a table, an array or a folder of images, read a few rows at a time from anywhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from covote.errors import FileError, InputError

Rows = NDArray[Any] | Mapping[str, NDArray[Any]]
"""Some items: an array (its first axis), or the columns of a table by name."""


@dataclass(frozen=True)
class DataPlace:
    """Where data are and what of them is wanted; small enough to be sent to other machines.

    Attributes
    ----------
    path
        A Parquet file, a ``.npy`` file or a folder of images.
    id
        The column that names the items; None for their positions.
    columns
        The columns that experts see; None for all but `id`.
    size
        (width, height) that images are brought to; None if they have one size already.
    version
        What tells these data from others that were at the same place before.
    """

    path: Path
    id: str | None = None
    columns: tuple[str, ...] | None = None
    size: tuple[int, int] | None = None
    version: str = ""


class Data(Protocol):
    """Data that are open."""

    @property
    def items(self) -> int:
        """How many items there are."""

    def ids(self) -> Any:
        """Return the id of every item, a numpy or an Arrow array."""

    def read(self, start: int, stop: int) -> Rows:
        """Return the items start:stop."""

    def files(self, start: int, stop: int) -> list[Path]:
        """Return the files that the items start:stop are in."""


class Array:
    """A ``.npy`` file; its first axis are the items, which are called 0, 1, 2, ..."""

    def __init__(self, place: DataPlace) -> None:
        self._path = place.path
        if place.id or place.columns or place.size:
            raise InputError(f"{place.path} has no columns to choose; leave --id, --columns and --size out")
        try:
            found = np.load(place.path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError as error:
            raise FileError(f"no file {place.path}") from error
        except Exception as error:  # numpy parses the head of the file as Python, which fails in many ways
            # Numpy's own words advise to load what may run code.
            reason = "it holds Python objects, or is no .npy file" if "ickle" in str(error) else str(error)
            raise FileError(
                f"{place.path} cannot be read as an array of numbers: {reason}; write one with numpy.save"
            ) from error
        if not isinstance(found, np.memmap) or found.ndim == 0:
            raise InputError(f"{place.path} is no array with one entry per item")
        # Only the head was looked at. The numbers are read, not mapped: a file that is cut while it is mapped
        # would end the process.
        self._shape, self._kind, self._offset = found.shape, found.dtype, found.offset
        self._by_column = not found.flags.c_contiguous

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self._shape[0])

    def ids(self) -> NDArray[np.int64]:
        """Return the positions."""
        return np.arange(self.items)

    def read(self, start: int, stop: int) -> Rows:
        """Return the items start:stop."""
        count, entries = stop - start, math.prod(self._shape[1:])
        with self._path.open("rb") as file:
            if not self._by_column:
                rows = self._bytes(file, start * entries, count * entries)
                return np.frombuffer(rows, dtype=self._kind).reshape(count, *self._shape[1:])
            columns = [self._bytes(file, column * self.items + start, count) for column in range(entries)]
        return np.frombuffer(b"".join(columns), dtype=self._kind).reshape(*self._shape[:0:-1], count).T

    def _bytes(self, file: BinaryIO, first: int, count: int) -> bytes:
        file.seek(self._offset + first * self._kind.itemsize)
        data = file.read(count * self._kind.itemsize)
        if len(data) < count * self._kind.itemsize:
            raise FileError(f"{self._path} has become shorter while it was read; write it again")
        return data

    def files(self, start: int, stop: int) -> list[Path]:
        """Return the file."""
        return [self._path]


@lru_cache(maxsize=4)
def open_data(place: DataPlace) -> Data:
    """Open data; one process opens the same data once."""
    if place.path.is_dir():
        from covote.files.images import Images

        return Images(place)
    if place.path.suffix.lower() == ".npy":
        return Array(place)
    from covote.files.data_tables import Table

    return Table(place)


def files_of(path: Path) -> list[Path]:
    """Return the files that data consist of."""
    if path.is_dir():
        from covote.files.images import image_files

        return image_files(path)
    if not path.is_file():
        raise FileError(f"no file {path}")
    return [path]


def glance(files: Iterable[Path]) -> str:
    """Return what can be seen of files without reading them: names, sizes and times of change.

    The time of writing can be set back by whoever writes (rsync and tar do), the time of change cannot.
    """
    seen = hashlib.sha256()
    for file in files:
        try:
            stat = file.stat()
        except OSError as error:
            raise FileError(f"{file} is gone: {error.strerror}; put it back, or start again") from error
        seen.update(f"{file.name}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ctime_ns}\0".encode())
    return seen.hexdigest()


def digest(files: Iterable[Path]) -> str:
    """Return a fingerprint of what is in files, and of their names if they are several."""
    listed = list(files)
    return combined(listed, map(content_of, listed))


def content_of(file: Path) -> bytes:
    """Return a fingerprint of what is in a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def combined(files: list[Path], contents: Iterable[bytes]) -> str:
    """Return the fingerprint of files of which the contents have been looked at."""
    whole = hashlib.sha256()
    for file, content in zip(files, contents, strict=True):
        if len(files) > 1:
            whole.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        whole.update(content)
    return whole.hexdigest()
