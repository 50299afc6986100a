"""Assignments: which items are in whose hands, and the answers that come of them.

Pages, programs and models all answer through :func:`record` and :func:`record_unasked`. A person's items stay
theirs across reloads, tabs and days. Only where one after another is asked may someone else take an item
whose lease has expired.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from covote.studio.answers.inquiry import inquiry_of
from covote.studio.answers.results import counted_answers
from covote.studio.answers.trials import trial_items
from covote.studio.people.roster import Roster
from covote.studio.rules import (
    ADAPTIVE,
    OFF,
    Member,
    Refused,
    check_choice,
    check_held,
    may_be_asked,
)
from covote.studio.storage.database import insert_if_new, insert_or_change
from covote.studio.storage.schema import (
    ANSWERED,
    BEGUN,
    CHOICE,
    DONE,
    FRESH,
    LEASED,
    WAITING,
    WITHDRAWN,
    answer,
    assignment,
    item,
    person,
    said_columns,
)

BLOCK = 20
"""Items that a person is given at a time where everyone, or a cover, is asked: no one waits for them."""
SCANNED = 40
"""Items looked at for someone who has nothing waiting, where one after another is asked."""

# Statements that every answer needs are made once: to make one costs as much as to run it
# (benchmarks/results/studio.md, 500 people).
_LOCK = select(person.c.cursor).where(person.c.id == bindparam("who")).with_for_update(key_share=True)
_LOCK_ITEM = select(item.c.id).where(item.c.id == bindparam("item")).with_for_update()
_IN_STATE = (
    select(
        assignment.c.id, assignment.c.token, assignment.c.expires, assignment.c.item_id,
        item.c.key, item.c.kind, item.c.content, item.c.gold,
    )
    .join(item, item.c.id == assignment.c.item_id)
    .where(assignment.c.person_id == bindparam("who"), assignment.c.state == bindparam("in_state"))
    .order_by(assignment.c.id)
    .limit(bindparam("most"))
)  # fmt: skip
_MINE = (assignment.c.item_id == bindparam("item"), assignment.c.person_id == bindparam("who"))
_FINISH = (
    update(assignment)
    .where(*_MINE, assignment.c.state.in_((LEASED, WITHDRAWN)), assignment.c.token == bindparam("shown"))
    .values(state=ANSWERED)
)
"""Takes late answers, too: an item that was given to someone else meanwhile still gets the vote."""
_HELD = select(assignment.c.state, assignment.c.token).where(*_MINE).with_for_update()
_COUNT = update(person).where(person.c.id == bindparam("who")).values(answers=person.c.answers + 1)
_ASKED = select(assignment.c.person_id, assignment.c.state).where(assignment.c.item_id == bindparam("item"))
_SETTLE = (
    update(item).where(item.c.id == bindparam("item")).values(state=bindparam("new_state"), held_until=0.0)
)


@dataclass(frozen=True)
class Lease:
    """An item in someone's hands."""

    token: str
    item_id: int
    key: str
    kind: str
    content: str
    expires: float
    chosen: int | None = None
    """What this person answered before, if the item is open for a change."""
    trial: bool = False
    """Whether the item is one of the qualification round."""


def lock(connection: Connection, member: Member) -> int:
    """Lock a person, so that two tabs wait for each other; return up to where items were given.

    Everyone locks the person first, then items, then assignments: no one waits in a circle.
    """
    return int(connection.execute(_LOCK, {"who": member.id}).scalar_one())


def lease(
    connection: Connection, setup: Row[Any], roster: Roster, member: Member, cursor: int, count: int
) -> list[Lease]:
    """Give a person, who is locked, up to `count` items: those in hand, those waiting, then new ones."""
    if not may_be_asked(member, setup.ask):
        return []
    until = time.time() + setup.lease_seconds
    held = _mine(connection, member, LEASED, count)
    if _renew(connection, held, until):
        held = _mine(connection, member, LEASED, count)
    missing = count - len(held)
    if missing > 0:
        missing -= _take(connection, _mine(connection, member, WAITING, missing), until)
        tested = trial_items(connection, setup, roster, member, missing) if missing > 0 else []
        _give(connection, member, tested, until)
        missing -= len(tested)
        if missing > 0 and setup.ask in ADAPTIVE:
            _adaptive(connection, setup, roster, member, missing, until)
        elif missing > 0:
            _in_order(connection, member, cursor, max(missing, BLOCK), until)
        held = _mine(connection, member, LEASED, count)
    known_test = setup.trial and setup.feedback
    return [
        Lease(row.token, row.item_id, row.key, row.kind, row.content, max(row.expires, until),
              trial=bool(known_test and row.gold))
        for row in held
    ]  # fmt: skip


