"""A real server, and Debian's chromium.

Nothing here or in the tests depends on how long anything takes: whatever is looked at is waited for, and the
deadlines are those of a machine that is very busy.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright
from sqlalchemy import select

from covote_studio.answers.recording import NewAnswer
from covote_studio.app import create_app
from covote_studio.context import open_studio
from covote_studio.demo import fill
from covote_studio.people import credentials
from covote_studio.storage.schema import answer, person

CHROMIUM = os.environ.get("COVOTE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SIZES = {
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "desk": {"viewport": {"width": 1280, "height": 860}},
}
DEADLINE = float(os.environ.get("COVOTE_DEADLINE", "180"))
"""Seconds after which something that is waited for will not come any more."""


def wait(ready):
    """Return what `ready` gives as soon as it gives something."""
    deadline = time.monotonic() + DEADLINE
    while not (found := ready()):
        assert time.monotonic() < deadline, ready
        time.sleep(0.02)
    return found


class Rig:
    """A project that is served at an address, and what tests ask of it."""

    def __init__(self, studio, address):
        self.studio, self.address, self._number = studio, address, 0

    def next_number(self):
        self._number += 1
        return self._number

    def _id(self, name, studio=None):
        with (studio or self.studio).database.read() as connection:
            return connection.execute(select(person.c.id).where(person.c.name == name)).scalar_one()

    def link(self, name, studio=None, root=""):
        studio = studio or self.studio
        with studio.database.write() as connection:
            secret = credentials.new_secret(connection, "enter", self._id(name, studio))
        return f"{self.address}{root}/enter/{secret}"

    def enter(self, page, name):
        page.goto(self.link(name))
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(re.compile("/(label|progress|start)"))

    def _answers(self, name, studio=None):
        with (studio or self.studio).database.read() as connection:
            return connection.execute(
                select(answer).where(answer.c.person_id == self._id(name, studio)).order_by(answer.c.id)
            ).all()

    def count_answers(self, name, studio=None):
        return len(self._answers(name, studio))

    def answered_items(self, name):
        return [row.item_id for row in self._answers(name)]

    def last_answers(self, name):
        _, roster = self.studio.snapshot()
        return [roster.answer_name(row.class_id or row.other) for row in self._answers(name)]


def answers_at(address):
    """Whether somebody listens at an address."""
    host, port = address.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), 5).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium here: as root with apt-get, `make chromium` installs Debian's")
    expect.set_options(timeout=1000 * DEADLINE)
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Open a browser of one's own; what goes wrong in it is noted in `page.failures`."""
    contexts = []

    def opened(**shape):
        contexts.append(browser.new_context(**shape))
        return watched(contexts[-1])

    yield opened
    for context in contexts:
        context.close()


def watched(context):
    context.set_default_timeout(1000 * DEADLINE)
    page = context.new_page()
    page.failures = []
    page.on("pageerror", lambda error: page.failures.append(str(error)))
    page.on("console", lambda said: page.failures.append(said.text) if said.type == "error" else None)
    return page


@pytest.fixture(scope="session")
def rig(browser, tmp_path_factory):
    """Serve the demo as `covote studio` does, in a process of its own."""
    folder = tmp_path_factory.mktemp("studio") / "demo"
    studio = open_studio(folder)
    fill(studio, alive=False)
    studio.stop()
    command = [sys.executable, "-m", "covote", "studio", str(folder), "--port", "0"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    told = iter(server.stdout.readline, "")
    address = next(found for line in told if (found := re.search(r"served at (\S+)", line)))[1]
    wait(lambda: answers_at(address))
    studio = open_studio(folder)
    yield Rig(studio, address)
    studio.stop()
    server.terminate()
    server.communicate(timeout=DEADLINE)


@contextmanager
def served(studio, app=None):
    """Serve a project, or the application that it belongs to, from this process."""
    server = uvicorn.Server(uvicorn.Config(app or create_app(studio), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait(lambda: server.started)
    host, port = server.servers[0].sockets[0].getsockname()
    yield Rig(studio, f"http://{host}:{port}")
    server.should_exit = server.force_exit = True
    thread.join(DEADLINE)


@pytest.fixture
def empty(browser, tmp_path):
    """Serve a project in which there is nothing yet."""
    with served(open_studio(tmp_path / "empty")) as rig:
        yield rig


@pytest.fixture
def answered(browser, tmp_path):
    """Serve the demo of one's own, in which everybody has answered a third, not always rightly."""
    studio = open_studio(tmp_path / "answered")
    fill(studio, alive=False)
    _, roster = studio.snapshot()
    for one in roster.members:
        with studio.database.write() as connection:
            door = credentials.Credentials("api", credentials.new_secret(connection, "api", one.id))
        for n, lease in enumerate(studio.lease(one.id, 12)[0]):
            choice = sorted(one.known)[n % len(one.known)]
            studio.record(door, NewAnswer(lease.item_id, lease.token, choice, f"answer-{one.id}-{n}"))
    with served(studio) as rig:
        yield rig


@pytest.fixture
def desk(visit, rig):
    """Open a page as somebody, in a browser of their own."""

    def opened(name, path="/label", size="desk"):
        page = visit(**SIZES[size])
        rig.enter(page, name)
        page.goto(rig.address + path)
        return page

    return opened


@pytest.fixture(scope="session")
def axe():
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
