"""Data to be labelled: a table, an array or a folder of images, read a few rows at a time."""

from __future__ import annotations

import bisect
import hashlib
import math
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covote.arguments import did_you_mean, no_file, some_of
from covote.errors import FileError, InputError, MissingDependencyError
from covote.models.batches import Batch
from covote.tables.arrow_names import item_ids, whole_ids
from covote.tables.json_lines import DepthLimitedStream, keep_text, refuse_rounded
from covote.tables.table_file import TableFile

_MISSING = ("", "#N/A", "N/A", "NA", "NaN", "nan", "NULL", "null", "n/a")  # in columns of numbers
_GROUP = 1 << 16  # rows of a group of a table of text
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class DataPlace:
    """Where data are and which of them are wanted.

    Attributes
    ----------
    path
        A table, a ``.npy`` file or a folder of images.
    id
        The column that names the items; None for their positions.
    columns
        The columns that experts see; None for all but `id`.
    size
        (width, height) that images are resized to; None if they all have one size.
    """

    path: Path
    id: str | None = None
    columns: tuple[str, ...] | None = None
    size: tuple[int, int] | None = None


class Data(Protocol):
    """Open data."""

    @property
    def items(self) -> int:
        """How many items there are."""

    def ids(self) -> Any:
        """Return the id of every item, a numpy or an Arrow array."""

    def read(self, start: int, stop: int) -> Batch:
        """Return the items start:stop."""

    def files(self, start: int, stop: int) -> list[Path]:
        """Return the files that the items start:stop are in."""


def open_data(place: DataPlace) -> Data:
    """Open data."""
    if place.path.is_dir():
        return Images(place)
    if place.path.suffix.lower() == ".npy":
        return Array(place)
    return Table(place)


# Arrays and folders of images


class Array:
    """A ``.npy`` file; its first axis are the items, which are called 0, 1, 2, ..."""

    def __init__(self, place: DataPlace) -> None:
        self._path = place.path
        if place.id or place.columns or place.size:
            raise InputError(
                f"{place.path} has no columns to choose; leave out --id, --columns and --image-size"
            )
        try:
            found = np.load(place.path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError as error:
            raise no_file(place.path) from error
        except Exception as error:  # numpy parses the head of the file as Python, which fails in many ways
            # Numpy's own message suggests loading what may run code.
            reason = "it holds Python objects, or is not a .npy file" if "ickle" in str(error) else str(error)
            raise FileError(
                f"{place.path} cannot be read as an array of numbers: {reason}; write one with numpy.save"
            ) from error
        if not isinstance(found, np.memmap) or found.ndim == 0:
            raise InputError(f"{place.path} is not an array with one entry per item")
        # Only the header was read. The numbers are read, not mapped: a mapped file that is truncated would
        # crash the process.
        self._shape, self._kind, self._offset = found.shape, found.dtype, found.offset
        self._by_column = not found.flags.c_contiguous

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self._shape[0])

    def ids(self) -> NDArray[np.int64]:
        """Return the positions."""
        return np.arange(self.items)

    def read(self, start: int, stop: int) -> Batch:
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


