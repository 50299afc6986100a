"""A table that was sent and waits for the owner to choose its columns."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from covote_studio.exchange import table_files
from covote_studio.exchange.importing import Columns, TableCheck, by_any_name, examine, find_columns
from covote_studio.exchange.uploads import Upload
from covote_studio.people.roster import Roster
from covote_studio.rules import Refusal

KEPT_SECONDS = 86_400.0
"""Seconds that a table is kept."""
SHOWN = 8
"""Rows that a preview shows."""
_GONE = "This table is no longer kept; send it again."
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,40}")


@dataclass(frozen=True)
class Preview:
    """A table as the page shows it before anything is added."""

    token: str
    name: str
    names: list[str]
    notes: list[str]
    left_out: list[tuple[str, str]]
    columns: Columns | None
    examined: TableCheck | None
    there: int
    """How many of the good rows are items of the project already."""
    first: list[list[str]]
    rows: int


def keep_table(folder: Path, name: str, content: bytes, upload: Upload) -> str:
    """Read a table once, store it with what was sent along with it, and return its token."""
    table, notes = table_files.read_table(name, content)
    token, place = _new_place(folder)
    pq.write_table(table, place / "table.parquet")
    about = {"name": name, "notes": notes, "stored": upload.stored, "left_out": upload.left_out}
    (place / "about.json").write_text(json.dumps(about), encoding="utf-8")
    return token


def keep_result(folder: Path, message: str, left_out: list[tuple[str, str]]) -> str:
    """Store what became of the files that were sent, and return the token of the page that says it."""
    token, place = _new_place(folder)
    (place / "about.json").write_text(json.dumps({"told": message, "left_out": left_out}), encoding="utf-8")
    return token


def result_of(folder: Path, token: str) -> tuple[str, list[tuple[str, str]]]:
    """Return what became of files that were sent: a sentence, and (name, why) of those that were left out."""
    about = _about(_place(folder, token), "told")
    return about["told"], [(name, why) for name, why in about["left_out"]]


def _about(place: Path, kind: str) -> dict[str, Any]:
    """Return what is kept at a place, if it is of a kind: "told" what became of files, or "stored" ones."""
    about: dict[str, Any] = json.loads((place / "about.json").read_text(encoding="utf-8"))
    if kind not in about:
        raise Refusal(_GONE, 404)
    return about


def _new_place(folder: Path) -> tuple[str, Path]:
    """Make a folder for what waits, and remove those that waited too long."""
    waiting = folder / "imports"
    waiting.mkdir(mode=0o700, exist_ok=True)
    for old in waiting.iterdir():
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(old)
    token = secrets.token_urlsafe(16)
    place = waiting / token
    place.mkdir(mode=0o700)
    return token, place


def forget(folder: Path, token: str) -> None:
    """Remove a table that was added, or is no longer wanted."""
    shutil.rmtree(_place(folder, token), ignore_errors=True)


def _place(folder: Path, token: str) -> Path:
    place = folder / "imports" / token
    if not _TOKEN.fullmatch(token) or not place.is_dir():
        raise Refusal(_GONE, 404)
    return place


def look_at(
    folder: Path, token: str, roster: Roster, there: Collection[str], columns: Columns | None = None
) -> Preview:
    """Return a waiting table, with the columns that were chosen or seem right.

    `there` are the ids of the items of the project.
    """
    place = _place(folder, token)
    about = _about(place, "stored")
    table = pq.read_table(place / "table.parquet")
    chosen = _there(table, columns) or find_columns(table.column_names)
    stored = by_any_name({name: (kind, where) for name, (kind, where) in about["stored"].items()})
    examined = None if chosen is None else examine(table, chosen, roster, stored, there)
    first = [
        ["" if cell is None else cell for cell in row.values()] for row in table.slice(0, SHOWN).to_pylist()
    ]
    known = sum(row[0] in there for row in examined.items) if examined is not None else 0
    left_out = [(name, why) for name, why in about["left_out"]]
    return Preview(
        token, about["name"], table.column_names, about["notes"], left_out, chosen, examined, known, first,
        table.num_rows,
    )  # fmt: skip


def _there(table: pa.Table, columns: Columns | None) -> Columns | None:
    if columns is None:
        return None
    missing = [name for name in (columns.content, columns.id, columns.gold) if name]
    missing = [name for name in missing if name not in table.column_names]
    if missing:
        raise Refusal(f"The table has no column {missing[0][:100]!r}; choose one that is listed.", 422)
    return columns
