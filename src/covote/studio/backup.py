"""A copy of a project, made while people answer."""

from __future__ import annotations

import tempfile
import time
import zipfile
from pathlib import Path

from covote import atomic
from covote.errors import FileError
from covote.studio.database import Database


def back_up(folder: Path, target: Path | None = None) -> Path:
    """Write the database and the files of a project to a ZIP file, and return its place.

    The database is copied as of one moment; files are never changed, so those that it names are there.
    """
    source = folder / "studio.db"
    if not source.is_file():
        raise FileError(f"there is no project in {folder} (no file {source}); give the project's folder")
    if target is None:
        target = Path(f"{folder.resolve().name}-{time.strftime('%Y%m%d-%H%M%S')}.zip")
    with tempfile.TemporaryDirectory(prefix="covote-") as place:
        copy = Path(place) / "studio.db"
        Database(f"sqlite:///{source.resolve()}").backup(copy)
        with (
            atomic.replacing(target) as beside,
            zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            archive.write(copy, "studio.db")
            for path in sorted((folder / "files").rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    archive.write(path, path.relative_to(folder), zipfile.ZIP_STORED)
    return target
