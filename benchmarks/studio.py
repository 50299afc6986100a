# ruff: noqa: E501
"""The studio under load: answers per second, kills, a million items, the weight of a page.

    python benchmarks/studio.py answers --people 50 --every 2 --seconds 600
    python benchmarks/studio.py answers --people 500 --every 5 --seconds 120 --arrive 30 --postgres
    python benchmarks/studio.py kills --kills 500 --people 10 --every 0.5 --folder kills   # goes on where it was
    python benchmarks/studio.py kills --kills 500 --people 10 --every 0.5 --postgres
    python benchmarks/studio.py large --items 1000000 --classes 1000 --people 200
    python benchmarks/studio.py paint
    python benchmarks/studio.py edits --edits 1000 --postgres   # against the plain model of studio/tests/unit
    python benchmarks/studio.py logins --people 200
    python benchmarks/studio.py taps --taps 10000
    python benchmarks/studio.py uploads --files 200

Server, database and the people who answer share one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sqlalchemy import func, insert, select, text

from covote_studio.context import open_studio
from covote_studio.editing.classes import NewClass, add_classes
from covote_studio.exchange import importing
from covote_studio.people import credentials, managing
from covote_studio.people.expertise import options_of
from covote_studio.rules import ADAPTIVE
from covote_studio.storage.schema import LEASED, answer, assignment, class_, knows, person, project


class Postgres:
    """A PostgreSQL server of our own, in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not found:
            raise SystemExit("no PostgreSQL here: apt-get install postgresql")
        self.bin, self.data = found[-1].parent, folder / "pg"
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        self.data.mkdir()
        if self.as_user:
            shutil.chown(self.data, "postgres", "postgres")
            for parent in [folder, *folder.parents][:3]:
                with contextlib.suppress(PermissionError):
                    parent.chmod(parent.stat().st_mode | 0o011)
        self.port = free_port()
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres")
        self.start()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.data / "log", "-o",
                  f"-p {self.port} -k {self.data} -c listen_addresses=127.0.0.1 -c max_connections=200", "start")  # fmt: skip

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self.as_user, str(self.bin / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fill(studio, people: int, classes: int, items: int, ask: str, size: int) -> dict[int, str]:
    """Fill a project, and return a session cookie per person."""
    rng, cookies = np.random.default_rng(0), {}
    with studio.database.write() as connection:
        add_classes(connection, [NewClass(f"class {k}") for k in range(classes)])
        managing.change_project(connection, "load", "", ask)
        ids = list(connection.execute(select(class_.c.id).order_by(class_.c.position)).scalars())
        for n in range(people):
            person_id = managing.add_person(connection, f"person {n}", "expert")
            known = [ids[k] for k in rng.choice(classes, size, replace=False)]
            connection.execute(insert(knows), [{"person_id": person_id, "class_id": one} for one in known])
            options = options_of(connection, known)
            connection.execute(person.update().where(person.c.id == person_id).values(options_id=options))
            cookies[person_id] = f"{studio.cookie}={credentials.new_secret(connection, 'session', person_id)}"
    importing.add_items(
        studio.database, [(f"item {n}", "text", f"text of item {n}", None) for n in range(items)]
    )
    return cookies


class Server:
    """`covote studio` in a process of its own."""

    def __init__(self, folder: Path, database: str | None, port: int | None = None) -> None:
        self.port = port or free_port()
        command = [sys.executable, "-m", "covote", "studio", str(folder), "--port", str(self.port)]
        if database:
            command += ["--database", database]
        # As an installed package, whose bytecode lies next to it.
        around = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, env=around
        )

    def wait(self) -> float:
        """Return the seconds until a page is served."""
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as line:
                    line.sendall(b"GET /login HTTP/1.0\r\nHost: localhost\r\n\r\n")
                    if b" 200 " in line.recv(100):
                        return time.perf_counter() - self.started
            except OSError:
                pass
            if self.process.poll() is not None:
                raise SystemExit("the server ended")
            time.sleep(0.01)

    def cpu(self) -> float:
        """Return the seconds of processor time so far (Linux); they depend little on what else runs."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Browser:
    """One person's connection: HTTP/1.1 by hand, so that the measurer costs little."""

    def __init__(self, port: int, cookie: str) -> None:
        self.port, self.cookie, self.line = port, cookie, None

    async def post(self, path: str, body: dict) -> tuple[int, dict]:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {self.cookie}\r\n"
            f"Sec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        if self.line is None:
            self.line = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.line
        try:
            writer.write(head.encode() + data)
            first = await reader.readline()
            if not first:
                raise ConnectionError
            length = 0
            while (header := await reader.readline()) not in (b"\r\n", b""):
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
            return int(first.split()[1]), json.loads(await reader.readexactly(length))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise ConnectionError from error

    def close(self) -> None:
        if self.line is not None:
            self.line[1].close()
        self.line = None


