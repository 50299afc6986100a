"""Taking answers: from pages, programs, models and imports, all through :func:`record`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from covote.studio.answers.inquiry import inquiry_of
from covote.studio.answers.results import counted_answers
from covote.studio.people.roster import Roster
from covote.studio.rules import ADAPTIVE, OFF, Held, Member, Refused, check_choice, check_held
from covote.studio.storage.database import insert_if_new
from covote.studio.storage.schema import (
    ANSWERED,
    BEGUN,
    DONE,
    LEASED,
    WAITING,
    WITHDRAWN,
    answer,
    assignment,
    item,
    person,
    project,
)

# Statements that every answer needs are made once: to make one costs as much as to run it
# (benchmarks/results/studio.md, 500 people).
_MINE = (assignment.c.item_id == bindparam("item"), assignment.c.person_id == bindparam("who"))
_LOCK_ITEM = select(item.c.id).where(item.c.id == bindparam("item")).with_for_update()
_FINISH = (
    update(assignment)
    .where(*_MINE, assignment.c.state == LEASED, assignment.c.token == bindparam("shown"))
    .values(state=ANSWERED)
)
_HELD = (
    select(assignment.c.item_id, assignment.c.person_id, assignment.c.state, assignment.c.token)
    .where(*_MINE)
    .with_for_update()
)
_COUNT = update(person).where(person.c.id == bindparam("who")).values(answers=person.c.answers + 1)
_ASKED = select(assignment.c.person_id, assignment.c.state).where(assignment.c.item_id == bindparam("item"))
_SETTLE = (
    update(item).where(item.c.id == bindparam("item")).values(state=bindparam("new_state"), held_until=0.0)
)


@dataclass(frozen=True)
class Said:
    """What somebody says about an item that is in hand.

    `key` is made once per answer by whoever sends it: the same key again is the same answer again.
    """

    item_id: int
    token: str
    choice: int
    key: str
    via: str = "page"


def record(connection: Connection, setup: Row[Any], roster: Roster, member: Member, said: Said) -> bool:
    """Keep an answer; return False if it was kept before.

    The caller holds a write transaction in which `setup` and `roster` were read, so that nobody can change
    who knows what in between.
    """
    if not 8 <= len(said.key) <= 64 or not said.key.isprintable():
        raise Refused("The key of an answer has 8 to 64 printable characters; reload the page.", 422)
    try:
        first = _finish(connection, setup, roster, member, said)
    except Refused:
        if _kept_before(connection, member, said):
            return False
        raise
    if not insert_answer(connection, member, said):
        if _kept_before(connection, member, said) and first:
            raise Refused(
                "This item is asked once more, and the key of the answer is that of an earlier one; send it "
                "with a key of its own.",
                409,
            )
        return False
    if first:
        connection.execute(_COUNT, {"who": member.id})
    if setup.ask in ADAPTIVE:
        advance(connection, setup, roster, said.item_id)
    return True


def _finish(connection: Connection, setup: Row[Any], roster: Roster, member: Member, said: Said) -> bool:
    """Take an item out of a person's hands, and return whether it is answered for the first time.

    An answer to what is not in hand, nor was before, is refused.
    """
    if not member.active:
        raise Refused(OFF)
    named = roster.class_by_id.get(said.choice)
    check_choice(member, said.choice, named.name if named else None)
    mine = {"item": said.item_id, "who": member.id}
    if setup.ask in ADAPTIVE:
        connection.execute(_LOCK_ITEM, {"item": said.item_id})
    if connection.execute(_FINISH, {**mine, "shown": said.token}).rowcount:
        return True
    row = connection.execute(_HELD, mine).one_or_none()
    check_held(member, None if row is None else Held(*row), said.token)
    return False


def _kept_before(connection: Connection, member: Member, said: Said) -> bool:
    """Whether this very answer is on record; refuse if its key belongs to another one."""
    before = connection.execute(
        select(answer.c.item_id, answer.c.person_id, answer.c.class_id).where(answer.c.key == said.key)
    ).one_or_none()
    if before is None:
        return False
    if tuple(before) != (said.item_id, member.id, said.choice):
        raise Refused(
            "This form was already sent with another answer. The first one is kept; use Undo to change it.",
            409,
        )
    return True


def insert_answer(connection: Connection, member: Member, said: Said) -> bool:
    """Add the row of an answer, unless there is one with its key."""
    row = {
        "item_id": said.item_id, "person_id": member.id, "class_id": said.choice,
        "options_id": member.options_id, "key": said.key, "via": said.via, "at": time.time(),
    }  # fmt: skip
    return insert_if_new(connection, answer, row)


def record_unasked(connection: Connection, roster: Roster, member: Member, item_id: int, choice: int) -> None:
    """Keep the answer of a model, which takes no lease; the same answer again changes nothing."""
    named = roster.class_by_id.get(choice)
    check_choice(member, choice, named.name if named else None)
    key = f"model-{member.id}-{item_id}-{member.options_id}"
    if insert_answer(connection, member, Said(item_id, "", choice, key, "model")):
        row = {"item_id": item_id, "person_id": member.id, "state": ANSWERED, "expires": 0.0}
        if not insert_if_new(connection, assignment, row):  # asked once more
            mine = {"item": item_id, "who": member.id}
            connection.execute(update(assignment).where(*_MINE).values(state=ANSWERED), mine)
        connection.execute(_COUNT, {"who": member.id})


def advance(connection: Connection, setup: Row[Any], roster: Roster, item_id: int) -> None:
    """Decide, where one after another is asked, who comes next about an item, or that it is done."""
    asked = connection.execute(_ASKED, {"item": item_id}).all()
    if any(row.state in (WAITING, LEASED) for row in asked):
        return
    answers = counted_answers(connection, roster, [item_id])[item_id]
    before = {row.person_id for row in asked if row.state != WITHDRAWN}
    chosen = inquiry_of(connection, roster, setup.ask).next_person(answers, before, item_id)
    state = DONE if chosen is None else BEGUN
    connection.execute(_SETTLE, {"item": item_id, "new_state": state})
    if chosen is None:
        return
    if chosen in {row.person_id for row in asked}:
        connection.execute(
            update(assignment)
            .where(assignment.c.item_id == item_id, assignment.c.person_id == chosen)
            .values(state=WAITING, token=None, expires=0.0)
        )
    else:
        row = {"item_id": item_id, "person_id": chosen, "state": WAITING, "expires": 0.0}
        connection.execute(insert(assignment), row)


def locked_project(connection: Connection) -> Row[Any]:
    """Return the project inside a write transaction; until its end nobody changes who knows what."""
    row = connection.execute(select(project).with_for_update(read=True)).one_or_none()
    if row is None:
        raise Refused("There is no project here yet; its owner creates it first.", 404)
    return row
