"""Take the pictures of the studio for the documentation: studio/docs/images/studio-*.png.

    python -m studio.docs.screenshots                # those of the documentation
    python -m studio.docs.screenshots --all screens  # every screen, on four sizes, light and dark

It serves the projects of the gallery, which browser tests look at, too, from this process and at a fixed
moment, so that the same code gives the same pictures. It needs Playwright and Chromium, as those tests do.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from covote_studio.app import create_app, create_server
from covote_studio.context import Studio, open_studio
from studio.tests.browser import gallery

MOMENT = 1_780_484_400.0
"""When the pictures are taken: 3 June 2026, 11:00 UTC."""
SIZES: dict[str, dict[str, Any]] = {
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "small": {"viewport": {"width": 320, "height": 568}, "is_mobile": True, "has_touch": True},
    "sideways": {"viewport": {"width": 844, "height": 390}, "is_mobile": True, "has_touch": True},
    "desk": {"viewport": {"width": 1200, "height": 800}},
}
TALL: dict[str, Any] = {"viewport": {"width": 1200, "height": 1000}}
SHOTS = {
    "label": ("label", SIZES["desk"]), "progress": ("progress", SIZES["desk"]),
    "review": ("review-item", TALL), "experts": ("experts", SIZES["desk"]),
}  # fmt: skip
"""Name of the picture, its screen in the gallery, and its size."""
Served = dict[str, tuple[Studio, str]]


@contextmanager
def served(studio: Studio, app: Any) -> Iterator[tuple[Studio, str]]:
    """Serve an application from this process, and give its project with its address."""
    config = uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        yield studio, f"http://{host}:{port}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


def projects(stack: ExitStack, folder: Path) -> Served:
    """Serve the projects of the gallery."""
    town = gallery.town(folder / "town")
    found = {"town": stack.enter_context(served(town.accounts, create_server(town)))}
    for name, make in (("clinic", gallery.clinic), ("aviary", gallery.aviary), ("empty", open_studio)):
        studio = make(folder / name)
        found[name] = stack.enter_context(served(studio, create_app(studio)))
    return found


def shot(
    browser: Browser, at: Served, screen: gallery.Screen, size: dict[str, Any], scheme: str, *, whole: bool
) -> Image.Image:
    """Return a picture of what is in view, or of the whole page."""
    studio, address = at[screen.of]
    context = browser.new_context(
        **size, color_scheme=scheme, reduced_motion="reduce", device_scale_factor=1.25
    )
    if screen.who:
        secret = gallery.secret_of(studio, screen.who, "session")
        cookie = {"name": studio.cookie, "value": secret, "domain": "127.0.0.1", "path": "/"}
        context.add_cookies([cookie])
    page = context.new_page()
    page.goto(address + gallery.address_of(screen, studio), wait_until="networkidle")
    if screen.go:
        screen.go(page)
    page.wait_for_timeout(500)
    taken = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    context.close()
    return taken


def save(picture: Image.Image, place: Path) -> None:
    """Write a picture in 48 colours: a quarter of the size."""
    picture.quantize(48, kmeans=2, dither=Image.Dither.NONE).save(place, optimize=True)
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
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver, ExitStack() as stack:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        at = projects(stack, Path(place))
        if every:
            for name, size in SIZES.items():
                for scheme in ("light", "dark"):
                    for screen in gallery.SCREENS:
                        taken = shot(browser, at, screen, size, scheme, whole=True)
                        save(taken, target / f"{screen.name}-{name}-{scheme}.png")
        else:
            screens = {one.name: one for one in gallery.SCREENS}
            for name, (screen, size) in SHOTS.items():
                taken = shot(browser, at, screens[screen], size, "light", whole=False)
                save(taken, target / f"studio-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
