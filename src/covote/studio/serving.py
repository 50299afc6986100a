"""Opening a project, serving it, and copying it meanwhile."""

from __future__ import annotations

import socket
import tempfile
import time
import zipfile
from pathlib import Path

from sqlalchemy import select

from covote import atomic
from covote.errors import FileError, InputError, MissingDependencyError
from covote.panel import Panel
from covote.studio.context import Studio
from covote.studio.exchange import importing
from covote.studio.people import doors, managing
from covote.studio.storage.database import Database
from covote.studio.storage.schema import person, project

DAY = 86_400.0


def open_studio(
    folder: Path, database: str | None = None, name: str | None = None, *, trust: bool = False
) -> Studio:
    """Open a project, or make it where there is none; `trust` lets models run code of their authors."""
    atomic.make_folder(folder, "the argument PROJECT")
    opened = Database(database or f"sqlite:///{folder.resolve() / 'studio.db'}")
    opened.migrate()
    with opened.write() as connection:
        if connection.execute(select(project.c.id)).one_or_none() is None:
            managing.create_project(connection, name or folder.resolve().name or "project")
    return Studio(opened, folder.resolve(), trust)


def adopt(studio: Studio, panel: Path | None, items: Path | None) -> list[str]:
    """Take a panel file and items into the project, and return what was done."""
    done = []
    if panel is not None:
        with studio.database.write() as connection:
            managing.adopt_panel(connection, Panel.load(panel), str(panel.resolve().parent))
        done.append(f"Classes and experts are as in {panel}.")
    if items is not None:
        with studio.database.read() as connection:
            _, roster = studio.now(connection)
        done.append(str(importing.import_path(studio.database, studio.folder, roster, items)))
    return done


def owner_link(studio: Studio, address: str) -> str:
    """Return a link that lets the owner in; it works for a day."""
    with studio.database.write() as connection:
        owner = connection.execute(
            select(person.c.id).where(person.c.role == "owner", person.c.active.is_(True)).limit(1)
        ).scalar_one()
        secret = doors.new_secret(connection, "enter", owner, DAY)
    return f"{address}/enter/{secret}"


def free_port(host: str, port: int) -> int:
    """Return the port if it can be used; refuse with a remedy if it cannot. 0 finds a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot serve at {host} port {port}: {error.strerror}; choose another with --port, or 0 "
                "for any"
            ) from error
        return int(probe.getsockname()[1])


def serve(studio: Studio, host: str, port: int) -> None:
    """Serve until stopped."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingDependencyError("the studio needs: pip install 'covote[studio]'") from error
    from covote.studio.app import create_app

    uvicorn.run(
        create_app(studio), host=host, port=port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=75, server_header=False,
    )  # fmt: skip


def back_up(folder: Path, target: Path | None = None) -> Path:
    """Write the database and the files of a project to a ZIP file, and return its place.

    The database is copied as of one moment; files are never changed, so those that it names are there.
    """
    source = folder / "studio.db"
    if not source.is_file():
        raise FileError(f"there is no project in {folder} (no file {source}); give the project's folder")
    if target is None:
        target = Path(f"{folder.resolve().name}-{time.strftime('%Y%m%d-%H%M%S')}.zip")
    with tempfile.TemporaryDirectory(prefix="covote-") as place:
        copy = Path(place) / "studio.db"
        Database(f"sqlite:///{source.resolve()}").backup(copy)
        with (
            atomic.replacing(target) as beside,
            zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            archive.write(copy, "studio.db")
            for path in sorted((folder / "files").rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    archive.write(path, path.relative_to(folder), zipfile.ZIP_STORED)
    return target
