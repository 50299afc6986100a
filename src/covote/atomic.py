"""Write files atomically: complete, or not at all."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from glob import escape
from pathlib import Path

from covote.errors import FileError, InputError

__all__ = ["check_apart", "check_place", "make_folder", "replacing", "write_text"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and rename it to `path` if the block succeeds.

    Whatever happens inside the block, a file at `path` is either the old one or the complete new one, also
    after a power failure: the file and then its folder are flushed to the disk. If the system allows it, the
    temporary file has no name at all until it is complete, so that even a killed process leaves nothing
    behind. A target that is not a file (a pipe, a device) gets a copy of the complete file.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("complete")
    >>> target.read_text()
    'complete'
    """
    target = Path(path)
    check_place(target)
    try:
        if target.exists() and not target.is_file():
            place = _copied_to(target)
        else:
            # A link stays a link: its target is replaced.
            real = Path(os.path.realpath(target))
            place = _nameless(real) if _can_be_nameless(real.parent) else _named(real)
        with place as temporary:
            yield temporary
    except OSError as error:
        if isinstance(error, FileError):
            raise
        reason = error.strerror or error
        # Windows keeps a workbook that Excel has open from being replaced.
        is_open = isinstance(error, PermissionError) and target.suffix.lower() == ".xlsx" and target.exists()
        remedy = "close it in Excel, or choose another place" if is_open else "choose another place"
        raise FileError(f"cannot write {target}: {reason}; nothing was written, {remedy}") from error


def check_place(path: str | os.PathLike[str]) -> None:
    """Reject a place where no file can be written; commands check this before they work for minutes."""
    target = Path(path)
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; give a file name inside it")
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise FileError(
            f"cannot write {target}: there is no folder {folder}; make it, or choose another place"
        )
    if not target.exists() and not os.access(folder, os.W_OK):
        raise FileError(f"cannot write {target}: the folder {folder} is read-only; choose another place")


def check_apart(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[str | os.PathLike[str] | None]
) -> None:
    """Reject outputs that would overwrite an input, by whatever path or link, or each other.

    >>> check_apart(["labels.csv", "labels.csv"], [])
    Traceback (most recent call last):
    covote.errors.InputError: two files cannot both be written to labels.csv; choose another place for one
    """
    # A workbook may be named with one of its sheets: study.xlsx#Answers.
    read = [Path(re.sub(r"(?i)(\.xlsx)#.+", r"\1", os.fspath(p))) for p in inputs if p is not None]
    checked: list[Path] = []
    for path in (Path(path) for path in outputs if path is not None):
        if any(_same(path, other) or _same_but_for_case(path, other) for other in checked):
            raise InputError(f"two files cannot both be written to {path}; choose another place for one")
        for source in read:
            if _same(path, source):
                raise InputError(
                    f"the output {path} would overwrite the input {source}; choose another place for it"
                )
        checked.append(path)


def _same_but_for_case(path: Path, other: Path) -> bool:
    """Whether paths differ in case only, which is one file on many systems."""
    return os.path.realpath(path).casefold() == os.path.realpath(other).casefold()


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.is_file() and path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


@contextmanager
def _named(target: Path) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(_mode(target))
        handle = os.open(temporary, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        temporary.replace(target)
        _flush_folder(target.parent)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def _nameless(target: Path) -> Iterator[Path]:
    handle = os.open(target.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
    try:
        opened = Path(f"/proc/self/fd/{handle}")
        yield opened
        os.fchmod(handle, _mode(target))
        os.fsync(handle)
        # Python follows the link that stands for the open file only if src_dir_fd is given.
        link = partial(os.link, opened, src_dir_fd=handle, follow_symlinks=True)
        try:
            link(target)
        except FileExistsError:
            # A link cannot replace a file, but a renamed link can; its name exists only for a moment.
            _remove_strays(target)
            temporary = target.with_name(f".{target.name}.{os.getpid()}.{handle}")
            link(temporary)
            temporary.replace(target)
        _flush_folder(target.parent)
    finally:
        os.close(handle)


def _flush_folder(folder: Path) -> None:
    """Write the name of a new file to the disk, where the system can do that for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_strays(target: Path) -> None:
    """Remove files that processes killed while renaming left next to a file."""
    for path in target.parent.glob(f".{escape(target.name)}.*.*"):
        process = path.name.removeprefix(f".{target.name}.").partition(".")[0]
        if process.isdecimal() and not Path(f"/proc/{process}").exists():
            path.unlink(missing_ok=True)


@contextmanager
def _copied_to(target: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="covote-") as folder:
        complete = Path(folder) / f"copy{target.suffix}"
        complete.touch()
        yield complete
        with complete.open("rb") as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)


def _can_be_nameless(folder: Path) -> bool:
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return False
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600))
    except OSError:
        return False
    return True


def _mode(target: Path) -> int:
    """Return the mode of the file to be replaced, or the mode that open() would give to a new file."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def make_folder(folder: Path, option: str) -> Path:
    """Create a folder if needed, and return it; if it cannot be created, the error names `option`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make the folder {folder}: {error.strerror}; choose another with {option}"
        ) from error
    return folder


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` atomically to `path`, as UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
