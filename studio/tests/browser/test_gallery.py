"""Every screen on every size of screen, light and dark: axe finds nothing, it fits, nothing fails.

`make test` looks at each screen once, each time in another way; `make slow` looks at all in every way.
"""

from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from covote_studio.app import create_server
from covote_studio.context import open_studio
from studio.tests.browser import gallery
from studio.tests.browser.conftest import served, watched
from studio.tests.browser.test_screens import fits, ready

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours
SIZES = {"phone": (390, 844), "small": (320, 568), "sideways": (844, 390), "desk": (1280, 860)}
VIEWS = [(size, scheme) for scheme in ("light", "dark") for size in SIZES]
LOOKS = [
    pytest.param(
        screen,
        *view,
        id=f"{screen.name}-{'-'.join(view)}",
        marks=() if n % len(VIEWS) == k else pytest.mark.slow,
    )
    for n, screen in enumerate(gallery.SCREENS)
    for k, view in enumerate(VIEWS)
]


@pytest.fixture(scope="module")
def projects(browser, tmp_path_factory):
    """Serve the projects of the gallery, and give each with its address."""
    folder = tmp_path_factory.mktemp("gallery")
    with ExitStack() as stack:
        town = gallery.town(folder / "town")
        rigs = {"town": stack.enter_context(served(town.accounts, create_server(town)))}
        for name, make in (("clinic", gallery.clinic), ("aviary", gallery.aviary), ("empty", open_studio)):
            rigs[name] = stack.enter_context(served(make(folder / name)))
        yield rigs


@pytest.fixture(scope="module")
def look(browser, projects):
    """Open a screen, in a browser in which its person is signed in."""
    pages = {}

    def opened(screen, size, scheme):
        rig = projects[screen.of]
        key = (screen.of, screen.who, size)
        if key not in pages:
            width, height = SIZES[size]
            touch = {} if size == "desk" else {"is_mobile": True, "has_touch": True}
            context = browser.new_context(viewport={"width": width, "height": height}, **touch)
            if screen.who:
                secret = gallery.secret_of(rig.studio, screen.who, "session")
                where = {"domain": "127.0.0.1", "path": "/"}
                context.add_cookies([{"name": rig.studio.cookie, "value": secret, **where}])
            pages[key] = watched(context)
        page = pages[key]
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour in between
        page.goto(rig.address + gallery.address_of(screen, rig.studio))
        if screen.go:
            screen.go(page)
        return page

    yield opened
    for page in pages.values():
        page.context.close()


@pytest.mark.parametrize(("screen", "size", "scheme"), LOOKS)
def test_a_screen_can_be_read_and_used_by_everyone(look, axe, screen, size, scheme):
    page = look(screen, size, scheme)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]] == []
    assert fits(page)
    failures, page.failures[:] = [*page.failures], []
    if screen.name.startswith("error"):
        failures = [one for one in failures if not one.startswith("Failed to load")]
    assert failures == []


@pytest.mark.parametrize("size", SIZES)
def test_the_picture_and_every_answer_are_in_view_together(look, size):
    page = look(next(one for one in gallery.SCREENS if one.name == "label"), size, "light")
    ready(page)
    height = page.viewport_size["height"]
    thing = page.locator(".thing").bounding_box()
    assert thing["height"] >= 0.28 * height
    buttons = [one.bounding_box() for one in page.locator(".choice").all()]
    assert len(buttons) == 6
    assert max(one["y"] + one["height"] for one in buttons) <= height
    if size == "sideways":
        assert min(one["x"] for one in buttons) >= thing["x"] + thing["width"]


@pytest.mark.parametrize("size", SIZES)
def test_forty_classes_scroll_between_the_item_and_the_other_answers(look, size):
    page = look(next(one for one in gallery.SCREENS if one.name == "label-forty"), size, "light")
    height = page.viewport_size["height"]
    none = page.locator(".others .choice").first.bounding_box()
    assert none["y"] + none["height"] <= height
    shown = page.evaluate(
        """[...document.querySelectorAll("#choices .choice")].filter((one) => {
          const box = one.getBoundingClientRect(), list = one.parentElement.getBoundingClientRect();
          return box.top >= list.top && box.bottom <= list.bottom + 1;
        }).length"""
    )
    assert shown >= {"phone": 8, "small": 6, "sideways": 4, "desk": 14}[size]
    last = page.locator("#choices .choice").last
    last.scroll_into_view_if_needed()
    assert last.bounding_box()["y"] + last.bounding_box()["height"] <= none["y"] + 1


def test_a_reviewer_goes_through_the_queue_with_keys(look, projects):
    page = look(next(one for one in gallery.SCREENS if one.name == "review"), "desk", "light")
    waiting = page.locator("#queue tbody a")
    first, second = (waiting.nth(n).get_attribute("href") for n in (0, 1))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{first}")
    assert page.locator(".sight img").bounding_box()["width"] >= 480
    assert page.get_by_role("button", name="Decide and go on").bounding_box()["y"] < 860
    page.keyboard.press("3")
    page.keyboard.type("seen on another film")
    page.get_by_role("button", name="Decide and go on").click()
    page.wait_for_url(f"**{second}")
    decided = projects["clinic"].studio.results.refresh().roster.classes[2].name
    page.goto(f"{projects['clinic'].address}{first}")
    expect(page.get_by_role("main")).to_contain_text(f"decided {decided} by owner")
    page.keyboard.press("j")
    page.wait_for_url(lambda url: not url.endswith(first))
