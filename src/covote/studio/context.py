"""Studio: everything that a request needs, in one object."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select

from covote.studio.answers import Said, locked_project, record
from covote.studio.database import Database
from covote.studio.doors import Door, PasswordCheck, open_with
from covote.studio.jobs import Jobs
from covote.studio.leasing import Lease, lease, lock, reopen
from covote.studio.results import ResultsKeeper
from covote.studio.roster import Roster, RosterKeeper, project_row
from covote.studio.rules import Refused, why_not_asked
from covote.studio.schema import project
from covote.studio.worker import Worker


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
        """Begin what goes on in the background."""
        self.worker.start()
        for name, work in (("prepare", self._prepare), ("tidy", self._tidy)):
            threading.Thread(target=work, name=name, daemon=True).start()

    def _prepare(self) -> None:
        """Read who knows what, and load what decodes, so that the first pages need not wait for it."""
        with self.database.read() as connection:
            _, roster = self.now(connection)
        if roster.classes:
            _ = roster.coverage
        import covote.decoding  # noqa: F401

    def _tidy(self) -> None:
        self.database.keep_tidy(self._stopped)

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
