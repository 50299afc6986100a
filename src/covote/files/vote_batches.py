"""Files of votes as a stream of Arrow batches: Parquet, CSV and JSON-lines."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from covote.errors import FileError, InputError

ROWS = 1 << 17
"""Rows per batch: large enough that the loop over batches costs nothing, small enough to stay lean."""
_BLOCK = 1 << 23  # bytes of text per batch
_ENDINGS = {
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "tsv": "tsv",
    "jsonl": "json",
    "ndjson": "json",
}


def format_of(path: str | os.PathLike[str]) -> str:
    """Return "parquet", "csv", "tsv" or "json" by the ending of the file's name; ``.gz`` may follow text.

    >>> format_of("votes.csv.gz"), format_of("votes.pq")
    ('csv', 'parquet')
    """
    name = Path(path).name.lower()
    stem = name.removesuffix(".gz")
    kind = _ENDINGS.get(stem.rpartition(".")[2])
    if kind is None or "." not in stem or (kind == "parquet" and stem != name):
        raise InputError(
            f"{path}: a table ends in .parquet, .csv, .tsv or .jsonl (text also with .gz), "
            f"not in {Path(path).suffix!r}"
        )
    return kind


class Source:
    """A file of votes that can be read again and again, batch by batch.

    Attributes
    ----------
    path, kind
        The file and its format.
    total
        Its rows (Parquet) or bytes (text), for progress.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise FileError(f"{self.path} is a folder; give a file inside it")
        self._place = Path(os.path.abspath(path))  # the same wherever it is read
        self.kind = format_of(path)
        self.done = 0
        self._groups: range | None = None
        with self._explained():
            if self.kind == "parquet":
                import pyarrow.parquet as pq

                with pq.ParquetFile(self._place) as file:
                    self.schema = file.schema_arrow
                    self.total = file.metadata.num_rows
                    self._texts = [
                        field.name
                        for field in file.schema_arrow
                        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
                    ]
            else:
                self.total = self._place.stat().st_size
                if self.total == 0:
                    raise InputError(f"{self.path} is empty: it has no rows")
                self._refuse_other_encodings()
                with self._text_reader(None) as reader:
                    self.schema = reader.schema
                self._refuse_other_separators()
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InputError(f"{self.path} has two columns {twice[0]!r}; rename one")

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self.schema.names)

    def refuse_nested(self, columns: Iterable[str]) -> None:
        """Refuse lists and the like where names are needed."""
        for name in columns:
            kind = self.schema.field(name).type
            if pa.types.is_nested(kind):
                raise InputError(
                    f"{self.path}: column {name!r} holds {kind}; items, experts and labels are text or "
                    "numbers"
                )

    def _refuse_other_encodings(self) -> None:
        with self._place.open("rb") as file:
            if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                raise FileError(f"{self.path} is text in UTF-16; save it as UTF-8")

    def _refuse_other_separators(self) -> None:
        for mark, other in ((";", "save it with commas"), ("\t", "save it with commas, or name it .tsv")):
            if self.kind == "csv" and len(self.names) == 1 and mark in self.names[0]:
                raise InputError(f"{self.path}: {mark!r} separates its columns, not a comma; {other}")

    @property
    def partial(self) -> bool:
        """Whether this is a part of the file only."""
        return self._groups is not None

    @property
    def first_row(self) -> int:
        """The number of its first row in the file."""
        return 1 if self._groups is None else 1 + sum(self.group_rows()[: self._groups.start])

    @property
    def groups(self) -> range:
        """Which row groups of a Parquet file it has."""
        return range(self._metadata.num_row_groups) if self._groups is None else self._groups

    def within(self, groups: range) -> Source:
        """Return the part of a Parquet file in some of its row groups."""
        part = copy.copy(self)
        part._groups = groups
        return part

    @cached_property
    def _metadata(self) -> Any:
        import pyarrow.parquet as pq

        with self._explained():
            return pq.read_metadata(self._place)

    def group_rows(self) -> list[int]:
        """Return how many rows each row group of a Parquet file has."""
        data = self._metadata
        return [data.row_group(g).num_rows for g in range(data.num_row_groups)]

    def span(self, column: str) -> tuple[int, int] | None:
        """Return the least and the greatest integer in a column of these groups, if the file says so."""
        if self.kind != "parquet":
            return None
        data = self._metadata
        if not pa.types.is_integer(data.schema.to_arrow_schema().field(column).type):
            return None
        at = [data.schema.column(leaf).path for leaf in range(data.num_columns)].index(column)
        found = [data.row_group(g).column(at) for g in self.groups if data.row_group(g).num_rows]
        limits = [
            (chunk.statistics.min, chunk.statistics.max)
            for chunk in found
            if chunk.is_stats_set and chunk.statistics.has_min_max
        ]
        if len(limits) < len(found) or not limits:
            return None
        least, greatest = min(least for least, _ in limits), max(greatest for _, greatest in limits)
        return (least, greatest) if greatest < 2**63 else None

    def batches(self, columns: list[str], plain: tuple[str, ...] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the columns batch by batch; in Parquet, text comes as dictionaries unless `plain`."""
        self.done = 0
        with self._explained():
            if self.kind == "parquet":
                yield from self._parquet(columns, plain)
            else:
                with self._text_reader(columns) as reader:
                    for batch in reader:
                        if batch.num_rows:
                            yield batch.select(columns)
        self.done = self.total

    def _parquet(self, columns: list[str], plain: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        encoded = [name for name in self._texts if name in columns and name not in plain]
        with pq.ParquetFile(self._place, read_dictionary=encoded, pre_buffer=False) as file:
            groups = None if self._groups is None else list(self._groups)
            for batch in file.iter_batches(ROWS, row_groups=groups, columns=columns, use_threads=False):
                self.done += batch.num_rows
                if batch.num_rows:
                    yield batch.select(columns)

    @contextmanager
    def _text_reader(self, columns: list[str] | None) -> Iterator[Any]:
        """Open a CSV or JSON-lines file; CSV has no types, so its columns stay text."""
        with ExitStack() as stack:
            file = stack.enter_context(pa.OSFile(str(self._place)))
            stream: Any = file
            if self.path.suffix.lower() == ".gz":
                stream = stack.enter_context(pa.CompressedInputStream(file, "gzip"))
            if self.kind == "json":
                import pyarrow.json as pj

                with pj.open_json(
                    stream, read_options=pj.ReadOptions(block_size=_BLOCK, use_threads=False)
                ) as reader:
                    yield self._counted(reader, file)
                return
            from pyarrow import csv

            options = csv.ReadOptions(block_size=_BLOCK, use_threads=False)
            parse = csv.ParseOptions(delimiter="\t" if self.kind == "tsv" else ",", newlines_in_values=True)
            if columns is None:
                convert = csv.ConvertOptions()
            else:
                convert = csv.ConvertOptions(
                    column_types=dict.fromkeys(columns, pa.string()),
                    include_columns=columns,
                    null_values=[""],
                    strings_can_be_null=True,
                )
            with csv.open_csv(stream, options, parse, convert) as reader:
                yield self._counted(reader, file)

    def _counted(self, reader: Any, file: Any) -> Any:
        source = self

        class Counted:
            schema = reader.schema

            def __iter__(self) -> Iterator[pa.RecordBatch]:
                for batch in reader:
                    source.done = min(source.total, file.tell())
                    yield batch

        return Counted()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the errors of readers into one clear line."""
        try:
            yield
        except FileNotFoundError as error:
            raise FileError(f"no file {self.path}") from error
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, FileError):
                raise
            what = {"parquet": "a complete Parquet", "csv": "a proper CSV", "tsv": "a proper TSV"}
            reason = " ".join(str(error).split()).rstrip(".")
            remedy = "check that it was written and copied to the end"
            if "UTF8" in reason:
                remedy = "save it as UTF-8"
            elif self.kind == "json" and "changed from" in reason:
                remedy = "every line is one object, and what it says of a name has the same type in all lines"
            raise FileError(
                f"{self.path} cannot be read as {what.get(self.kind, 'a proper JSON-lines')} file: {reason}; "
                f"{remedy}"
            ) from error
