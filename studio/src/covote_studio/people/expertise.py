"""Who is said to know what: ticks, the lists of classes that follow from them, and what is asked again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, func, select, update

from covote_studio.editing.record import note
from covote_studio.people.roster import end_of, touch
from covote_studio.storage.database import insert_if_new
from covote_studio.storage.schema import (
    ANSWERED,
    BEGUN,
    WAITING,
    answer,
    assignment,
    class_,
    item,
    knows,
    offered,
    options,
    person,
)


def options_of(connection: Connection, classes: Iterable[int]) -> int:
    """Return the id of a list of classes that are offered together."""
    listed = json.dumps(sorted(classes))
    digest = hashlib.sha256(listed.encode()).hexdigest()
    insert_if_new(connection, options, {"digest": digest, "classes": listed})
    return int(connection.execute(select(options.c.id).where(options.c.digest == digest)).scalar_one())


def set_known(connection: Connection, person_id: int, classes: Iterable[int], by: int | None = None) -> int:
    """Set what a person knows, and return how many of their items must be asked about again."""
    now, merged = set(classes), merges(connection)
    live = _offered(connection)
    before = known_now(connection, person_id)
    mine = select(knows.c.class_id).where(knows.c.person_id == person_id)
    # Someone who knows a class that was merged still knows it if the merge is undone.
    gone = [
        one
        for one in connection.execute(mine).scalars()
        if (end := end_of(one, merged)) in live and end not in now
    ]
    if gone:
        connection.execute(knows.delete().where(knows.c.person_id == person_id, knows.c.class_id.in_(gone)))
    if now - before:
        connection.execute(
            knows.insert(),
            [{"person_id": person_id, "class_id": one} for one in sorted(now - before)],
        )
    if now != before:
        note(connection, by, _changed_ticks(connection, person_id, now - before, before - now))
    return refresh_options(connection, person_id)


def _changed_ticks(connection: Connection, person_id: int, more: set[int], less: set[int]) -> str:
    """Describe a change of what someone knows."""
    named = {row.id: row.name for row in connection.execute(select(class_.c.id, class_.c.name))}
    who = connection.execute(select(person.c.name).where(person.c.id == person_id)).scalar_one()
    parts = [
        f"{verb} {', '.join(named[one] for one in sorted(some))}"
        for verb, some in (("knows", more), ("does not know", less))
        if some
    ]
    return f"{who} {' and '.join(parts)}."


def merges(connection: Connection) -> dict[int, int | None]:
    """Return, for every class, the class that it was merged into, or None."""
    return {row.id: row.merged_into for row in connection.execute(select(class_.c.id, class_.c.merged_into))}


def _offered(connection: Connection) -> set[int]:
    wanted = select(class_.c.id).where(class_.c.retired.is_(False), class_.c.merged_into.is_(None))
    return set(connection.execute(wanted).scalars())


def refresh_options(connection: Connection, person_id: int) -> int:
    """Offer a person the classes that they know now; return how many items must be asked about again.

    Those are the items whose last answer was given without a class that is offered now. Items that waited
    for a class that is no longer offered count as answered again.
    """
    now = known_now(connection, person_id)
    listed = options_of(connection, now)
    connection.execute(update(person).where(person.c.id == person_id).values(options_id=listed))
    insert_if_new(connection, offered, {"person_id": person_id, "options_id": listed})
    touch(connection)
    narrow, wide = _last_views(connection, person_id, now)
    mine = assignment.c.person_id == person_id
    again = connection.execute(
        update(assignment)
        .where(mine, assignment.c.state == ANSWERED, assignment.c.item_id.in_(narrow))
        .values(state=WAITING, token=None)
    )
    connection.execute(
        update(assignment)
        .where(mine, assignment.c.state != ANSWERED, assignment.c.item_id.in_(wide))
        .values(state=ANSWERED)
    )
    if again.rowcount:
        connection.execute(update(item).where(item.c.id.in_(narrow)).values(state=BEGUN))
        # A model, which takes no leases, starts again.
        connection.execute(
            update(person).where(person.c.id == person_id, person.c.role == "model").values(cursor=0)
        )
    count_answers(connection, person_id)
    return int(again.rowcount)


def known_now(connection: Connection, person_id: int) -> set[int]:
    """Return the classes that a person knows and that can be chosen."""
    merged, offered_now = merges(connection), _offered(connection)
    mine = connection.execute(select(knows.c.class_id).where(knows.c.person_id == person_id)).scalars()
    return {end for one in mine if (end := end_of(one, merged)) in offered_now}


def asked_again(connection: Connection, person_id: int, classes: Iterable[int]) -> int:
    """Return how many answered items a person would be asked about again if they knew these classes."""
    narrow, _ = _last_views(connection, person_id, set(classes))
    return int(
        connection.execute(
            select(func.count())
            .select_from(assignment)
            .where(
                assignment.c.person_id == person_id,
                assignment.c.state == ANSWERED,
                assignment.c.item_id.in_(narrow),
            )
        ).scalar_one()
    )


def _last_views(connection: Connection, person_id: int, known: set[int]) -> tuple[Any, Any]:
    """Return queries for the items whose last answer by a person was given without, and with, all of `known`
    in view; retired items are in neither."""
    merged = merges(connection)
    used = connection.execute(
        select(options.c.id, options.c.classes).where(
            options.c.id.in_(select(answer.c.options_id).where(answer.c.person_id == person_id))
        )
    )
    too_narrow = [
        row.id
        for row in used
        if not known <= {end_of(one, merged) for one in json.loads(row.classes) if one in merged}
    ]
    last = select(func.max(answer.c.id)).where(answer.c.person_id == person_id).group_by(answer.c.item_id)
    answered = (
        select(answer.c.item_id)
        .join(item, item.c.id == answer.c.item_id)
        .where(answer.c.id.in_(last), item.c.retired.is_(False))
    )
    return (
        answered.where(answer.c.options_id.in_(too_narrow)),
        answered.where(answer.c.options_id.not_in(too_narrow)),
    )


def count_answers(connection: Connection, person_id: int) -> None:
    """Count the items that a person has answered; retired items do not count."""
    answered = (
        select(func.count())
        .select_from(assignment.join(item, item.c.id == assignment.c.item_id))
        .where(
            assignment.c.person_id == person_id,
            assignment.c.state == ANSWERED,
            item.c.retired.is_(False),
        )
    )
    connection.execute(
        update(person).where(person.c.id == person_id).values(answers=answered.scalar_subquery())
    )