def _mine(connection: Connection, member: Member, state: int, count: int) -> list[Any]:
    return [*connection.execute(_IN_STATE, {"who": member.id, "in_state": state, "most": count})]


def _renew(connection: Connection, held: list[Any], until: float) -> bool:
    """Prolong leases, and return whether there were old ones; a fresh one is left alone to spare a write."""
    old = [row for row in held if row.expires < until - 60]
    if old:
        connection.execute(
            update(item).where(item.c.id.in_([row.item_id for row in old])).values(held_until=until)
        )
        connection.execute(
            update(assignment)
            .where(assignment.c.id.in_([row.id for row in old]), assignment.c.state == LEASED)
            .values(expires=until)
        )
    return bool(old)


def _take(connection: Connection, waiting: list[Any], until: float) -> int:
    """Put waiting items into the person's hands, unless someone is just taking them; return how many."""
    if not waiting:
        return 0
    mine = [row.item_id for row in waiting]
    free = set(
        connection.execute(
            select(item.c.id).where(item.c.id.in_(mine)).with_for_update(skip_locked=True)
        ).scalars()
    )
    taken = [{"one": row.id, "token": _token()} for row in waiting if row.item_id in free]
    if taken:
        connection.execute(
            update(assignment)
            .where(assignment.c.id == bindparam("one"), assignment.c.state == WAITING)
            .values(state=LEASED, token=bindparam("token"), expires=until),
            taken,
        )
        connection.execute(update(item).where(item.c.id.in_(free)).values(held_until=until))
    return len(taken)


def _token() -> str:
    return secrets.token_urlsafe(16)


def _leased(item_id: int, member: Member, until: float) -> dict[str, Any]:
    return {"item_id": item_id, "person_id": member.id, "state": LEASED, "token": _token(), "expires": until}


