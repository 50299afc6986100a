"""Studio: everything that a request needs, in one object."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row

from covote.studio.answers import Said, locked_project, record
from covote.studio.database import Database
from covote.studio.doors import PasswordCheck
from covote.studio.jobs import Jobs
from covote.studio.leasing import Lease, lease, reopen
from covote.studio.results import ResultsKeeper
from covote.studio.roster import Roster, project_row, read_roster
from covote.studio.rules import Member, Refused, require_asked
from covote.studio.worker import Worker


class Studio:
    """A project that is open: its database, its folder, and what is kept in memory of them."""

    def __init__(self, database: Database, folder: Path, trust: bool = False) -> None:
        self.database = database
        self.folder = folder
        self.results = ResultsKeeper(database)
        self.passwords = PasswordCheck()
        self.jobs = Jobs()
        self.worker = Worker(database, folder, trust)
        self._roster: Roster | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin what goes on in the background."""
        self.worker.start()

    def stop(self) -> None:
        """End what goes on in the background."""
        self.worker.stop()
        self.jobs.stop()
        self.database.close()

    def roster(self, connection: Connection, version: int) -> Roster:
        """Return who knows what at a version of the panel that was read on this connection."""
        known = self._roster
        if known is not None and known.version == version:
            return known
        fresh = read_roster(connection, version)
        with self._lock:
            if self._roster is None or self._roster.version < version:
                self._roster = fresh
        return fresh

    def now(self, connection: Connection) -> tuple[Row[Any], Roster]:
        """Return the project and its roster."""
        setup = project_row(connection)
        if setup is None:
            raise Refused("There is no project here yet; its owner creates it first.", 404)
        return setup, self.roster(connection, setup.panel_version)

    def lease(self, person_id: int, count: int) -> list[Lease]:
        """Give a person items to answer; refuse with a reason if there can be none."""
        with self.database.write() as connection:
            setup, roster = self.now(connection)
            member = roster.member_by_id[person_id]
            held = lease(connection, setup, roster, member, count)
        if not held:
            require_asked(member, setup.ask)
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
            roster = self.roster(connection, setup.panel_version)
            member: Member = roster.member_by_id[person_id]
            return record(connection, setup, roster, member, said)
