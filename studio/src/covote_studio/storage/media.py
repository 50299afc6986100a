"""Pictures and sounds: their type comes from their content, never from their name.

A file is stored under the hash of its content, so no given name becomes a path.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path

import pi_heif
from PIL import Image, ImageOps
from sqlalchemy import Connection, select

from covote import atomic
from covote_studio.rules import Refusal
from covote_studio.storage.database import insert_if_new
from covote_studio.storage.schema import file

LARGEST = 25 * 1024 * 1024
"""Bytes of the largest picture or sound."""

MOST_POINTS = 60_000_000
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
_CONVERTED = (b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""How BMP and TIFF begin."""
_HEIC = tuple(b"ftyp" + brand for brand in (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"heim", b"heis"))
_one_at_a_time = threading.Lock()
"""A large picture takes hundreds of megabytes while it is checked."""
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


@dataclass(frozen=True)
class MediaFile:
    """A picture or a sound that was checked, and converted if browsers do not show it as it is."""

    name: str
    mime: str
    content: bytes


def prepare(name: str, content: bytes) -> MediaFile:
    """Check a picture or a sound, and convert HEIC, TIFF and BMP; reject anything else."""
    if len(content) > LARGEST:
        raise Refusal(
            f"“{name}” has {len(content) / 1e6:.0f} MB; a picture or sound has at most "
            f"{LARGEST / 1e6:.0f} MB, make it smaller.",
            413,
        )
    if not content:
        raise Refusal(f"“{name}” is empty; send it again.", 422)
    mime = mime_of(content)
    if mime is not None and not mime.startswith("image/"):
        return MediaFile(name, mime, content)
    if mime is None and not content.startswith(_CONVERTED) and content[4:12] not in _HEIC:
        raise Refusal(
            f"“{name}” is not a picture or sound that browsers show safely; give PNG, JPEG, GIF, WebP, HEIC, "
            "TIFF, BMP, WAV, MP3, OGG or FLAC.",
            415,
        )
    with _one_at_a_time:
        return _prepare_picture(name, content, mime)


def _prepare_picture(name: str, content: bytes, mime: str | None) -> MediaFile:
    """Decode a picture completely, so that a damaged one is found now and not by whoever labels it."""
    if content[4:12] in _HEIC:
        pi_heif.register_heif_opener()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # refused in the next lines
            found = Image.open(io.BytesIO(content))
        with found as opened:
            if opened.width * opened.height > MOST_POINTS:
                raise Refusal(
                    f"“{name}” has {opened.width:,} x {opened.height:,} pixels; a picture has at most "
                    f"{MOST_POINTS / 1e6:.0f} million, make it smaller.",
                    413,
                )
            opened.load()
            return MediaFile(name, *((mime, content) if mime else _converted(opened)))
    except Refusal:
        raise
    except Image.DecompressionBombError as error:
        raise Refusal(
            f"“{name}” is too large; a picture has at most {MOST_POINTS / 1e6:.0f} million pixels.", 413
        ) from error
    except Exception as error:  # decoders raise whatever they like about a damaged file
        raise Refusal(f"“{name}” is damaged and cannot be shown; send it again.", 422) from error


def _converted(opened: Image.Image) -> tuple[str, bytes]:
    """Return a picture as browsers show it: photos as JPEG, scans without a loss as PNG."""
    photo = opened.format == "HEIF"
    shown = ImageOps.exif_transpose(opened)
    if shown.mode.startswith(("I", "F")):  # more than 8 bits: from the darkest to the brightest point
        low, high = shown.getextrema()
        scale = 255 / (high - low) if high > low else 1.0
        shown = shown.convert("F").point(lambda value: value * scale - low * scale).convert("L")
    elif shown.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        shown = shown.convert("RGB")
    packed = io.BytesIO()
    if photo:
        shown.convert("RGB").save(packed, "JPEG", quality=92)
    else:
        shown.save(packed, "PNG")
    return "image/jpeg" if photo else "image/png", packed.getvalue()


def keep(connection: Connection, folder: Path, name: str, content: bytes) -> tuple[str, str]:
    """Check and store a picture or a sound, and return (kind, address)."""
    return store(connection, folder, prepare(name, content))


def store(connection: Connection, folder: Path, one: MediaFile) -> tuple[str, str]:
    """Store a picture or a sound, and return (kind, address)."""
    digest = hashlib.sha256(one.content).hexdigest()
    place = path_of(folder, digest)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic.replacing(place) as temporary:
            temporary.write_bytes(one.content)
    shown = os.path.basename(one.name)[:200].replace("\0", "")
    row = {"sha256": digest, "name": shown, "mime": one.mime, "size": len(one.content)}
    insert_if_new(connection, file, row)
    return one.mime.partition("/")[0], f"/media/{digest}"


def path_of(folder: Path, digest: str) -> Path:
    """Return the place of a file; reject what is not a hash."""
    if not _NAME.fullmatch(digest):
        raise Refusal("There is no such picture or sound.", 404)
    return folder / "files" / digest[:2] / digest


def find(connection: Connection, folder: Path, digest: str) -> tuple[Path, str]:
    """Return the place and the type of a stored file."""
    place = path_of(folder, digest)
    mime = connection.execute(select(file.c.mime).where(file.c.sha256 == digest)).scalar_one_or_none()
    if mime is None or not place.is_file():
        raise Refusal("There is no such picture or sound.", 404)
    return place, str(mime)
