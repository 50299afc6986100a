"""A project from nothing: an owner adds classes and items of every kind, invites somebody, who answers."""

import io
import json
import re
import wave

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from studio.tests.browser.conftest import SIZES
from studio.tests.browser.gallery import cell
from studio.tests.browser.test_screens import fits, ready, sent, until

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours


def tone(seconds=0.3, hertz=440):
    """Return a sound as a WAV file."""
    beats = np.sin(2 * np.pi * hertz * np.arange(int(8000 * seconds)) / 8000)
    packed = io.BytesIO()
    with wave.open(packed, "wb") as opened:
        opened.setparams((1, 2, 8000, 0, "NONE", ""))
        opened.writeframes((beats * 20_000).astype("<i2").tobytes())
    return packed.getvalue()


def pictures(folder):
    """Fill a folder as a camera and a file manager leave it."""
    chance = np.random.default_rng(0)
    (folder / "more").mkdir(parents=True)
    (folder / "ring 1.png").write_bytes(cell(1, chance))
    (folder / "more" / "star.png").write_bytes(cell(3, chance))
    (folder / ".DS_Store").write_bytes(b"\0\1")
    (folder / "notes.docx").write_bytes(b"PK")
    return {"folder": folder}, 2


def json_lines(folder):
    folder.mkdir()
    rows = [{"id": "a", "text": "A <b>ring</b>\nof gold", "gold": "ring"}, {"id": "b", "text": "Eine Röhre"}]
    place = folder / "items.jsonl"
    place.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return {"files": place}, 2


def sounds(folder):
    folder.mkdir()
    for hertz in (220, 440, 880):
        (folder / f"{hertz}.wav").write_bytes(tone(hertz=hertz))
    return {"files": sorted(folder.iterdir())}, 3


def awkward(folder):
    """Fill a folder with pictures of every shape, under names that do not fit on a phone."""
    folder.mkdir()
    for width, height in ((3000, 2000), (2000, 40), (40, 2000)):
        name = f"{'a-long-name-' * 8}{width}x{height}.png"
        Image.new("RGB", (width, height), (200, 200, 200)).save(folder / name)
    return {"files": sorted(folder.iterdir())}, 3


def begun(visit, rig, given, count, shape):
    """Create a project as its owner, and return the pages of the owner and of somebody who was invited."""
    owner = visit(**shape)
    rig.enter(owner, "owner")
    owner.fill("#classes", f"ring: round with a hole\nstar\nsomething {'very' * 30} else: {'so ' * 60}")
    owner.get_by_role("button", name="Add classes").click()
    expect(owner.locator("#notice")).to_contain_text("3 classes added")
    owner.goto(rig.address + "/items")
    for field, files in given.items():
        owner.set_input_files(f"#{field}", files)  # which sends them
    if "jsonl" in str(given):
        owner.get_by_role("button", name="Add 2 items").click()
    expect(owner.get_by_role("main")).to_contain_text(f"{count} items added")
    owner.goto(rig.address + "/people")
    owner.fill("#name", "Gil")
    owner.get_by_label("ring").check()
    owner.get_by_label("star").check()
    owner.get_by_label("something").check()
    owner.get_by_role("button", name="Create an invitation link").click()
    link = owner.locator("#address").input_value()
    guest = visit(**shape)
    guest.goto(link)
    guest.get_by_role("button", name="Continue").click()
    guest.wait_for_url(re.compile("/label"))
    return owner, guest


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [pictures, json_lines, sounds, awkward])
def test_a_project_begins_with_items_of_any_kind_and_is_answered(visit, empty, tmp_path, kind, size):
    given, count = kind(tmp_path / "given")
    owner, guest = begun(visit, empty, given, count, SIZES[size])
    shown = {
        pictures: "document.querySelector('#content img')?.naturalWidth > 0",
        awkward: "document.querySelector('#content img')?.naturalWidth > 0",
        sounds: "document.querySelector('#content audio')?.readyState >= 1",
        json_lines: "document.querySelector('#content p.text')?.textContent === 'A <b>ring</b>\\nof gold'",
    }[kind]
    until(guest, shown)
    for _ in range(count):
        ready(guest)
        assert fits(guest)
        guest.locator("#choices .choice").first.click()
    guest.wait_for_selector("#nothing:not([hidden])")
    sent(guest)
    assert empty.last_answers("Gil") == ["ring"] * count
    owner.goto(empty.address + "/items")
    expect(owner.locator("#things .one")).to_have_count(count)
    expect(owner.locator("#things")).not_to_contain_text("/media/")
    owner.locator("#things a").first.click()
    expect(owner.get_by_role("main")).to_contain_text("ring")
    assert fits(owner)
    guest.goto(empty.address + "/me")
    assert fits(guest)


def test_a_folder_without_anything_to_label_is_told_so(visit, empty, tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "notes.docx").write_bytes(b"PK")
    owner = visit()
    empty.enter(owner, "owner")
    owner.goto(empty.address + "/items")
    owner.set_input_files("#folder", tmp_path / "given")
    expect(owner.get_by_role("main")).to_contain_text("0 items added. 1 left out.")
    expect(owner.get_by_role("main")).to_contain_text("notes.docx")
