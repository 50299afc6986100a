"""Studio: everything that a request needs, in one object."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select

from covote.errors import CovoteError
from covote.studio.answers.leasing import Lease, lease, lock, reopen
from covote.studio.answers.recording import Said, locked_project, record
from covote.studio.answers.results import ResultsKeeper
from covote.studio.answers.worker import Worker
from covote.studio.people.doors import Door, PasswordCheck, open_with
from covote.studio.people.roster import Roster, RosterKeeper, project_row
from covote.studio.rules import Refused, why_not_asked
from covote.studio.storage.database import Database
from covote.studio.storage.schema import project

KEPT = 50
"""Jobs whose outcome is remembered."""


class Jobs:
    """Runs work that takes longer than a page may, one job after another; pages ask until it is done."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="job")
        self._jobs: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()

    def start(self, work: Callable[[], Any]) -> str:
        """Begin some work, and return its name."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            while len(self._jobs) >= KEPT:
                self._jobs.pop(next(iter(self._jobs)))
            self._jobs[name] = self._pool.submit(work)
        return name

    def outcome(self, name: str, wait: float) -> tuple[bool, Any]:
        """Return (whether it is done, what came of it or the error that ended it)."""
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
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Studio:
    """A project that is open: its database, its folder, and what is kept in memory of them."""

    def __init__(self, database: Database, folder: Path, trust: bool = False) -> None:
        self.database = database
        self.folder = folder
        self.roster = RosterKeeper()
        self.results = ResultsKeeper(database, self.roster)
        self.passwords = PasswordCheck()
        self.jobs = Jobs()
        self._stopped = threading.Event()
        self.worker = Worker(database, folder, self.roster, trust)

    @cached_property
    def cookie(self) -> str:
        """The name of the session's cookie: two projects on one machine do not mix."""
        with self.database.read() as connection:
            return f"covote_{connection.execute(select(project.c.uid)).scalar_one()}"

    def start(self) -> None:
        """Read who knows what, so that no page waits for it, and begin what goes on in the background."""
        with self.database.read() as connection:
            _, roster = self.now(connection)
        if roster.classes:
            _ = roster.coverage
        self.worker.start()
        tidy = threading.Thread(target=self.database.keep_tidy, args=(self._stopped,), daemon=True)
        tidy.start()

    def stop(self) -> None:
        """End what goes on in the background."""
        self._stopped.set()
        self.worker.stop()
        self.jobs.stop()
        self.database.close()

    def now(self, connection: Connection) -> tuple[Row[Any], Roster]:
        """Return the project and its roster."""
        setup = project_row(connection)
        if setup is None:
            raise Refused("There is no project here yet; its owner creates it first.", 404)
        return setup, self.roster.get(connection, setup.panel_version)

    def lease(self, person_id: int, count: int) -> list[Lease]:
        """Give a person items to answer; refuse with a reason if there can be none."""
        with self.database.write() as connection:
            setup, roster = self.now(connection)
            member = roster.member_by_id[person_id]
            held = lease(connection, setup, roster, member, lock(connection, member), count)
        if not held and (reason := why_not_asked(member, setup.ask)):
            raise Refused(reason)
        return held

    def reopen(self, person_id: int, item_id: int | None = None) -> Lease | None:
        """Open a person's last answer, or the one about an item, for a change."""
        with self.database.write() as connection:
            setup, roster = self.now(connection)
            return reopen(connection, setup, roster.member_by_id[person_id], item_id)

    def record(self, person_id: int, said: Said) -> bool:
        """Keep an answer; return False if it was kept before."""
        with self.database.write() as connection:
            setup = locked_project(connection)
            roster = self.roster.get(connection, setup.panel_version)
            member = roster.member_by_id[person_id]
            lock(connection, member)
            return record(connection, setup, roster, member, said)

    def enter_and_record(self, door: Door, said: Said, count: int) -> tuple[bool, list[Lease], str]:
        """Keep the answer of whoever opens a door, and give the next items, all in one transaction.

        Returns (whether the answer is new, items, why there are none). What a person knows cannot change
        while the person is locked: every change of it also changes the list of options in the same row.
        """
        with self.database.write() as connection:
            setup = open_with(connection, door, lock=True)
            roster = self.roster.get(connection, setup.panel_version)
            member = roster.member_by_id[setup.person_id]
            if member.options_id != setup.options_id:  # changed while we waited for the lock
                _, roster = self.now(connection)
                member = roster.member_by_id[setup.person_id]
            new = record(connection, setup, roster, member, said)
            held = lease(connection, setup, roster, member, setup.cursor, count)
        return new, held, "" if held else why_not_asked(member, setup.ask)