class Person:
    """Somebody who answers again and again, and sends again what was not confirmed."""

    def __init__(self, port: int, person_id: int, cookie: str, known: list[int], shown: int) -> None:
        self.browser, self.id, self.known, self.shown = Browser(port, cookie), person_id, known, shown
        self.accepted: list[str] = []
        self.times: list[float] = []
        self.refused = 0

    async def _send(self, path: str, body: dict) -> tuple[int, dict]:
        while True:
            with contextlib.suppress(ConnectionError):
                status, told = await self.browser.post(path, body)
                if status < 500:  # otherwise the database is away
                    return status, told
            await asyncio.sleep(0.05 + random.random() * 0.2)

    async def work(self, every: float, over: Callable[[], bool], arrive: float) -> None:
        """Answer every so many seconds until it is over."""
        await asyncio.sleep(random.random() * arrive)
        _, told = await self._send("/label/next", {})
        leases = told["leases"]
        while not over():
            due = time.monotonic() + every * random.uniform(0.5, 1.5)
            if leases:
                lease = leases[0]
                body = {"item": lease["item_id"], "token": lease["token"], "key": lease["answer_key"],
                        "choice": random.choice([*self.known, -2]), "shown": self.shown}  # fmt: skip
                began = time.perf_counter()
                status, told = await self._send("/label/answer", body)
                self.times.append(time.perf_counter() - began)
                if status == 200:
                    self.accepted.append(body["key"])
                else:
                    self.refused += 1
                    _, told = await self._send("/label/next", {})
            else:
                _, told = await self._send("/label/next", {})
            leases = told["leases"]
            await asyncio.sleep(max(0, due - time.monotonic()))
        self.browser.close()


def known_of(studio) -> dict[int, list[int]]:
    with studio.database.read() as connection:
        found: dict[int, list[int]] = {}
        for row in connection.execute(select(knows)):
            found.setdefault(row.person_id, []).append(row.class_id)
    return found


def people_of(studio, port: int, cookies: dict) -> list[Person]:
    """Return those who answer, each with the list of classes that their page shows."""
    known, roster = known_of(studio), studio.snapshot()[1]
    return [
        Person(port, int(one), cookie, known[int(one)], roster.member(int(one)).options_id)
        for one, cookie in cookies.items()
    ]


def check(studio, people: list[Person], accepted: list[str] | None = None) -> dict[str, int]:
    """Compare what people were told was kept, or another list of keys, with what is there."""
    with studio.database.read() as connection:
        keys = set(connection.execute(select(answer.c.key)).scalars())
        rows = connection.execute(select(func.count()).select_from(answer)).scalar_one()
        pairs = connection.execute(
            select(func.count()).select_from(
                select(answer.c.item_id, answer.c.person_id).distinct().subquery()
            )
        ).scalar_one()
        held = connection.execute(
            select(func.count())
            .select_from(assignment)
            .where(assignment.c.state == LEASED)
            .group_by(assignment.c.item_id)
            .order_by(func.count().desc())
            .limit(1)
        ).scalar_one_or_none()
        adaptive = connection.execute(select(project.c.ask)).scalar_one() in ADAPTIVE
    accepted = accepted or [key for one in people for key in one.accepted]
    return {
        "accepted": len(accepted),
        "lost": len(set(accepted) - keys),
        "duplicate": rows - pairs,
        "over-assigned": max(0, (held or 0) - 1) if adaptive else 0,
        "refused": sum(one.refused for one in people),
    }


def told(people: list[Person], checked: dict[str, int]) -> str:
    times = np.array([value for one in people for value in one.times]) * 1000
    p50, p95, p99 = np.percentile(times, [50, 95, 99])
    return f"{len(times):,} answers; p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, max {times.max():.0f} ms; {checked}"


