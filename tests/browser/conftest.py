"""A real server in a process of its own, and Debian's chromium."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from sqlalchemy import select

from covote.studio.context import open_studio
from covote.studio.people import doors
from covote.studio.storage.schema import answer, person

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("COVOTE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SIZES = {
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "desk": {"viewport": {"width": 1280, "height": 860}},
}
SCREENS = ["/label", "/me", "/progress", "/review", "/review/1", "/experts", "/board", "/people", "/people/2",
           "/items", "/export", "/settings", "/login"]  # fmt: skip


class Rig:
    """A project, served: the demo, or an empty one."""

    def __init__(self, folder, *more):
        self.folder, self._number = folder, 0
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "covote", "studio", folder, *more, "--port", port]
        self.server = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        self.address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                assert time.monotonic() < deadline, "the studio did not start within a minute"
                time.sleep(0.1)
        self.studio = open_studio(folder)

    def close(self):
        self.studio.stop()
        self.server.terminate()
        self.server.communicate(timeout=20)

    def next_number(self):
        self._number += 1
        return self._number

    def _id(self, name):
        with self.studio.database.read() as connection:
            return connection.execute(select(person.c.id).where(person.c.name == name)).scalar_one()

    def enter(self, page, name):
        with self.studio.database.write() as connection:
            secret = doors.new_secret(connection, "enter", self._id(name))
        page.goto(f"{self.address}/enter/{secret}")
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(re.compile("/(label|progress)"))

    def _answers(self, name):
        with self.studio.database.read() as connection:
            return connection.execute(
                select(answer).where(answer.c.person_id == self._id(name)).order_by(answer.c.id)
            ).all()

    def count_answers(self, name):
        return len(self._answers(name))

    def answered_items(self, name):
        return [row.item_id for row in self._answers(name)]

    def last_answers(self, name):
        with self.studio.database.read() as connection:
            _, roster = self.studio.now(connection)
        return [roster.answer_name(row.class_id) for row in self._answers(name)]


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium here: as root with apt-get, `make chromium` installs Debian's")
    expect.set_options(timeout=20_000)  # milliseconds: the machine may be busy
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def rig(browser, tmp_path_factory):
    made = Rig(tmp_path_factory.mktemp("studio") / "demo", "--demo")
    yield made
    made.close()


@pytest.fixture
def empty(browser, tmp_path):
    """Serve a project in which there is nothing yet."""
    made = Rig(tmp_path / "empty")
    yield made
    made.close()


def _watch(page):
    page.failures = []
    page.on("pageerror", lambda error: page.failures.append(str(error)))
    page.on("console", lambda said: page.failures.append(said.text) if said.type == "error" else None)
    return page


@pytest.fixture
def desk(browser, rig):
    """Open a page as somebody, in a browser of their own."""
    contexts = []

    def opened(name, path="/label", size="desk"):
        contexts.append(browser.new_context(**SIZES[size]))
        page = _watch(contexts[-1].new_page())
        rig.enter(page, name)
        page.goto(rig.address + path)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def _owners(browser, rig):
    pages = {}
    for size, shape in SIZES.items():
        pages[size] = _watch(browser.new_context(**shape).new_page())
        rig.enter(pages[size], "owner")
    return pages


@pytest.fixture
def open_screen(_owners, rig):
    """Open a screen of the owner, on a phone or on a desk."""

    def opened(size, path):
        page = _owners[size]
        page.failures.clear()
        page.goto(rig.address + path)
        return page

    return opened


@pytest.fixture(scope="session")
def axe():
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
