"""The studio on a real PostgreSQL server: many people at once, nothing doubled, nothing lost."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from covote_studio.answers.recording import NewAnswer
from covote_studio.context import open_studio
from covote_studio.editing import classes
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.people.credentials import Credentials
from covote_studio.projects import Projects
from covote_studio.storage.schema import LEASED, answer, assignment, class_, metadata
from studio.tests.unit.conftest import Rig, prepare
from studio.tests.unit.edits_model import run
from studio.tests.unit.test_hostile_forms import send_everything
from studio.tests.unit.test_projects import PASSWORD, Town

pytest.importorskip("psycopg")
sqlalchemy = pytest.importorskip("sqlalchemy")


def programs():
    """Return the folder of PostgreSQL's programs, or None."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((one for one in reversed(folders) if (one / "initdb").exists()), None)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Give the address of a server; COVOTE_POSTGRES names one that runs already."""
    if "COVOTE_POSTGRES" in os.environ:
        yield os.environ["COVOTE_POSTGRES"]
        return
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql, or set COVOTE_POSTGRES")
    place = Path(tempfile.mkdtemp(prefix="covote-pg-", dir="/tmp"))  # short: its socket lies in it
    as_user = []
    if os.geteuid() == 0:
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(place, "postgres", "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(program, *arguments):
        command = [*as_user, folder / program, *arguments]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, cwd="/")

    run("initdb", "-D", place / "data", "-A", "trust", "-U", "postgres", "--no-sync")
    options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1"
    run("pg_ctl", "-D", place / "data", "-w", "-l", place / "log", "-o", options, "start")
    yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    run("pg_ctl", "-D", place / "data", "-m", "immediate", "stop")
    shutil.rmtree(place, ignore_errors=True)


def opened(server, folder):
    """Open an empty project on the server."""
    studio = open_studio(folder, server)
    with studio.database.write() as connection:
        tables = ", ".join(f'"{table}"' for table in metadata.tables)
        connection.exec_driver_sql(f"TRUNCATE {tables} RESTART IDENTITY")
        managing.create_project(connection, "load")
    return studio


def test_several_projects_have_a_schema_each_in_one_database(server, tmp_path):
    alone = opened(server, tmp_path / "alone")
    prepare(alone)
    town = Town(Projects(tmp_path / "root", server))
    for title in ("Birds", "Skin lesions"):
        name = town.projects.create(title)
        prepare(town.projects.open[name])
    ann = town.guest("ann", "birds")
    lease = ann.post("/p/birds/label/next").json()["leases"][0]
    sent = {"item": lease["item_id"], "token": lease["token"], "key": lease["answer_key"], "choice": -2,
            "shown": 1}  # fmt: skip
    assert ann.post("/p/birds/label/answer", json=sent).status_code == 200
    town.projects.stop()
    again = Town(Projects(tmp_path / "root", server))
    assert sorted(again.projects.open) == ["birds", "skin-lesions"]
    counts = {}
    for name, studio in {"alone": alone, **again.projects.open}.items():
        with studio.database.read() as connection:
            counts[name] = len(connection.execute(answer.select()).all())
    assert counts == {"alone": 0, "birds": 1, "skin-lesions": 0}
    browser = again.browser()
    browser.post("/login", data={"name": "account of ann", "password": PASSWORD, "project": ""})
    assert browser.get("/p/birds/label").status_code == 200
    assert browser.get("/p/skin-lesions/label").status_code == 403
    again.projects.stop()
    alone.stop()


def driver(url):
    return url.replace("postgresql://", "postgresql+psycopg://")


def test_random_edits_between_answers_give_the_labels_history_and_exports_of_the_model(server, tmp_path):
    studio = opened(server, tmp_path / "project")
    assert len(run(studio, tmp_path, 7, 60).model.answers) > 20
    studio.stop()


@pytest.mark.parametrize("seed", range(2))
def test_nothing_that_a_form_can_send_is_an_error_of_the_server(server, tmp_path, seed):
    studio = opened(server, tmp_path / "project")
    prepare(studio)
    send_everything(Rig(studio), seed)
    studio.stop()


@pytest.mark.parametrize("ask", ["everybody", "elimination"])
def test_eight_people_at_once_lose_and_double_nothing(server, tmp_path, ask):
    studio = opened(server, tmp_path / "project")
    with studio.database.write() as connection:
        managing.change_project(connection, "load", "", ask)
        classes.add_classes(connection, [classes.NewClass(f"c{k}") for k in range(4)])
        ids = list(connection.execute(sqlalchemy.select(class_.c.id).order_by(class_.c.id)).scalars())
        people = [
            managing.invite(connection, f"p{n}", [ids[n % 4], ids[(n + 1 + n // 4) % 4], ids[(n + 3) % 4]])
            for n in range(8)
        ]
    importing.add_items(studio.database, [(f"i{n}", "text", "x", None) for n in range(30)])
    accepted, problems = [], []

    def work(person_id, secret):
        try:
            for turn in range(30):
                for lease in studio.lease(person_id, 2)[0][:1]:
                    with studio.database.read() as connection:
                        held = connection.execute(
                            sqlalchemy.select(assignment.c.item_id).where(assignment.c.state == LEASED)
                        ).scalars().all()  # fmt: skip
                    if ask == "elimination" and len(held) != len(set(held)):
                        problems.append("an item is in two hands")
                    key = f"{person_id:04}-{turn:03}-{lease.item_id}"
                    studio.record(
                        Credentials("enter", secret), NewAnswer(lease.item_id, lease.token, -2, key)
                    )
                    accepted.append(key)
        except Exception as error:
            problems.append(repr(error))

    threads = [threading.Thread(target=work, args=one) for one in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with studio.database.read() as connection:
        rows = connection.execute(sqlalchemy.select(answer)).all()
    assert sorted(row.key for row in rows) == sorted(accepted)
    assert len({(row.item_id, row.person_id) for row in rows}) == len(rows)
    if ask == "everybody":
        assert len(rows) == 30 * 8
    results, _ = studio.results.get()
    assert results.votes.answers == len(rows)
    studio.stop()