def answers(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="covote-bench-") as place:
        folder = Path(place)
        postgres = Postgres(folder) if options.postgres else None
        url = postgres.url if postgres else None
        studio = open_studio(folder / "project", url)
        items = int(options.people * options.seconds / options.every) + 1000
        cookies = fill(studio, options.people, 20, min(items, 200_000), options.ask, 8)
        server = Server(folder / "project", url)
        server.wait()
        people = people_of(studio, server.port, cookies)

        async def run() -> None:
            until = time.monotonic() + options.seconds
            await asyncio.gather(
                *(
                    one.work(options.every, lambda: time.monotonic() > until, options.arrive or options.every)
                    for one in people
                )
            )

        before = server.cpu()
        asyncio.run(run())
        spent = (server.cpu() - before) / max(1, sum(len(one.times) for one in people)) * 1000
        print(
            f"{options.people} people every {options.every:g} s for {options.seconds:g} s, "
            f"{'PostgreSQL' if postgres else 'SQLite'}, asked {options.ask}: {told(people, check(studio, people))}; "
            f"{spent:.1f} ms of the server's processor per answer; load {os.getloadavg()[0]:.0f}"
        )
        server.process.terminate()
        server.process.wait()
        studio.stop()
        if postgres:
            postgres.stop()


ROUND = 50
"""Kills after which the database is checked and the table written."""
WITH_DATABASE = 10
"""Every how many kills PostgreSQL is ended with the server, as a power cut would end it."""


def kills(options: argparse.Namespace) -> None:
    """Kill the server again and again while people answer; --folder keeps a project on SQLite, to go on with it."""
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="covote-bench-"))
        )
        folder.mkdir(exist_ok=True)
        memory, postgres = folder / "kills.json", None
        if options.postgres:
            postgres = Postgres(folder)
            stack.callback(postgres.stop)
        url = postgres.url if postgres else None
        if postgres or not memory.exists():
            studio = open_studio(folder / "project", url)
            cookies = fill(studio, options.people, 20, 200_000, options.ask, 8)
            past = {"cookies": cookies, "kills": 0, "starts": [], "accepted": []}
            studio.stop()
        else:
            past = json.loads(memory.read_text())
        first = Server(folder / "project", url)  # not counted: it may have to write bytecode
        first.wait()
        first.kill()
        while past["kills"] < options.kills:
            count = min(ROUND, options.kills - past["kills"])
            line = _round_of_kills(folder / "project", past, count, options, postgres)
            memory.write_text(json.dumps(past))
            (folder / "kills.md").write_text(
                "| kills | accepted | lost | duplicate | database | restart median | restart longest |\n"
                f"|---|---|---|---|---|---|---|\n{line}\n"
            )
            print(line, f"load {os.getloadavg()[0]:.0f}", flush=True)


def _round_of_kills(
    project: Path, past: dict, count: int, options: argparse.Namespace, postgres: Postgres | None
) -> str:
    """Kill `count` times, compare all that was ever accepted with what is there, and return a row of the table."""
    url = postgres.url if postgres else None
    studio, port = open_studio(project, url), free_port()
    people = people_of(studio, port, past["cookies"])
    studio.stop()
    over = asyncio.Event()

    async def storm() -> None:
        tasks = [asyncio.create_task(one.work(options.every, over.is_set, options.every)) for one in people]
        for n in range(count):
            server = Server(project, url, port)
            past["starts"].append(await asyncio.to_thread(server.wait))
            await asyncio.sleep(random.uniform(0.02, options.alive))
            if postgres and n % WITH_DATABASE == WITH_DATABASE - 1:
                await asyncio.to_thread(postgres.stop)
            server.kill()
            if postgres and n % WITH_DATABASE == WITH_DATABASE - 1:
                await asyncio.to_thread(postgres.start)
        server = Server(project, url, port)
        await asyncio.to_thread(server.wait)
        over.set()
        await asyncio.gather(*tasks)
        server.process.terminate()
        server.process.wait()

    asyncio.run(storm())
    past["kills"] += count
    past["accepted"] += [key for one in people for key in one.accepted]
    studio = open_studio(project, url)
    checked = check(studio, people, past["accepted"])
    sound = "ok"
    if not postgres:
        with studio.database.read() as connection:
            sound = connection.execute(text("PRAGMA integrity_check")).scalar_one()
    studio.stop()
    return (
        f"| {past['kills']:,} | {checked['accepted']:,} | {checked['lost']} | {checked['duplicate']} | {sound} | "
        f"{np.median(past['starts']):.2f} s | {max(past['starts']):.2f} s |"
    )


