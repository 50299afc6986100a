"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import FileError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`, and rename it to `path` if the block ends well.

    Whatever happens inside the block, a file at `path` is either the old one or the complete new one.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with replacing(target) as beside:
    ...     _ = beside.write_text("complete")
    >>> target.read_text()
    'complete'
    """
    target = Path(path)
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; give a file name inside it")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror}; choose another place") from error
    beside = Path(name)
    try:
        yield beside
        # mkstemp makes files that only their owner can read; give what an ordinary open() would.
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)
        beside.replace(target)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}; nothing was written") from error
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` as UTF-8, completely or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="")
