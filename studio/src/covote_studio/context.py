"""Studio: an open project, with everything that a request needs in one object."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select
from sqlalchemy.exc import SQLAlchemyError

from covote import atomic
from covote.errors import CovoteError, FileError
from covote.panel import Panel
from covote_studio.answers.assignments import Lease, Said, lease, lock, record, reopen
from covote_studio.answers.results import ResultsKeeper
from covote_studio.answers.trials import told_after
from covote_studio.answers.worker import Worker
from covote_studio.editing import hooks
from covote_studio.exchange import importing
from covote_studio.people import doors, managing
from covote_studio.people.doors import Door, open_with
from covote_studio.people.passwords import Passwords
from covote_studio.people.roster import Roster, RosterKeeper, project_row
from covote_studio.rules import Refused, why_not_asked
from covote_studio.storage.database import Database
from covote_studio.storage.schema import person, project

TELL_SECONDS = 3.0
"""Seconds between two checks for notifications to programs."""
KEPT = 50
"""Jobs whose outcome is remembered."""


class Jobs:
    """Runs long work in the background, one job after another; pages poll until it is done."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="job")
        self._jobs: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()

    def start(self, work: Callable[[], Any]) -> str:
        """Start some work, and return its name."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            while len(self._jobs) >= KEPT:
                self._jobs.pop(next(iter(self._jobs)))
            self._jobs[name] = self._pool.submit(work)
        return name

    def outcome(self, name: str, wait: float) -> tuple[bool, Any]:
        """Return (whether it is done, its result or error)."""
        job = self._jobs.get(name)
        if job is None:
            return True, CovoteError("This result is no longer kept; press the button again.")
        try:
            return True, job.result(timeout=wait)
        except TimeoutError:
            return False, None
        except CovoteError as error:
            return True, error

    def stop(self) -> None:
        """Start no more jobs."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Studio:
    """An open project: its database, its folder, and what is cached of them."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        trust: bool = False,
        public_url: str | None = None,
        sign_in_header: str | None = None,
    ) -> None:
        self.database = database
        self.folder = folder
        self.rosters = RosterKeeper()
        self.results = ResultsKeeper(database, self.rosters)
        self.passwords = Passwords()
        self.public_url = public_url
        self.sign_in_header = sign_in_header
        self.jobs = Jobs()
        self._stopped = threading.Event()
        self.worker = Worker(database, folder, self.rosters, trust)

    @cached_property
    def uid(self) -> str:
        """A random id, chosen when the project was created."""
        with self.database.read() as connection:
            return str(connection.execute(select(project.c.uid)).scalar_one())

    @property
    def cookie(self) -> str:
        """The name of the session cookie; it differs between projects on one machine."""
        return f"covote_{self.uid}"

    def start(self) -> None:
        """Read who knows what, so that no page waits for it, and start the background work."""
        _, roster = self.look()
        if roster.classes:
            _ = roster.coverage
        self.worker.start()
        for work in (lambda: self.database.keep_tidy(self._stopped), self._tell_programs):
            threading.Thread(target=work, daemon=True).start()

    def _tell_programs(self) -> None:
        """Notify programs of settled items until stopped."""
        while not self._stopped.wait(TELL_SECONDS):
            with suppress(SQLAlchemyError):  # the database may be back next time
                self.tell_programs()

    def tell_programs(self) -> int:
        """Queue messages about newly settled items and send those due; return how many were accepted."""
        with self.database.read() as connection:
            if hooks.hook_row(connection) is None:
                return 0
        results = self.results.refresh()
        with self.database.write() as connection:
            setup, roster = self.now(connection)

            def label_of(item_id: int) -> dict[str, Any]:
                at = None if results is None else results.position(item_id)
                if results is None or at is None:
                    return {"label": None, "status": None}
                told = results.verdict(at)
                label = None if told["label"] is None else str(told["label"])
                return {"label": label, "status": told["status"]}

            hooks.announce(connection, setup, roster, label_of)
        return hooks.deliver(self.database)

    def stop(self) -> None:
        """Stop the background work."""
        self._stopped.set()
        self.worker.stop()
        self.jobs.stop()
        self.passwords.stop()
        self.database.close()

    def now(self, connection: Connection) -> tuple[Row[Any], Roster]:
        """Return the project and its roster."""
        setup = project_row(connection)
        return setup, self.rosters.get(connection, setup.panel_version)

    def look(self) -> tuple[Row[Any], Roster]:
        """Return the project and its roster, read on a connection of their own."""
        with self.database.read() as connection:
            return self.now(connection)

    def lease(self, person_id: int, count: int) -> tuple[list[Lease], str]:
        """Lease items to a person; if there can be none, return why."""
        with self.database.write() as connection:
            setup, roster = self.now(connection)
            member = roster.member_by_id[person_id]
            held = lease(connection, setup, roster, member, lock(connection, member), count)
        return held, "" if held else why_not_asked(member, setup.ask)

    def reopen(self, person_id: int, item_id: int) -> Lease | None:
        """Reopen a person's answer about an item."""
        with self.database.write() as connection:
            setup, roster = self.now(connection)
            return reopen(connection, setup, roster.member_by_id[person_id], item_id)

    def undo(self, person_id: int, before: int | None = None) -> Lease:
        """Reopen a person's last answer, or the one before their answer about an item."""
        with self.database.write() as connection:
            setup, roster = self.now(connection)
            opened = reopen(connection, setup, roster.member_by_id[person_id], before=before)
        if opened is None:
            raise Refused(
                "You have no earlier answer."
                if before
                else "You have not answered yet, so there is nothing to change.",
                404,
            )
        return opened

    def record(self, door: Door, said: Said, count: int = 0) -> Recorded:
        """Record the answer of the person behind a door and lease the next items, in one transaction.

        What a person knows cannot change while the person is locked: every change of it also changes the
        list of options in the same row.
        """
        with self.database.write() as connection:
            setup = open_with(connection, door, lock=True)
            roster = self.rosters.get(connection, setup.panel_version)
            member = roster.member_by_id[setup.person_id]
            if member.options_id != setup.options_id:  # changed while we waited for the lock
                _, roster = self.now(connection)
                member = roster.member_by_id[setup.person_id]
            kept = record(connection, setup, roster, member, said)
            held = lease(connection, setup, roster, member, setup.cursor, count) if count else []
            right = told_after(connection, setup, roster, said.item_id, said.choice)
        reason = why_not_asked(member, setup.ask) if count and not held else ""
        replaced = "" if kept.replaced is None else roster.answer_name(kept.replaced)
        return Recorded(kept.new, replaced, held, reason, right)


