"""The interface for programs: JSON under /api, with tokens, under the same rules as the pages."""

from __future__ import annotations

import math
import secrets
from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter, Depends, Path, Query
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field
from sqlalchemy import select

from covote_studio.answers.assignments import Lease
from covote_studio.answers.progress import ProjectProgress, measure_progress
from covote_studio.answers.recording import NewAnswer
from covote_studio.exchange import importing
from covote_studio.pages.rendering import Owner, Project, RequestCredentials, Who
from covote_studio.people import managing
from covote_studio.people.roster import Roster
from covote_studio.rules import Refusal
from covote_studio.storage.schema import NONE, UNSURE, item

REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"description": text, "model": dict[str, str]}
    for code, text in {
        400: "The request is not JSON.", 401: "No valid token.", 403: "Not allowed.", 404: "Not found.",
        409: "Out of date.", 413: "Too large.", 422: "Invalid.",
    }.items()
}  # fmt: skip
"""Errors that every operation may return."""
TOKEN = [Depends(HTTPBearer(auto_error=False, description="A token of a person, made under People."))]
"""What OpenAPI says about signing in; who sends a request is found as for the pages."""
router = APIRouter(prefix="/api", tags=["studio"], responses=REFUSALS, dependencies=TOKEN)
Id = Annotated[int, Path(ge=1, le=2**31 - 1)]


class ProjectOut(BaseModel):
    """The project."""

    name: str
    ask: str
    items: int
    classes: list[str]
    panel_version: int


class OptionOut(BaseModel):
    """A class to choose; a new name does not change its id."""

    id: int
    name: str


class LeaseOut(BaseModel):
    """A leased item: answer it with its token and your own key."""

    item_id: int
    item: str
    kind: str
    content: str
    token: str
    key: str
    expires: float
    options: list[OptionOut]
    shown: int
    """The list of options, to be sent with the answer."""


class AnswerIn(BaseModel):
    """An answer: the id of an option, "none of mine" or "not sure"; `shown` is the lease's list."""

    item_id: int = Field(ge=1, le=2**31 - 1)
    token: str = Field(max_length=64)
    key: str = Field(min_length=8, max_length=64)
    shown: int = Field(ge=1, le=2**31 - 1)
    answer: Annotated[int, Field(ge=1, le=2**31 - 1)] | Literal["none of mine", "not sure"]


class AnswerOut(BaseModel):
    """Whether the answer was on record before, and which earlier one it replaces."""

    before: bool
    replaced: str | None
    outdated: bool
    """Whether the list of options has changed since; the item is asked about again if a class was missing."""


class PersonIn(BaseModel):
    """A person to invite."""

    name: str = Field(max_length=1000)
    knows: list[Annotated[str, Field(max_length=1000)]] = Field(default=[], max_length=10_000)
    may_tick: bool = False


class PersonOut(BaseModel):
    """A person of the project."""

    id: int
    name: str
    role: str
    knows: list[str]
    cost: float
    active: bool


class Invitation(BaseModel):
    """A new person, and the path of their invitation link."""

    id: int
    path: str


class ItemIn(BaseModel):
    """An item to add; its content is a text, or an address that begins with https://."""

    id: str = Field(max_length=1000)
    text: str | None = Field(default=None, max_length=200_000)
    image: str | None = Field(default=None, max_length=5000)
    audio: str | None = Field(default=None, max_length=5000)
    gold: str | None = Field(default=None, max_length=1000)


class ItemCounts(BaseModel):
    """How many items were added, and how many existed already."""

    added: int
    known: int


class LabelOut(BaseModel):
    """The label of an item."""

    item: str
    label: str | None
    status: str
    confidence: float | None
    violations: int


def ids_of(roster: Roster, names: list[str]) -> list[int]:
    """Return the ids of classes by their names, or reject unknown ones."""
    unknown = [name for name in names if name not in roster.class_by_name]
    if unknown:
        raise Refusal(f"There is no class “{unknown[0][:100]}” in this project; add it first.", 422)
    return [roster.class_by_name[name].id for name in names]


@router.get("/project")
def project(studio: Project, who: Who) -> ProjectOut:
    """Describe the project; experts see the classes that they know."""
    setup, roster = studio.snapshot()
    names = [one.name for one in roster.classes if who.reviews or one.id in who.known]
    return ProjectOut(
        name=setup.name, ask=setup.ask, items=setup.size, classes=names, panel_version=setup.panel_version
    )


@router.post("/leases")
def lease(studio: Project, who: Who, count: Annotated[int, Query(ge=1, le=100)] = 1) -> list[LeaseOut]:
    """Lease items to answer; those already leased come first."""
    held, reason = studio.lease(who.id, count)
    if reason:
        raise Refusal(reason)
    _, roster = studio.snapshot()
    return [_lease_out(one, roster, who.id) for one in held]


