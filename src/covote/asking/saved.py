"""Saved states of an Asker: arrays and a JSON header in an ``.npz`` file without pickles."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.arguments import no_file
from covote.errors import FileError

Array = NDArray[Any]
_FORMAT = "covote asking 2"


def write(path: str | os.PathLike[str], head: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write the state of an Asker atomically."""
    text = json.dumps({"format": _FORMAT, **head}, default=lambda value: value.tolist()).encode()  # numpy's
    with atomic.replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, head=np.frombuffer(text, dtype=np.uint8), **arrays)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[tuple[dict[str, Any], dict[str, Array]]]:
    """Yield the header and the arrays that :func:`write` wrote.

    Any exception inside the block is reported as a damaged file: damaged archives, headers, texts and numbers
    fail in many ways.
    """
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        head = json.loads(arrays.pop("head").tobytes())
        if head["format"] != _FORMAT:
            raise ValueError(f"its format is {head['format']!r}")
    except FileNotFoundError as error:
        raise no_file(path) from error
    except Exception as error:
        raise FileError(f"{path} is not the state of an Asker; write it with Asker.save") from error
    try:
        yield head, arrays
    except Exception as error:
        raise FileError(
            f"{path} is a damaged state of an Asker ({_words(error)}); load an earlier copy"
        ) from error


def flags(values: Array, size: int | None = None) -> NDArray[np.bool_]:
    """Return stored flags, or raise ValueError if they are not flags, or not as many as expected."""
    if values.dtype != np.bool_ or values.ndim != 1 or (size is not None and len(values) != size):
        raise ValueError(f"{values.dtype} of shape {values.shape} instead of flags")
    return values


def integers(values: Array) -> NDArray[np.int64]:
    """Return stored integers, or raise ValueError if they are not a list of integers."""
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise ValueError(f"{values.dtype} of shape {values.shape} instead of integers")
    return values.astype(np.int64)


def _words(error: Exception) -> str:
    """Return a short reason on one line."""
    return " ".join(str(error).split())[:100] or type(error).__name__