def image_files(folder: Path) -> list[Path]:
    """Return the images of a folder and of the folders in it, in the order of their names."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    if not found:
        raise FileError(f"the folder {folder} has no images ({', '.join(ENDINGS)})")
    return found


class Images:
    """Images as arrays of (height, width, 3) bytes; an image is named by its path inside the folder."""

    def __init__(self, place: DataPlace) -> None:
        if place.id or place.columns:
            raise InputError(f"{place.path} is a folder of images; leave --id and --columns out")
        try:
            import PIL.Image  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(
                "images need Pillow; install it with: pip install 'covote[images]'"
            ) from error
        self._folder, self._size = place.path, place.size
        self._files = image_files(place.path)

    @property
    def items(self) -> int:
        """How many images there are."""
        return len(self._files)

    def ids(self) -> NDArray[np.object_]:
        """Return the paths inside the folder."""
        names = np.empty(self.items, dtype=object)
        names[:] = [path.relative_to(self._folder).as_posix() for path in self._files]
        return names

    def read(self, start: int, stop: int) -> Batch:
        """Return the images start:stop."""
        images = [self._image(path) for path in self._files[start:stop]]
        shapes = [image.shape for image in images]
        for path, shape in zip(self._files[start:stop], shapes, strict=True):
            if shape != shapes[0]:
                raise InputError(
                    f"{path} is {shape[1]}x{shape[0]} pixels, {self._files[start]} is "
                    f"{shapes[0][1]}x{shapes[0][0]}; resize all images with --image-size "
                    f"{shapes[0][1]}x{shapes[0][0]}"
                )
        return np.stack(images)

    def files(self, start: int, stop: int) -> list[Path]:
        """Return the files of the images start:stop."""
        return self._files[start:stop]

    def _image(self, path: Path) -> NDArray[np.uint8]:
        from PIL import Image

        try:
            with warnings.catch_warnings(), Image.open(path) as image:
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                colours = image.convert("RGB")
        except Image.DecompressionBombError as error:
            raise FileError(f"{path} is too large: {error}; shrink or remove it") from error
        except (OSError, ValueError, SyntaxError) as error:
            raise FileError(f"{path} cannot be read as an image: {error}; repair or remove it") from error
        if self._size is not None and colours.size != self._size:
            colours = colours.resize(self._size)
        return np.asarray(colours)


# Tables: Parquet group by group, text at once


class _Group(NamedTuple):
    number: int
    columns: dict[str, NDArray[Any]]


class Table:
    """A table that is read in groups of rows, the last of which is kept; text is held in memory."""

    def __init__(self, place: DataPlace) -> None:
        import pyarrow.parquet as pq

        self._path = place.path
        if place.size:
            raise InputError(f"{place.path} is a table; --image-size is for folders of images")
        self._source = TableFile(place.path)
        names = self._source.names
        refuse_missing(names, place)
        self._id = place.id
        self._columns = list(place.columns or [name for name in names if name != place.id])
        self._file: Any = None
        self._text: Any = None
        if self._source.kind == "parquet":
            self._file = pq.ParquetFile(place.path)
            meta = self._file.metadata
            sizes = [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]
            self._refuse_other_rows(sum(sizes), meta.num_rows)
        else:
            with self._source.errors_as_messages():
                table = _text_table(self._source, place.id)
            self._text = _named(table, place)
            sizes = [min(_GROUP, len(self._text) - row) for row in range(0, len(self._text), _GROUP)]
        self._starts = np.cumsum([0, *sizes]).tolist()
        self._group: _Group | None = None

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self._starts[-1])

    def ids(self) -> Any:
        """Return the names of the items, or their positions."""
        if self._id is None:
            return np.arange(self.items)
        with self._source.errors_as_messages():
            table = self._text if self._file is None else self._file.read([self._id])
            column = table.column(self._id).combine_chunks()
            column.validate(full=True)
        self._refuse_other_rows(len(column), self.items)
        if "binary" in str(column.type):
            raise InputError(
                f"{self._path}: column {self._id!r} holds bytes; items are named by text or numbers: choose "
                "another column with --id"
            )
        return item_ids(column, f"{self._path}, ")

    def read(self, start: int, stop: int) -> Batch:
        """Return the columns of the rows start:stop."""
        pieces: list[dict[str, NDArray[Any]]] = []
        group = bisect.bisect_right(self._starts, start) - 1
        while start < stop:
            first, last = self._starts[group], self._starts[group + 1]
            end = min(stop, last)
            columns = self._read_group(group).columns
            pieces.append({name: column[start - first : end - first] for name, column in columns.items()})
            start, group = end, group + 1
        if len(pieces) == 1:
            return pieces[0]
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in self._columns}

    def _refuse_other_rows(self, found: int, expected: int) -> None:
        if found != expected:
            raise FileError(
                f"{self._path} has {found} rows, but its footer says {expected}; check that it was written "
                "and copied completely"
            )

    def files(self, start: int, stop: int) -> list[Path]:
        """Return the file."""
        return [self._path]

    def _read_group(self, group: int) -> _Group:
        last = self._group  # another thread may replace it
        if last is not None and last.number == group:
            return last
        start, stop = self._starts[group], self._starts[group + 1]
        with self._source.errors_as_messages():
            if self._file is None:
                table = self._text.slice(start, stop - start).select(self._columns)
            else:
                table = self._file.read_row_group(group, columns=self._columns, use_threads=False)
            table.validate(full=True)
        self._refuse_other_rows(table.num_rows, stop - start)
        columns = {name: _values(table.column(name), name, self._path) for name in self._columns}
        self._group = found = _Group(group, columns)
        return found


def _values(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[Any]:
    """Return a column as numpy has it: numbers (missing ones are NaN), text as objects, lists as a matrix."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.cast(kind.value_type)
        kind = array.type
    if pa.types.is_decimal(kind):
        array, kind = array.cast(pa.float64()), pa.float64()
    if pa.types.is_boolean(kind) and array.null_count:
        array = array.cast(pa.uint8())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = pc.unique(pc.list_value_length(array)).to_pylist()
        if len(lengths) > 1 or lengths == [None]:
            raise InputError(
                f"{path}: the lists of column {name!r} have unequal lengths, so they cannot form a matrix"
            )
        flat: NDArray[Any] = array.flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(array), -1)
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def no_items(path: Path) -> InputError:
    """Return the error for data without items."""
    return InputError(f"{path} has no items: there is nothing to label")


