"""The interface for programs, second part: changes by owners, decisions by reviewers, and files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import select

from covote_studio.answers.results import shown_names
from covote_studio.api import REFUSALS, TOKEN, Id, ids_of
from covote_studio.editing import classes, hooks, items
from covote_studio.editing.record import record_entries
from covote_studio.exchange.exporting import export_response
from covote_studio.pages.rendering import Owner, Project, Reviewer
from covote_studio.people import managing
from covote_studio.people.expertise import set_known
from covote_studio.people.roster import Roster
from covote_studio.rules import Refusal
from covote_studio.storage.schema import CHOICE, answer, flag, item, person

router = APIRouter(prefix="/api", tags=["project"], responses=REFUSALS, dependencies=TOKEN)
_Start = Annotated[int, Query(ge=0, le=2**31 - 1)]
_Count = Annotated[int, Query(ge=1, le=10_000)]


class ClassOut(BaseModel):
    """A class; `retired` ones are not offered, and `merged_into` is the class that its answers count for."""

    id: int
    name: str
    description: str
    retired: bool
    merged_into: str | None


class ClassIn(BaseModel):
    """A class to add."""

    name: str = Field(max_length=1000)
    description: str = Field(default="", max_length=10_000)


class ClassChange(BaseModel):
    """Changes to a class; fields that are left out stay. A `merged_into` of "" undoes the merge."""

    name: str | None = Field(default=None, max_length=1000)
    description: str | None = Field(default=None, max_length=10_000)
    retired: bool | None = None
    merged_into: str | None = Field(default=None, max_length=1000)


class Message(BaseModel):
    """The result, as a sentence."""

    done: str


class ItemOut(BaseModel):
    """An item."""

    id: int
    item: str
    kind: str
    content: str
    gold: str | None
    retired: bool


class ItemChange(BaseModel):
    """Changes to an item; fields that are left out stay. A `gold` of "" removes the known class."""

    content: str | None = Field(default=None, max_length=200_000)
    gold: str | None = Field(default=None, max_length=1000)
    retired: bool | None = None


class PersonChange(BaseModel):
    """Changes to a person; fields that are left out stay."""

    knows: list[Annotated[str, Field(max_length=1000)]] | None = Field(default=None, max_length=10_000)
    active: bool | None = None
    may_tick: bool | None = None
    role: Literal["expert", "reviewer", "owner"] | None = None


class Settings(BaseModel):
    """The settings of the project; fields that are left out stay."""

    name: str | None = Field(default=None, max_length=1000)
    instructions: str | None = Field(default=None, max_length=50_000)
    ask: str | None = Field(default=None, max_length=50)
    trial: int | None = Field(default=None, ge=0, le=managing.MOST_TRIAL)
    trial_first: bool | None = None
    feedback: bool | None = None


class AnswerEntry(BaseModel):
    """An answer as it was given; the last one of a person about an item is their current answer."""

    id: int
    item: str
    expert: str
    answer: str
    shown: list[str]
    at: float
    via: str


class DecisionIn(BaseModel):
    """A decision with its reason; without a class, the decision is withdrawn."""

    name: str | None = Field(default=None, max_length=1000)
    reason: str = Field(default="", max_length=5000)


class DecisionOut(BaseModel):
    """A decision."""

    item_id: int
    name: str
    reason: str
    by: str
    at: float


class FlagOut(BaseModel):
    """A problem that someone reported with an item."""

    item_id: int
    item: str
    expert: str
    comment: str
    at: float
    open: bool


class Event(BaseModel):
    """An entry of the record."""

    id: int
    at: float
    by: str | None
    text: str


class HookIn(BaseModel):
    """The address to notify of settled items; `secret` lets you check that messages come from here."""

    url: str = Field(max_length=2000)


class HookOut(BaseModel):
    """The address that is notified, and the secret of the signature, which is shown once."""

    url: str
    secret: str


class HookState(BaseModel):
    """The address that is notified, what waits to be sent, and how the last attempt ended."""

    url: str
    waiting: int
    given_up: int
    last_outcome: str | None
    last_tried: float | None


def _class(roster: Roster, class_id: int) -> ClassOut:
    if class_id not in roster.classes_by_id:
        raise Refusal("There is no class with that number.", 404)
    one = roster.classes_by_id[class_id]
    into = None if one.merged_into is None else roster.classes_by_id[roster.canonical_class[class_id]].name
    return ClassOut(
        id=one.id, name=one.name, description=one.description, retired=one.retired, merged_into=into
    )


@router.get("/classes")
def list_classes(studio: Project, who: Owner) -> list[ClassOut]:
    """List every class, including retired and merged ones."""
    _, roster = studio.snapshot()
    return [_class(roster, one.id) for one in roster.every_class]


@router.post("/classes")
def add_classes(
    studio: Project, who: Owner, new: Annotated[list[ClassIn], Field(max_length=10_000)]
) -> Message:
    """Add classes."""
    with studio.database.write() as connection:
        count = classes.add_classes(
            connection, [classes.NewClass(one.name, one.description) for one in new], who.id
        )
    return Message(done=f"{count} added.")


@router.patch("/classes/{class_id}")
def change_class(studio: Project, who: Owner, class_id: Id, change: ClassChange) -> ClassOut | None:
    """Rename, describe, merge or retire a class, or bring it back; null if it is gone: nothing named it."""
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        before = _class(roster, class_id)
        if change.merged_into == "":
            classes.undo_merge(connection, class_id, who.id)
        if change.name is not None or change.description is not None:
            name = before.name if change.name is None else change.name
            words = before.description if change.description is None else change.description
            classes.change_class(connection, class_id, name=name, description=words, by=who.id)
        if change.merged_into:
            (into,) = ids_of(roster, [change.merged_into])
            classes.merge_classes(connection, class_id, into, who.id)
        if change.retired is not None and change.retired != before.retired:
            act = classes.retire_class if change.retired else classes.bring_back_class
            act(connection, class_id, who.id)
    _, roster = studio.snapshot()
    return _class(roster, class_id) if class_id in roster.classes_by_id else None


def _item(roster: Roster, row: Any) -> ItemOut:
    gold = None if row.gold is None else roster.vote_name(row.gold)
    return ItemOut(
        id=row.id, item=row.key, kind=row.kind, content=row.content, gold=gold, retired=row.retired
    )


@router.get("/items")
def list_items(studio: Project, who: Owner, start: _Start = 0, count: _Count = 1000) -> list[ItemOut]:
    """List items in order, including retired ones; `start` is how many to skip."""
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        wanted = select(item).order_by(item.c.position).offset(start).limit(count)
        return [_item(roster, row) for row in connection.execute(wanted)]


@router.patch("/items/{item_id}")
def change_item(studio: Project, who: Owner, item_id: Id, change: ItemChange) -> ItemOut:
    """Correct an item, set its gold class, retire it or bring it back."""
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        before = items.item_row(connection, item_id)
        if change.content is not None:
            items.change_item(connection, item_id, change.content, who.id)
        if change.gold is not None:
            (gold,) = ids_of(roster, [change.gold]) if change.gold else [None]
            items.set_gold(connection, item_id, gold, who.id)
        if change.retired is not None and change.retired != before.retired:
            (items.retire_item if change.retired else items.bring_back_item)(connection, item_id, who.id)
        return _item(roster, items.item_row(connection, item_id))


@router.patch("/people/{person_id}")
def change_person(studio: Project, who: Owner, person_id: Id, change: PersonChange) -> Message:
    """Change what a person knows, their role and permissions, and whether they are asked."""
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        before = roster.member(person_id)
        now = {name: getattr(before, name) for name in ("active", "may_tick", "role")}
        new = change.model_dump(exclude_none=True, exclude={"knows"})
        managing.change_person(connection, person_id, **now | new, by=who.id)
        again = 0
        if change.knows is not None:
            again = set_known(connection, person_id, ids_of(roster, change.knows), who.id)
    return Message(done=f"{before.name} is saved; {again} items are asked about again.")


@router.get("/settings")
def read_settings(studio: Project, who: Owner) -> Settings:
    """Return the settings of the project."""
    setup, _ = studio.snapshot()
    return Settings(
        name=setup.name, instructions=setup.instructions, ask=setup.ask, trial=setup.trial,
        trial_first=setup.trial_first, feedback=setup.feedback,
    )  # fmt: skip


@router.put("/settings")
def change_settings(studio: Project, who: Owner, new: Settings) -> Settings:
    """Change settings of the project."""
    now = {**read_settings(studio, who).model_dump(), **new.model_dump(exclude_none=True)}
    with studio.database.write() as connection:
        managing.change_project(connection, now["name"], now["instructions"], now["ask"], who.id)
        managing.set_trial(
            connection, now["trial"], first=now["trial_first"], feedback=now["feedback"], by=who.id
        )
    studio.reassess()
    return read_settings(studio, who)


@router.get("/answers")
def list_answers(studio: Project, who: Owner, after: _Start = 0, count: _Count = 1000) -> list[AnswerEntry]:
    """List answers in order, with the classes that were shown; `after` is the last id that you have."""
    wanted = (
        select(answer.c.id, CHOICE, answer.c.at, answer.c.via, answer.c.options_id, item.c.key, person.c.name)
        .join(item, item.c.id == answer.c.item_id)
        .join(person, person.c.id == answer.c.person_id)
        .where(answer.c.id > after)
        .order_by(answer.c.id)
        .limit(count)
    )
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        shown = shown_names(connection, roster)
        return [
            AnswerEntry(id=row.id, item=row.key, expert=row.name, answer=roster.vote_name(row.choice),
                    shown=shown[row.options_id], at=row.at, via=row.via)
            for row in connection.execute(wanted)
        ]  # fmt: skip


@router.get("/decisions")
def list_decisions(studio: Project, who: Reviewer) -> list[DecisionOut]:
    """List the current decisions."""
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        found = managing.decisions(connection)
    return [
        DecisionOut(item_id=one, name=roster.vote_name(row.class_id), reason=row.reason, by=row.by, at=row.at)
        for one, row in found.items()
    ]


@router.put("/decisions/{item_id}")
def decide(studio: Project, who: Reviewer, item_id: Id, decision: DecisionIn) -> Message:
    """Decide an item with a reason, or withdraw a decision."""
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        items.item_row(connection, item_id)
        (chosen,) = ids_of(roster, [decision.name]) if decision.name else [None]
        managing.adjudicate(connection, item_id, chosen, who.id, decision.reason)
    return Message(done="The decision is on record." if chosen else "The decision is withdrawn.")


@router.get("/flags")
def list_flags(studio: Project, who: Reviewer) -> list[FlagOut]:
    """List the problems that people reported."""
    wanted = (
        select(flag, item.c.key, person.c.name)
        .join(item, item.c.id == flag.c.item_id)
        .join(person, person.c.id == flag.c.person_id)
        .order_by(flag.c.id)
    )
    with studio.database.read() as connection:
        return [
            FlagOut(item_id=row.item_id, item=row.key, expert=row.name, comment=row.comment, at=row.at,
                    open=row.closed is None)
            for row in connection.execute(wanted)
        ]  # fmt: skip


@router.get("/record")
def read_record(
    studio: Project, who: Reviewer, before: Annotated[int, Query(ge=1, le=2**31 - 1)] = 2**31 - 1
) -> list[Event]:
    """List changes, the newest first."""
    with studio.database.read() as connection:
        return [
            Event(id=row.id, at=row.at, by=row.by, text=row.text)
            for row in record_entries(connection, before=before, most=1000)
        ]


@router.get("/exports/{name}")
def export(studio: Project, who: Owner, name: str) -> Response:
    """Return labels.csv, labels.xlsx, everything.parquet, everything.csv, or votes.zip with the panel."""
    return export_response(studio, name)


@router.get("/hook")
def read_hook(studio: Project, who: Owner) -> HookState | None:
    """Return the address that is notified when items are settled, and whether messages arrive."""
    with studio.database.read() as connection:
        found = hooks.hook_state(connection)
    return None if found is None else HookState(**found)


@router.put("/hook")
def set_hook(studio: Project, who: Owner, new: HookIn) -> HookOut:
    """Set the address to notify when an item is settled, and when all are; the secret is shown once."""
    hooks.check_address(new.url, private=studio.private_webhooks)
    with studio.database.write() as connection:
        secret = hooks.set_hook(connection, new.url, who.id)
    return HookOut(url=new.url, secret=secret)


@router.delete("/hook")
def remove_hook(studio: Project, who: Owner) -> Message:
    """Stop notifying programs."""
    with studio.database.write() as connection:
        hooks.remove_hook(connection, who.id)
    return Message(done="Programs are no longer notified.")
