"""Connections and transactions: SQLite with one writer, or PostgreSQL; tables are made at the start."""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Insert, Table, create_engine, event, func, inspect, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateSchema

from covote import atomic
from covote.errors import FileError, InputError
from covote_studio.storage import schema

CONNECTIONS = 45
"""Connections in the pool: one for each of the 40 threads that serve requests, and some for the background.
Any beyond these would be opened and closed for every request."""
FEW_CONNECTIONS = 5
"""Connections that each of several projects in one PostgreSQL database keeps."""
TIDY_SECONDS = 5.0


class Database:
    """A project's database: a file, a PostgreSQL database or one schema of that.

    Reading and writing are separate: :meth:`read` gives a snapshot, :meth:`write` one transaction that is
    committed completely or not at all. With SQLite, writers wait for each other here, not in the file.
    """

    def __init__(self, url: str, schema_name: str | None = None) -> None:
        self.url, self._schema = url, schema_name
        self.engine = _engine(url, schema_name)
        self.is_postgres = self.engine.dialect.name == "postgresql"
        self._one_writer = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection that reads a snapshot of one moment."""
        with self.engine.connect() as connection:
            if self.is_postgres:
                connection.execution_options(isolation_level="REPEATABLE READ")
            else:
                connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that commits if the block succeeds."""
        if self.is_postgres:
            with self.engine.begin() as connection:
                yield connection
            return
        with self._one_writer, self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def make_tables(self) -> None:
        """Make the tables, completely or not at all, unless they are there."""
        number = self._version()
        if number == schema.VERSION:
            return
        if number is not None:
            raise FileError(
                f"{self.shown} was made by a newer version of covote (its tables have version {number}, "
                f"this program knows {schema.VERSION}); update it with: pip install --upgrade covote-studio"
            )
        with self.write() as connection:
            if self.is_postgres:  # two servers may start at once
                connection.execute(text("SELECT pg_advisory_xact_lock(20050108)"))
            schema.metadata.create_all(connection)
            insert_if_new(connection, schema.version, {"number": schema.VERSION})

    @property
    def shown(self) -> str:
        """Where the database is, without its password."""
        return (
            self.engine.url.render_as_string(hide_password=True)
            if self.is_postgres
            else str(self.engine.url.database)
        )

    def _version(self) -> int | None:
        """Return the version of the tables; None where there are none. Reject what is not a project."""
        try:
            if self.is_postgres and self._schema:
                with create_engine(_driver(self.url), poolclass=NullPool).begin() as connection:
                    connection.execute(CreateSchema(self._schema, if_not_exists=True))
            with self.engine.connect() as connection:
                names = set(inspect(connection).get_table_names())
                if {"version", "project", "answer"} <= names:
                    found = connection.execute(select(func.max(schema.version.c.number))).scalar_one()
                    return None if found is None else int(found)
        except SQLAlchemyError as error:
            if self.is_postgres:
                raise FileError(
                    f"no database at {self.shown}: {_first_line(error)}; start the server, or check the "
                    "address given with --database or COVOTE_DATABASE"
                ) from error
            raise FileError(
                f"{self.shown} cannot be opened as a project: {_first_line(error)}; put back a backup of it, "
                "or give another folder"
            ) from error
        if names:
            raise FileError(
                f"{self.shown} is a database of another program (tables {', '.join(sorted(names)[:5])}); "
                "give another folder, or an empty database"
            )
        return None

    def keep_tidy(self, stopped: threading.Event) -> None:
        """Move SQLite's log into the database file, repeatedly until stopped.

        Otherwise SQLite would do so during someone's commit, who would have to wait.
        """
        while not self.is_postgres and not stopped.wait(TIDY_SECONDS):
            # A full disk may have room again next time.
            with suppress(SQLAlchemyError), self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def back_up(folder: Path, target: Path | None = None) -> Path:
    """Write the database and the files of a project to a ZIP file, and return its place.

    The database is copied as of one moment; files are never changed, so those that it names are there. Of a
    folder of several projects, all are written, the accounts first: no account may refer to a person who is
    not in a project.
    """
    sources = [folder / "accounts.db", *sorted(folder.glob("*/studio.db"))]
    if not sources[0].is_file():
        sources = [folder / "studio.db"]
    if not sources[0].is_file():
        raise FileError(
            f"there is no project in {folder} (no file {sources[0]}); give the project's folder. The "
            "database of a project on PostgreSQL is copied with: pg_dump --format=custom --file=copy.dump "
            "NAME; copy the folder's files/ along with it"
        )
    if target is None:
        target = Path(f"{folder.resolve().name}-{time.strftime('%Y%m%d-%H%M%S')}.zip")
    with (
        _privately(),
        tempfile.TemporaryDirectory(prefix="covote-") as place,
        atomic.replacing(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        copy = Path(place) / "copy.db"
        for source in sources:
            with closing(sqlite3.connect(source)) as used, closing(sqlite3.connect(copy)) as written:
                used.backup(written, pages=1000)
            archive.write(copy, source.relative_to(folder))
            copy.unlink()
            for path in sorted((source.parent / "files").rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    archive.write(path, path.relative_to(folder), zipfile.ZIP_STORED)
    return target


@contextmanager
def _privately() -> Iterator[None]:
    """Create files that no one else can read."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def insert_if_new(connection: Connection, table: Table, row: dict[str, Any]) -> bool:
    """Add a row unless one with the same unique value exists; return whether it was added."""
    return bool(connection.execute(_insert_if_new(connection.dialect.name, table), row).rowcount)


def insert_or_change(
    connection: Connection, table: Table, keys: tuple[str, ...], rows: list[dict[str, Any]]
) -> None:
    """Add rows; where there is one with the same keys, its other columns become those of the row."""
    if rows:
        names = tuple(name for name in rows[0] if name not in keys)
        connection.execute(_insert_or_change(connection.dialect.name, table, keys, names), rows)


@cache
def _insert_if_new(dialect: str, table: Table) -> Insert:
    return _insert(dialect, table).on_conflict_do_nothing()


@cache
def _insert_or_change(dialect: str, table: Table, keys: tuple[str, ...], names: tuple[str, ...]) -> Insert:
    added = _insert(dialect, table)
    changed = {name: added.excluded[name] for name in names}
    return added.on_conflict_do_update(index_elements=list(keys), set_=changed)


def _insert(dialect: str, table: Table) -> postgresql.Insert | sqlite.Insert:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", error)).strip().splitlines()[0]


def _engine(url: str, schema_name: str | None) -> Engine:
    """Return the engine of a database, or of one schema of a PostgreSQL database."""
    if url.startswith("sqlite:///"):
        engine = create_engine(url, pool_size=CONNECTIONS, connect_args={"check_same_thread": False})
        event.listen(engine, "connect", _sqlite_connected)
        return engine
    if not url.startswith(("postgresql://", "postgres://")):
        raise InputError(
            f"cannot parse the database address {_without_password(url)!r}; write "
            "postgresql://USER:PASSWORD@HOST/NAME, or leave it out for a file in the project's folder"
        )
    driver = _driver(url)
    try:
        if schema_name is None:
            return create_engine(driver, pool_size=CONNECTIONS, pool_recycle=600)
        # Many projects share a server with perhaps a hundred connections, so idle ones are returned.
        where = {"options": f'-csearch_path="{schema_name}"'}
        return create_engine(
            driver, pool_size=FEW_CONNECTIONS, max_overflow=CONNECTIONS, pool_recycle=600, connect_args=where
        )
    except (SQLAlchemyError, ImportError) as error:
        reason = _without_password(_first_line(error))
        raise InputError(f"the database {_without_password(url)!r} cannot be used: {reason}") from error


def schema_names(url: str) -> list[str]:
    """Return the names of the schemas of a PostgreSQL database."""
    with create_engine(_driver(url), poolclass=NullPool).connect() as connection:
        return inspect(connection).get_schema_names()


def _driver(url: str) -> str:
    return "postgresql+psycopg://" + url.partition("://")[2]


def _without_password(text: str) -> str:
    """Return a text with the password of an address hidden.

    >>> _without_password("postgresql://ann:secret@db/name")
    'postgresql://ann:***@db/name'
    """
    return re.sub(r"(://[^:/@\s]*):.*@", r"\1:***@", text)


def _sqlite_connected(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # Database begins transactions itself
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")  # an accepted answer outlives a power cut
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.execute("PRAGMA cache_size=-65536")
    cursor.execute("PRAGMA temp_store=MEMORY")
    cursor.execute("PRAGMA wal_autocheckpoint=20000")  # pages; Database.keep_tidy comes earlier
    cursor.close()