def refuse_missing(names: list[str], place: DataPlace) -> None:
    """Reject columns that a table does not have, and a table that has none for the experts."""
    if names == [place.id]:
        raise InputError(f"{place.path} has no columns for the experts besides the names of the items")
    for name in (*(place.columns or ()), *([place.id] if place.id else [])):
        if name not in names:
            raise InputError(
                f"{place.path} has no column {name!r}{did_you_mean(name, names)}; it has: {some_of(names)}"
            )


def _named(table: pa.Table, place: DataPlace) -> pa.Table:
    """Return a table of text whose item names are integers if all are written as such."""
    if place.id is None or place.id not in table.column_names:
        return table
    column = _whole_if_possible(table.column(place.id), place.path)
    return table.set_column(table.column_names.index(place.id), place.id, column)


def _text_table(source: TableFile, id: str | None) -> pa.Table:
    """Return a table of text with columns of the types that its cells suggest; item names stay text."""
    if source.kind == "json":
        import pyarrow.json as pj

        with pa.input_stream(str(source.path)) as file:
            stream = pa.PythonFile(DepthLimitedStream(file, source.path), "r")
            table = pj.read_json(stream, None, keep_text(source.schema))
        if id is not None and id in table.column_names:
            refuse_rounded(table.select([id]), source.path)
        return table
    if not len(source.head()):
        raise no_items(source.path)
    table = source.table()
    columns = [table.column(name) if name == id else _typed(table.column(name)) for name in source.names]
    return pa.table(columns, names=source.names)


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text as numbers or truth values if all cells are such; otherwise as it is, without gaps."""
    there = pc.if_else(pc.is_in(column, pa.array(_MISSING)), None, column)
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        with suppress(pa.ArrowInvalid):
            return there.cast(kind)
    return column.fill_null("")


def _whole_if_possible(column: pa.ChunkedArray, path: Path) -> pa.Array:
    """Return item names as integers if all are written as such."""
    array = column.combine_chunks()
    if not pa.types.is_string(array.type):
        return array
    empty = pc.index(array, "").as_py()
    if empty >= 0:
        raise InputError(
            f"{path}, row {empty + 1}: no item; give every row one, or choose another column with --id"
        )
    ids = item_ids(array, f"{path}, ")
    whole = whole_ids(ids)
    return ids if whole is None else whole


def refuse_repeated(ids: Any, place: DataPlace) -> None:
    """Reject items that have the same name."""
    if place.id is None:
        return
    counts = pc.value_counts(ids)
    often = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(often):
        name = often[0]["values"].as_py()
        row = pc.index(ids, often[0]["values"]).as_py() + 1
        again = pc.index(ids[row:], often[0]["values"]).as_py() + row + 1
        raise FileError(
            f"{place.path}: item {name!r} of column {place.id!r} is in row {row} and again in row {again}; "
            "items need different names: choose another column with --id"
        )


# Files that change


def files_of(path: Path) -> list[Path]:
    """Return the files that hold data."""
    if path.is_dir():
        return image_files(path)
    if not path.is_file():
        raise no_file(path)
    return [path]


def stat_digest(files: Iterable[Path]) -> str:
    """Return a fingerprint of files without reading them: names, sizes and times of change.

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


def content_digest(files: Iterable[Path]) -> str:
    """Return a fingerprint of the content of files, and of their names if there are several."""
    listed = list(files)
    return combined_digest(listed, map(file_digest, listed))


def file_digest(file: Path) -> bytes:
    """Return a fingerprint of the content of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def combined_digest(files: list[Path], contents: Iterable[bytes]) -> str:
    """Combine the fingerprints of several files."""
    whole = hashlib.sha256()
    for file, content in zip(files, contents, strict=True):
        if len(files) > 1:
            whole.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        whole.update(content)
    return whole.hexdigest()
