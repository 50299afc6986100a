"""Studio: an open project, with everything that a request needs in one object."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select
from sqlalchemy.exc import SQLAlchemyError

from covote import atomic
from covote.errors import FileError, InputError
from covote.panel import Panel
from covote_studio.answers.assignments import Lease, lease, lock, reopen
from covote_studio.answers.progress import remaining, settled_items
from covote_studio.answers.recording import NewAnswer, reassess, record
from covote_studio.answers.results import ResultsKeeper
from covote_studio.answers.trials import feedback_after
from covote_studio.answers.worker import Worker
from covote_studio.editing import hooks
from covote_studio.editing.record import note
from covote_studio.exchange import importing
from covote_studio.people import credentials, managing
from covote_studio.people.credentials import Credentials, open_with
from covote_studio.people.passwords import Passwords
from covote_studio.people.roster import Roster, RosterKeeper, project_row
from covote_studio.rules import Refusal, why_not_asked
from covote_studio.storage.database import Database
from covote_studio.storage.schema import person, project

REST_SECONDS = 3.0
"""Seconds between two rounds of background work."""
REASSESSED = 100
"""Items that are found again in one transaction, which others may have to wait for."""


class Studio:
    """An open project: its database, its folder, and what is cached of them."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        trust: bool = False,
        public_url: str | None = None,
        sign_in_header: str | None = None,
        private_webhooks: bool = False,
    ) -> None:
        self.database = database
        self.folder = folder
        self.rosters = RosterKeeper()
        self.results = ResultsKeeper(database, self.rosters)
        self.passwords = Passwords()
        self.public_url = public_url
        self.sign_in_header = sign_in_header
        self.private_webhooks = private_webhooks
        self._stopped = threading.Event()
        self._assessed = 0
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
        _, roster = self.snapshot()
        if roster.classes:
            _ = roster.coverage
        self.worker.start()
        for work in (lambda: self.database.keep_tidy(self._stopped), self._keep_up):
            threading.Thread(target=work, daemon=True).start()

    def _keep_up(self) -> None:
        """Find again who is asked, and notify programs of settled items, until stopped."""
        while not self._stopped.wait(REST_SECONDS):
            for work in (self.reassess, self.send_webhooks):
                with suppress(SQLAlchemyError):  # the database may be back next time
                    work()

    def send_webhooks(self) -> int:
        """Queue messages about newly settled items and send those due; return how many were accepted."""
        with self.database.read() as connection:
            if hooks.hook_row(connection) is None:
                return 0
        results = self.results.refresh()
        with self.database.read() as connection:  # which takes long in a large project, and no one waits
            setup, roster = self.snapshot(connection)
            decided = managing.decisions(connection)
            settled = settled_items(connection, setup, results).tolist()
            new = hooks.unannounced(connection, settled)

        def label_of(item_id: int) -> dict[str, Any]:
            decision = decided.get(item_id)
            about = {"decided": None if decision is None else roster.vote_name(decision.class_id)}
            at = None if results is None else results.position(item_id)
            if results is None or at is None:
                return {"label": None, "status": None, **about}
            verdict = results.verdict(at)
            label = None if verdict["label"] is None else str(verdict["label"])
            return {"label": label, "status": verdict["status"], **about}

        if new:
            some = new[: hooks.AT_ONCE]
            whole = setup.size if len(settled) == setup.size and len(some) == len(new) else None
            with self.database.write() as connection:
                hooks.announce(connection, some, label_of, whole)
        return hooks.deliver(self.database, private=self.private_webhooks)

    def reassess(self, most: int = 10_000) -> None:
        """Find again who is asked about items, after a change of the way of asking or of the people."""
        while most > 0:
            with self.database.write() as connection:
                setup, roster = self.snapshot(connection)
                if self._assessed == roster.version:
                    return
                found = reassess(connection, setup, roster, REASSESSED)
            most -= found
            if found < REASSESSED:
                self._assessed = roster.version

    def stop(self) -> None:
        """Stop the background work."""
        self._stopped.set()
        self.worker.stop()
        self.passwords.stop()
        self.database.close()

    def snapshot(self, connection: Connection | None = None) -> tuple[Row[Any], Roster]:
        """Return the project and its roster as of one moment, read on a connection or on one of its own."""
        if connection is None:
            with self.database.read() as opened:
                return self.snapshot(opened)
        setup = project_row(connection)
        return setup, self.rosters.get(connection, setup.panel_version)

    def lease(self, person_id: int, count: int) -> tuple[list[Lease], str]:
        """Lease items to a person; if there can be none, return why."""
        with self.database.write() as connection:
            setup, roster = self.snapshot(connection)
            member = roster.member_by_id[person_id]
            held = lease(connection, setup, roster, member, lock(connection, member), count)
        return held, "" if held else why_not_asked(member)

    def reopen(self, person_id: int, item_id: int) -> Lease | None:
        """Reopen a person's answer about an item."""
        with self.database.write() as connection:
            setup, roster = self.snapshot(connection)
            return reopen(connection, setup, roster.member_by_id[person_id], item_id)

    def undo(self, person_id: int, before: int | None = None) -> Lease:
        """Reopen a person's last answer, or the one before their answer about an item."""
        with self.database.write() as connection:
            setup, roster = self.snapshot(connection)
            opened = reopen(connection, setup, roster.member_by_id[person_id], before=before)
        if opened is None:
            raise Refusal(
                "You have no earlier answer."
                if before
                else "You have not answered yet, so there is nothing to change.",
                404,
            )
        return opened

    def record(self, credentials: Credentials, new: NewAnswer, count: int = 0) -> AnswerResult:
        """Record the answer of a person and lease the next items, in one transaction.

        What a person knows cannot change while the person is locked: every change of it also changes the
        list of options in the same row.
        """
        with self.database.write() as connection:
            setup = open_with(connection, credentials, lock=True)
            roster = self.rosters.get(connection, setup.panel_version)
            member = roster.member_by_id[setup.person_id]
            if member.options_id != setup.options_id:  # changed while we waited for the lock
                _, roster = self.snapshot(connection)
                member = roster.member_by_id[setup.person_id]
            stored = record(connection, setup, roster, member, new)
            held = lease(connection, setup, roster, member, setup.cursor, count) if count else []
            right = feedback_after(connection, setup, roster, new.item_id, new.choice)
        reason = why_not_asked(member) if count and not held else ""
        replaced = "" if stored.replaced is None else roster.answer_name(stored.replaced)
        done = setup.answers + stored.more
        return AnswerResult(
            stored.new,
            replaced,
            held,
            reason,
            right,
            done,
            remaining(setup, member, done),
            roster.screen(member),
        )


