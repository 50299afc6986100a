"""The project itself: its name, its classes, its items, how they are asked."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import select, update
from starlette.datastructures import UploadFile

from covote.studio.answers.inquiry import gold_answers
from covote.studio.exchange import importing
from covote.studio.pages.rendering import (
    Form,
    Owner,
    Project,
    back_to,
    page,
    text_field,
    whole_fields,
)
from covote.studio.people import managing
from covote.studio.people.roster import touch
from covote.studio.rules import Refused
from covote.studio.storage import media
from covote.studio.storage.schema import class_, item

router = APIRouter()
_SHOWN = 50
NO_GOLD = (
    "Nobody has answered a gold item yet: until then, people are supposed to be right 95 times of 100. Add "
    "items whose class you know (a column “gold”)."
)


@router.get("/settings")
def settings(request: Request, studio: Project, who: Owner) -> Response:
    """Show name, instructions, classes and the way of asking."""
    with studio.database.read() as connection:
        setup, roster = studio.now(connection)
    return page(request, "settings.html", who, setup=setup, classes=roster.classes)


@router.post("/settings")
def change(studio: Project, who: Owner, form: Form) -> Response:
    """Change name, instructions and the way of asking."""
    ask = text_field(form, "ask")
    with studio.database.write() as connection:
        managing.change_project(connection, text_field(form, "name"), text_field(form, "instructions"), ask)
        unknown = ask == "posterior" and not len(gold_answers(connection))
    return back_to("/settings", "Saved. " + NO_GOLD if unknown else "Saved.")


@router.post("/classes")
def add_classes(studio: Project, who: Owner, form: Form) -> Response:
    """Add classes from lines of text."""
    new = managing.parse_classes(text_field(form, "classes"))
    if not new:
        raise Refused("No class was typed; write one per line, for example “cat: small, says miaow”.", 422)
    with studio.database.write() as connection:
        added = managing.add_classes(connection, new)
    return back_to("/settings", f"{added} {'class' if added == 1 else 'classes'} added.")


@router.post("/classes/remove")
def remove_class(studio: Project, who: Owner, form: Form) -> Response:
    """Remove a class that nothing uses."""
    with studio.database.write() as connection:
        managing.remove_class(connection, *whole_fields([form.get("class")]))
    return back_to("/settings", "The class is removed.")


@router.post("/classes/picture")
def add_picture(studio: Project, who: Owner, form: Form) -> Response:
    """Give a class an example picture."""
    (class_id,) = whole_fields([form.get("class")])
    sent = form.get("picture")
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise Refused("No picture was chosen; choose one and send it again.", 422)
    with studio.database.write() as connection:
        kind, place = media.keep(connection, studio.folder, sent.filename, sent.file.read(media.LARGEST + 1))
        if kind != "image":
            raise Refused(f"“{sent.filename}” is a sound; an example is a picture.", 415)
        connection.execute(update(class_).where(class_.c.id == class_id).values(picture=place))
        touch(connection)
    return back_to("/settings", "The picture is shown beside the class from now on.")


@router.get("/items")
def items(request: Request, studio: Project, who: Owner, after: int = 0, key: str = "") -> Response:
    """List items, a page at a time, and offer to add more."""
    with studio.database.read() as connection:
        setup, roster = studio.now(connection)
        wanted = select(item).order_by(item.c.position).limit(_SHOWN)
        wanted = wanted.where(item.c.key == key) if key else wanted.where(item.c.position > after)
        rows = connection.execute(wanted).all()
    return page(request, "items.html", who, setup=setup, rows=rows, roster=roster, key=key, shown=_SHOWN)


@router.post("/items")
def add_items(studio: Project, who: Owner, form: Form) -> Response:
    """Add items from files, or from text with one item per line."""
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
    sent = [one for one in form.getlist("files") if isinstance(one, UploadFile) and one.filename]
    chosen = [one for one in form.getlist("folder") if isinstance(one, UploadFile) and one.filename]
    sent += [one for one in chosen if importing.is_readable(one.filename or "")]
    if chosen and not sent:
        raise Refused(
            "That folder holds no pictures, sounds or tables (.png, .jpg, .gif, .webp, .wav, .mp3, .ogg, "
            ".flac, .csv, .parquet, .jsonl); choose another.",
            422,
        )
    typed = text_field(form, "typed").strip()
    if sent:
        files = ((one.filename or "", one.file.read()) for one in sent)
        done = importing.import_files(studio.database, studio.folder, roster, files)
    elif typed:
        done = importing.add_items(studio.database, importing.typed_rows(typed))
    else:
        raise Refused("Choose a file or a folder, or type items, one per line.", 422)
    return back_to("/items", str(done))
