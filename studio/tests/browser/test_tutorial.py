"""The tutorial of the studio (studio/docs/tutorial.md), step by step as it is written.

    COVOTE_PICTURES=studio/docs/images pytest studio/tests/browser/test_tutorial.py

also takes its pictures.
"""

import io
import os
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from covote_studio.context import open_studio
from studio.tests.browser.conftest import SIZES, served
from studio.tests.browser.test_screens import ready, sent, until
from tests.pages import ROOT, files

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours

PAGE = ROOT / "studio" / "docs" / "tutorial.md"
PEOPLE = {
    "Ann": ("robin", "magpie"),
    "Bob": ("robin", "raven"),
    "Cy": ("magpie", "raven"),
    "Dee": ("magpie", "raven"),
    "Eve": ("magpie", "raven"),
}
SAY = {
    "note-1": ("robin", "robin", "magpie", "magpie", "magpie"),
    "note-2": ("magpie", "none of mine", "magpie", "magpie", "magpie"),
    "note-3": ("none of mine", "raven", "raven", "raven", "raven"),
    "note-4": ("magpie", "raven", "raven", "magpie", "magpie"),
}
DESK = {"viewport": {"width": 1100, "height": 620}}


def photograph(page, name, **part):
    """Take a picture for the tutorial, if somebody asked for pictures."""
    folder = os.environ.get("COVOTE_PICTURES")
    if folder:
        taken = Image.open(io.BytesIO(page.screenshot(**part))).convert("RGB")
        taken.quantize(128, kmeans=2, dither=Image.Dither.NONE).save(
            Path(folder) / f"tutorial-{name}.png", optimize=True
        )


def answer(guest, number):
    """Answer all items as the person of this number does in the tutorial."""
    for _ in SAY:
        ready(guest)
        item = guest.locator("#where").inner_text()
        if number == 0 and item == "note-1":
            photograph(guest, "phone")
        guest.locator(f"#answers .choice[data-name='{SAY[item][number]}']").click()
        until(guest, f"working.hidden || document.getElementById('where').innerText !== {item!r}")
    sent(guest)


@pytest.fixture
def birds(browser, tmp_path):
    """Serve a new project."""
    with served(open_studio(tmp_path / "birds")) as rig:
        yield rig


def test_the_tutorial_of_the_studio_holds(visit, birds, tmp_path):
    shown = files(PAGE)
    table = tmp_path / "notes.csv"
    table.write_text(shown["notes.csv"], encoding="utf-8")
    owner = visit(**DESK)
    birds.enter(owner, "owner")
    expect(owner.get_by_role("heading", name="What can an item be?")).to_be_visible()
    photograph(owner, "begin")

    owner.fill("#classes", shown["classes.txt"])
    owner.get_by_role("button", name="Add classes").click()
    expect(owner.locator("#notice")).to_contain_text("3 classes added")

    owner.set_input_files("#files", table)
    expect(owner.get_by_role("button", name="Add 4 items")).to_be_visible()
    photograph(owner, "preview")
    owner.get_by_role("button", name="Add 4 items").click()
    expect(owner.locator("#notice")).to_contain_text("4 items added")

    owner.fill("#list", shown["people.txt"])
    photograph(owner, "people")
    owner.get_by_role("button", name="Preview the list").click()
    owner.get_by_role("button", name="Invite 5 people").click()
    guests = []
    for number, name in enumerate(PEOPLE, 1):
        guest = visit(**SIZES["phone" if name == "Ann" else "desk"])
        guest.goto(owner.locator(f"#link-{number}").input_value())
        guest.get_by_role("button", name="Continue").click()
        guest.wait_for_url(re.compile("/label"))
        guests.append(guest)

    owner.get_by_role("link", name="Coverage", exact=True).click()
    expect(owner.get_by_role("main")).to_contain_text("Every pair is covered")
    photograph(owner, "coverage")

    for number, guest in enumerate(guests):
        answer(guest, number)

    owner.get_by_role("link", name="Review", exact=True).click()
    owner.get_by_role("link", name=re.compile("^All")).click()
    owner.get_by_role("link", name="note-1").first.click()
    expect(owner.get_by_role("main")).to_contain_text("robin")
    expect(owner.get_by_role("main")).to_contain_text(re.compile("do not know robin\\s*Cy\\s*magpie"))
    photograph(owner, "item", full_page=True)

    owner.get_by_role("link", name="Export", exact=True).click()
    with owner.expect_download() as coming:
        owner.locator("a[href='/export/labels.csv']").click()
    assert Path(coming.value.path()).read_text(encoding="utf-8") == shown["labels.csv"]
