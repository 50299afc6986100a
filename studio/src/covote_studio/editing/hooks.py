"""The webhook: a signed message to a program that items are settled, repeated until it is received.

A message is a JSON object ``{"event": "item settled", "item": ..., "label": ..., "status": ...}`` or
``{"event": "project done", "items": ...}``. Its header ``X-Covote-Signature`` is ``sha256=`` and the HMAC of
the body with the secret of the hook; ``X-Covote-Delivery`` numbers messages, so that duplicates can be
recognised.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from covote_studio.answers.standing import answered_by_all, count_settled
from covote_studio.editing.record import note
from covote_studio.people.roster import Roster
from covote_studio.rules import ADAPTIVE, Refused
from covote_studio.storage.database import Database
from covote_studio.storage.schema import DONE, delivery, hook, item

FIRST_WAIT, LONGEST_WAIT, MOST_TRIES = 5.0, 3600.0, 20
"""Seconds until a message is sent again, which double up to a longest time, and the number of attempts."""
PATIENCE = 10.0
"""Seconds that the receiver may take."""
AT_ONCE = 200
"""Items that are announced at a time."""


def hook_row(connection: Connection) -> Row[Any] | None:
    """Return the hook, if there is one."""
    return connection.execute(select(hook)).one_or_none()


def set_hook(connection: Connection, url: str, by: int | None) -> str:
    """Set the address to notify, and return the secret of the signature."""
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise Refused(f"“{url[:200]}” is not an address; write https://HOST/PATH.", 422)
    secret = secrets.token_urlsafe(32)
    connection.execute(delete(hook))
    connection.execute(insert(hook).values(id=1, url=url, secret=secret))
    note(connection, by, f"Programs at {parts.hostname} are notified when items are settled.")
    return secret


def remove_hook(connection: Connection, by: int | None) -> None:
    """Stop notifying programs."""
    if connection.execute(delete(hook)).rowcount:
        connection.execute(update(delivery).where(delivery.c.done.is_(False)).values(done=True))
        note(connection, by, "Programs are no longer notified when items are settled.")


def announce(
    connection: Connection, setup: Row[Any], roster: Roster, label_of: Callable[[int], dict[str, Any]]
) -> int:
    """Queue a message for every newly settled item; return how many."""
    if hook_row(connection) is None:
        return 0
    settled = item.c.state == DONE if setup.ask in ADAPTIVE else item.c.id.in_(answered_by_all(setup, roster))
    new = connection.execute(
        select(item.c.id, item.c.key)
        .where(settled, item.c.retired.is_(False), item.c.announced.is_(False))
        .order_by(item.c.id)
        .limit(AT_ONCE)
    ).all()
    if not new:
        return 0
    for row in new:
        _write(connection, {"event": "item settled", "item": row.key, **label_of(row.id)})
    connection.execute(update(item).where(item.c.id.in_([row.id for row in new])).values(announced=True))
    told = select(func.count()).select_from(item).where(item.c.announced.is_(True), item.c.retired.is_(False))
    if connection.execute(told).scalar_one() == setup.size == count_settled(connection, setup, roster):
        _write(connection, {"event": "project done", "items": setup.size})
    return len(new)


def _write(connection: Connection, message: dict[str, Any]) -> None:
    body = json.dumps({"at": time.time(), **message}, ensure_ascii=False)
    connection.execute(insert(delivery).values(body=body, due=time.time()))


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Do not follow redirects: the owner gave this address and no other."""


def deliver(database: Database) -> int:
    """Send the messages that are due; those not accepted are sent again later. Return how many were."""
    with database.read() as connection:
        target = hook_row(connection)
        due = connection.execute(
            select(delivery)
            .where(delivery.c.done.is_(False), delivery.c.due <= time.time())
            .order_by(delivery.c.id)
            .limit(20)
        ).all()
    taken = 0
    for row in due if target is not None else ():
        outcome = _send(target, row)
        done = outcome.startswith("2")
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2**row.tries)
        given_up = row.tries + 1 >= MOST_TRIES
        with database.write() as connection:
            connection.execute(
                update(delivery)
                .where(delivery.c.id == row.id)
                .values(tries=row.tries + 1, due=time.time() + wait, outcome=outcome, done=done or given_up)
            )
        taken += done
        if not done:
            break  # the others would fail as well; they keep their order
    return taken


def _send(target: Any, row: Any) -> str:
    body = row.body.encode()
    signature = hmac.new(target.secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json", "X-Covote-Signature": f"sha256={signature}",
        "X-Covote-Delivery": str(row.id), "User-Agent": "covote",
    }  # fmt: skip
    try:
        with build_opener(_NoRedirects).open(Request(target.url, body, headers), timeout=PATIENCE) as answer:
            return str(answer.status)
    except HTTPError as error:
        return str(error.code)
    except (URLError, OSError, ValueError) as error:
        return f"not reached: {error}"[:500]
