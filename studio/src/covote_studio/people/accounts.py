"""Accounts of a server of several projects: what each may do, and that someone administers the server."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from covote_studio.editing.record import note
from covote_studio.people import credentials
from covote_studio.people.roster import touch
from covote_studio.rules import Member, Refusal
from covote_studio.storage.schema import person

ROLES = {
    "expert": "opens its projects",
    "creator": "may create projects",
    "owner": "administers the server",
}
"""What an account may do, by its role."""


def change_account(connection: Connection, one: Member, role: str, active: bool, by: int) -> None:
    """Change what an account may do, and whether it may sign in; one administrator must remain."""
    if one.is_owner and (role != "owner" or not active):
        _require_other_administrator(connection, one.id)
    connection.execute(update(person).where(person.c.id == one.id).values(role=role, active=active))
    if not active:
        credentials.revoke(connection, person_id=one.id)
    if role != one.role:
        note(connection, by, f"The account {one.name} now {ROLES[role]}.")
    if active != one.active:
        note(connection, by, f"{'Opened' if active else 'Closed'} the account {one.name}.")
    touch(connection)


def _require_other_administrator(connection: Connection, account_id: int) -> None:
    others = select(person.c.id).where(
        person.c.role == "owner", person.c.active.is_(True), person.c.id != account_id
    )
    if connection.execute(others.limit(1)).first() is None:
        raise Refusal("This is the only administrator; make another account one first.", 409)