def large(options: argparse.Namespace) -> None:
    """Import many items, add answers, and visit every page; --folder keeps the project, to visit it again."""
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="covote-bench-"))
        )
        known = (folder / "project").exists()
        studio = open_studio(folder / "project")
        if not known:
            _fill_large(studio, folder, options)
        with studio.database.write() as connection:
            owner = credentials.new_secret(connection, "session", 1)
            expert = credentials.new_secret(connection, "session", 5)
        server = Server(folder / "project", None)
        print(f"start: {server.wait():.2f} s")
        visit(server.port, studio.cookie, owner, expert)
        server.process.terminate()
        server.process.wait()
        studio.stop()


def _fill_large(studio, folder: Path, options: argparse.Namespace) -> None:
    table = folder / "items.csv"
    with table.open("w", encoding="utf-8") as lines:
        lines.write("id,text\n")
        lines.writelines(f"item-{n},This is the text of item number {n}\n" for n in range(options.items))
    fill(studio, options.people, options.classes, 0, "everybody", min(60, options.classes))
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
    began = time.perf_counter()
    importing.import_path(studio.database, studio.folder, roster, table)
    print(f"import of {options.items:,} items: {time.perf_counter() - began:.1f} s")
    pretend(studio, options)


def pretend(studio, options: argparse.Namespace) -> None:
    """Add answers, about a tenth of the items, three each."""
    known, now = known_of(studio), time.time()
    rng = np.random.default_rng(1)
    ids = list(known)
    with studio.database.read() as connection:
        listed = {
            row.id: row.options_id for row in connection.execute(select(person.c.id, person.c.options_id))
        }
    rows, given, n = [], [], 0
    for item_id in range(1, options.items + 1, 10):
        for who in rng.choice(len(ids), 3, replace=False):
            n += 1
            who = ids[who]
            chosen = known[who][int(rng.integers(len(known[who])))]
            rows.append((item_id, who, chosen, listed[who], f"pretended-{n}", "import", now - n / 100))
            given.append((item_id, who, 2, 0.0))
    with studio.database.write() as connection:
        raw = connection.connection.cursor()
        raw.executemany(
            "INSERT INTO answer (item_id, person_id, class_id, options_id, key, via, at) VALUES (?,?,?,?,?,?,?)",
            rows,
        )
        raw.executemany("INSERT INTO assignment (item_id, person_id, state, expires) VALUES (?,?,?,?)", given)
        connection.execute(
            text("UPDATE person SET answers = (SELECT count(*) FROM answer WHERE person_id = person.id)")
        )


def visit(port: int, cookie: str, owner: str, expert: str) -> None:
    """Time every page: the first visit, which may have to wait for results, and the median of the next five."""
    import http.client

    pages = {
        owner: ["/progress", "/review", "/review?status=agreed", "/review/1", "/experts", "/board",
                "/people", "/people/7", "/items", "/items?after=500000", "/items?key=item-77777",
                "/export", "/settings", "/me", "/api/project", "/api/progress", "/api/coverage", "/api/labels"],
        expert: ["/label", "/me"],
    }  # fmt: skip
    line = http.client.HTTPConnection("127.0.0.1", port)
    for secret, paths in pages.items():
        for path in paths:
            times = []
            for _ in range(6):
                began = time.perf_counter()
                line.request(
                    "GET",
                    path,
                    headers={
                        "Cookie": f"{cookie}={secret}",
                        "Accept": "text/html",
                        "Accept-Encoding": "gzip",
                    },
                )
                got = line.getresponse()
                body = got.read()
                times.append((time.perf_counter() - began) * 1000)
                if path == "/progress" and len(times) == 1:
                    time.sleep(60)  # the results are made in the background
            print(
                f"{path:28} {got.status} first {times[0]:6.0f} ms, then {np.median(times[1:]):5.0f} ms, {len(body) / 1000:6.1f} kB"
            )


