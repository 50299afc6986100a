"""Items: corrected, retired and brought back, gold changed, problems reported, while people answer."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from covote_studio.editing.record import note
from covote_studio.people.expertise import refresh_options
from covote_studio.people.roster import touch
from covote_studio.rules import ADAPTIVE, LONGEST_TEXT, Refusal, check_text
from covote_studio.storage.schema import (
    BEGUN,
    LEASED,
    WAITING,
    WITHDRAWN,
    answer,
    assignment,
    class_,
    flag,
    item,
    person,
    project,
)

MOST_FLAGS = 100
"""Most open comments of one person."""


def item_row(connection: Connection, item_id: int) -> Row[Any]:
    """Return an item, or reject its id."""
    found = connection.execute(select(item).where(item.c.id == item_id)).one_or_none()
    if found is None:
        raise Refusal("There is no such item; go back to the list.", 404)
    return found


def change_item(connection: Connection, item_id: int, content: str, by: int | None = None) -> None:
    """Correct the text of an item, or its address; existing answers stay."""
    before = item_row(connection, item_id)
    checked = check_text(content, "The text", LONGEST_TEXT)
    if not checked:
        raise Refusal("The item would be empty; there is nothing to show. Retire it instead.", 422)
    if before.kind != "text" and not checked.startswith(("https://", "/media/")):
        raise Refusal("A picture or a sound is an address that begins with https://.", 422)
    if checked == before.content:
        return
    connection.execute(update(item).where(item.c.id == item_id).values(content=checked))
    note(connection, by, f"Changed the content of {before.key}; it was: {before.content[:1000]}", item_id)


def set_gold(connection: Connection, item_id: int, class_id: int | None, by: int | None = None) -> None:
    """Set the class that an item is known to have; None removes it."""
    before = item_row(connection, item_id)
    name = None
    if class_id is not None:
        wanted = select(class_.c.name).where(
            class_.c.id == class_id, class_.c.retired.is_(False), class_.c.merged_into.is_(None)
        )
        name = connection.execute(wanted).scalar_one_or_none()
        if name is None:
            raise Refusal("That class is no longer there; reload the page.", 409)
    if before.gold == class_id:
        return
    connection.execute(update(item).where(item.c.id == item_id).values(gold=class_id))
    message = f"{before.key} is no longer gold." if name is None else f"{before.key} is gold: {name}."
    note(connection, by, message, item_id)
    touch(connection)


def retire_item(connection: Connection, item_id: int, by: int | None = None) -> None:
    """Stop asking about an item and labelling it; its answers are kept."""
    before = item_row(connection, item_id)
    if before.retired:
        raise Refusal(f"“{before.key}” is already retired.", 409)
    connection.execute(update(item).where(item.c.id == item_id).values(retired=True))
    connection.execute(
        update(assignment)
        .where(assignment.c.item_id == item_id, assignment.c.state.in_((WAITING, LEASED)))
        .values(state=WITHDRAWN)
    )
    _recount(connection, item_id, -1)
    note(connection, by, f"Retired the item {before.key}.", item_id)


def bring_back_item(connection: Connection, item_id: int, by: int | None = None) -> None:
    """Ask about a retired item again: it waits for everyone who had it, or has passed it."""
    before = item_row(connection, item_id)
    if not before.retired:
        raise Refusal(f"“{before.key}” is not retired.", 409)
    connection.execute(
        update(item).where(item.c.id == item_id).values(retired=False, state=BEGUN, held_until=0.0)
    )
    if connection.execute(select(project.c.ask)).scalar_one() not in ADAPTIVE:
        passed = connection.execute(
            select(person.c.id).where(person.c.cursor >= before.position, person.c.role != "model")
        ).scalars()
        there = {
            row.person_id: row.state
            for row in connection.execute(
                select(assignment.c.person_id, assignment.c.state).where(assignment.c.item_id == item_id)
            )
        }
        for one in passed:
            if one not in there:
                row = {"item_id": item_id, "person_id": one, "state": WAITING, "expires": 0.0}
                connection.execute(insert(assignment).values(row))
        connection.execute(
            update(assignment)
            .where(assignment.c.item_id == item_id, assignment.c.state == WITHDRAWN)
            .values(state=WAITING, token=None)
        )
    _recount(connection, item_id, 1)
    note(connection, by, f"Brought back the item {before.key}.", item_id)


def _recount(connection: Connection, item_id: int, change: int) -> None:
    """Recount items and answers, and check again who must be asked about an item."""
    connection.execute(update(project).values(size=project.c.size + change))
    wanted = select(answer.c.person_id).where(answer.c.item_id == item_id).distinct()
    for one in list(connection.execute(wanted).scalars()):
        refresh_options(connection, one)
    touch(connection)


def flag_item(connection: Connection, item_id: int, person_id: int, comment: str) -> None:
    """Record a problem that someone reports with an item; the same words again change nothing."""
    checked = check_text(comment, "The comment", 2000)
    if not checked:
        raise Refusal("Say what is wrong with the item.", 422)
    given = select(assignment.c.id).where(
        assignment.c.item_id == item_id, assignment.c.person_id == person_id
    )
    if connection.execute(given).first() is None:
        raise Refusal("This item was not given to you; continue with the next one.")
    same = select(flag.c.id).where(
        flag.c.item_id == item_id, flag.c.person_id == person_id, flag.c.comment == checked
    )
    if connection.execute(same).first() is None:
        mine = (
            select(func.count())
            .select_from(flag)
            .where(flag.c.person_id == person_id, flag.c.closed.is_(None))
        )
        if connection.execute(mine).scalar_one() >= MOST_FLAGS:
            raise Refusal(
                f"{MOST_FLAGS} of your comments are still open; send more once the owner has seen to them.",
                429,
            )
        row = {"item_id": item_id, "person_id": person_id, "comment": checked, "at": time.time()}
        connection.execute(insert(flag).values(row))


def close_flags(connection: Connection, item_id: int, by: int | None = None) -> None:
    """Mark the reported problems of an item as resolved."""
    row = item_row(connection, item_id)
    closed = connection.execute(
        update(flag).where(flag.c.item_id == item_id, flag.c.closed.is_(None)).values(closed=time.time())
    )
    if closed.rowcount:
        note(connection, by, f"Resolved the flags of {row.key}.", item_id)


def flags_of(connection: Connection, item_id: int) -> list[Row[Any]]:
    """Return the problems reported with an item."""
    return list(
        connection.execute(
            select(flag.c.comment, flag.c.at, flag.c.closed, person.c.name)
            .join(person, person.c.id == flag.c.person_id)
            .where(flag.c.item_id == item_id)
            .order_by(flag.c.id)
        )
    )


def flagged_items(connection: Connection) -> list[int]:
    """Return the items with open flags, the newest flag first."""
    wanted = (
        select(flag.c.item_id)
        .where(flag.c.closed.is_(None))
        .group_by(flag.c.item_id)
        .order_by(func.max(flag.c.id).desc())
    )
    return [int(one) for one in connection.execute(wanted).scalars()]