def _lease_out(one: Lease, roster: Roster, person_id: int) -> LeaseOut:
    member = roster.member(person_id)
    return LeaseOut(
        item_id=one.item_id, item=one.key, kind=one.kind, content=one.content, token=one.token,
        key=secrets.token_urlsafe(16), expires=one.expires,
        options=[OptionOut(id=k.id, name=k.name) for k in roster.classes if k.id in member.known],
        shown=member.options_id or 0,
    )  # fmt: skip


_SPECIAL = {"none of mine": NONE, "not sure": UNSURE}


@router.post("/answers")
def answer(studio: Project, who: Who, credentials: RequestCredentials, sent: AnswerIn) -> AnswerOut:
    """Answer a leased item; the same key again is the same answer again."""
    choice = sent.answer if isinstance(sent.answer, int) else _SPECIAL[sent.answer]
    new = NewAnswer(sent.item_id, sent.token, choice, sent.key, sent.shown, "api")
    done = studio.record(credentials, new)
    now = studio.snapshot()[1].member(who.id).options_id
    return AnswerOut(before=not done.new, replaced=done.replaced or None, outdated=sent.shown != now)


@router.post("/undo")
def undo(studio: Project, who: Who) -> LeaseOut:
    """Reopen your last answer."""
    opened = studio.undo(who.id)
    _, roster = studio.snapshot()
    return _lease_out(opened, roster, who.id)


@router.get("/people")
def people(studio: Project, who: Owner) -> list[PersonOut]:
    """List everyone."""
    _, roster = studio.snapshot()
    return [
        PersonOut(id=one.id, name=one.name, role=one.role, knows=roster.names_of(one.known), cost=one.cost,
                  active=one.active)
        for one in roster.members
    ]  # fmt: skip


@router.post("/people")
def invite(studio: Project, who: Owner, new: PersonIn) -> Invitation:
    """Invite a person."""
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        person_id, secret = managing.invite(
            connection, new.name, ids_of(roster, new.knows), new.may_tick, who.id
        )
    return Invitation(id=person_id, path=f"/enter/{secret}")


@router.post("/items")
def add_items(
    studio: Project, who: Owner, new: Annotated[list[ItemIn], Field(max_length=10_000)]
) -> ItemCounts:
    """Add items."""
    _, roster = studio.snapshot()
    rows, problems = [], []
    for kind in ("text", "image", "audio"):
        some = [one for one in new if getattr(one, kind) is not None]
        if some:
            columns = {"id": [one.id for one in some], kind: [getattr(one, kind) for one in some],
                       "gold": [one.gold for one in some]}  # fmt: skip
            table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
            found = importing.examine(table, importing.Columns(kind, kind, "id", "gold"), roster, {})
            rows += found.items
            problems += found.problems
    importing.TableCheck(rows, problems).refuse()
    if len(rows) != len(new):
        raise Refusal("Every item has exactly one of text, image and audio.", 422)
    if len({row[0] for row in rows}) != len(rows):
        raise Refusal("Two of these items have the same id; every item needs its own.", 422)
    done = importing.add_items(studio.database, rows, who.id)
    return ItemCounts(added=done.added, known=done.known)


@router.get("/coverage")
def read_coverage(studio: Project, who: Owner) -> dict[str, Any]:
    """Count the people who know each pair of classes."""
    _, roster = studio.snapshot()
    if not roster.classes:
        raise Refusal("There are no classes yet.", 409)
    return roster.coverage


@router.get("/progress")
def progress(studio: Project, who: Owner) -> ProjectProgress:
    """Return the progress of the project."""
    results, _ = studio.results.get()
    with studio.database.read() as connection:
        return measure_progress(connection, *studio.snapshot(connection), results)


@router.get("/labels")
def labels(
    studio: Project, who: Owner, start: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    count: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> list[LabelOut]:  # fmt: skip
    """List labels, in the order of the items; only items with votes have one."""
    results, _ = studio.results.get()
    if results is None:
        return []
    ids = [int(one) for one in results.items[start : start + count]]
    with studio.database.read() as connection:
        keys = {
            row.id: row.key
            for row in connection.execute(select(item.c.id, item.c.key).where(item.c.id.in_(ids)))
        }
    found = [(keys[one], results.verdict(at)) for at, one in enumerate(ids, start=start)]
    return [
        LabelOut(
            item=key, label=None if verdict["label"] is None else str(verdict["label"]),
            status=verdict["status"],
            confidence=None if math.isnan(verdict["confidence"]) else verdict["confidence"],
            violations=verdict["violations"],
        )
        for key, verdict in found
    ]  # fmt: skip