def assign(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Say in which state items are with people, whether or not they were with them before.

    Rows have `item_id`, `person_id`, `state` and, where they change, `token` and `expires`.
    """
    insert_or_change(connection, assignment, ("item_id", "person_id"), rows)


def _give(connection: Connection, member: Member, item_ids: list[int], until: float) -> None:
    """Put new items into the person's hands."""
    if item_ids:
        connection.execute(insert(assignment), [_leased(one, member, until) for one in item_ids])


def _in_order(connection: Connection, member: Member, cursor: int, count: int, until: float) -> None:
    """Give the next items that this person has not seen, in the order of the project."""
    while count > 0:
        rows = connection.execute(
            select(item.c.id, item.c.position)
            .where(item.c.position > cursor, item.c.retired.is_(False))
            .order_by(item.c.position)
            .limit(count)
        ).all()
        if not rows:
            break
        seen = set(
            connection.execute(
                select(assignment.c.item_id).where(
                    assignment.c.person_id == member.id, assignment.c.item_id.in_([row.id for row in rows])
                )
            ).scalars()
        )
        given: list[int] = []
        for row in rows:
            if len(given) == count:
                break
            cursor = row.position
            if row.id not in seen:
                given.append(row.id)
        _give(connection, member, given, until)
        count -= len(given)
    connection.execute(update(person).where(person.c.id == member.id).values(cursor=cursor))


def _adaptive(
    connection: Connection, setup: Row[Any], roster: Roster, member: Member, count: int, until: float
) -> None:
    """Give items that no one has begun; then items that wait for others and on which this person can help.

    Where models are in the panel they begin, and people are asked what is left in doubt.
    """
    if not any(one.role == "model" and one.active for one in roster.voters):
        fresh = list(
            connection.execute(
                select(item.c.id)
                .where(item.c.state == FRESH, item.c.retired.is_(False))
                .order_by(item.c.position)
                .limit(count)
                .with_for_update(skip_locked=True)
            ).scalars()
        )
        _give(connection, member, fresh, until)
        _hold(connection, fresh, until)
        count -= len(fresh)
    # What stands first may be beyond this person: look elsewhere, too.
    for after in (0, secrets.randbelow(max(1, setup.size))):
        for item_id in _helped(connection, setup.ask, roster, member, after) if count > 0 else ():
            _take_over(connection, member, item_id, until)
            count -= 1
            if count == 0:
                break


def _hold(connection: Connection, item_ids: list[int], until: float) -> None:
    if item_ids:
        connection.execute(update(item).where(item.c.id.in_(item_ids)).values(state=BEGUN, held_until=until))


def _free(connection: Connection, member: Member, after: int) -> list[int]:
    """Return items that are begun and in no one's hands, and that this person was not asked about."""
    asked = select(assignment.c.id).where(
        assignment.c.item_id == item.c.id,
        assignment.c.person_id == member.id,
        assignment.c.state != WITHDRAWN,
    )
    free = connection.execute(
        select(item.c.id)
        .where(item.c.state == BEGUN, item.c.retired.is_(False))
        .where(item.c.position > after, item.c.held_until < time.time())
        .where(~asked.exists())
        .order_by(item.c.position)
        .limit(SCANNED)
        .with_for_update(skip_locked=True)
    )
    return list(free.scalars())


def _helped(connection: Connection, rule: str, roster: Roster, member: Member, after: int) -> Iterator[int]:
    """Give items that wait for someone else, or whose lease has expired, and on which this person helps."""
    free, rule_at_work = _free(connection, member, after), inquiry_of(connection, roster, rule)
    answers = counted_answers(connection, roster, free)
    for item_id in free:
        if rule_at_work.next_person(answers[item_id], (), item_id, only=member.id) is not None:
            yield item_id
        elif rule_at_work.settled(answers[item_id]):
            connection.execute(update(item).where(item.c.id == item_id).values(state=DONE))


def _take_over(connection: Connection, member: Member, item_id: int, until: float) -> None:
    """Withdraw an item from whoever it waits for, and give it to this person."""
    connection.execute(
        update(assignment)
        .where(assignment.c.item_id == item_id, assignment.c.state.in_((WAITING, LEASED)))
        .values(state=WITHDRAWN)
    )
    assign(connection, [_leased(item_id, member, until)])
    _hold(connection, [item_id], until)


def reopen(
    connection: Connection,
    setup: Row[Any],
    member: Member,
    item_id: int | None = None,
    before: int | None = None,
) -> Lease | None:
    """Open an item that this person answered for a change.

    It is the one named, the one answered before the item `before`, or the last one.
    """
    newer = answer.alias()
    is_last = ~(
        select(newer.c.id)
        .where(newer.c.person_id == member.id, newer.c.item_id == answer.c.item_id)
        .where(newer.c.id > answer.c.id)
        .exists()
    )
    mine = (assignment.c.item_id == answer.c.item_id) & (assignment.c.person_id == member.id)
    wanted = (
        select(answer.c.item_id, CHOICE, item.c.key, item.c.kind, item.c.content)
        .join(item, item.c.id == answer.c.item_id)
        .join(assignment, mine)
        .where(answer.c.person_id == member.id, is_last)
        .where(assignment.c.state == ANSWERED, item.c.retired.is_(False))
        .order_by(answer.c.id.desc())
        .limit(1)
    )
    if item_id is not None:
        wanted = wanted.where(answer.c.item_id == item_id)
    if before is not None:
        last = select(func.max(newer.c.id)).where(newer.c.person_id == member.id, newer.c.item_id == before)
        wanted = wanted.where(answer.c.id < last.scalar_subquery())
    found = connection.execute(wanted).one_or_none()
    if found is None:
        return None
    token, until = _token(), time.time() + setup.lease_seconds
    connection.execute(
        update(assignment)
        .where(assignment.c.item_id == found.item_id, assignment.c.person_id == member.id)
        .values(token=token, expires=until)
    )
    return Lease(token, found.item_id, found.key, found.kind, found.content, until, found.choice)


@dataclass(frozen=True)
class Said:
    """What someone says about an item that is in hand.

    `key` is made once per answer by whoever sends it: the same key again is the same answer again.
    """

    item_id: int
    token: str
    choice: int
    key: str
    via: str = "page"


@dataclass(frozen=True)
class Kept:
    """What came of an answer: whether it is new, and what the person had said before about the item."""

    new: bool
    replaced: int | None = None


def record(connection: Connection, setup: Row[Any], roster: Roster, member: Member, said: Said) -> Kept:
    """Keep an answer.

    The caller holds a write transaction in which `setup` and `roster` were read, so that no one can change
    who knows what in between.
    """
    if not 8 <= len(said.key) <= 64 or not said.key.isprintable():
        raise Refused("The key of an answer has 8 to 64 printable characters; reload the page.", 422)
    try:
        first = _finish(connection, setup, roster, member, said)
    except Refused:
        if _kept_before(connection, member, said):
            return Kept(False)
        raise
    replaced = None if first else _last_choice(connection, member, said.item_id)
    if not _insert_answer(connection, member, said):
        if _kept_before(connection, member, said) and first:
            raise Refused(
                "This item is asked once more, and the key of the answer is that of an earlier one; send it "
                "with a key of its own.",
                409,
            )
        return Kept(False)
    if first:
        connection.execute(_COUNT, {"who": member.id})
    if setup.ask in ADAPTIVE:
        advance(connection, setup, roster, said.item_id)
    return Kept(True, replaced)


def _last_choice(connection: Connection, member: Member, item_id: int) -> int | None:
    wanted = select(CHOICE).where(answer.c.person_id == member.id, answer.c.item_id == item_id)
    return connection.execute(wanted.order_by(answer.c.id.desc()).limit(1)).scalar_one_or_none()


def _finish(connection: Connection, setup: Row[Any], roster: Roster, member: Member, said: Said) -> bool:
    """Take an item out of a person's hands, and return whether it is answered for the first time.

    An answer to what is not in hand, nor was before, is refused.
    """
    if not member.active:
        raise Refused(OFF)
    check_choice(member, said.choice, roster.answer_name(said.choice))
    mine = {"item": said.item_id, "who": member.id}
    if setup.ask in ADAPTIVE:
        connection.execute(_LOCK_ITEM, {"item": said.item_id})
    if connection.execute(_FINISH, {**mine, "shown": said.token}).rowcount:
        return True
    held = connection.execute(_HELD, mine).one_or_none()
    state, token = (None, None) if held is None else held
    check_held(state, token, said.token)
    return False


def _kept_before(connection: Connection, member: Member, said: Said) -> bool:
    """Whether this very answer is on record; refuse if its key belongs to another one."""
    before = connection.execute(
        select(answer.c.item_id, answer.c.person_id, CHOICE).where(answer.c.key == said.key)
    ).one_or_none()
    if before is None:
        return False
    if tuple(before) != (said.item_id, member.id, said.choice):
        raise Refused(
            "This form was already sent with another answer. The first one is kept; use Undo to change it.",
            409,
        )
    return True


def _insert_answer(connection: Connection, member: Member, said: Said) -> bool:
    """Add the row of an answer, unless there is one with its key."""
    row = {
        "item_id": said.item_id, "person_id": member.id, **said_columns(said.choice),
        "options_id": member.options_id, "key": said.key, "via": said.via, "at": time.time(),
    }  # fmt: skip
    return insert_if_new(connection, answer, row)


def record_unasked(connection: Connection, roster: Roster, member: Member, item_id: int, choice: int) -> None:
    """Keep the answer of a model, which takes no lease; the same answer again changes nothing."""
    check_choice(member, choice, roster.answer_name(choice))
    key = f"model-{member.id}-{item_id}-{roster.version}"
    if _insert_answer(connection, member, Said(item_id, "", choice, key, "model")):
        assign(connection, [{"item_id": item_id, "person_id": member.id, "state": ANSWERED}])
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
    if chosen is not None:
        waiting = {"item_id": item_id, "person_id": chosen, "state": WAITING, "token": None, "expires": 0.0}
        assign(connection, [waiting])
