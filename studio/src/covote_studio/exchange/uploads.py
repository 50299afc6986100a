"""Files that were sent together: pictures and sounds, ZIP files of them, a table; each is taken or left out.

Nothing is read before its size is known, and one bad file does not hold back the others.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from covote_studio.exchange import table_files
from covote_studio.rules import Refusal
from covote_studio.storage import media
from covote_studio.storage.database import Database

MOST_UNPACKED = 4 * 1024**3
"""Most bytes of a ZIP file when it is unpacked."""
MOST_ENTRIES = 30_000
"""Most files in a ZIP file, which one form can send as well."""
SYSTEM = (".ds_store", "thumbs.db", "desktop.ini")
"""Files that systems put next to pictures; no one misses them."""


@dataclass
class Upload:
    """What was sent: pictures and sounds with their places, tables, and what was left out and why."""

    stored: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Where pictures and sounds are kept, by name: (kind, address)."""
    tables: list[tuple[str, bytes]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """(name, why)."""


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts names as people do.

    >>> sorted(["b10.jpg", "b9.jpg", "a.jpg"], key=natural_key)
    ['a.jpg', 'b9.jpg', 'b10.jpg']
    """
    parts = re.split(r"(\d+)", name.lower())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]


def receive(database: Database, folder: Path, files: Iterable[tuple[str, BinaryIO]]) -> Upload:
    """Store the pictures and sounds that were sent, in natural order, and set tables aside."""
    sent = [*_sorted(files)]
    upload, common = Upload(), _common_folder([name for name, _ in sent])
    for name, file in sent:
        if PurePosixPath(name).suffix.lower() == ".zip":
            _receive_zip(database, folder, upload, name, file)
        else:
            _receive_one(database, folder, upload, name[len(common) :], file)
    return upload


def _sorted(files: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield files in natural order, without those of systems."""
    for name, file in sorted(files, key=lambda one: natural_key(one[0])):
        last = PurePosixPath(name).name.lower()
        if last and not last.startswith("._") and last not in SYSTEM and "__MACOSX/" not in name:
            yield name, file


def _common_folder(names: list[str]) -> str:
    """Return the folder in which all files are, with its slash, or nothing.

    >>> _common_folder(["pics/IMG_1.jpg", "pics/more/IMG_2.jpg"]), _common_folder(["a.jpg", "pics/b.jpg"])
    ('pics/', '')
    """
    folders = [name.split("/")[:-1] for name in names]
    common = [parts[0] for parts in takewhile(lambda one: len(set(one)) == 1, zip(*folders, strict=False))]
    return "/".join(common) + "/" if common else ""


def _receive_one(database: Database, folder: Path, upload: Upload, name: str, file: BinaryIO) -> None:
    """Take one file, or say why not."""
    try:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if PurePosixPath(name).suffix.lower() in table_files.ENDINGS:
            table_files.check_size(name, size)
            upload.tables.append((name, file.read()))
            return
        content = file.read(media.LARGEST + 1)
        prepared = media.prepare(name, content)
        with database.write() as connection:
            upload.stored[name] = media.store(connection, folder, prepared)
    except Refusal as refused:
        upload.left_out.append((name, str(refused)))


def _receive_zip(database: Database, folder: Path, upload: Upload, name: str, file: BinaryIO) -> None:
    """Take the files of a ZIP file; nothing is ever unpacked to a path."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = [*_sorted((one.filename, one) for one in archive.infolist() if not one.is_dir())]
            total = sum(entry.file_size for _, entry in entries)
            if total > MOST_UNPACKED or len(entries) > MOST_ENTRIES:
                raise Refusal(
                    f"“{name}” has {len(entries):,} files of {total / 1e9:.1f} GB; send it in smaller parts.",
                    413,
                )
            common = _common_folder([one for one, _ in entries])
            for path, entry in entries:
                _receive_entry(database, folder, upload, archive, entry, path[len(common) :])
    except Refusal as refused:
        upload.left_out.append((name, str(refused)))
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError, ValueError):
        upload.left_out.append((name, f"“{name}” cannot be unpacked; make the ZIP file again."))


def _receive_entry(
    database: Database, folder: Path, upload: Upload, archive: zipfile.ZipFile, entry: Any, name: str
) -> None:
    """Take one file of a ZIP file; what its directory says of the size may be wrong."""
    try:
        with archive.open(entry) as opened:
            content = opened.read(max(media.LARGEST, table_files.LARGEST) + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError, ValueError, zlib.error):
        upload.left_out.append((name, f"“{name}” cannot be unpacked; make the ZIP file again."))
        return
    _receive_one(database, folder, upload, name, io.BytesIO(content))
