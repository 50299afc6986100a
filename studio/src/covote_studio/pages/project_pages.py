"""The project itself: its name and items, how they are asked, export and import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from sqlalchemy import func, select

from covote_studio.answers.inquiry import gold_answers
from covote_studio.editing.hooks import hook_state
from covote_studio.editing.items import set_gold
from covote_studio.exchange import importing, uploads
from covote_studio.exchange.exporting import export_response
from covote_studio.exchange.importing import Columns
from covote_studio.exchange.previewing import forget, keep_result, keep_table, look_at, result_of
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
from covote_studio.pages.start import is_running
from covote_studio.people import managing
from covote_studio.rules import Refusal
from covote_studio.storage.schema import answer, item

router = APIRouter()
_SHOWN = 60
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
    """Show name, instructions and the way of asking."""
    with studio.database.read() as connection:
        setup, roster = studio.snapshot(connection)
        advised, advice = _advice(len(gold_answers(connection)), len(roster.active))
    return page(
        request, "settings.html", who, setup=setup, ways=_WAYS, advised=advised, advice=advice,
        models=bool(roster.models),
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


FILTERS = {
    "": "All", "gold": "Gold", "plain": "Not gold", "unanswered": "No answers", "retired": "Retired",
}  # fmt: skip


@router.get("/items")
def items(
    request: Request, studio: Project, who: Owner, after: int = 0, key: str = "", show: str = ""
) -> Response:
    """List items, a page at a time: all, or those of a kind."""
    wanted = select(item).order_by(item.c.position).limit(_SHOWN + 1)
    if key:
        wanted = wanted.where(item.c.key.icontains(key, autoescape=True))
    if show == "gold":
        wanted = wanted.where(item.c.gold.is_not(None))
    elif show == "plain":
        wanted = wanted.where(item.c.gold.is_(None))
    elif show == "unanswered":
        wanted = wanted.where(~select(answer.c.id).where(answer.c.item_id == item.c.id).exists())
    wanted = wanted.where(item.c.retired.is_(show == "retired"), item.c.position > after)
    with studio.database.read() as connection:
        setup, roster = studio.snapshot(connection)
        rows = connection.execute(wanted).all()
        gone = connection.execute(
            select(func.count()).select_from(item).where(item.c.retired.is_(True))
        ).scalar_one()
    return page(
        request, "items.html", who, setup=setup, rows=rows[:_SHOWN], roster=roster, key=key, show=show,
        more=len(rows) > _SHOWN, after=after, gone=gone, filters=FILTERS,
    )  # fmt: skip


@router.post("/items")
def add_items(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Add items from files, or from text with one item per line."""
    done = _take_items(studio, who, form)
    if "x-sent-by-script" in request.headers:  # which would follow a redirect and use up what it says
        place = JSONResponse({"to": done.headers["location"]})
        place.raw_headers += [one for one in done.raw_headers if one[0] == b"set-cookie"]
        return place
    return done


def _take_items(studio: Project, who: Owner, form: Form) -> Response:
    sent = files_of(form, "files") + files_of(form, "folder")
    typed = text_field(form, "typed").strip()
    if typed and not sent:
        return back_to(
            "/items", str(importing.add_items(studio.database, importing.typed_rows(typed), who.id))
        )
    if not sent:
        raise Refusal("Choose a file or a folder, or type items, one per line.", 422)
    upload = uploads.receive(studio.database, studio.folder, sent)
    if len(upload.tables) > 1:
        names = ", ".join(name for name, _ in upload.tables[:5])
        raise Refusal(f"{len(upload.tables)} tables were sent ({names}); send one table at a time.", 422)
    if upload.tables:
        name, content = upload.tables[0]
        return back_to(f"/items/import/{keep_table(studio.folder, name, content, upload)}")
    done = importing.import_media(studio.database, upload.stored, who.id)
    if not upload.left_out:
        return back_to(_after_adding(studio), str(done))
    return back_to(f"/items/added/{keep_result(studio.folder, str(done), upload.left_out)}")