@dataclass(frozen=True)
class AnswerResult:
    """A recorded answer: whether it is new, what it replaces, the next items, or why there are none."""

    new: bool
    replaced: str
    leases: list[Lease]
    reason: str
    right: str
    """What the item was, if people are shown that after an item of a qualification round."""
    done: int
    """How many items the person has answered."""
    left: int | None
    """How many are left, if that does not depend on others."""
    screen: str
    """A digest of what the person's answer buttons show now."""


def open_studio(
    folder: Path,
    database: str | None = None,
    name: str | None = None,
    *,
    trust: bool = False,
    public_url: str | None = None,
    sign_in_header: str | None = None,
    private_webhooks: bool = False,
    owner: str = "owner",
    file: str = "studio.db",
    schema: str | None = None,
) -> Studio:
    """Open a project, or create it with the name of its `owner`.

    `trust` lets models run their authors' code; `public_url` is the address that links begin with;
    `sign_in_header` is the header in which a trusted proxy names the signed-in person; `private_webhooks`
    lets programs in the server's own networks be notified. The tables are in a `file` of the folder, or in a
    `schema` of the PostgreSQL database.
    """
    atomic.make_folder(folder, "the argument PROJECT")
    with suppress(OSError):  # on a disk without such rights
        folder.chmod(0o700)
    place = folder.resolve() / file
    if database is None:
        _make_private(place)
    opened = Database(database or f"sqlite:///{place}", schema if database else None)
    opened.make_tables()
    with opened.write() as connection:
        if connection.execute(select(project.c.id)).one_or_none() is None:
            managing.create_project(connection, name or folder.resolve().name or "project", owner)
    return Studio(opened, folder.resolve(), trust, public_url, sign_in_header, private_webhooks)


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
        _, roster = studio.snapshot()
        done.append(str(importing.import_path(studio.database, studio.folder, roster, items)))
    return done


def owner_link(studio: Studio, address: str, name: str | None = None) -> str:
    """Return a link that signs an owner in, the first or the one of a name; it works once, within a day."""
    owners = select(person.c.id).where(person.c.role == "owner").order_by(person.c.active.desc(), person.c.id)
    if name is not None:
        owners = owners.where(person.c.name == name)
    with studio.database.write() as connection:
        owner = connection.execute(owners.limit(1)).scalar_one_or_none()
        if owner is None:
            raise InputError(f"there is no owner called {name!r}; leave out --link for the first one")
        note(connection, None, "Created a link that signs an owner in, at the command line.")
        secret = credentials.new_secret(connection, "once", owner)
    return f"{address}/enter/{secret}"
