"""A project with three classes and three people, and browsers that are signed in."""

import shutil
import threading

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from covote_studio.app import create_app
from covote_studio.context import open_studio
from covote_studio.editing import classes
from covote_studio.exchange import importing
from covote_studio.people import credentials, managing
from covote_studio.storage.schema import class_, person

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin", "Accept": "application/json"}


KNOWN = {"ann": ("cat", "dog"), "bob": ("dog", "fox"), "cyd": ("cat", "fox")}


def prepare(studio):
    """Add classes, people and items."""
    with studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass(name) for name in ("cat", "dog", "fox")])
        ids = {row.name: row.id for row in connection.execute(select(class_.c.id, class_.c.name))}
        for name, known in KNOWN.items():
            managing.invite(connection, name, [ids[one] for one in known])
    importing.add_items(studio.database, [(f"i{n}", "text", f"text {n}", None) for n in range(1, 7)])


class Rig:
    """A studio, and what tests ask of it."""

    def __init__(self, studio):
        self.studio = studio
        self.app = create_app(studio, ["testserver"])
        self.classes = self.ids(class_)

    def ids(self, table):
        with self.studio.database.read() as connection:
            return {row.name: row.id for row in connection.execute(select(table.c.id, table.c.name))}

    @property
    def people(self):
        return self.ids(person)

    def invite(self, name, *known, **more):
        with self.studio.database.write() as connection:
            return managing.invite(connection, name, [self.classes[one] for one in known], **more)

    def browser(self, name, *, base_url="http://testserver"):
        """Return a browser in which a person is signed in."""
        client = TestClient(self.app, base_url=base_url, headers=SAME_ORIGIN)
        with self.studio.database.write() as connection:
            secret = credentials.new_secret(connection, "enter", self.people[name])
        assert client.post(f"/enter/{secret}", follow_redirects=False).status_code == 303
        client.person = name
        return client

    def program(self, name):
        """Return a client with a token."""
        with self.studio.database.write() as connection:
            secret = credentials.new_secret(connection, "api", self.people[name])
        client = TestClient(self.app, headers={"Authorization": f"Bearer {secret}"})
        client.person = name
        return client

    def rows(self, table):
        with self.studio.database.read() as connection:
            return connection.execute(select(table).order_by(*table.primary_key.columns)).all()

    def others_can_write(self):
        """Whether someone else can write at this moment."""
        written = threading.Event()

        def write():
            with self.studio.database.write():
                written.set()

        threading.Thread(target=write, daemon=True).start()
        return written.wait(5)

    def options_of(self, name):
        """Return the list of classes that a person is offered now."""
        return self.studio.snapshot()[1].member(self.people[name]).options_id

    def answer(self, browser, lease, choice, key=None, shown=None):
        value = self.classes[choice] if choice in self.classes else {"none": -2, "unsure": -3}[choice]
        sent = {
            "item": lease["item_id"],
            "token": lease["token"],
            "key": key or lease["answer_key"],
            "choice": value,
            "shown": self.options_of(browser.person) if shown is None else shown,
        }
        return browser.post("/label/answer", json=sent)

    def label_all(self, name, choose):
        """Answer everything that waits for a person; `choose` gives the class for an item's id."""
        browser = self.browser(name)
        leases = browser.post("/label/next").json()["leases"]
        while leases:
            answer = self.answer(browser, leases[0], choose(leases[0]["key"]))
            assert answer.status_code == 200, answer.text
            leases = answer.json()["leases"]


@pytest.fixture(scope="session")
def fresh_project(tmp_path_factory):
    """Return the folder of a project that is ready, to be copied."""
    folder = tmp_path_factory.mktemp("fresh") / "project"
    studio = open_studio(folder)
    prepare(studio)
    studio.stop()
    return folder


@pytest.fixture(autouse=True)
def results_at_once(monkeypatch):
    """Let pages wait for newer results, however long the last ones took on a busy machine."""
    monkeypatch.setattr("covote_studio.answers.results.PATIENCE", float("inf"))


@pytest.fixture
def rig(fresh_project, tmp_path):
    shutil.copytree(fresh_project, tmp_path / "project")
    studio = open_studio(tmp_path / "project")
    yield Rig(studio)
    studio.stop()
