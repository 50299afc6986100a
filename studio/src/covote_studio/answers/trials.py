"""The qualification round: gold items of the classes that someone is said to know, first or among others."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import Connection, Row, select

from covote_studio.people.roster import Roster
from covote_studio.rules import Member
from covote_studio.storage.schema import WITHDRAWN, assignment, item

ONE_IN = 5
"""If gold items come among the others, one item in this many is gold."""


def trial_items(
    connection: Connection, setup: Row[Any], roster: Roster, member: Member, count: int
) -> list[int]:
    """Return the gold items among a person's next `count` items; none without a round.

    Everyone gets `setup.trial` gold items of each class that they are said to know, or as many as there are.
    """
    if not setup.trial:
        return []
    mine = (assignment.c.item_id == item.c.id) & (assignment.c.person_id == member.id)
    rows = connection.execute(
        select(item.c.id, item.c.gold, assignment.c.state)
        .outerjoin(assignment, mine)
        .where(item.c.gold.is_not(None), item.c.retired.is_(False))
        .order_by(item.c.position)
    ).all()
    right = {row.id: roster.canonical_class[row.gold] for row in rows}
    given = Counter(right[row.id] for row in rows if row.state is not None and row.state != WITHDRAWN)
    due: list[int] = []
    for row in rows:
        one = right[row.id]
        if row.state is None and one in member.known and given[one] < setup.trial:
            given[one] += 1
            due.append(row.id)
    return due[: count if setup.trial_first else max(1, count // ONE_IN)]


def feedback_after(connection: Connection, setup: Row[Any], roster: Roster, item_id: int, choice: int) -> str:
    """Return the feedback on an answer to a gold item, if the owner wants people to see it; else empty."""
    if not (setup.trial and setup.feedback):
        return ""
    gold = connection.execute(select(item.c.gold).where(item.c.id == item_id)).scalar_one_or_none()
    if gold is None:
        return ""
    right = roster.canonical_class[gold]
    name = roster.classes_by_id[right].name
    if choice == right:
        return f"Right: it was “{name}”."
    return f"It was “{name}”; you said “{roster.answer_name(choice)}”."
