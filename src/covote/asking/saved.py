"""States in files: arrays and a head that describes them, in an ``.npz`` file without pickles."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import FileError

Array = NDArray[Any]
_FORMATS = {"Asker": "covote asking 1", "Chooser": "covote choosing 1"}


def write(path: str | os.PathLike[str], kind: str, head: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write the state of an Asker or a Chooser, all or nothing."""
    text = json.dumps({"format": _FORMATS[kind], **head}).encode()
    with atomic.replacing(path) as beside, beside.open("wb") as file:
        np.savez(file, allow_pickle=False, head=np.frombuffer(text, dtype=np.uint8), **arrays)


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read what :func:`write` wrote: (what describes it, all arrays)."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        head = json.loads(arrays.pop("head").tobytes())
        if head["format"] != _FORMATS[kind]:
            raise ValueError(head["format"])
    except FileNotFoundError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except (OSError, KeyError, ValueError, TypeError, EOFError) as error:
        raise damaged(path, kind) from error
    return head, arrays


def damaged(path: str | os.PathLike[str], kind: str) -> FileError:
    """Return the error for a file that holds no such state."""
    article = "an" if kind == "Asker" else "a"
    return FileError(f"{path} holds no state of {article} {kind}; write it with {kind}.save")
