"""Answers: what is recorded about an item, and who is asked next because of it.

Pages, programs and models all answer through :func:`record` and :func:`record_unasked`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select, update

from covote_studio.answers.assignments import assign
from covote_studio.answers.inquiry import inquiry_of
from covote_studio.answers.results import counted_answers
from covote_studio.people.expertise import count_answers
from covote_studio.people.roster import Roster, touch
from covote_studio.rules import ADAPTIVE, Member, Refusal, check_choice, check_held, may_be_asked
from covote_studio.storage.database import insert_if_new
from covote_studio.storage.schema import (
    ANSWERED,
    BEGUN,
    CHOICE,
    DONE,
    LEASED,
    WAITING,
    WITHDRAWN,
    answer,
    answer_columns,
    assignment,
    class_,
    item,
    offered,
    options,
    person,
)

# Statements that every answer needs are built once: building one costs as much as running it.
_LOCK_ITEM = select(item.c.id).where(item.c.id == bindparam("item")).with_for_update()
_MINE = (assignment.c.item_id == bindparam("item"), assignment.c.person_id == bindparam("who"))
_FINISH = (
    update(assignment)
    .where(*_MINE, assignment.c.state.in_((LEASED, WITHDRAWN)), assignment.c.token == bindparam("shown"))
    .values(state=ANSWERED)
)
"""Also accepts late answers: an item that was given to someone else meanwhile still gets the vote."""
_HELD = select(assignment.c.state, assignment.c.token).where(*_MINE).with_for_update()
_COUNT = update(person).where(person.c.id == bindparam("who")).values(answers=person.c.answers + 1)
_ASKED = select(assignment.c.person_id, assignment.c.state).where(assignment.c.item_id == bindparam("item"))
_STAYS = (
    update(item)
    .where(item.c.id == bindparam("item"))
    .values(state=bindparam("new_state"), version=bindparam("new_version"))
)
"""Someone has the item in hand."""
_SETTLE = _STAYS.values(held_until=0.0)
_ASK_AGAIN = update(assignment).where(*_MINE).values(state=WAITING, token=None)


@dataclass(frozen=True)
class NewAnswer:
    """An answer about a leased item.

    `key` is chosen once per answer by the sender: the same key again is the same answer again. `shown` is the
    list of classes that was on the screen; None is the list that the person has now.
    """

    item_id: int
    token: str
    choice: int
    key: str
    shown: int | None = None
    via: str = "page"


@dataclass(frozen=True)
class StoredAnswer:
    """A kept answer.

    Whether it is new, the person's earlier answer about the item, and how many more items are answered now.
    """

    new: bool
    replaced: int | None = None
    more: int = 0


def record(
    connection: Connection, setup: Row[Any], roster: Roster, member: Member, new: NewAnswer
) -> StoredAnswer:
    """Record an answer, with the list of classes that was on the screen.

    If a class that the person knows now was not on it, the item is asked about again. The caller holds a
    write transaction in which `setup` and `roster` were read, so that no one can change who knows what in
    between.
    """
    if not 8 <= len(new.key) <= 64 or not new.key.isprintable():
        raise Refusal("The key of an answer has 8 to 64 printable characters; reload the page.", 422)
    try:
        shown = _shown(connection, member, new)
        check_choice(member, new.choice, shown, roster.answer_name(new.choice))
        first = _finish(connection, setup, member, new)
    except Refusal:
        if _kept_before(connection, member, new):
            return StoredAnswer(False)
        raise
    replaced = None if first else _last_choice(connection, member, new.item_id)
    if not _insert_answer(connection, member, new):
        if _kept_before(connection, member, new) and first:
            raise Refusal(
                "This item is asked about again, and the key of the answer is that of an earlier one; send "
                "it with a new key.",
                409,
            )
        return StoredAnswer(False)
    _count_for_retired(connection, roster, new.choice)
    whole = member.known <= {roster.canonical_class.get(one, one) for one in shown}
    more = int(first)
    if whole and first:
        connection.execute(_COUNT, {"who": member.id})
    elif not whole:
        connection.execute(_ASK_AGAIN, {"item": new.item_id, "who": member.id})
        count_answers(connection, member.id)
        more -= 1
    if setup.ask in ADAPTIVE:
        advance(connection, setup, roster, new.item_id)
    return StoredAnswer(True, replaced, more)


def _shown(connection: Connection, member: Member, new: NewAnswer) -> Collection[int]:
    """Return the classes that were on the screen; they must be a list that this person had."""
    if new.shown in (None, member.options_id):
        return member.known
    had = (offered.c.person_id == member.id) & (offered.c.options_id == new.shown)
    listed = connection.execute(
        select(options.c.classes).join(offered, offered.c.options_id == options.c.id).where(had)
    ).scalar_one_or_none()
    if listed is None:
        raise Refusal("You were never offered this list of classes; reload the page.", 409)
    return frozenset(json.loads(listed))


def _count_for_retired(connection: Connection, roster: Roster, choice: int) -> None:
    """Let a late vote for a class that was retired meanwhile count, as earlier ones do."""
    named = roster.classes_by_id.get(roster.canonical_class.get(choice, choice))
    if named is not None and named.retired and not named.voted:
        connection.execute(update(class_).where(class_.c.id == named.id).values(voted=True))
        touch(connection)


def _last_choice(connection: Connection, member: Member, item_id: int) -> int | None:
    wanted = select(CHOICE).where(answer.c.person_id == member.id, answer.c.item_id == item_id)
    return connection.execute(wanted.order_by(answer.c.id.desc()).limit(1)).scalar_one_or_none()


def _finish(connection: Connection, setup: Row[Any], member: Member, new: NewAnswer) -> bool:
    """End the lease of an item, and return whether it is answered for the first time.

    An answer about an item that is not leased, and was not before, is rejected.
    """
    mine = {"item": new.item_id, "who": member.id}
    if setup.ask in ADAPTIVE:
        connection.execute(_LOCK_ITEM, {"item": new.item_id})
    if connection.execute(_FINISH, {**mine, "shown": new.token}).rowcount:
        return True
    held = connection.execute(_HELD, mine).one_or_none()
    state, token = (None, None) if held is None else held
    check_held(state, token, new.token)
    return False


def _kept_before(connection: Connection, member: Member, new: NewAnswer) -> bool:
    """Whether this very answer is on record; reject it if its key belongs to another one."""
    before = connection.execute(
        select(answer.c.item_id, answer.c.person_id, CHOICE).where(answer.c.key == new.key)
    ).one_or_none()
    if before is None:
        return False
    if tuple(before) != (new.item_id, member.id, new.choice):
        raise Refusal(
            "This form was already sent with another answer. The first one is kept; use Undo to change it.",
            409,
        )
    return True


def _insert_answer(connection: Connection, member: Member, new: NewAnswer) -> bool:
    """Add the row of an answer, unless its key exists."""
    row = {
        "item_id": new.item_id, "person_id": member.id, **answer_columns(new.choice),
        "options_id": new.shown or member.options_id, "key": new.key, "via": new.via, "at": time.time(),
    }  # fmt: skip
    return insert_if_new(connection, answer, row)


def record_unasked(connection: Connection, roster: Roster, member: Member, item_id: int, choice: int) -> None:
    """Record the answer of a model, which takes no lease; the same answer again changes nothing."""
    check_choice(member, choice, member.known, roster.answer_name(choice))
    key = f"model-{member.id}-{item_id}-{roster.version}"
    if _insert_answer(connection, member, NewAnswer(item_id, "", choice, key, via="model")):
        assign(connection, [{"item_id": item_id, "person_id": member.id, "state": ANSWERED}])
        connection.execute(_COUNT, {"who": member.id})


def advance(connection: Connection, setup: Row[Any], roster: Roster, item_id: int) -> None:
    """Choose who is asked next about an item, if people are asked one after another, or mark it as done."""
    rows = connection.execute(_ASKED, {"item": item_id}).all()
    held = [row.person_id for row in rows if row.state in (WAITING, LEASED)]
    gone = [one for one in held if not may_be_asked(roster.member_by_id[one])]
    if gone:
        away = assignment.c.item_id == item_id, assignment.c.person_id.in_(gone)
        connection.execute(update(assignment).where(*away).values(state=WITHDRAWN))
    state, chosen = BEGUN, None
    if len(held) == len(gone):
        answers = counted_answers(connection, roster, [item_id])[item_id]
        before = {row.person_id for row in rows if row.state == ANSWERED}
        chosen = inquiry_of(connection, roster, setup.ask).next_person(answers, before, item_id)
        state = DONE if chosen is None else BEGUN
    new = {"item": item_id, "new_state": state, "new_version": roster.version}
    connection.execute(_SETTLE if len(held) == len(gone) else _STAYS, new)
    if chosen is not None:
        waiting = {"item_id": item_id, "person_id": chosen, "state": WAITING, "token": None, "expires": 0.0}
        assign(connection, [waiting])


def reassess(connection: Connection, setup: Row[Any], roster: Roster, most: int) -> int:
    """Find again who is asked about items, after a change of the way of asking or of who can be asked.

    Return how many items were found again, at most `most`; none is left once it is fewer.
    """
    if setup.ask not in ADAPTIVE or roster.panel is None:
        return 0
    old = (
        select(item.c.id)
        .where(item.c.state.in_((BEGUN, DONE)), item.c.version < roster.version, item.c.retired.is_(False))
        .order_by(item.c.id)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    found = list(connection.execute(old).scalars())
    for one in found:
        advance(connection, setup, roster, one)
    return len(found)
