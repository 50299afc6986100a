"""The record: who changed what, when, as sentences that stay."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select

from covote_studio.storage.schema import event, person


def note(connection: Connection, by: int | None, text: str, item_id: int | None = None) -> None:
    """Add an entry to the record; `by` is the person who made the change, None for the program itself."""
    connection.execute(insert(event).values(at=time.time(), by=by, item_id=item_id, text=text[:4000]))


def record_entries(
    connection: Connection, *, item_id: int | None = None, before: int | None = None, most: int = 100,
    words: str = "",
) -> list[Row[Any]]:  # fmt: skip
    """Return what is on record, the newest first: `id`, `at`, `by` (a name), `text` and `item_id`.

    `words` are in the text, or in the name of who made the change.
    """
    wanted = (
        select(event.c.id, event.c.at, event.c.text, event.c.item_id, person.c.name.label("by"))
        .outerjoin(person, person.c.id == event.c.by)
        .order_by(event.c.id.desc())
        .limit(most)
    )
    if item_id is not None:
        wanted = wanted.where(event.c.item_id == item_id)
    if before is not None:
        wanted = wanted.where(event.c.id < before)
    if words:
        places = (
            event.c.text.icontains(words, autoescape=True),
            person.c.name.icontains(words, autoescape=True),
        )
        wanted = wanted.where(or_(*places))
    return list(connection.execute(wanted))
