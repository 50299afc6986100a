"""Assignments: which items are leased to whom.

A person's items stay theirs across reloads, tabs and days. Only where people are asked one after another may
someone else take an item whose lease has expired.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from covote_studio.answers.inquiry import inquiry_of
from covote_studio.answers.results import counted_answers
from covote_studio.answers.trials import trial_items
from covote_studio.people.roster import Roster
from covote_studio.rules import ADAPTIVE, Member, may_be_asked
from covote_studio.storage.database import insert_or_change
from covote_studio.storage.schema import (
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
)

BLOCK = 20
"""Items leased to a person at a time if everyone is asked: no one waits for them."""
SCANNED = 40
"""Items considered for someone who has nothing waiting, if people are asked one after another."""

# Statements that every answer needs are built once: building one costs as much as running it
# (benchmarks/results/studio.md, 500 people).
_LOCK = select(person.c.cursor).where(person.c.id == bindparam("who")).with_for_update(key_share=True)
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


@dataclass(frozen=True)
class Lease:
    """An item that is leased to someone."""

    token: str
    item_id: int
    key: str
    kind: str
    content: str
    expires: float
    chosen: int | None = None
    """This person's earlier answer, if the item is reopened."""
    trial: bool = False
    """Whether the item belongs to the qualification round."""

    @property
    def title(self) -> str:
        """What the item is called above its content; a text that was typed is its own id."""
        return "Text" if self.kind == "text" and self.key[:40] == self.content[:40] else self.key


def lock(connection: Connection, member: Member) -> int:
    """Lock a person, so that two tabs wait for each other; return their position in the list of items.

    The person is always locked first, then items, then assignments, so that there is no deadlock.
    """
    return int(connection.execute(_LOCK, {"who": member.id}).scalar_one())


def lease(
    connection: Connection, setup: Row[Any], roster: Roster, member: Member, cursor: int, count: int
) -> list[Lease]:
    """Lease up to `count` items to a person, who is locked: those held, those waiting, then new ones."""
    if not may_be_asked(member):
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
    """Extend old leases, and return whether there were any; fresh ones are left alone to save a write."""
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
    """Lease waiting items to the person, unless they are locked by someone else; return how many."""
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
    """Set the state of assignments, whether or not they exist.

    Rows have `item_id`, `person_id`, `state` and, where they change, `token` and `expires`.
    """
    insert_or_change(connection, assignment, ("item_id", "person_id"), rows)


def _give(connection: Connection, member: Member, item_ids: list[int], until: float) -> None:
    """Lease new items to the person."""
    if item_ids:
        connection.execute(insert(assignment), [_leased(one, member, until) for one in item_ids])


def _in_order(connection: Connection, member: Member, cursor: int, count: int, until: float) -> None:
    """Lease the next items that this person has not seen, in the order of the project."""
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
    """Lease items that no one has begun; then items that wait for others and that this person can help with.

    Models in the panel begin, and people are asked about what is left in doubt.
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
    # The first items may be beyond this person: also look elsewhere.
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
    """Return items that are begun, leased to no one, and that this person was not asked about."""
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
    """Yield items that wait for someone else, or whose lease has expired, if this person can help."""
    free, rule_at_work = _free(connection, member, after), inquiry_of(connection, roster, rule)
    answers = counted_answers(connection, roster, free)
    for item_id in free:
        if rule_at_work.next_person(answers[item_id], (), item_id, only=member.id) is not None:
            yield item_id
        elif rule_at_work.settled(answers[item_id]):
            connection.execute(update(item).where(item.c.id == item_id).values(state=DONE))


def _take_over(connection: Connection, member: Member, item_id: int, until: float) -> None:
    """Withdraw an item from the person it waits for, and lease it to this one."""
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
    """Reopen an item that this person answered.

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