def paint(options: argparse.Namespace) -> None:
    """Weigh pages and time their first paint in chromium."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="covote-bench-") as place, sync_playwright() as driver:
        from covote_studio.demo import fill as fill_demo

        studio = open_studio(Path(place) / "project")
        fill_demo(studio)
        with studio.database.write() as connection:
            owner = credentials.new_secret(connection, "session", 1)
        server = Server(Path(place) / "project", None)
        server.wait()
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in ("/label", "/progress", "/review", "/board", "/people", "/items", "/settings"):
            context = chromium.new_context(viewport={"width": 390, "height": 844})  # with nothing kept
            context.add_cookies([{"name": studio.cookie, "value": owner, "domain": "127.0.0.1", "path": "/"}])
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{server.port}{path}", wait_until="load")
            page.wait_for_timeout(300)
            weight = page.evaluate(
                "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
                ".reduce((s, e) => s + e.transferSize, 0)"
            )
            first = page.evaluate(
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
            )
            print(f"{path:12} {weight / 1000:6.1f} kB, first paint {first:5.0f} ms")
        chromium.close()
        server.process.terminate()
        server.process.wait()
        studio.stop()


def edits(options: argparse.Namespace) -> None:
    """Edit a project at random between answers, and compare it with a plain model after every tenth edit."""
    from studio.tests.unit.edits_model import run

    with tempfile.TemporaryDirectory(prefix="covote-bench-") as place:
        folder = Path(place)
        postgres = Postgres(folder) if options.postgres else None
        studio = open_studio(folder / "project", postgres.url if postgres else None)
        edited = run(studio, folder, options.seed, options.edits)
        print(
            f"{options.edits:,} edits, {len(edited.model.answers):,} answers, "
            f"{len(edited.model.classes)} classes, {'PostgreSQL' if postgres else 'SQLite'}: as the model says"
        )
        studio.stop()
        if postgres:
            postgres.stop()


def logins(options: argparse.Namespace) -> None:
    """Sign in as strangers from everywhere at once, and time another page meanwhile."""
    with tempfile.TemporaryDirectory(prefix="covote-bench-") as place:
        studio = open_studio(Path(place) / "project")
        server = Server(Path(place) / "project", None)
        server.wait()
        pages: list[float] = []
        statuses: dict[int, int] = {}

        async def request(head: str, body: bytes = b"") -> int:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head.encode() + body)
            first = await reader.readline()
            await reader.read()
            writer.close()
            return int(first.split()[1])

        async def stranger(number: int, over: Callable[[], bool]) -> None:
            body = f"name=stranger{number}&password=wrong".encode()
            head = (
                "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nSec-Fetch-Site: same-origin\r\n"
                f"X-Forwarded-For: 198.51.{number // 250}.{number % 250}\r\nContent-Length: {len(body)}\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
            )
            while not over():
                status = await request(head, body)
                statuses[status] = statuses.get(status, 0) + 1
                await asyncio.sleep(1.0)

        async def visitor(over: Callable[[], bool]) -> None:
            while not over():
                began = time.perf_counter()
                await request("GET /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                pages.append((time.perf_counter() - began) * 1000)
                await asyncio.sleep(0.1)

        async def run() -> None:
            until = time.monotonic() + options.seconds
            over = lambda: time.monotonic() > until  # noqa: E731
            await asyncio.gather(visitor(over), *(stranger(n, over) for n in range(options.people)))

        asyncio.run(run())
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1000
        print(
            f"{options.people} strangers for {options.seconds:g} s: {statuses}; peak {peak:.0f} MB; other pages "
            f"p50 {np.percentile(pages, 50):.0f} ms, p99 {np.percentile(pages, 99):.0f} ms ({len(pages)}); "
            f"load {os.getloadavg()[0]:.0f}"
        )
        server.process.terminate()
        server.process.wait()
        studio.stop()


def uploads(options: argparse.Namespace) -> None:
    """Send files that are damaged, huge or hostile, one after another, and time other pages meanwhile."""
    import http.client
    import threading
    from urllib.parse import quote

    from benchmarks.hostile_files import files

    with tempfile.TemporaryDirectory(prefix="covote-bench-") as place:
        studio = open_studio(Path(place) / "project")
        with studio.database.write() as connection:
            add_classes(connection, [NewClass("cat"), NewClass("dog")])
            owner = f"{studio.cookie}={credentials.new_secret(connection, 'session', 1)}"
        importing.add_items(studio.database, [(f"item {n}", "text", f"text {n}", None) for n in range(1000)])
        server = Server(Path(place) / "project", None)
        server.wait()
        pages: list[float] = []
        over = threading.Event()

        def asked(method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
            line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
            line.request(method, path, body, {"Cookie": owner, "Sec-Fetch-Site": "same-origin", **headers})
            got = line.getresponse()
            return got.status, got.read()

        def visitor() -> None:
            n = 0
            while not over.is_set():
                began = time.perf_counter()
                status, _ = asked("GET", ("/items", "/people", "/label", "/board")[n % 4], Accept="text/html")
                assert status == 200, status
                pages.append((time.perf_counter() - began) * 1000)
                n += 1
                over.wait(0.05)

        def memory() -> float:
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            return (
                int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1000
            )

        other = threading.Thread(target=visitor)
        other.start()
        outcomes: dict[str, int] = {}
        wrong, slowest, cpu = [], (0.0, ""), server.cpu()
        for name, content in files(options.files, options.seed):
            before, began = memory(), time.perf_counter()
            body = (
                b'--cut\r\nContent-Disposition: form-data; name="files"; filename="' + name.replace('"', "%22").encode()
                + b'"\r\nContent-Type: application/octet-stream\r\n\r\n' + content + b"\r\n--cut--\r\n"
            )  # fmt: skip
            kind = {"Content-Type": "multipart/form-data; boundary=cut", "X-Sent-By-Script": "yes"}
            status, got = asked("POST", "/items", body, Accept="application/json", **kind)
            slowest = max(slowest, (time.perf_counter() - began, name))
            outcome = f"status {status}"
            if status == 200:
                to = json.loads(got)["to"]
                outcome = "/".join(to.split("/")[:3])
                shown, page = asked("GET", quote(to, safe="/"), Accept="text/html")
                said = page.decode()
                if shown != 200 or (
                    outcome == "/items/added" and said.count("<li>") < 1 and "left out" not in said
                ):
                    wrong.append((name, shown, to))
            elif (
                status >= 500
                or "\n" in json.loads(got).get("detail", "")
                or not json.loads(got).get("detail")
            ):
                wrong.append((name, status, got[:200]))
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if memory() > before + 20:
                print(f"{name}: peak {before:.0f} -> {memory():.0f} MB", flush=True)
        over.set()
        other.join()
        print(
            f"{options.files} files: {outcomes}; not as they should be: {wrong}; peak {memory():.0f} MB; slowest "
            f"{slowest[1]} {slowest[0]:.1f} s; {server.cpu() - cpu:.0f} s of the server's processor; other pages p50 "
            f"{np.percentile(pages, 50):.0f} ms, p99 {np.percentile(pages, 99):.0f} ms ({len(pages)}); "
            f"load {os.getloadavg()[0]:.0f}"
        )
        server.process.terminate()
        server.process.wait()
        studio.stop()


def taps(options: argparse.Namespace) -> None:
    """Tap at random in Chromium, on several phones in turn, and compare the answers with what was in view."""
    from playwright.sync_api import sync_playwright

    from studio.tests.browser.conftest import SIZES, served
    from studio.tests.browser.taps import Tapper
    from studio.tests.browser.test_taps import answered_keys, many_items

    with tempfile.TemporaryDirectory(prefix="covote-bench-") as place, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        names = [f"Gil {n}" for n in range(options.phones)]
        studio = many_items(Path(place) / "project", options.taps // options.phones * 2 + 100, names)
        with served(studio) as rig:
            tappers = []
            for n, name in enumerate(names):
                context = chromium.new_context(**SIZES["phone"])
                context.set_default_timeout(120_000)
                page = context.new_page()
                rig.enter(page, name)
                tappers.append(Tapper(page, rig.address, 1000 * options.seed + n))
                tappers[-1].open()
            while sum(one.taps for one in tappers) < options.taps:
                for one in tappers:
                    one.step()
            answered = again = 0
            for name, one in zip(names, tappers, strict=True):
                one.end()
                keys = answered_keys(studio, name)
                again += one.check(keys)
                answered += len(set(keys))
            print(
                f"{sum(one.taps for one in tappers):,} taps: {answered:,} items answered, none lost, none "
                f"invented; {again} answered once more in the other tab"
            )
        chromium.close()


def main() -> None:
    sys.path[0] = str(Path(__file__).parents[1])  # this module is not the package of that name
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", choices=["answers", "kills", "large", "paint", "edits", "logins", "taps", "uploads"]
    )
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--arrive", type=float, help="seconds in which people sign on, one after another")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--ask", default="everybody")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--alive", type=float, default=0.6)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--taps", type=int, default=10_000)
    parser.add_argument("--phones", type=int, default=8)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    commands = {"answers": answers, "kills": kills, "large": large, "paint": paint, "edits": edits,
                "logins": logins, "taps": taps, "uploads": uploads}  # fmt: skip
    commands[options.what](options)


if __name__ == "__main__":
    main()
