"""Pictures and sounds: their type comes from their content, never from their name.

A file is stored under the hash of its content, so no given name becomes a path.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from pathlib import Path

from PIL import Image
from sqlalchemy import Connection, select

from covote import atomic
from covote_studio.rules import Refused
from covote_studio.storage.database import insert_if_new
from covote_studio.storage.schema import file

LARGEST = 25 * 1024 * 1024
"""Bytes of the largest picture or sound."""

MOST_POINTS = 150_000_000
"""Pixels of the largest picture."""
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
)
_NAME = re.compile(r"[0-9a-f]{64}")


def mime_of(content: bytes) -> str | None:
    """Return the type of a picture or a sound by its first bytes; None for anything else.

    >>> mime_of(b"GIF89a...")
    'image/gif'
    >>> mime_of(b"<svg onload=alert(1)>") is None
    True
    """
    for beginning, mime in _BEGINNINGS:
        if content.startswith(beginning):
            return mime
    if content[:4] == b"RIFF" and content[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if content[8:12] == b"WEBP" else "audio/wav"
    return None


def keep(connection: Connection, folder: Path, name: str, content: bytes) -> tuple[str, str]:
    """Keep a picture or a sound, and return (kind, address)."""
    if len(content) > LARGEST:
        raise Refused(
            f"“{name}” has {len(content) / 1e6:.0f} MB; a picture or sound has at most "
            f"{LARGEST / 1e6:.0f} MB, make it smaller.",
            413,
        )
    mime = mime_of(content)
    if mime is None:
        raise Refused(
            f"“{name}” is not a picture or sound that browsers show safely; give PNG, JPEG, GIF, WebP, WAV, "
            "MP3, OGG or FLAC.",
            415,
        )
    if mime.startswith("image/"):
        _check_picture(name, content)
    digest = hashlib.sha256(content).hexdigest()
    place = path_of(folder, digest)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic.replacing(place) as temporary:
            temporary.write_bytes(content)
    shown = os.path.basename(name)[:200].replace("\0", "")
    insert_if_new(connection, file, {"sha256": digest, "name": shown, "mime": mime, "size": len(content)})
    return mime.partition("/")[0], f"/media/{digest}"


def _check_picture(name: str, content: bytes) -> None:
    """Reject a picture that cannot be decoded completely."""
    try:
        with Image.open(io.BytesIO(content)) as opened:
            if opened.width * opened.height > MOST_POINTS:
                raise Refused(
                    f"“{name}” has {opened.width:,} x {opened.height:,} pixels; a picture has at most "
                    f"{MOST_POINTS / 1e6:.0f} million, make it smaller.",
                    413,
                )
            opened.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Refused(f"“{name}” is damaged and cannot be shown ({error}); send it again.", 422) from error


def path_of(folder: Path, digest: str) -> Path:
    """Return the place of a file; reject what is not a hash."""
    if not _NAME.fullmatch(digest):
        raise Refused("There is no such picture or sound.", 404)
    return folder / "files" / digest[:2] / digest


def find(connection: Connection, folder: Path, digest: str) -> tuple[Path, str]:
    """Return the place and the type of a stored file."""
    place = path_of(folder, digest)
    mime = connection.execute(select(file.c.mime).where(file.c.sha256 == digest)).scalar_one_or_none()
    if mime is None or not place.is_file():
        raise Refused("There is no such picture or sound.", 404)
    return place, str(mime)
