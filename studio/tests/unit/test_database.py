"""Tables, backups, and what is left after a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile

import pytest
from sqlalchemy.exc import OperationalError

from covote.errors import FileError
from covote_studio.context import open_studio
from covote_studio.storage.database import back_up
from covote_studio.storage.schema import answer


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
from covote_studio.answers.recording import NewAnswer
from covote.errors import FileError
from covote_studio.context import open_studio
from covote_studio.people import credentials
studio = open_studio(Path(sys.argv[1]))
with studio.database.write() as connection:
    door = credentials.Credentials("api", credentials.new_secret(connection, "api", 2))
lease = studio.lease(2, 1)[0][0]
studio.record(door, NewAnswer(lease.item_id, lease.token, -2, "before-the-kill"))
print("accepted", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", code, str(rig.studio.folder)]
    ended = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "accepted\n")
    assert [row.key for row in rig.rows(answer)] == ["before-the-kill"]


def test_a_start_that_fails_while_tables_are_made_leaves_none(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("covote_studio.storage.database.insert_if_new", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            open_studio(tmp_path / "new")
    with sqlite3.connect(tmp_path / "new" / "studio.db") as link:
        assert link.execute("SELECT name FROM sqlite_master").fetchall() == []
    link.close()
    open_studio(tmp_path / "new").stop()


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
        connection.exec_driver_sql("UPDATE version SET number = 999")
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