def _after_adding(studio: Project) -> str:
    """Return the page after items were added: until people answer, the owner goes on setting up."""
    with studio.database.read() as connection:
        return "/items" if is_running(connection) else "/start"


@router.get("/items/added/{token}")
def added(request: Request, studio: Project, who: Owner, token: str) -> Response:
    """Say what became of the files that were sent: added, or left out and why."""
    message, left_out = result_of(studio.folder, token)
    return page(request, "added.html", who, message=message, left_out=left_out)


def _chosen_columns(values: Mapping[str, Any]) -> Columns | None:
    if "content" not in values:
        return None
    kind, gold = str(values.get("kind") or "text"), str(values.get("gold") or "") or None
    content, key = str(values.get("content") or ""), str(values.get("id") or "") or None
    if kind not in ("text", "image", "audio"):
        raise Refusal("Items are texts, pictures or sounds; choose one of them.", 422)
    return Columns(content, kind, key, gold) if content or (key and gold) else None


def _keys(studio: Project) -> set[str]:
    with studio.database.read() as connection:
        return set(connection.execute(select(item.c.key)).scalars())


@router.get("/items/import/{token}")
def preview(request: Request, studio: Project, who: Owner, token: str) -> Response:
    """Show what a table would add, and everything that is wrong with it."""
    _, roster = studio.snapshot()
    columns = _chosen_columns(request.query_params)
    shown = look_at(studio.folder, token, roster, _keys(studio), columns)
    return page(request, "preview.html", who, shown=shown)


@router.post("/items/import/{token}")
def take_table(studio: Project, who: Owner, form: Form, token: str) -> Response:
    """Add the items of a table that was looked at."""
    _, roster = studio.snapshot()
    shown = look_at(studio.folder, token, roster, _keys(studio), _chosen_columns(form))
    if shown.examined is None:
        raise Refusal("Choose the column that people should see, or id and gold.", 422)
    if not shown.examined.items:
        shown.examined.refuse()
    done = importing.add_items(studio.database, shown.examined.items, who.id)
    forget(studio.folder, token)
    left_out = shown.left_out + [(f"row {number}", why) for number, why in shown.examined.problems]
    if left_out:
        return back_to(f"/items/added/{keep_result(studio.folder, str(done), left_out)}")
    return back_to(_after_adding(studio), str(done))


@router.post("/items/gold")
def set_golds(studio: Project, who: Owner, form: Form) -> Response:
    """Set the class that the chosen items are known to have."""
    chosen = whole_fields(form.getlist("item"))
    (gold,) = whole_fields([text_field(form, "gold", "0") or "0"])
    if not chosen:
        raise Refusal("No item was chosen; tick those whose class you know.", 422)
    with studio.database.write() as connection:
        for one in chosen:
            set_gold(connection, one, gold or None, who.id)
    count = f"{len(chosen):,} item{' is' if len(chosen) == 1 else 's are'}"
    return back_to(_items_address(form), f"{count} {'gold' if gold else 'no longer gold'}.")


def _items_address(form: Form) -> str:
    """Return the page of items from which a form was sent."""
    wanted = {name: text_field(form, name) for name in ("show", "after") if text_field(form, name)}
    return f"/items?{urlencode(wanted)}" if wanted else "/items"


@router.get("/export")
def offer(request: Request, studio: Project, who: Owner) -> Response:
    """Show the files to download, and whether programs hear of settled items."""
    with studio.database.read() as connection:
        hook, decided = hook_state(connection), len(managing.decisions(connection))
    return page(request, "export.html", who, hook=hook, decided=decided)


@router.get("/export/{name}")
def export(studio: Project, who: Owner, name: str) -> Response:
    """Send a file."""
    return export_response(studio, name)


@router.post("/import")
def take_in(studio: Project, who: Owner, form: Form) -> Response:
    """Import a panel file, a file of answers, or both."""
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
        raise Refusal("No file was chosen; choose a panel file, a file of answers, or both.", 422)
    return back_to("/export", " ".join(done))
