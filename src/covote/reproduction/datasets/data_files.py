"""Data files: where they are looked for, how they are checked, and how they are fetched if asked."""

from __future__ import annotations

import hashlib
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from covote import atomic
from covote.errors import DataError

_CHUNK = 1 << 20
_PATIENCE = 60.0  # seconds without an answer before a download is given up


@dataclass(frozen=True)
class DataFile:
    """A published file.

    Attributes
    ----------
    name
        Its name as published.
    sha256
        What its content must hash to.
    folders
        Where it is looked for below the data folder, the preferred place first.
    url
        Where it can be fetched; empty if it cannot.
    """

    name: str
    sha256: str
    folders: tuple[str, ...]
    url: str = ""


@dataclass(frozen=True)
class Source:
    """The folder with the data sets, and whether what is missing may be downloaded."""

    folder: Path
    download: bool = False

    def path(self, file: DataFile) -> Path:
        """Return the place of a file after checking its content; raise DataError if it is not there."""
        for folder in file.folders:
            place = self.folder / folder / file.name
            if place.is_file():
                _check(place, file)
                return place
        place = self.folder / file.folders[0] / file.name
        if self.download and file.url:
            _fetch(file, place)
            return place
        raise DataError(_missing(file, self.folder))

    def has(self, file: DataFile) -> bool:
        """Whether the file is there; its content is not looked at."""
        return any((self.folder / folder / file.name).is_file() for folder in file.folders)

    def paths(self, files: Sequence[DataFile]) -> list[Path]:
        """Return the places of several files, each checked."""
        return [self.path(file) for file in files]


def default_folder() -> Path:
    """Return the folder for data sets in this person's cache."""
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "covote" / "data"


def _missing(file: DataFile, folder: Path) -> str:
    places = " or ".join(str(folder / place / file.name) for place in file.folders)
    remedy = "pass --data-dir with the folder that has it"
    if file.url:
        remedy += f", get it from {file.url}, or let --download do it"
    return f"{file.name} is missing: expected at {places}; {remedy}"


def _check(place: Path, file: DataFile) -> None:
    try:
        with place.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {place}: {error.strerror}") from error
    if found != file.sha256:
        again = "remove it and run again with --download" if file.url else "replace it by the published file"
        raise DataError(
            f"{place} is not the published {file.name}: its sha256 is {found[:16]}..., "
            f"it should be {file.sha256[:16]}...; {again}"
        )


def _fetch(file: DataFile, place: Path) -> None:
    """Download a file beside its place, check it, and only then give it its name."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {place.parent}: {error.strerror}") from error
    with atomic.replacing(place) as beside:
        fetch(file.url, beside)
        _check(beside, file)


def fetch(url: str, place: Path) -> None:
    """Copy what is at a URL into a file."""
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer, place.open("wb") as sink:
            while part := answer.read(_CHUNK):
                sink.write(part)
    except (urllib.error.URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(f"cannot download {url}: {reason}; fetch it by other means") from error
