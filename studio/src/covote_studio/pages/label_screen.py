"""The labelling screen: one item, your own classes, the next item at once."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, Field, ValidationError
from sqlalchemy import select
from starlette.routing import Route

from covote_studio.answers.assignments import Lease
from covote_studio.answers.progress import remaining
from covote_studio.answers.recording import NewAnswer
from covote_studio.editing import items
from covote_studio.editing.guide import examples_of
from covote_studio.pages.rendering import (
    STATIC,
    Form,
    Project,
    RequestCredentials,
    Who,
    back_to,
    credentials_of,
    fragment,
    page,
    studio_at,
    text_field,
    whole_fields,
)
from covote_studio.people.roster import Roster
from covote_studio.rules import ADAPTIVE
from covote_studio.storage import media
from covote_studio.storage.schema import NONE, UNSURE, person

router = APIRouter()
AHEAD = 20
"""Items leased to a person: the one in view and the next, so that work continues without a connection."""
FEWEST_AHEAD = 3
"""Fewest items leased where people are asked one after another: there, others wait for leased items."""
_LETTERS = "123456789abcdefghijklmopqrtvwxy"
"""Keyboard shortcuts of classes, in order; n, s, u and z have other meanings."""


class AnswerBody(BaseModel):
    """An answer as the page sends it."""

    item: int
    token: str = Field(max_length=64)
    key: str = Field(min_length=8, max_length=64)
    choice: int
    shown: int
    """The list of classes that was on the screen."""
    screen: str = Field(default="", max_length=32)
    """A digest of what the answer buttons showed."""
    unsent: int = Field(default=0, ge=0, le=1000)
    want: int = Field(default=AHEAD, ge=0, le=AHEAD)


class FlagBody(BaseModel):
    """A problem that someone reports with an item."""

    item: int = Field(ge=1, le=2**31 - 1)
    comment: str = Field(min_length=1, max_length=2000)


class NextBody(BaseModel):
    """What the page that asks for items shows."""

    screen: str = Field(default="", max_length=32)


class UndoBody(BaseModel):
    """The item that is already open for a change, if any."""

    before: int | None = Field(default=None, ge=1, le=2**31 - 1)


def ahead(setup: Any, roster: Roster) -> int:
    """Return how many items are leased to a person.

    >>> from types import SimpleNamespace
    >>> ahead(SimpleNamespace(ask="everybody", size=40), SimpleNamespace(active=range(5)))
    20
    >>> ahead(SimpleNamespace(ask="posterior", size=40), SimpleNamespace(active=range(5)))
    3
    """
    if setup.ask not in ADAPTIVE:
        return AHEAD
    fair = int(setup.size) // (3 * max(1, len(roster.active)))
    return min(AHEAD, max(FEWEST_AHEAD, fair))


def lease_dict(lease: Lease) -> dict[str, Any]:
    """Return a lease as pages and programs get it."""
    return {**asdict(lease), "title": lease.title, "answer_key": secrets.token_urlsafe(16)}


@router.get("/label")
def label(request: Request, studio: Project, who: Who, again: int | None = None) -> Response:
    """Show the next item, or one that was answered before."""
    leases, reason = studio.lease(who.id, ahead(*studio.snapshot()))
    if again is not None:
        reopened = studio.reopen(who.id, again)
        if reopened is not None:
            leases = [reopened, *leases]
    with studio.database.read() as connection:
        setup, roster = studio.snapshot(connection)
        done = connection.execute(select(person.c.answers).where(person.c.id == who.id)).scalar_one()
        examples = examples_of(connection)
    who = roster.member(who.id)
    known = [one for one in roster.classes if one.id in who.known]
    keys = [_LETTERS[n] if n < len(_LETTERS) else "" for n in range(len(known))]
    data = {
        "shown": who.options_id or 0,
        "screen": roster.screen(who),
        "leases": [lease_dict(one) for one in leases],
        "store": f"covote:{setup.uid}:{who.id}:",
        "left": remaining(setup, who, done),
        "done": done,
        "ahead": ahead(setup, roster),
        "unsure": UNSURE,
    }
    return page(
        request, "label.html", who, project_name=setup.name, instructions=setup.instructions, reason=reason,
        choices=list(zip(known, keys, strict=True)), lease=data["leases"][0] if leases else None, data=data,
        none_of_mine=NONE, not_sure=UNSURE,
        has_guide=any(one.description or one.picture or one.id in examples for one in known),
    )  # fmt: skip


@router.post("/label")
def answer_form(studio: Project, credentials: RequestCredentials, form: Form) -> Response:
    """Take an answer from a browser without JavaScript."""
    item_id, choice, shown = whole_fields([form.get("item"), form.get("choice"), form.get("shown")])
    token, key = text_field(form, "token"), text_field(form, "key")
    studio.record(credentials, NewAnswer(item_id, token, choice, key, shown))
    return back_to("/label")


async def answer(request: Request) -> Response:
    """Record an answer, and return the next items.

    There are hundreds of these requests a second. They go to a thread once, not once per dependency as
    FastAPI does it, and their route is tried first (benchmarks/results/studio.md, 500 people).
    """
    body = await request.body()
    return await run_in_threadpool(_answer, request, body)


ANSWER = Route("/label/answer", answer, methods=["POST"])


def _answer(request: Request, body: bytes) -> Response:
    studio = studio_at(request)
    try:
        sent = AnswerBody.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error
    new = NewAnswer(sent.item, sent.token, sent.choice, sent.key, sent.shown)
    done = studio.record(credentials_of(request), new, sent.want + sent.unsent if sent.want else 0)
    given = [lease_dict(one) for one in done.leases]
    return JSONResponse(
        {"before": not done.new, "replaced": done.replaced, "leases": given,
         "reason": done.reason, "right": done.right, "done": done.done, "left": done.left,
         "reload": sent.screen not in ("", done.screen)}
    )  # fmt: skip


@router.post("/label/next")
def give(studio: Project, who: Who, wanted: NextBody | None = None) -> Response:
    """Return the next items, and whether the page that asks is out of date."""
    leases, reason = studio.lease(who.id, ahead(*studio.snapshot()))
    _, roster = studio.snapshot()
    old = wanted is not None and wanted.screen not in ("", roster.screen(roster.member(who.id)))
    return JSONResponse({"leases": [lease_dict(one) for one in leases], "reason": reason, "reload": old})


@router.post("/label/undo")
def undo(studio: Project, who: Who, opened: UndoBody | None = None) -> Response:
    """Reopen the last answer, or the one before that which is open."""
    return JSONResponse({"lease": lease_dict(studio.undo(who.id, opened.before if opened else None))})


@router.post("/label/flag")
def flag(studio: Project, who: Who, flagged: FlagBody) -> Response:
    """Report a problem with an item to the owner."""
    with studio.database.write() as connection:
        items.flag_item(connection, flagged.item, who.id, flagged.comment)
    return JSONResponse({"flagged": True})


@router.get("/label/guide")
def guide(request: Request, studio: Project, who: Who) -> Response:
    """Explain the classes that a person knows: what they are, examples, near misses."""
    _, roster = studio.snapshot()
    with studio.database.read() as connection:
        shown = examples_of(connection)
    known = [one for one in roster.classes if one.id in who.known]
    return fragment(request, "_guide.html", classes=known, examples=shown)


@router.get("/offline.js")
def offline(who: Who) -> Response:
    """Serve the worker that keeps the page; its address decides which pages it may keep."""
    return FileResponse(STATIC / "offline.js", media_type="text/javascript")


@router.get("/media/{digest}")
def show_media(studio: Project, who: Who, digest: str) -> Response:
    """Serve a picture or a sound of the project to its people."""
    with studio.database.read() as connection:
        place, mime = media.find(connection, studio.folder, digest)
    return FileResponse(
        place,
        media_type=mime,
        headers={"cache-control": "private, max-age=31536000, immutable", "content-disposition": "inline"},
    )
