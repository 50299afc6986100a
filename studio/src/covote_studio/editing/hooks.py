"""The webhook: a signed message to a program that items are settled, repeated until it is received.

A message is a JSON object ``{"type": "item.settled", "timestamp": ..., "data": {"item": ..., "label": ...,
"status": ..., "decided": ...}}`` or ``{"type": "project.settled", "data": {"items": ...}}``. It is signed as
https://www.standardwebhooks.com describes: the header ``webhook-id`` is the same when a message is repeated,
and ``webhook-signature`` is ``v1,`` and the HMAC-SHA256 of id, timestamp and body.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import http.client
import ipaddress
import json
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from covote_studio.editing.record import note
from covote_studio.rules import Refusal
from covote_studio.storage.database import Database
from covote_studio.storage.schema import delivery, hook, item

FIRST_WAIT, LONGEST_WAIT, MOST_TRIES = 5.0, 3600.0, 20
"""Seconds until a message is sent again, which double up to a longest time, and the number of attempts."""
PATIENCE = 10.0
"""Seconds that the receiver may take."""
AT_ONCE = 200
"""Items that are announced at a time."""
NOT_REACHED = "not reached: "
_LAST_ROUND = 2
"""Messages that do not reach the receiver before the others wait for the next round."""


def hook_row(connection: Connection) -> Row[Any] | None:
    """Return the hook, if there is one."""
    return connection.execute(select(hook)).one_or_none()


def hook_state(connection: Connection) -> dict[str, Any] | None:
    """Return where messages go, how many wait, how many were given up, and how the last attempt ended."""
    found = hook_row(connection)
    if found is None:
        return None
    last = connection.execute(
        select(delivery.c.outcome, delivery.c.tried)
        .where(delivery.c.tried.is_not(None))
        .order_by(delivery.c.tried.desc())
        .limit(1)
    ).one_or_none()
    count = select(func.count()).select_from(delivery)
    waiting = connection.execute(count.where(delivery.c.done.is_(False))).scalar_one()
    lost = connection.execute(
        count.where(delivery.c.done.is_(True), delivery.c.outcome.not_like("2%"))
    ).scalar_one()
    return {
        "url": found.url, "waiting": waiting, "given_up": lost,
        "last_outcome": None if last is None else last.outcome,
        "last_tried": None if last is None else last.tried,
    }  # fmt: skip


def check_address(url: str, *, private: bool = False) -> str:
    """Return the host that an address names, or reject it; this may take as long as a name server does.

    Addresses in the server's own networks are rejected, unless they are allowed (`private`).
    """
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise ValueError
        addresses_of(parts, private=private)
    except OSError as error:
        raise Refusal(
            f"The host of “{url[:200]}” cannot be found ({error}); check the address.", 422
        ) from error
    except ValueError as error:  # also a port that there is not, and a name that no host can have
        raise Refusal(f"“{url[:200]}” is not an address; write https://HOST/PATH.", 422) from error
    return parts.hostname


def set_hook(connection: Connection, url: str, by: int | None) -> str:
    """Set the address to notify, which was checked, and return the secret of the signature."""
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    connection.execute(delete(hook))
    connection.execute(insert(hook).values(id=1, url=url, secret=secret))
    # What waits goes to the new address at once.
    connection.execute(update(delivery).where(delivery.c.done.is_(False)).values(due=time.time(), tries=0))
    note(connection, by, f"Programs at {urlsplit(url).hostname} are notified when items are settled.")
    return secret


def remove_hook(connection: Connection, by: int | None) -> None:
    """Stop notifying programs."""
    if connection.execute(delete(hook)).rowcount:
        connection.execute(delete(delivery).where(delivery.c.done.is_(False)))
        note(connection, by, "Programs are no longer notified when items are settled.")


def unannounced(connection: Connection, settled: Sequence[int]) -> list[int]:
    """Return the settled items about which no message was queued yet."""
    announced = set(connection.execute(select(item.c.id).where(item.c.announced.is_(True))).scalars())
    return [one for one in settled if one not in announced]


def announce(
    connection: Connection, new: Sequence[int], label_of: Callable[[int], dict[str, Any]], whole: int | None
) -> None:
    """Queue a message for every newly settled item, and one for the project if these end its `whole` size."""
    rows = select(item.c.id, item.c.key).where(item.c.id.in_(new)).order_by(item.c.id)
    for row in connection.execute(rows):
        _write(connection, "item.settled", {"item": row.key, **label_of(row.id)})
    connection.execute(update(item).where(item.c.id.in_(new)).values(announced=True))
    if whole is not None:
        _write(connection, "project.settled", {"items": whole})


def _write(connection: Connection, kind: str, data: dict[str, Any]) -> None:
    moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    body = json.dumps({"type": kind, "timestamp": moment, "data": data}, ensure_ascii=False)
    connection.execute(insert(delivery).values(body=body, due=time.time()))


def deliver(database: Database, *, private: bool = False) -> int:
    """Send the messages that are due; those not accepted are sent again later. Return how many were."""
    with database.read() as connection:
        target = hook_row(connection)
        due = connection.execute(
            select(delivery)
            .where(delivery.c.done.is_(False), delivery.c.due <= time.time())
            .order_by(delivery.c.due, delivery.c.id)
            .limit(20)
        ).all()
    taken = missed = 0
    for row in due if target is not None else ():
        outcome = _send(target, row, private)
        done = outcome.startswith("2")
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2**row.tries)
        given_up = row.tries + 1 >= MOST_TRIES
        with database.write() as connection:
            connection.execute(
                update(delivery)
                .where(delivery.c.id == row.id)
                .values(
                    tries=row.tries + 1, due=time.time() + wait, outcome=outcome, tried=time.time(),
                    done=done or given_up,
                )
            )  # fmt: skip
        taken += done
        missed += outcome.startswith(NOT_REACHED)
        if missed == _LAST_ROUND:
            break
    return taken


def signature_of(secret: str, message_id: str, moment: int, body: bytes) -> str:
    """Return the signature of a message, as Standard Webhooks has it."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{moment}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _send(target: Any, row: Any, private: bool) -> str:
    body, moment, message_id = row.body.encode(), int(time.time()), f"msg_{row.id}"
    headers = {
        "Content-Type": "application/json", "User-Agent": "covote", "webhook-id": message_id,
        "webhook-timestamp": str(moment),
        "webhook-signature": signature_of(target.secret, message_id, moment, body),
    }  # fmt: skip
    parts = urlsplit(target.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection = _connected(parts, addresses_of(parts, private=private))
        try:
            connection.request("POST", path, body, headers)
            return str(connection.getresponse().status)  # redirects are not followed
        finally:
            connection.close()
    except Refusal as refused:
        return f"{NOT_REACHED}{refused}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"{NOT_REACHED}{error or type(error).__name__}"[:500]


def addresses_of(parts: SplitResult, *, private: bool) -> list[str]:
    """Return the addresses of a host; reject those of the server's own networks, unless they are allowed."""
    host = str(parts.hostname)
    found = socket.getaddrinfo(host, parts.port or 0, type=socket.SOCK_STREAM)
    addresses = [str(one[4][0]) for one in found]
    if not private and not all(is_public(one) for one in addresses):
        raise Refusal(
            f"{host} is in a network of this server, where webhooks are not sent; start the studio with "
            "--private-webhooks to allow it.",
            422,
        )
    return addresses


_TRANSLATED = tuple(ipaddress.ip_network(one) for one in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"))
"""IPv6 networks whose addresses stand for IPv4 addresses."""


def is_public(address: str) -> bool:
    """Whether an address is one of the internet, and not of a machine or a network.

    >>> [is_public(one) for one in ("93.184.216.34", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")]
    [True, False, False, False]
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if any(found in network for network in _TRANSLATED):
            return False
        found = found.ipv4_mapped or found
    return found.is_global and not found.is_multicast


def _connected(parts: SplitResult, addresses: Sequence[str]) -> http.client.HTTPConnection:
    """Connect to one of the addresses that were checked; the name is not looked up a second time."""
    host, secure = str(parts.hostname), parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    opened: socket.socket | None = None
    for address in addresses:
        try:
            opened = socket.create_connection((address, port), PATIENCE)
            break
        except OSError:
            if address == addresses[-1]:
                raise
    assert opened is not None
    connection = (
        http.client.HTTPSConnection(host, port, timeout=PATIENCE)
        if secure
        else http.client.HTTPConnection(host, port, timeout=PATIENCE)
    )
    connection.sock = (
        ssl.create_default_context().wrap_socket(opened, server_hostname=host) if secure else opened
    )
    return connection