@dataclass(frozen=True)
class Recorded:
    """A recorded answer: whether it is new, what it replaces, the next items, or why there are none."""

    new: bool
    replaced: str
    leases: list[Lease]
    reason: str
    right: str
    """What the item was, if people are shown that after an item of a qualification round."""


def open_studio(
    folder: Path,
    database: str | None = None,
    name: str | None = None,
    *,
    trust: bool = False,
    public_url: str | None = None,
    sign_in_header: str | None = None,
    owner: str = "owner",
    file: str = "studio.db",
    schema: str | None = None,
) -> Studio:
    """Open a project, or create it with the name of its `owner`.

    `trust` lets models run their authors' code; `public_url` is the address that links begin with;
    `sign_in_header` is the header in which a trusted proxy names the signed-in person. The tables are in a
    `file` of the folder, or in a `schema` of the PostgreSQL database.
    """
    atomic.make_folder(folder, "the argument PROJECT")
    with suppress(OSError):  # on a disk without such rights
        folder.chmod(0o700)
    place = folder.resolve() / file
    if database is None:
        _make_private(place)
    opened = Database(database or f"sqlite:///{place}", schema if database else None)
    opened.migrate()
    with opened.write() as connection:
        if connection.execute(select(project.c.id)).one_or_none() is None:
            managing.create_project(connection, name or folder.resolve().name or "project", owner)
    return Studio(opened, folder.resolve(), trust, public_url, sign_in_header)


def _make_private(place: Path) -> None:
    """Let only the owner of the process read a file; SQLite gives its other files the same rights."""
    try:
        os.close(os.open(place, os.O_CREAT | os.O_RDWR, 0o600))
        place.chmod(0o600)
    except OSError as error:
        raise FileError(
            f"cannot use {place}: {error.strerror}; give a folder that you may write to"
        ) from error


def adopt(studio: Studio, panel: Path | None, items: Path | None) -> list[str]:
    """Add a panel file and items to the project, and return what was done."""
    done = []
    if panel is not None:
        with studio.database.write() as connection:
            managing.adopt_panel(connection, Panel.load(panel), str(panel.resolve().parent))
        done.append(f"Classes and experts are as in {panel}.")
    if items is not None:
        _, roster = studio.look()
        done.append(str(importing.import_path(studio.database, studio.folder, roster, items)))
    return done


def owner_link(studio: Studio, address: str) -> str:
    """Return a link that signs the owner in; it works once, within a day."""
    with studio.database.write() as connection:
        owner = connection.execute(
            select(person.c.id).where(person.c.role == "owner", person.c.active.is_(True)).limit(1)
        ).scalar_one()
        secret = doors.new_secret(connection, "once", owner)
    return f"{address}/enter/{secret}"
