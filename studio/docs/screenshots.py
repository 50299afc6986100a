"""Take the screenshots of the studio for the documentation: studio/docs/images/studio-*.png.

    python studio/docs/screenshots.py                # those of the documentation
    python studio/docs/screenshots.py --all screens  # every screen, phone and desktop, light and dark

It serves the demo from this process at a fixed moment, so that the same code gives the same pictures. It
needs covote-studio, Playwright and Chromium, as the browser tests do.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import select

from covote_studio.app import create_app
from covote_studio.context import Studio, open_studio
from covote_studio.demo import fill
from covote_studio.people import credentials
from covote_studio.storage.schema import person

MOMENT = 1_780_484_400.0
"""When the pictures are taken: 3 June 2026, 11:00 UTC."""
SIZES: dict[str, dict[str, Any]] = {
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "desk": {"viewport": {"width": 1200, "height": 800}},
}
SHOTS = (
    ("label", "Dora", "/label", "desk"),
    ("progress", "owner", "/progress", "desk"),
    ("review", "owner", "/review", "desk"),
    ("experts", "owner", "/experts", "desk"),
)
"""Name of the picture, who looks, page, size of the screen."""
EVERY = (
    *(("owner", one) for one in ("/progress", "/label", "/review", "/review/CONFLICT", "/experts", "/board",
      "/people", "/people/2", "/items", "/classes", "/classes/1", "/export", "/settings", "/record", "/me",
      "/start", "/nothing")),
    ("Dora", "/label"), ("Dora", "/me"), ("", "/login"),
)  # fmt: skip


@contextmanager
def served(folder: Path, *, demo: bool) -> Iterator[tuple[Studio, str]]:
    """Serve a project from this process, and give it with its address."""
    studio = open_studio(folder)
    if demo:
        fill(studio)
    config = uvicorn.Config(create_app(studio), port=0, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        yield studio, f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()


def opened(browser: Browser, studio: Studio, name: str, size: str, scheme: str = "light") -> Page:
    """Open a browser in which a person is signed in, or nobody."""
    context = browser.new_context(
        **SIZES[size], color_scheme=scheme, reduced_motion="reduce", device_scale_factor=1.5
    )
    if name:
        with studio.database.write() as connection:
            who = connection.execute(select(person.c.id).where(person.c.name == name)).scalar_one()
            secret = credentials.new_secret(connection, "session", who)
        cookie = {"name": studio.cookie, "value": secret, "domain": "127.0.0.1", "path": "/"}
        context.add_cookies([cookie])
    return context.new_page()


def visit(page: Page, studio: Studio, address: str, path: str) -> None:
    """Go to a page whose pictures are there and whose results are counted."""
    results = studio.results.refresh()
    if "CONFLICT" in path and results is not None:
        doubtful = results.labels.evidence.status.tolist().index(1)
        path = path.replace("CONFLICT", str(results.items[doubtful]))
    page.goto(address + path, wait_until="networkidle")
    page.wait_for_timeout(500)


def save(page: Page, place: Path, *, whole: bool = False) -> None:
    """Write what is in view, or the whole page, in 256 colours: a third of the size."""
    shot = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    shot.quantize(256, kmeans=2, dither=Image.Dither.NONE).save(place, optimize=True)
    print(f"{place}: {place.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every screen, into this folder")
    every = parser.parse_args().all
    began = time.monotonic()
    time.time = lambda: MOMENT + time.monotonic() - began
    target = every or Path(__file__).parent / "images"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with served(Path(place) / "farm-box", demo=True) as (studio, address):
            if every:
                for size in SIZES:
                    for scheme in ("light", "dark"):
                        for name, path in EVERY:
                            page = opened(browser, studio, name, size, scheme)
                            visit(page, studio, address, path)
                            file = f"{path.strip('/').replace('/', '-')}-{name}-{size}-{scheme}.png"
                            save(page, target / file, whole=True)
                            page.context.close()
            else:
                for shot, name, path, size in SHOTS:
                    page = opened(browser, studio, name, size)
                    visit(page, studio, address, path)
                    save(page, target / f"studio-{shot}.png")
                    page.context.close()
        if every:
            with served(Path(place) / "empty", demo=False) as (studio, address):
                for size in SIZES:
                    page = opened(browser, studio, "owner", size)
                    for path in ("/start", "/items", "/people", "/review", "/label"):
                        visit(page, studio, address, path)
                        save(page, target / f"empty-{path[1:]}-{size}.png", whole=True)
        browser.close()


if __name__ == "__main__":
    main()
