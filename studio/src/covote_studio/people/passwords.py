"""Passwords: hashed two at a time, compared in constant time, and protected against guessing.

Strangers can make the server hash, which is meant to cost memory and processor time. So hashing has its own
two threads, and requests beyond a short queue are rejected. Wrong passwords are counted per address, never
per name, and those typed in a browser where the person has signed in before are counted for that browser: no
one can lock someone out of it.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

from sqlalchemy import Connection, select, update

from covote_studio.people.credentials import Credentials, digest_of, find_session
from covote_studio.rules import Refusal
from covote_studio.storage.database import Database
from covote_studio.storage.schema import person

SHORTEST_PASSWORD = 10
AT_ONCE, WAITING = 2, 20
"""Passwords that are hashed at the same time, and that may wait for it."""
TRIES, ALL_TRIES, TRY_SECONDS = 10, 200, 300.0
"""Wrong passwords from one address, and from all together, within some seconds before the next must wait."""
BUSY = "Many people are signing in right now; try again in a moment."
_WRONG = "Wrong name or password. Try again, or use your invitation link."
_T = TypeVar("_T")


class Passwords:
    """Sets and compares passwords."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")
        self._lock = threading.Lock()
        self._waiting = 0
        self._wrong: dict[str, deque[float]] = {}
        self._all_wrong: deque[float] = deque()
        self.signing_in = 0
        """How many people are signing in; counted by the one thread that receives requests."""

    @cached_property
    def _hasher(self) -> Any:
        from argon2 import PasswordHasher

        # 19 MB, two passes, one lane: OWASP's first choice. Older hashes carry their own settings.
        return PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)

    @cached_property
    def _nobody(self) -> str:
        """A hash for unknown names, so that they take as long as known ones."""
        return str(self._hasher.hash("no one has this password"))

    def _in_turn(self, work: Callable[[], _T]) -> _T:
        """Hash something in turn; reject it if too many are waiting."""
        with self._lock:
            if self._waiting >= AT_ONCE + WAITING:
                raise Refusal(BUSY, 429)
            self._waiting += 1
        try:
            return self._pool.submit(work).result()
        finally:
            with self._lock:
                self._waiting -= 1

    def hashed(self, password: str) -> str:
        """Return the hash of a new password, or reject the password."""
        if len(password) < SHORTEST_PASSWORD:
            raise Refusal(
                f"The password has {len(password)} characters; use at least {SHORTEST_PASSWORD}. A sentence "
                "is easy to remember.",
                422,
            )
        if len(password) > 1000:
            raise Refusal("The password has more than 1,000 characters; choose a shorter one.", 422)
        return self._in_turn(lambda: str(self._hasher.hash(password.encode("utf-8", "surrogatepass"))))

    def matches(self, hashed: str | None, password: str) -> bool:
        """Whether a password has this hash; without a hash it takes as long, and the result is False."""
        from argon2.exceptions import InvalidHashError, VerifyMismatchError

        def compare() -> bool:
            try:
                return bool(
                    self._hasher.verify(
                        hashed or self._nobody, password[:1000].encode("utf-8", "surrogatepass")
                    )
                )
            except (VerifyMismatchError, InvalidHashError):
                return False

        return self._in_turn(compare) and hashed is not None

    def check(self, database: Database, name: str, password: str, address: str, device: str = "") -> Any:
        """Return the person (`id`, `active`) with this name and password; hashing holds no connection.

        `device` is the secret of the browser, if someone has signed in there before.
        """
        with database.read() as connection:
            wanted = select(person.c.id, person.c.active, person.c.password).where(person.c.name == name)
            row = connection.execute(wanted).one_or_none()
            before = find_session(connection, Credentials("device", device)) if device else None
        known = row is not None and before is not None and before.person_id == row.id
        place = digest_of(device) if known else network_of(address)
        self._wait(place, known)
        if row is not None and self.matches(row.password, password):
            with self._lock:
                self._wrong.pop(place, None)
            return row
        if row is None:
            self.matches(None, password)
        self._count(place, known)
        raise Refusal(_WRONG, 401)

    def _wait(self, place: str, known: bool) -> None:
        since = time.time() - TRY_SECONDS
        with self._lock:
            for wrong in (self._all_wrong, self._wrong.get(place, deque())):
                while wrong and wrong[0] < since:
                    wrong.popleft()
            if len(self._wrong.get(place, ())) >= TRIES:
                raise Refusal(
                    "Too many wrong passwords from your network; wait five minutes, or use your invitation "
                    "link.",
                    429,
                )
            if len(self._all_wrong) >= ALL_TRIES and not known:
                raise Refusal(
                    "Too many wrong passwords from all networks; wait five minutes, or use your invitation "
                    "link.",
                    429,
                )

    def _count(self, place: str, known: bool) -> None:
        now = time.time()
        with self._lock:
            if len(self._wrong) > 10_000:
                self._wrong.clear()
            self._wrong.setdefault(place, deque()).append(now)
            if not known:
                self._all_wrong.append(now)

    def stop(self) -> None:
        """Hash nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def network_of(address: str) -> str:
    """Return what counts as one place: an IPv4 address, or the /64 network of an IPv6 address.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2:3")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network(f"{known}/64", strict=False)) if known.version == 6 else str(known)


def store(connection: Connection, person_id: int, hashed: str) -> None:
    """Store the hash of a person's password."""
    connection.execute(update(person).where(person.c.id == person_id).values(password=hashed))
