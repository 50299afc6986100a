"""Migrations, backups, and what is left after a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import OperationalError

from covote.errors import FileError
from covote_studio.context import open_studio
from covote_studio.storage.database import HEAD, MIGRATIONS, back_up
from covote_studio.storage.schema import answer, metadata
from studio.tests.unit.old_projects import check_new_project, make_old_project


def test_the_migrations_make_the_tables_that_the_program_uses(rig):
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD
    with rig.studio.database.engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
    assert found == []


def test_a_backup_of_a_project_in_use_opens_with_every_answer(rig, tmp_path):
    rig.label_all("ann", lambda _key: "cat")
    target = back_up(rig.studio.folder, tmp_path / "copy.zip")
    with zipfile.ZipFile(target) as archive:
        archive.extractall(tmp_path / "restored")
    restored = open_studio(tmp_path / "restored")
    with restored.database.read() as connection:
        assert connection.execute(answer.select()).all() == rig.rows(answer)
    restored.stop()


def test_an_accepted_answer_outlives_a_kill(rig):
    code = """
import os, signal, sys
from pathlib import Path
from covote_studio.answers.assignments import Said
from covote.errors import FileError
from covote_studio.context import open_studio
from covote_studio.people import doors
studio = open_studio(Path(sys.argv[1]))
with studio.database.write() as connection:
    door = doors.Door("api", doors.new_secret(connection, "api", 2))
lease = studio.lease(2, 1)[0][0]
studio.record(door, Said(lease.item_id, lease.token, -2, "before-the-kill"))
print("accepted", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", code, str(rig.studio.folder)]
    ended = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "accepted\n")
    assert [row.key for row in rig.rows(answer)] == ["before-the-kill"]


def test_a_project_of_the_first_version_opens_with_every_answer(tmp_path):
    """A class that was removed there, although answers name it, comes back as a retired one."""
    (tmp_path / "old").mkdir()
    make_old_project(f"sqlite:///{tmp_path / 'old' / 'studio.db'}")
    check_new_project(tmp_path / "old")


def test_a_start_that_is_killed_while_tables_change_leaves_them_as_they_were(tmp_path, monkeypatch):
    (tmp_path / "old").mkdir()
    make_old_project(f"sqlite:///{tmp_path / 'old' / 'studio.db'}")
    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            open_studio(tmp_path / "old")
    check_new_project(tmp_path / "old")


def test_what_is_no_project_is_told_in_a_sentence(tmp_path):
    for name, content in {"text": b"hello " * 2000, "empty": b""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "studio.db").write_bytes(content)
    with pytest.raises(FileError, match=r"cannot be opened as a project: file is not a database; put back"):
        open_studio(tmp_path / "text")
    open_studio(tmp_path / "empty").stop()
    damaged = bytearray((tmp_path / "empty" / "studio.db").read_bytes())
    damaged[100:5000] = b"\xff" * 4900
    (tmp_path / "empty" / "studio.db").write_bytes(damaged)
    with pytest.raises(FileError, match="put back a backup"):
        open_studio(tmp_path / "empty")
    (tmp_path / "other").mkdir()
    with sqlite3.connect(tmp_path / "other" / "studio.db") as link:
        link.execute("CREATE TABLE songs (id)")
    link.close()
    with pytest.raises(FileError, match=r"another program \(tables songs\)"):
        open_studio(tmp_path / "other")


def test_a_project_of_a_newer_version_asks_for_an_update(rig):
    with rig.studio.database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0999'")
    with pytest.raises(FileError, match=r"newer version of covote.*pip install --upgrade covote"):
        open_studio(rig.studio.folder)


def test_tidying_goes_on_after_a_full_disk(rig, monkeypatch):
    database, failed, stopped = rig.studio.database, [], threading.Event()
    monkeypatch.setattr("covote_studio.storage.database.TIDY_SECONDS", 0.001)

    def full():
        failed.append(1)
        if len(failed) == 3:
            stopped.set()
        raise OperationalError("PRAGMA", {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(database.engine, "connect", full)
    database.keep_tidy(stopped)
    assert len(failed) == 3
