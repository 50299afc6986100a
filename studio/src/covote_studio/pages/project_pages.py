"""The project itself: its name, classes and items, how they are asked, export and import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection, select

from covote_studio.answers.inquiry import gold_answers
from covote_studio.editing import classes
from covote_studio.editing.guide import add_example, examples_of, remove_example
from covote_studio.editing.hooks import hook_state
from covote_studio.exchange import importing, table_files
from covote_studio.exchange.exporting import export_response
from covote_studio.exchange.importing import Columns
from covote_studio.exchange.previewing import forget, keep_table, look_at
from covote_studio.pages.rendering import (
    Form,
    Owner,
    Project,
    back_to,
    files_of,
    page,
    text_field,
    whole_fields,
)
from covote_studio.people import managing
from covote_studio.rules import Refused
from covote_studio.storage import media
from covote_studio.storage.schema import item

router = APIRouter()
_SHOWN = 50
"""Items of a page."""
NO_GOLD = (
    "No one has answered a gold item yet; until enough are answered, people are asked until the vote is "
    "decided. Add items whose class you know (a column “gold”)."
)


_WAYS = (
    ("everybody", "Everyone", "Everyone who knows something is asked about every item."),
    ("elimination", "As few as needed", "People are asked one after another until only one class is left. "
     "Fewest answers, but one wrong answer can mislead."),
    ("posterior", "Until 99% sure", "People are asked one after another until at most 1% of the labels can "
     "be wrong, as the gold items show; while these are too few for that, until the vote is decided."),
)  # fmt: skip
ENOUGH_GOLD = 2_000
"""Answers to gold items needed before asking until 99% sure is recommended: some 500 items."""


def _advice(answers: int, people: int) -> tuple[str, str]:
    """Return the way of asking to recommend, and why."""
    if people < 3:
        return "everybody", "With so few people, everyone's answer is needed."
    if answers < ENOUGH_GOLD:
        return "everybody", (
            f"{answers:,} answers to gold items say too little about how often labels would be wrong. "
            f"From about {ENOUGH_GOLD:,} on, “until 99% sure” can save answers without guessing."
        )
    return "posterior", (
        f"{answers:,} answers to gold items show how reliable people are, so doubt can be measured."
    )


@router.get("/settings")
def settings(request: Request, studio: Project, who: Owner) -> Response:
    """Show name, instructions, classes and the way of asking."""
    with studio.database.read() as connection:
        setup, roster = studio.snapshot(connection)
        advised, advice = _advice(len(gold_answers(connection)), len(roster.active))
        shown = examples_of(connection)
    return page(
        request, "settings.html", who, setup=setup, roster=roster, classes=roster.classes, ways=_WAYS,
        advised=advised, advice=advice, examples=shown,
    )  # fmt: skip


@router.post("/settings")
def change(studio: Project, who: Owner, form: Form) -> Response:
    """Change name, instructions and the way of asking."""
    ask = text_field(form, "ask")
    with studio.database.write() as connection:
        managing.change_project(
            connection, text_field(form, "name"), text_field(form, "instructions"), ask, who.id
        )
        if "trial" in form:
            (count,) = whole_fields([text_field(form, "trial") or "0"])
            first = text_field(form, "trial_first", "yes") == "yes"
            managing.set_trial(connection, count, first=first, feedback="feedback" in form, by=who.id)
        unknown = ask == "posterior" and not len(gold_answers(connection))
    studio.reassess()
    return back_to("/settings", "Saved. " + NO_GOLD if unknown else "Saved.")


@router.post("/classes")
def add_classes(studio: Project, who: Owner, form: Form) -> Response:
    """Add classes from lines of text."""
    new = classes.parse_classes(text_field(form, "classes"))
    if not new:
        raise Refused("No class was typed; write one per line, for example “cat: small, says miaow”.", 422)
    with studio.database.write() as connection:
        added = classes.add_classes(connection, new, who.id)
    return back_to("/settings#classes-list", f"{added} {'class' if added == 1 else 'classes'} added.")


def _one_class(form: Form) -> int:
    return whole_fields([form.get("class")])[0]


@router.post("/classes/change")
def change_class(studio: Project, who: Owner, form: Form) -> Response:
    """Rename a class, or change its description."""
    name, description = text_field(form, "name"), text_field(form, "description")
    with studio.database.write() as connection:
        classes.change_class(connection, _one_class(form), name=name, description=description, by=who.id)
    return back_to("/settings#classes-list", "Saved. Earlier answers carry the new name.")


@router.post("/classes/move")
def move_class(studio: Project, who: Owner, form: Form) -> Response:
    """Move a class up or down the list that everyone sees."""
    steps = -1 if text_field(form, "to") == "up" else 1
    with studio.database.write() as connection:
        classes.move_class(connection, _one_class(form), steps, who.id)
    return back_to("/settings#classes-list")


@router.post("/classes/merge")
def merge_class(studio: Project, who: Owner, form: Form) -> Response:
    """Merge a class into another; its answers count for that one."""
    (into,) = whole_fields([form.get("into")])
    with studio.database.write() as connection:
        classes.merge_classes(connection, _one_class(form), into, who.id)
    return back_to("/settings#classes-list", "The two classes have been merged; the merge is on record.")


@router.post("/classes/retire")
def retire_class(studio: Project, who: Owner, form: Form) -> Response:
    """Stop offering a class."""
    with studio.database.write() as connection:
        told = classes.retire_class(connection, _one_class(form), who.id)
    return back_to("/settings#classes-list", told)


@router.post("/classes/back")
def bring_back_class(studio: Project, who: Owner, form: Form) -> Response:
    """Offer a retired class again."""
    with studio.database.write() as connection:
        again = classes.bring_back_class(connection, _one_class(form), who.id)
    asked = f" {again:,} answers are asked for again, with this class in view." if again else ""
    return back_to("/settings#classes-list", f"The class is offered again.{asked}")


def _sent_picture(connection: Connection, studio: Project, form: Form) -> str | None:
    """Keep the picture that was sent with a form, and return its address; None without one."""
    place = None
    for name, file in files_of(form, "picture"):
        kind, place = media.keep(connection, studio.folder, name, file.read(media.LARGEST + 1))
        if kind != "image":
            raise Refused(f"“{name}” is a sound; send a picture.", 415)
    return place


@router.post("/classes/picture")
def add_picture(studio: Project, who: Owner, form: Form) -> Response:
    """Give a class an example picture."""
    with studio.database.write() as connection:
        place = _sent_picture(connection, studio, form)
        if place is None:
            raise Refused("No picture was chosen; choose one and send it again.", 422)
        classes.set_picture(connection, _one_class(form), place, who.id)
    return back_to("/settings", "The class is shown with this picture from now on.")


@router.post("/classes/example")
def new_example(studio: Project, who: Owner, form: Form) -> Response:
    """Add an example, or a near miss, to the guide of a class."""
    with studio.database.write() as connection:
        place = _sent_picture(connection, studio, form)
        near_miss = text_field(form, "near_miss") == "yes"
        add_example(connection, _one_class(form), text_field(form, "text"), place, near_miss, who.id)
    return back_to("/settings#classes-list", "People see it under Guide while they label.")


@router.post("/classes/example/remove")
def drop_example(studio: Project, who: Owner, form: Form) -> Response:
    """Remove an example from the guide."""
    with studio.database.write() as connection:
        (example_id,) = whole_fields([form.get("example")])
        remove_example(connection, example_id, who.id)
    return back_to("/settings#classes-list", "Removed.")


@router.get("/items")
def items(request: Request, studio: Project, who: Owner, after: int = 0, key: str = "") -> Response:
    """List items, a page at a time, and offer to add more."""
    with studio.database.read() as connection:
        setup, roster = studio.snapshot(connection)
        wanted = select(item).order_by(item.c.position).limit(_SHOWN)
        wanted = wanted.where(item.c.key == key) if key else wanted.where(item.c.position > after)
        rows = connection.execute(wanted).all()
    return page(request, "items.html", who, setup=setup, rows=rows, roster=roster, key=key, shown=_SHOWN)


@router.post("/items")
def add_items(studio: Project, who: Owner, form: Form) -> Response:
    """Add items from files, or from text with one item per line."""
    folder = files_of(form, "folder")
    sent = files_of(form, "files") + [one for one in folder if importing.is_readable(one[0])]
    if folder and not sent:
        raise Refused(
            "That folder holds no pictures, sounds or tables (.png, .jpg, .gif, .webp, .wav, .mp3, .ogg, "
            ".flac, .csv, .xlsx, .parquet, .jsonl); choose another.",
            422,
        )
    typed = text_field(form, "typed").strip()
    if sent:
        files = ((name, file.read()) for name, file in sent)
        stored, sheets = importing.sort_files(studio.database, studio.folder, files)
        if len(sheets) > 1:
            raise Refused(f"{len(sheets)} tables were sent; send one table at a time.", 422)
        if sheets:
            name, content = sheets[0]
            table_files.read_table(name, content)  # reject at once what cannot be read
            return back_to(f"/items/import/{keep_table(studio.folder, name, content, stored)}")
        done = importing.import_media(studio.database, stored, who.id)
    elif typed:
        done = importing.add_items(studio.database, importing.typed_rows(typed), who.id)
    else:
        raise Refused("Choose a file or a folder, or type items, one per line.", 422)
    return back_to("/items", str(done))


def _chosen_columns(values: Mapping[str, Any]) -> Columns | None:
    content = str(values.get("content") or "")
    kind = str(values.get("kind") or "text")
    if not content:
        return None
    if kind not in ("text", "image", "audio"):
        raise Refused("Items are texts, pictures or sounds; choose one of them.", 422)
    return Columns(content, kind, str(values.get("id") or "") or None, str(values.get("gold") or "") or None)


@router.get("/items/import/{token}")
def preview(request: Request, studio: Project, who: Owner, token: str) -> Response:
    """Show what a table would add, and everything that is wrong with it."""
    _, roster = studio.snapshot()
    shown = look_at(studio.folder, token, roster, _chosen_columns(request.query_params))
    return page(request, "preview.html", who, shown=shown)


@router.post("/items/import/{token}")
def take_table(studio: Project, who: Owner, form: Form, token: str) -> Response:
    """Add the items of a table that was looked at."""
    _, roster = studio.snapshot()
    shown = look_at(studio.folder, token, roster, _chosen_columns(form))
    if shown.examined is None:
        raise Refused("Choose the column that people should see.", 422)
    if "leave_out" not in form:
        shown.examined.refuse()
    done = importing.add_items(studio.database, shown.examined.items, who.id)
    forget(studio.folder, token)
    return back_to("/items", str(done))


@router.get("/export")
def offer(request: Request, studio: Project, who: Owner) -> Response:
    """Show the files to download, and whether programs hear of settled items."""
    with studio.database.read() as connection:
        hook = hook_state(connection)
    return page(request, "export.html", who, hook=hook)


@router.get("/export/{name}")
def export(studio: Project, who: Owner, name: str) -> Response:
    """Send a file."""
    return export_response(studio, name)


@router.post("/import")
def take_in(studio: Project, who: Owner, form: Form) -> Response:
    """Import a panel file, a file of votes, or both."""
    done = []
    for name, sent in files_of(form, "panel"):
        panel = importing.read_panel(name, sent.read())
        with studio.database.write() as connection:
            managing.adopt_panel(connection, panel, by=who.id)
        done.append(f"{len(panel)} experts and {len(panel.classes)} classes were read from the panel file.")
    for name, sent in files_of(form, "votes"):
        with studio.database.write() as connection:
            _, roster = studio.snapshot(connection)
            done.append(importing.import_votes(connection, roster, name, sent.read(), who.id))
    if not done:
        raise Refused("No file was chosen; choose a panel file, a file of votes, or both.", 422)
    return back_to("/export", " ".join(done))
