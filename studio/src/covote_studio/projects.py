"""Several projects on one server, with one login.

Every project is a folder below one root, exactly as if it were served alone, and has its pages under
``/p/NAME``. People may have an *account*. Accounts are kept next to the projects, in ``accounts.db``, with
the tables of a project: there, a person is an account. The table ``membership`` says who an account is in
each project. Only an invitation link makes that entry, so a project's owner decides who gets in, and no one
becomes someone else in another project. With PostgreSQL, each project and the accounts have a schema.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import unicodedata
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from covote.errors import InputError
from covote_studio.context import Studio, open_studio, owner_link
from covote_studio.people import credentials
from covote_studio.people.credentials import Credentials
from covote_studio.rules import Refusal, check_name
from covote_studio.storage.database import schema_names
from covote_studio.storage.schema import membership, person

ACCOUNTS = "accounts.db"
"""The file that marks a folder of several projects."""
_SCHEMA = "p_"
"""The prefix of the projects' schemas in a PostgreSQL database."""
_LONGEST = 40
_ADDRESS = re.compile(r"/p/([\w.-]+)/", re.ASCII)


class Projects:
    """The projects of a folder, all open, and the accounts of the people in them."""

    def __init__(self, folder: Path, database: str | None = None, **served: Any) -> None:
        """Open every project; `served` are the options of :func:`~covote_studio.context.open_studio`."""
        if database is None and (folder / "studio.db").exists():
            raise InputError(
                f"{folder} is itself a project (it has a file studio.db); give the folder above it, or move "
                "the project into a folder below"
            )
        self.folder, self._database, self._served = folder, database, served
        self.accounts = open_studio(folder, database, file=ACCOUNTS, schema="accounts", **served)
        self._served = {**served, "sign_in_header": None}  # it signs in accounts, not people
        self.open: dict[str, Studio] = {}
        self.unknown = open_studio(Path(tempfile.mkdtemp(prefix="covote-")), **self._served)
        """Stands for every project that is not there, so that strangers cannot tell which ones are."""
        self._changing = threading.Lock()
        for name in self._found():
            self.open[name] = self._opened(name)

    def _found(self) -> list[str]:
        """Return the names of the existing projects."""
        if self._database is None:
            names = sorted(one.parent.name for one in self.folder.glob("*/studio.db"))
            for name in names:
                if not _ADDRESS.fullmatch(f"/p/{name}/"):
                    raise InputError(
                        f"the folder {name!r} in {self.folder} cannot be part of an address; rename it, with "
                        "letters a to z, digits, dots and hyphens"
                    )
            return names
        there = schema_names(self._database)
        return sorted(one.removeprefix(_SCHEMA) for one in there if one.startswith(_SCHEMA))

    def _opened(self, name: str, title: str | None = None, owner: str = "owner") -> Studio:
        return open_studio(
            self.folder / name, self._database, title, schema=_SCHEMA + name, owner=owner, **self._served
        )

    def start(self) -> None:
        """Start the background work of every project."""
        for one in self.open.values():
            one.start()

    def stop(self) -> None:
        """Stop the background work."""
        for one in (self.accounts, self.unknown, *self.open.values()):
            one.stop()
        shutil.rmtree(self.unknown.folder, ignore_errors=True)

    def create(self, title: str, account: Row[Any] | None = None) -> str:
        """Create a project whose owner is an account, and return its name in addresses."""
        title = check_name(title, "The project")
        with self._changing:
            name = _free_name(title, self.open)
            owner = "owner" if account is None else str(account.person_name)
            made = self._opened(name, title, owner)
            if account is not None:
                with self.accounts.database.write() as connection:
                    join(connection, account.person_id, made.uid, 1)
            made.start()
            self.open = {**self.open, name: made}  # a new one: requests may be going through the old
        return name

    def account_of(self, request: Request) -> Row[Any] | None:
        """Return the account that is signed in (`person_id`, `person_name`), or None."""
        secret = request.cookies.get(self.accounts.cookie)
        if not secret:
            return None
        header = self.accounts.sign_in_header
        named = None if header is None else request.headers.get(header, "").strip()
        with self.accounts.database.read() as connection:
            return credentials.find_session(connection, Credentials("session", secret, named))

    def member_id(self, account: Row[Any] | None, studio: Studio) -> int | None:
        """Return who an account is in a project, or None."""
        if account is None:
            return None
        with self.accounts.database.read() as connection:
            return connection.execute(
                select(membership.c.member_id).where(
                    membership.c.person_id == account.person_id, membership.c.project == studio.uid
                )
            ).scalar_one_or_none()

    def of_account(self, account: Row[Any]) -> list[tuple[str, Studio, int]]:
        """Return the projects of an account: (name, project, who it is there)."""
        with self.accounts.database.read() as connection:
            rows = connection.execute(
                select(membership.c.project, membership.c.member_id).where(
                    membership.c.person_id == account.person_id
                )
            )
            mine = {row.project: row.member_id for row in rows}
        return [(name, one, mine[one.uid]) for name, one in self.open.items() if one.uid in mine]

    def first_links(self, address: str, name: str | None = None) -> list[tuple[str, str]]:
        """Return links that work once: for whoever creates projects, and for owners without an account."""
        with self.accounts.database.read() as connection:
            joined = {tuple(row) for row in connection.execute(
                select(membership.c.project, membership.c.member_id))}  # fmt: skip
        links = [("", owner_link(self.accounts, address, name))]
        for title, one in self.open.items():
            with one.database.read() as connection:
                owners = connection.execute(
                    select(person.c.id).where(person.c.role == "owner", person.c.active.is_(True))
                ).scalars()
                alone = not any((one.uid, owner) in joined for owner in owners)
            if alone:
                links.append((title, owner_link(one, f"{address}/p/{title}")))
        return links


