"""Without a connection the labelling page can be loaded again; with one, it is never an old page."""

import pytest
from playwright.sync_api import Error, expect

from covote_studio.context import open_studio
from covote_studio.editing import classes
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.people.expertise import set_known
from studio.tests.browser.conftest import SIZES, served
from studio.tests.browser.test_screens import ready, sent, until

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours
KEPT = "caches.open('covote:/label').then((cache) => cache.match('/label')).then(Boolean)"


@pytest.fixture
def notes(browser, tmp_path):
    """Serve a project of forty notes, in which Ann and Bob know robins and magpies."""
    studio = open_studio(tmp_path / "birds")
    with studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass(name) for name in ("robin", "magpie", "raven")])
        for name in ("Ann", "Bob"):
            managing.invite(connection, name, [1, 2])
    importing.add_items(studio.database, [(f"n{k}", "text", f"note {k}", None) for k in range(40)])
    with served(studio) as rig:
        yield rig


@pytest.fixture
def ann(visit, notes):
    page = visit(**SIZES["phone"])
    notes.enter(page, "Ann")
    until(page, KEPT)
    page.reload()  # as on every later day: the worker is there from the beginning
    until(page, "navigator.serviceWorker.controller !== null")
    return page


def tap(page, count=1):
    """Answer items, and return which."""
    answered = []
    for _ in range(count):
        ready(page)
        answered.append(page.locator("#where").inner_text())
        page.locator("#choices .choice").first.click()
    return answered


def online(page):
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")


def test_reloads_without_a_connection_go_on_where_the_person_was(ann, notes):
    answered = tap(ann, 3)
    sent(ann)
    ann.context.set_offline(True)
    ann.reload()
    expect(ann.locator("#offline")).to_contain_text("saved on this device")
    expect(ann.locator("#counted")).to_have_text("3 answered, 37 to go")
    answered += tap(ann, 4)
    expect(ann.locator("#counted")).to_have_text("7 answered, 33 to go")
    ann.reload()
    expect(ann.locator("#counted")).to_have_text("7 answered, 33 to go")
    answered += tap(ann, 2)
    assert notes.count_answers("Ann") < 9  # 3, but a page may send one before the browser cuts it off again
    online(ann)
    sent(ann)
    expect(ann.locator("#offline")).to_be_hidden()
    expect(ann.locator("#counted")).to_have_text("9 answered, 31 to go")
    assert len(set(answered)) == 9
    assert len(set(notes.answered_items("Ann"))) == notes.count_answers("Ann") == 9


def test_with_a_connection_a_reload_shows_the_classes_of_today(ann, notes):
    with notes.studio.database.write() as connection:
        set_known(connection, 2, [1, 2, 3])
    ann.reload()
    expect(ann.locator("#choices .choice")).to_have_count(3)
    assert ann.locator("html[data-offline]").count() == 0


def test_a_page_that_was_loaded_without_a_connection_learns_of_new_classes(ann, notes):
    ann.context.set_offline(True)
    ann.reload()
    tap(ann, 2)
    with notes.studio.database.write() as connection:
        set_known(connection, 2, [1, 2, 3])
    online(ann)
    expect(ann.locator("#choices .choice")).to_have_count(3)
    assert notes.last_answers("Ann") == ["robin", "robin"]


def test_whoever_signs_out_leaves_no_page_behind(ann, notes):
    ann.goto(f"{notes.address}/me")
    ann.get_by_role("button", name="Sign out on this device").click()
    expect(ann.get_by_role("heading", name="Sign in")).to_be_visible()
    until(ann, "caches.keys().then((names) => names.length === 0)")
    ann.context.set_offline(True)
    with pytest.raises(Error):
        ann.goto(f"{notes.address}/label")


def test_the_kept_page_is_that_of_the_person_who_is_signed_in(ann, notes):
    notes.enter(ann, "Bob")
    ann.context.set_offline(True)
    ann.reload()
    expect(ann.locator("#offline")).to_contain_text("saved on this device")
    expect(ann.get_by_role("navigation")).to_contain_text("Bob")
