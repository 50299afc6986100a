"""A table that was sent and waits for the owner to choose its columns."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from covote_studio.exchange import table_files
from covote_studio.exchange.importing import Columns, Examined, by_any_name, examine, find_columns
from covote_studio.people.roster import Roster
from covote_studio.rules import Refused

KEPT_SECONDS = 86_400.0
"""Seconds that a table is kept."""
SHOWN = 8
"""Rows that a preview shows."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,40}")


@dataclass(frozen=True)
class Preview:
    """A table as the page shows it before anything is added."""

    token: str
    name: str
    names: list[str]
    notes: list[str]
    columns: Columns | None
    examined: Examined | None
    first: list[list[str]]
    rows: int


def keep_table(folder: Path, name: str, content: bytes, stored: dict[str, tuple[str, str]]) -> str:
    """Store a table with the places of the pictures sent along with it, and return its token."""
    waiting = folder / "imports"
    waiting.mkdir(mode=0o700, exist_ok=True)
    for old in waiting.iterdir():
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(old)
    token = secrets.token_urlsafe(16)
    place = waiting / token
    place.mkdir(mode=0o700)
    (place / f"table{Path(name).suffix.lower()}").write_bytes(content)
    (place / "about.json").write_text(json.dumps({"name": name, "stored": stored}), encoding="utf-8")
    return token


def forget(folder: Path, token: str) -> None:
    """Remove a table that was added, or is no longer wanted."""
    shutil.rmtree(_place(folder, token), ignore_errors=True)


def _place(folder: Path, token: str) -> Path:
    place = folder / "imports" / token
    if not _TOKEN.fullmatch(token) or not place.is_dir():
        raise Refused("This table is no longer kept; send it again.", 404)
    return place


def look_at(folder: Path, token: str, roster: Roster, columns: Columns | None = None) -> Preview:
    """Read a waiting table, with the columns that were chosen or seem right."""
    place = _place(folder, token)
    about = json.loads((place / "about.json").read_text(encoding="utf-8"))
    (file,) = place.glob("table.*")
    table, notes = table_files.read_table(about["name"], file.read_bytes())
    chosen = _there(table, columns) or find_columns(table.column_names)
    stored = by_any_name({name: (kind, where) for name, (kind, where) in about["stored"].items()})
    examined = None if chosen is None else examine(table, chosen, roster, stored)
    first = [
        ["" if cell is None else cell for cell in row.values()] for row in table.slice(0, SHOWN).to_pylist()
    ]
    return Preview(token, about["name"], table.column_names, notes, chosen, examined, first, table.num_rows)


def _there(table: pa.Table, columns: Columns | None) -> Columns | None:
    if columns is None:
        return None
    missing = [name for name in (columns.content, columns.id, columns.gold) if name]
    missing = [name for name in missing if name not in table.column_names]
    if missing:
        raise Refused(f"The table has no column {missing[0][:100]!r}; choose one that is listed.", 422)
    return columns