def _free_name(title: str, taken: dict[str, Studio]) -> str:
    """Return a name for addresses that is not taken.

    >>> _free_name("Crème brûlée, 2nd try!", {})
    'creme-brulee-2nd-try'
    >>> _free_name("日本", {"project": None})
    'project-2'
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    wanted = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST].strip("-") or "project"
    names = [wanted, *(f"{wanted}-{n}" for n in range(2, len(taken) + 3))]
    return next(one for one in names if one not in taken)


def join(connection: Connection, account_id: int, uid: str, member_id: int) -> None:
    """Make an account a person of a project, named by its uid; reject a second person or account."""
    rows = connection.execute(select(membership).where(membership.c.project == uid)).all()
    for row in rows:
        if (row.person_id == account_id) != (row.member_id == member_id):
            raise Refusal(
                "You are already in this project, as someone else. To try this invitation, open it in a "
                "private window."
                if row.person_id == account_id
                else "Another account already uses this invitation; ask the owner for your own.",
                409,
            )
        if row.person_id == account_id:
            return
    connection.execute(insert(membership).values(person_id=account_id, project=uid, member_id=member_id))


def leave(connection: Connection, uid: str, member_id: int) -> None:
    """Remove the link between a person of a project and an account."""
    mine = (membership.c.project == uid) & (membership.c.member_id == member_id)
    connection.execute(delete(membership).where(mine))


class Addresses:
    """ASGI application: ``/p/NAME/...`` is a project, everything else is the server's own pages."""

    def __init__(self, projects: Projects, project_app: ASGIApp, front_app: ASGIApp) -> None:
        self.projects, self._project_app, self._front_app = projects, project_app, front_app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http":
            scope = {**scope, "projects": self.projects, "studio": self.projects.accounts}
            found = _ADDRESS.match(scope["path"])
            if found:
                studio = self.projects.open.get(found[1], self.projects.unknown)
                scope.update(studio=studio, root_path=f"/p/{found[1]}")
                await self._project_app(scope, receive, send)
                return
        await self._front_app(scope, receive, send)
