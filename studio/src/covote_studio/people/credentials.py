"""Credentials: invitation links, sessions, program tokens and share links.

A secret leaves the server once, in a link or a cookie; the database keeps its SHA-256 only. Secrets have 256
random bits, so a plain hash is enough; passwords, which people choose, get argon2 in ``passwords``.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, insert, select, true, update

from covote_studio.rules import Refusal
from covote_studio.storage.schema import link, person, project

DAY = 86_400.0
LIFETIME = {
    "enter": 14 * DAY,
    "once": DAY,
    "session": 30 * DAY,
    "device": 365 * DAY,
    "api": 365 * DAY,
    "share": 90 * DAY,
}
"""Seconds that each kind of secret is good for."""


class NotSignedIn(Refusal):
    """No one is signed in."""

    def __init__(self) -> None:
        super().__init__("Sign in first: open your invitation link, or use your name and password.", 401)


def digest_of(secret: str) -> str:
    """Return the digest of a secret, which is all that the database keeps."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def new_secret(connection: Connection, purpose: str, person_id: int) -> str:
    """Create a secret for a purpose, and return it: it cannot be read again."""
    secret, now = secrets.token_urlsafe(32), time.time()
    row = {"digest": digest_of(secret), "purpose": purpose, "person_id": person_id, "created": now,
           "expires": now + LIFETIME[purpose], "revoked": False}  # fmt: skip
    connection.execute(insert(link).values(row))
    return secret


@dataclass(frozen=True)
class Credentials:
    """Credentials: a secret, and the purpose that it was created for."""

    purpose: str
    secret: str
    named: str | None = None
    """The person's name according to a trusted proxy, if one signs people in."""
    person_id: int | None = None
    """The person whose account is signed in, on a server with several projects; then no secret is needed."""


_BEHIND = select(
    project.c.name, project.c.ask, project.c.lease_seconds, project.c.panel_version, project.c.size,
    project.c.trial, project.c.trial_first, project.c.feedback,
    person.c.id.label("person_id"), person.c.name.label("person_name"), person.c.cursor, person.c.options_id,
    person.c.answers,
)  # fmt: skip
_BY_SECRET = _BEHIND.select_from(
    project.join(link, true()).join(person, person.c.id == link.c.person_id)
).where(
    link.c.digest == bindparam("secret"),
    link.c.purpose == bindparam("for"),
    link.c.revoked.is_(False),
    link.c.expires > bindparam("now"),
)
_BY_ACCOUNT = _BEHIND.select_from(project.join(person, true())).where(person.c.id == bindparam("person"))
_OPEN: dict[tuple[bool, bool], Select[Any]] = {
    (by_account, locks): one.with_for_update(of=person, key_share=True) if locks else one
    for by_account, one in ((False, _BY_SECRET), (True, _BY_ACCOUNT))
    for locks in (False, True)
}
"""The statements that find a session: by account or by a secret, with or without a lock on the person."""


def find_session(connection: Connection, credentials: Credentials, *, lock: bool = False) -> Row[Any] | None:
    """Return the project, with `person_id`, `person_name`, `cursor` and `options_id` of who has this secret.

    None if the secret is unknown, has another purpose, has expired or is revoked. One statement does this and
    can also lock the person until the end of the transaction.
    """
    by_account = credentials.person_id is not None
    brought = (
        {"person": credentials.person_id}
        if by_account
        else {"secret": digest_of(credentials.secret), "for": credentials.purpose, "now": time.time()}
    )
    found = connection.execute(_OPEN[by_account, lock], brought).one_or_none()
    return None if found is not None and credentials.named not in (None, found.person_name) else found


def open_link(connection: Connection, secret: str, *purposes: str) -> Row[Any]:
    """Return what a link for one of some purposes opens, or reject it."""
    found = None
    for purpose in purposes:
        found = found or find_session(connection, Credentials(purpose, secret))
    if found is None:
        raise Refusal(
            "This link is no longer valid: it has expired, was replaced, or is incomplete. Ask for a new "
            "one.",
            404,
        )
    return found


def open_with(connection: Connection, credentials: Credentials, *, lock: bool = False) -> Row[Any]:
    """Return what a session or a token opens, or ask to sign in."""
    found = find_session(connection, credentials, lock=lock)
    if found is None:
        raise NotSignedIn
    return found


def revoke(
    connection: Connection, *, person_id: int | None = None, purpose: str | None = None, but: str = ""
) -> int:
    """Revoke secrets: all of a person, of a purpose, or of both; but not one that is named."""
    closed = update(link).where(link.c.revoked.is_(False)).values(revoked=True)
    if person_id is not None:
        closed = closed.where(link.c.person_id == person_id)
    if purpose is not None:
        closed = closed.where(link.c.purpose == purpose)
    if but:
        closed = closed.where(link.c.digest != digest_of(but))
    return int(connection.execute(closed).rowcount)


def replace_secret(connection: Connection, purpose: str, person_id: int) -> str:
    """Create a secret; the person's earlier ones for the same purpose no longer work."""
    revoke(connection, person_id=person_id, purpose=purpose)
    return new_secret(connection, purpose, person_id)


def forget(connection: Connection, secret: str) -> None:
    """End a session, or use up a link that works once."""
    connection.execute(
        delete(link).where(link.c.digest == digest_of(secret), link.c.purpose.in_(("session", "once")))
    )


def end_other_sessions(connection: Connection, person_id: int, secret: str) -> int:
    """End every session of a person but the one with this secret."""
    ended = delete(link).where(
        link.c.person_id == person_id, link.c.purpose == "session", link.c.digest != digest_of(secret)
    )
    return int(connection.execute(ended).rowcount)
