"""What owners change: the project and its people; and administrators: the accounts of a server."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, select, update

from covote.panel import Panel
from covote_studio.editing.classes import NewClass, add_classes
from covote_studio.editing.record import note
from covote_studio.people import credentials
from covote_studio.people.expertise import set_known
from covote_studio.people.roster import touch
from covote_studio.rules import ADAPTIVE, Member, Refusal, check_ask, check_name, check_text
from covote_studio.storage.schema import (
    BEGUN,
    WAITING,
    WITHDRAWN,
    adjudication,
    assignment,
    class_,
    item,
    person,
    project,
)

ASKED = {"everybody": "everyone", "elimination": "as few as needed", "posterior": "until 99% sure"}
"""The ways of asking, as pages call them."""
MOST_TRIAL = 50
"""Most gold items of each class in a qualification round."""


def create_project(connection: Connection, name: str, owner: str = "owner") -> int:
    """Create the project with its first owner, and return the owner's id."""
    connection.execute(
        insert(project).values(
            id=1, uid=secrets.token_hex(8), name=check_name(name, "The project"), instructions="",
            ask="everybody", lease_seconds=900, panel_version=1, size=0, created=time.time(),
        )
    )  # fmt: skip
    return add_person(connection, owner, "owner")


def set_trial(
    connection: Connection, count: int, *, first: bool, feedback: bool, by: int | None = None
) -> None:
    """Set how many gold items of each class people answer in the qualification round, and when."""
    if not 0 <= count <= MOST_TRIAL:
        raise Refusal(f"A qualification round has 0 to {MOST_TRIAL} gold items per class, not {count}.", 422)
    before = connection.execute(select(project.c.trial, project.c.trial_first, project.c.feedback)).one()
    connection.execute(update(project).values(trial=count, trial_first=first, feedback=feedback))
    if tuple(before) != (count, first, feedback):
        when = "before" if first else "among"
        seen = "see the right class" if feedback else "do not see the right class"
        note(
            connection, by,
            f"Qualification round: {count} gold items per class, {when} the other items; people {seen}.",
        )  # fmt: skip


def change_project(
    connection: Connection, name: str, instructions: str, ask: str, by: int | None = None
) -> None:
    """Change the name, the instructions, and the way of asking."""
    before = connection.execute(select(project.c.name, project.c.instructions, project.c.ask)).one()
    new = {
        "name": check_name(name, "The project"),
        "instructions": check_text(instructions, "The instructions", 20_000),
        "ask": check_ask(ask),
    }
    connection.execute(update(project).values(new))
    if new["name"] != before.name:
        note(connection, by, f"Renamed the project {before.name} to {new['name']}.")
    if new["instructions"] != before.instructions:
        note(connection, by, "Changed the instructions.")
    if ask != before.ask:
        note(connection, by, f"Changed who is asked from “{ASKED[before.ask]}” to “{ASKED[ask]}”.")
        # Items that were begun in another way continue where they are; see assignments.reassess.
        begun = select(assignment.c.item_id)
        connection.execute(update(item).where(item.c.id.in_(begun)).values(state=BEGUN, held_until=0.0))
        if ask not in ADAPTIVE:
            # What was given to someone else, or passed by, is asked after all.
            live = select(item.c.id).where(item.c.retired.is_(False))
            given_away = update(assignment).where(
                assignment.c.state == WITHDRAWN, assignment.c.item_id.in_(live)
            )
            connection.execute(given_away.values(state=WAITING, token=None))
            connection.execute(update(person).where(person.c.role != "model").values(cursor=0))
        touch(connection)


def add_person(
    connection: Connection, name: str, role: str, cost: float = 1.0, model: Any = None, by: int | None = None
) -> int:
    """Add someone, who knows nothing yet; return the id."""
    checked = check_name(name, "A person")
    taken = connection.execute(select(person.c.id).where(person.c.name == checked)).one_or_none()
    if taken is not None:
        raise Refusal(f"There is someone called “{checked}” already; choose another name.", 409)
    row = connection.execute(
        insert(person)
        .values(
            name=checked, role=role, cost=cost, active=True, may_tick=False,
            model=None if model is None else json.dumps(model), cursor=0, answers=0, note="",
            created=time.time(),
        )
        .returning(person.c.id)
    )  # fmt: skip
    person_id = int(row.scalar_one())
    if by is not None:
        note(connection, by, f"Added {checked}.")
    touch(connection)
    return person_id


def invite(
    connection: Connection, name: str, classes: Iterable[int], may_tick: bool = False, by: int | None = None,
    email: str = "",
) -> tuple[int, str]:  # fmt: skip
    """Add an expert, and return the id and the secret of the link that lets the person in."""
    person_id = add_person(connection, name, "expert", by=by)
    more = {"may_tick": may_tick, "email": email[:320] or None}
    connection.execute(update(person).where(person.c.id == person_id).values(more))
    set_known(connection, person_id, classes, by)
    return person_id, credentials.new_secret(connection, "enter", person_id)


def mark_entered(connection: Connection, person_id: int) -> None:
    """Note when someone first used an invitation."""
    first = update(person).where(person.c.id == person_id, person.c.entered.is_(None))
    if connection.execute(first.values(entered=time.time())).rowcount:
        name = connection.execute(select(person.c.name).where(person.c.id == person_id)).scalar_one()
        note(connection, person_id, f"{name} opened the invitation.")


ROLES = {"expert": "an expert", "reviewer": "a reviewer", "owner": "an owner"}


