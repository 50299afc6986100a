"""Assignments: which items are leased to whom, and their answers.

Pages, programs and models all answer through :func:`record` and :func:`record_unasked`. A person's items stay
theirs across reloads, tabs and days. Only where people are asked one after another may someone else take an
item whose lease has expired.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from covote_studio.answers.inquiry import inquiry_of
from covote_studio.answers.results import counted_answers
from covote_studio.answers.trials import trial_items
from covote_studio.people.roster import Roster, count_answers, touch
from covote_studio.rules import (
    ADAPTIVE,
    Member,
    Refused,
    check_choice,
    check_held,
    may_be_asked,
)
from covote_studio.storage.database import insert_if_new, insert_or_change
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
    class_,
    item,
    offered,
    options,
    person,
    said_columns,
)

BLOCK = 20
"""Items leased to a person at a time if everyone is asked: no one waits for them."""
SCANNED = 40
"""Items considered for someone who has nothing waiting, if people are asked one after another."""

# Statements that every answer needs are built once: building one costs as much as running it
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
"""Also accepts late answers: an item that was given to someone else meanwhile still gets the vote."""
_HELD = select(assignment.c.state, assignment.c.token).where(*_MINE).with_for_update()
_COUNT = update(person).where(person.c.id == bindparam("who")).values(answers=person.c.answers + 1)
_ASKED = select(assignment.c.person_id, assignment.c.state).where(assignment.c.item_id == bindparam("item"))
_SETTLE = (
    update(item)
    .where(item.c.id == bindparam("item"))
    .values(state=bindparam("new_state"), version=bindparam("new_version"), held_until=0.0)
)
_STAYS = (
    update(item)
    .where(item.c.id == bindparam("item"))
    .values(state=bindparam("new_state"), version=bindparam("new_version"))
)
"""Someone has the item in hand."""
_ASK_AGAIN = update(assignment).where(*_MINE).values(state=WAITING, token=None)


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
class Stored:
    """A kept answer.

    Whether it is new, the person's earlier answer about the item, and how many more items are answered now.
    """

    new: bool
    replaced: int | None = None
    more: int = 0


def record(
    connection: Connection, setup: Row[Any], roster: Roster, member: Member, said: NewAnswer
) -> Stored:
    """Record an answer, with the list of classes that was on the screen.

    If a class that the person knows now was not on it, the item is asked about again. The caller holds a
    write transaction in which `setup` and `roster` were read, so that no one can change who knows what in
    between.
    """
    if not 8 <= len(said.key) <= 64 or not said.key.isprintable():
        raise Refused("The key of an answer has 8 to 64 printable characters; reload the page.", 422)
    try:
        shown = _shown(connection, member, said)
        check_choice(member, said.choice, shown, roster.answer_name(said.choice))
        first = _finish(connection, setup, member, said)
    except Refused:
        if _kept_before(connection, member, said):
            return Stored(False)
        raise
    replaced = None if first else _last_choice(connection, member, said.item_id)
    if not _insert_answer(connection, member, said):
        if _kept_before(connection, member, said) and first:
            raise Refused(
                "This item is asked about again, and the key of the answer is that of an earlier one; send "
                "it with a new key.",
                409,
            )
        return Stored(False)
    _count_for_retired(connection, roster, said.choice)
    whole = member.known <= {roster.canonical_class.get(one, one) for one in shown}
    more = int(first)
    if whole and first:
        connection.execute(_COUNT, {"who": member.id})
    elif not whole:
        connection.execute(_ASK_AGAIN, {"item": said.item_id, "who": member.id})
        count_answers(connection, member.id)
        more -= 1
    if setup.ask in ADAPTIVE:
        advance(connection, setup, roster, said.item_id)
    return Stored(True, replaced, more)


def _shown(connection: Connection, member: Member, said: NewAnswer) -> Collection[int]:
    """Return the classes that were on the screen; they must be a list that this person had."""
    if said.shown in (None, member.options_id):
        return member.known
    had = (offered.c.person_id == member.id) & (offered.c.options_id == said.shown)
    listed = connection.execute(
        select(options.c.classes).join(offered, offered.c.options_id == options.c.id).where(had)
    ).scalar_one_or_none()
    if listed is None:
        raise Refused("You were never offered this list of classes; reload the page.", 409)
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


def _finish(connection: Connection, setup: Row[Any], member: Member, said: NewAnswer) -> bool:
    """End the lease of an item, and return whether it is answered for the first time.

    An answer about an item that is not leased, and was not before, is rejected.
    """
    mine = {"item": said.item_id, "who": member.id}
    if setup.ask in ADAPTIVE:
        connection.execute(_LOCK_ITEM, {"item": said.item_id})
    if connection.execute(_FINISH, {**mine, "shown": said.token}).rowcount:
        return True
    held = connection.execute(_HELD, mine).one_or_none()
    state, token = (None, None) if held is None else held
    check_held(state, token, said.token)
    return False


def _kept_before(connection: Connection, member: Member, said: NewAnswer) -> bool:
    """Whether this very answer is on record; reject it if its key belongs to another one."""
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


def _insert_answer(connection: Connection, member: Member, said: NewAnswer) -> bool:
    """Add the row of an answer, unless its key exists."""
    row = {
        "item_id": said.item_id, "person_id": member.id, **said_columns(said.choice),
        "options_id": said.shown or member.options_id, "key": said.key, "via": said.via, "at": time.time(),
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
