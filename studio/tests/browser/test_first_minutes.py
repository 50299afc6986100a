"""The first ten minutes: from an empty folder to invited people, and what that costs in clicks."""

import io
import re
import time

import pytest
from PIL import Image
from playwright.sync_api import expect

from studio.tests.browser.conftest import SIZES
from studio.tests.browser.test_screens import ready, sent

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours
CLASSES = ("naevus", "melanoma", "wart", "keratosis")
DROP = """async ([names, contents]) => {
  const given = new DataTransfer();
  names.forEach((name, n) => {
    const bytes = Uint8Array.from(atob(contents[n]), (one) => one.charCodeAt(0));
    given.items.add(new File([bytes], name));
  });
  document.querySelector("h1").dispatchEvent(new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
}"""  # noqa: E501


class Counting:
    """An owner whose clicks are counted: a drop of files and a paste into a field are one click each."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, target):
        self.clicks += 1
        target.click()

    def paste(self, selector, text):
        self.clicks += 1
        self.page.fill(selector, text)

    def drop(self, files):
        import base64

        self.clicks += 1
        contents = [base64.b64encode(content).decode() for content in files.values()]
        self.page.evaluate(DROP, [list(files), contents])


def pictures(count):
    found = {}
    for n in range(1, count + 1):
        packed = io.BytesIO()
        Image.new("RGB", (60, 40), (n * 4 % 256, 120, 90)).save(packed, "JPEG")
        found[f"IMG_{n}.jpg"] = packed.getvalue()
    return found


def begin(visit, rig):
    page = visit(**SIZES["desk"])
    owner = Counting(page)
    page.goto(rig.link("owner"))
    owner.click(page.get_by_role("button", name="Continue"))
    owner.paste("#classes", "\n".join(CLASSES))
    owner.click(page.get_by_role("button", name="Add classes"))
    expect(page.locator("#notice")).to_contain_text("4 classes added")
    owner.drop(pictures(60))
    expect(page.get_by_role("main")).to_contain_text("60 items")
    people = "\n".join(f"Dr {n}\t{CLASSES[n % 4]}, {CLASSES[(n + 1 + n // 4) % 4]}" for n in range(12))
    owner.paste("#list", people)
    owner.click(page.get_by_role("button", name="Preview the list"))
    owner.click(page.get_by_role("button", name="Invite 12 people"))
    expect(page.locator("input.code")).to_have_count(12)
    link = page.locator("#link-1").input_value()
    owner.click(page.get_by_role("button", name="Copy all"))
    owner.click(page.get_by_role("link", name="Go on"))
    return owner, link


def test_gold_from_a_table_and_twelve_invited_people_take_few_clicks(visit, empty):
    began = time.monotonic()
    owner, link = begin(visit, empty)
    table = "id,gold\n" + "".join(f"IMG_{n}.jpg,{CLASSES[n % 4]}\n" for n in range(1, 9))
    owner.drop({"gold.csv": table.encode()})
    owner.click(owner.page.get_by_role("button", name="Set gold"))
    expect(owner.page.get_by_role("main")).to_contain_text("8 gold items")
    print(f"{owner.clicks} clicks, with gold from a table, {time.monotonic() - began:.0f} s of machine")
    assert owner.clicks <= 25
    guest = visit(**SIZES["phone"])
    guest.goto(link)
    guest.get_by_role("button", name="Continue").click()
    guest.wait_for_url(re.compile("/label"))
    ready(guest)
    guest.locator("#choices .choice").first.click()
    sent(guest)
    assert empty.count_answers("Dr 0") == 1


def test_gold_by_ticking_items_takes_few_clicks_as_well(visit, empty):
    owner, _ = begin(visit, empty)
    page = owner.page
    owner.click(page.get_by_role("link", name="tick items"))
    for k in (0, 1):
        for n in range(4):
            owner.click(page.locator("#things input").nth(4 * k + n))
        owner.clicks += 1
        page.get_by_label("The ticked items are").select_option(CLASSES[k])
        owner.click(page.get_by_role("button", name="Set gold"))
        expect(page.locator("#notice")).to_contain_text("4 items are gold")
    print(f"{owner.clicks} clicks, with gold by ticking eight items of two classes")
    assert owner.clicks <= 25
