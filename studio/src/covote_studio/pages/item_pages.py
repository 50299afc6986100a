"""Changes to an item: content, gold, retirement, flags; and the record of all changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from covote_studio.editing import items
from covote_studio.editing.record import record_entries
from covote_studio.pages.rendering import (
    Form,
    Owner,
    Project,
    Reviewer,
    back_to,
    page,
    text_field,
    whole_fields,
)

router = APIRouter()
_SHOWN = 100
"""Lines of the record on a page."""


@router.post("/items/{item_id}/change")
def change(studio: Project, who: Owner, form: Form, item_id: int) -> Response:
    """Correct the text or the address of an item."""
    with studio.database.write() as connection:
        items.change_item(connection, item_id, text_field(form, "content"), who.id)
    return back_to(f"/review/{item_id}", "Saved. Answers that were given stay.")


@router.post("/items/{item_id}/gold")
def gold(studio: Project, who: Owner, form: Form, item_id: int) -> Response:
    """Set the class that an item is known to have."""
    (chosen,) = whole_fields([text_field(form, "gold", "0") or "0"])
    with studio.database.write() as connection:
        items.set_gold(connection, item_id, chosen or None, who.id)
    return back_to(f"/review/{item_id}", "Saved, and on record.")


@router.post("/items/{item_id}/retire")
def retire(studio: Project, who: Owner, item_id: int) -> Response:
    """Stop asking about an item."""
    with studio.database.write() as connection:
        items.retire_item(connection, item_id, who.id)
    return back_to(f"/review/{item_id}", "This item is no longer asked about. Its answers are kept.")


@router.post("/items/{item_id}/back")
def bring_back(studio: Project, who: Owner, item_id: int) -> Response:
    """Ask about a retired item again."""
    with studio.database.write() as connection:
        items.bring_back_item(connection, item_id, who.id)
    return back_to(f"/review/{item_id}", "People are asked about this item again.")


@router.post("/items/{item_id}/flags")
def close_flags(studio: Project, who: Reviewer, item_id: int) -> Response:
    """Mark the reported problems of an item as resolved."""
    with studio.database.write() as connection:
        items.close_flags(connection, item_id, who.id)
    return back_to(f"/review/{item_id}", "Marked as resolved, and on record.")


@router.get("/record")
def record(
    request: Request, studio: Project, who: Reviewer, before: int = 2**31 - 1,
    words: Annotated[str, Query(max_length=200)] = "",
) -> Response:  # fmt: skip
    """Show what was changed, when, and by whom: everything, or what has some words."""
    with studio.database.read() as connection:
        lines = record_entries(connection, before=min(before, 2**31 - 1), most=_SHOWN, words=words.strip())
    return page(request, "record.html", who, lines=lines, shown=_SHOWN, words=words)
