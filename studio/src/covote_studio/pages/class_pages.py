"""Classes: the list, a page for each, merging with a look at what it would change, the guide."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection, select

from covote_studio.answers.results import merge_effect
from covote_studio.editing import classes
from covote_studio.editing.guide import add_example, examples_of, remove_example
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
from covote_studio.rules import Refusal
from covote_studio.storage import media
from covote_studio.storage.schema import item

router = APIRouter()
_LISTED = 12
"""Items that a merge is shown with."""


@router.get("/classes")
def list_classes(request: Request, studio: Project, who: Owner) -> Response:
    """List the classes, in the order in which people see them."""
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        shown = examples_of(connection)
    known = {one.id: sum(one.id in member.known for member in roster.members) for one in roster.classes}
    return page(request, "classes.html", who, roster=roster, examples=shown, known=known)


@router.get("/classes/{class_id}")
def show_class(request: Request, studio: Project, who: Owner, class_id: int) -> Response:
    """Show a class, to be changed."""
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        shown = examples_of(connection).get(class_id, [])
    found = roster.class_by_id.get(class_id)
    if found is None:
        raise Refusal("This class no longer exists; go back to the list.", 404)
    people = [one.name for one in roster.members if class_id in one.known]
    return page(request, "class.html", who, one=found, roster=roster, examples=shown, people=people)


@router.get("/classes/{class_id}/merge")
def look_at_merge(request: Request, studio: Project, who: Owner, class_id: int, into: int = 0) -> Response:
    """Show what a merge would change, before it is made."""
    results = studio.results.refresh()
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        source, target = classes.check_merge(connection, class_id, into)
        effect = None if results is None else merge_effect(connection, results, class_id, into)
        listed = effect.conflicts[:_LISTED] if effect else []
        rows = connection.execute(select(item.c.id, item.c.key).where(item.c.id.in_(listed))).all()
    people = [one.name for one in roster.members if class_id in one.known and into not in one.known]
    return page(
        request, "merge.html", who, source=source, target=target, effect=effect, conflicts=rows, people=people
    )


@router.post("/classes")
def add_classes(studio: Project, who: Owner, form: Form) -> Response:
    """Add classes from lines of text."""
    new = classes.parse_classes(text_field(form, "classes"))
    if not new:
        raise Refusal("No class was typed; write one per line, for example “cat: small, says miaow”.", 422)
    with studio.database.write() as connection:
        added = classes.add_classes(connection, new, who.id)
    return back_to("/classes", f"{added} {'class' if added == 1 else 'classes'} added.")


def _one_class(form: Form) -> int:
    return whole_fields([form.get("class")])[0]


@router.post("/classes/change")
def change_class(studio: Project, who: Owner, form: Form) -> Response:
    """Rename a class, or change its description."""
    name, description = text_field(form, "name"), text_field(form, "description")
    with studio.database.write() as connection:
        classes.change_class(connection, _one_class(form), name=name, description=description, by=who.id)
    return back_to("/classes", "Saved. Earlier answers carry the name.")


@router.post("/classes/move")
def move_class(studio: Project, who: Owner, form: Form) -> Response:
    """Move a class up or down the list that everyone sees."""
    steps = -1 if text_field(form, "to") == "up" else 1
    with studio.database.write() as connection:
        classes.move_class(connection, _one_class(form), steps, who.id)
    return back_to("/classes")


@router.post("/classes/merge")
def merge_class(studio: Project, who: Owner, form: Form) -> Response:
    """Merge a class into another; its answers count for that one until the merge is undone."""
    (into,) = whole_fields([form.get("into")])
    with studio.database.write() as connection:
        classes.merge_classes(connection, _one_class(form), into, who.id)
    return back_to("/classes", "The two classes are merged. The merge can be undone at the end of this page.")


@router.post("/classes/unmerge")
def undo_merge(studio: Project, who: Owner, form: Form) -> Response:
    """Undo a merge."""
    with studio.database.write() as connection:
        again = classes.undo_merge(connection, _one_class(form), who.id)
    asked = f" {again:,} answers that were given while they were one are asked for again." if again else ""
    return back_to("/classes", f"The merge is undone.{asked}")


@router.post("/classes/retire")
def retire_class(studio: Project, who: Owner, form: Form) -> Response:
    """Stop offering a class."""
    with studio.database.write() as connection:
        message = classes.retire_class(connection, _one_class(form), who.id)
    return back_to("/classes", message)


@router.post("/classes/back")
def bring_back_class(studio: Project, who: Owner, form: Form) -> Response:
    """Offer a retired class again."""
    with studio.database.write() as connection:
        again = classes.bring_back_class(connection, _one_class(form), who.id)
    asked = f" {again:,} answers are asked for again, with this class in view." if again else ""
    return back_to("/classes", f"The class is offered again.{asked}")


def _sent_picture(connection: Connection, studio: Project, form: Form) -> str | None:
    """Keep the picture that was sent with a form, and return its address; None without one."""
    place = None
    for name, file in files_of(form, "picture"):
        kind, place = media.keep(connection, studio.folder, name, file.read(media.LARGEST + 1))
        if kind != "image":
            raise Refusal(f"“{name}” is a sound; send a picture.", 415)
    return place


@router.post("/classes/picture")
def add_picture(studio: Project, who: Owner, form: Form) -> Response:
    """Give a class an example picture."""
    with studio.database.write() as connection:
        place = _sent_picture(connection, studio, form)
        if place is None:
            raise Refusal("No picture was chosen; choose one and send it again.", 422)
        classes.set_picture(connection, _one_class(form), place, who.id)
    return back_to(f"/classes/{_one_class(form)}", "The class is shown with this picture from now on.")


@router.post("/classes/example")
def new_example(studio: Project, who: Owner, form: Form) -> Response:
    """Add an example, or a near miss, to the guide of a class."""
    with studio.database.write() as connection:
        place = _sent_picture(connection, studio, form)
        near_miss = text_field(form, "near_miss") == "yes"
        add_example(connection, _one_class(form), text_field(form, "text"), place, near_miss, who.id)
    return back_to(f"/classes/{_one_class(form)}", "People see it under Guide while they label.")


@router.post("/classes/example/remove")
def drop_example(studio: Project, who: Owner, form: Form) -> Response:
    """Remove an example from the guide."""
    with studio.database.write() as connection:
        (example_id,) = whole_fields([form.get("example")])
        remove_example(connection, example_id, who.id)
    return back_to("/classes", "Removed.")