def change_person(
    connection: Connection, person_id: int, *, active: bool, may_tick: bool, role: str, by: int | None = None
) -> None:
    """Change a person; at least one owner must remain. Someone who is away can still sign in."""
    row = connection.execute(select(person).where(person.c.id == person_id)).one()
    if row.role == "model":
        role = "model"
    elif role not in ROLES:
        raise Refusal(f"There is no role {role[:50]!r}; choose expert, reviewer or owner.", 422)
    if row.role == "owner" and role != "owner":
        _require_another(connection, person_id, "owner")
    new = {"active": active, "may_tick": may_tick, "role": role}
    connection.execute(update(person).where(person.c.id == person_id).values(new))
    changes = [
        words
        for changed, words in (
            (role != row.role, f"is now {ROLES.get(role, role)}"),
            (active != row.active, "is back" if active else "is away"),
            (may_tick != row.may_tick, f"may {'' if may_tick else 'not '}change their own classes"),
        )
        if changed
    ]
    if changes:
        note(connection, by, f"{row.name} {', '.join(changes)}.")
    touch(connection)


def _require_another(
    connection: Connection, person_id: int, word: str, *conditions: ColumnElement[bool]
) -> None:
    """Reject a change after which no owner, or no administrator with an open account, would be left."""
    others = select(person.c.id).where(person.c.role == "owner", person.c.id != person_id, *conditions)
    if connection.execute(others.limit(1)).first() is None:
        raise Refusal(f"This is the only {word}; make someone else an {word} first.", 409)


ACCOUNT_ROLES = {
    "expert": "opens its projects",
    "creator": "may create projects",
    "owner": "administers the server",
}
"""What an account may do, by its role."""


def change_account(connection: Connection, one: Member, role: str, active: bool, by: int) -> None:
    """Change what an account may do, and whether it may sign in; one administrator must remain."""
    if one.is_owner and (role != "owner" or not active):
        _require_another(connection, one.id, "administrator", person.c.active.is_(True))
    connection.execute(update(person).where(person.c.id == one.id).values(role=role, active=active))
    if not active:
        credentials.revoke(connection, person_id=one.id)
    if role != one.role:
        note(connection, by, f"The account {one.name} now {ACCOUNT_ROLES[role]}.")
    if active != one.active:
        note(connection, by, f"{'Opened' if active else 'Closed'} the account {one.name}.")
    touch(connection)


def adopt_panel(connection: Connection, panel: Panel, folder: str = ".", by: int | None = None) -> None:
    """Take classes, experts, costs and models from a panel; it replaces what existing people know.

    Experts who have left are away. Relative paths of models start at `folder`.
    """
    add_classes(connection, [NewClass(str(name)) for name in panel.classes], by)
    live = select(class_.c.id, class_.c.name).where(
        class_.c.retired.is_(False), class_.c.merged_into.is_(None)
    )
    ids = {row.name: row.id for row in connection.execute(live)}
    here = {row.name: row.id for row in connection.execute(select(person.c.id, person.c.name))}
    experts = zip(panel.names, panel.blocks(), panel.cost, panel.models, panel.left.tolist(), strict=True)
    for name, block, cost, model, left in experts:
        person_id = here.get(str(name))
        if person_id is None:
            role = "expert" if model is None else "model"
            place = None if model is None else {"model": model, "folder": folder}
            person_id = add_person(connection, str(name), role, float(cost), place, by)
        else:
            connection.execute(update(person).where(person.c.id == person_id).values(cost=float(cost)))
        set_known(connection, person_id, [ids[check_name(str(one), "A class")] for one in block], by)
        if left:
            connection.execute(update(person).where(person.c.id == person_id).values(active=False))
    note(connection, by, f"Imported a panel of {len(panel)} experts and {len(panel.classes)} classes.")


def adjudicate(
    connection: Connection, item_id: int, class_id: int | None, person_id: int, reason: str
) -> None:
    """Decide an item, with a reason; None withdraws the decision."""
    checked = check_text(reason, "The reason", 2000)
    if class_id is not None and not checked:
        raise Refusal("Say why: a decision without a reason cannot be checked later.", 422)
    if class_id is None and not decisions(connection, [item_id]):
        raise Refusal("No one has decided this item.", 409)
    connection.execute(
        insert(adjudication).values(
            item_id=item_id, class_id=class_id, person_id=person_id, reason=checked, at=time.time()
        )
    )
    key = connection.execute(select(item.c.key).where(item.c.id == item_id)).scalar_one()
    named = select(class_.c.name).where(class_.c.id == class_id)
    name = None if class_id is None else connection.execute(named).scalar_one()
    words = (
        f"Withdrew the decision about {key}." if name is None else f"Decided that {key} is {name}: {checked}"
    )
    note(connection, person_id, words, item_id)


def decisions(connection: Connection, item_ids: list[int] | None = None) -> dict[int, Any]:
    """Return the last decision about each item that has one."""
    wanted = (
        select(
            adjudication.c.item_id, adjudication.c.class_id, adjudication.c.reason, adjudication.c.at,
            person.c.name.label("by"),
        )
        .join(person, person.c.id == adjudication.c.person_id)
        .order_by(adjudication.c.id)
    )  # fmt: skip
    if item_ids is not None:
        wanted = wanted.where(adjudication.c.item_id.in_(item_ids))
    last = {row.item_id: row for row in connection.execute(wanted)}
    return {one: row for one, row in last.items() if row.class_id is not None}
