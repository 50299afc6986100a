"""Panels whose code the user has allowed to run, remembered by their path and content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from covote import atomic
from covote.errors import CovoteError
from covote.models.entries import entry

_CODE = (".py", ".pyc", ".so", ".pyd", ".zip", ".egg")
_MOST = 2000
"""Most code files next to a panel that can be remembered."""


class Trusted:
    """Whether the user has allowed this very panel to run code; checked before any of it runs."""

    def __init__(self, panel_file: Path, models: Sequence[Any]) -> None:
        self._panel, self._models = panel_file.resolve(), models
        self._content = _content(self._panel, models)
        self.before = self._content is not None and _known().get(str(self._panel)) == self._content

    def remember(self) -> None:
        """Remember that the user allows the panel to run code, if the code did not change while it ran.

        A failure to write this down is ignored.
        """
        place = _place()
        if self._content is None or place is None or _content(self._panel, self._models) != self._content:
            return
        known = {**_known(), str(self._panel): self._content}
        with suppress(CovoteError, OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic.write_text(place, json.dumps(known, indent=1) + "\n")


def _known() -> dict[str, str]:
    place = _place()
    try:
        return {} if place is None else dict(json.loads(place.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def _place() -> Path | None:
    try:
        return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "covote" / "trusted.json"
    except RuntimeError:  # there is no home folder
        return None


def _content(panel_file: Path, models: Sequence[Any]) -> str | None:
    """Return a fingerprint of a panel, its models, and all code next to it that they could import."""
    whole = hashlib.sha256()
    try:
        for path in _files(panel_file, models):
            with path.open("rb") as file:
                whole.update(str(path).encode("utf-8", "surrogateescape"))
                whole.update(hashlib.file_digest(file, "sha256").digest())
    except (OSError, CovoteError):
        return None
    return whole.hexdigest()


def _files(panel_file: Path, models: Sequence[Any]) -> Iterator[Path]:
    folder = panel_file.parent
    yield panel_file
    for model in models:
        if model is not None and (found := entry(model)).kind.endings:
            yield folder / found.place
    code = sorted(_code(folder, set()))
    if len(code) > _MOST:
        raise CovoteError(f"{folder} has more than {_MOST} files with code")
    yield from code


def _code(folder: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield the code files in a folder and its subfolders, following links."""
    real = folder.resolve()
    if real in seen or len(seen) > _MOST:
        return
    seen.add(real)
    for path in folder.iterdir():
        if path.is_dir():
            yield from _code(path, seen)
        elif path.suffix in _CODE and path.is_file():
            yield path
