"""Migrations, backups, and what is left after a kill."""

import os
import signal
import subprocess
import sys
import zipfile

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from covote.studio.context import open_studio
from covote.studio.storage.database import HEAD, MIGRATIONS, back_up
from covote.studio.storage.schema import answer, metadata


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
from covote.studio.answers.assignments import Said
from covote.studio.context import open_studio
from covote.studio.people import doors
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
