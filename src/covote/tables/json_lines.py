"""JSON lines, as far as Arrow's parser can be trusted with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covote.errors import FileError, InputError

DEEPEST = 100
"""Levels of values in a line; votes have two."""
_NO_OBJECT = re.compile(rb"(?:\A|\n)[ \t\r\xef\xbb\xbf]*null")


class DepthLimitedStream:
    """A stream of JSON lines that rejects what would crash the parser: deep nesting, and null."""

    closed = False

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._line = b""  # the beginning of a line whose end was not read yet

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data = bytes(self._stream.read(size))
        lines = self._line + data
        code = np.frombuffer(lines, dtype=np.uint8)
        opened = np.flatnonzero((code | 0x20) == ord("{"))  # "[" differs from "{" in this bit
        ends = np.flatnonzero(code == ord("\n"))
        bounds = np.concatenate([[0], np.searchsorted(opened, ends), [len(opened)]])
        if np.diff(bounds).max() > DEEPEST and _depth(lines) > DEEPEST:
            raise FileError(
                f"{self._path} has values more than {DEEPEST} levels deep; a line of answers is one flat "
                "object"
            )
        if b"null" in lines and _NO_OBJECT.search(lines):
            # A block that begins like this would crash the parser.
            raise FileError(f"{self._path} has a line that is null; every line is one object: remove it")
        self._line = lines[int(ends[-1]) + 1 :] if len(ends) else lines
        return data

    def close(self) -> None:
        """Leave the stream to its owner."""


def _depth(text: bytes) -> int:
    """Return the deepest nesting of brackets on any line, outside strings."""
    deepest = 0
    for line in text.split(b"\n"):
        depth = 0
        for mark in re.findall(rb"[\[\]{}]", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", line)):
            depth += 1 if mark in b"[{" else -1
            deepest = max(deepest, depth)
    return deepest


def times_as_text(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which columns that were taken for times are text: they are names."""
    return pa.schema([pa.field(f.name, pa.string()) if pa.types.is_timestamp(f.type) else f for f in schema])


def keep_text(schema: pa.Schema) -> Any:
    """Return options that keep the text columns of a schema as text even if they look like times."""
    import pyarrow.json as pj

    texts = [field for field in schema if pa.types.is_string(field.type)]
    return pj.ParseOptions(explicit_schema=pa.schema(texts) if texts else None)


def refuse_rounded(batch: pa.RecordBatch | pa.Table, path: Path) -> None:
    """Reject numbers that were integers beyond 64 bits: as floats, two of them may be the same."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_float64(column.type) and len(column) > column.null_count:
            limits = pc.min_max(column).as_py()
            if max(abs(limits["min"]), abs(limits["max"])) >= 2**53:
                raise InputError(
                    f"{path}: column {name!r} has numbers with too many digits to tell them apart; write "
                    "them as text, in quotes"
                )
