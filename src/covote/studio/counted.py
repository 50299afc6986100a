"""Which answers count, read from the database; the rule itself is in rules.py."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, select

from covote.studio.roster import Roster
from covote.studio.rules import answer_counts
from covote.studio.schema import answer, options


def shown_lists(connection: Connection) -> dict[int, frozenset[int]]:
    """Return every list of classes that was ever shown, by its id."""
    return {
        row.id: frozenset(json.loads(row.classes))
        for row in connection.execute(select(options.c.id, options.c.classes))
    }


def counted_answers(
    connection: Connection, roster: Roster, item_ids: Sequence[int]
) -> dict[int, dict[int, int]]:
    """Return, for some items, what each person's last answer is where it counts: person id -> class id."""
    found: dict[int, dict[int, int]] = {one: {} for one in item_ids}
    if not item_ids:
        return found
    shown: dict[int, frozenset[int]] = {}
    rows = connection.execute(
        select(
            answer.c.item_id, answer.c.person_id, answer.c.class_id, answer.c.options_id, options.c.classes
        )
        .join(options, options.c.id == answer.c.options_id)
        .where(answer.c.item_id.in_(item_ids))
        .order_by(answer.c.id)
    )
    for row in rows:
        if row.options_id not in shown:
            shown[row.options_id] = frozenset(json.loads(row.classes))
        member = roster.member_by_id[row.person_id]
        if row.person_id in roster.row and answer_counts(row.class_id, shown[row.options_id], member.known):
            found[row.item_id][row.person_id] = row.class_id
        else:
            found[row.item_id].pop(row.person_id, None)
    return found
