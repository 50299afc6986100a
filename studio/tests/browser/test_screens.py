"""Every screen in a real browser, on a phone and on a desk, by mouse, keyboard and reader."""

import pytest
from playwright.sync_api import expect

from studio.tests.browser.conftest import SIZES, wait

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours


def until(page, expression):
    """Wait until an expression is true; the page's policy allows no other way."""
    wait(lambda: page.evaluate(expression))


def sent(page):
    """Wait until the browser keeps no answer any more because the server has it."""
    until(page, "Object.keys(localStorage).filter(k => /:\\d+:/.test(k)).length === 0")


def ready(page):
    """Wait until a choice counts: the item has been in view for a moment."""
    page.wait_for_selector("#desk[data-ready]")


def fits(page):
    """Whether a page is no wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"] + 1


def test_an_expert_labels_with_the_keyboard_and_undoes(desk, rig):
    page = desk("Ada")
    first = page.locator("#where").inner_text()
    ready(page)
    page.keyboard.press("1")
    until(page, f"document.getElementById('where').innerText !== {first!r}")
    sent(page)
    assert rig.count_answers("Ada") == 1
    page.keyboard.press("u")
    until(page, "document.getElementById('where').textContent.startsWith('Change')")
    expect(page.locator(".choice[aria-pressed=true] .name")).to_contain_text("apple")
    ready(page)
    page.keyboard.press("n")
    until(page, "!document.getElementById('where').textContent.startsWith('Change')")
    sent(page)
    assert rig.last_answers("Ada") == ["apple", "none of mine"]


def test_offline_twenty_items_can_be_answered_and_the_screen_says_what_is_kept(desk, rig):
    page = desk("Ben")
    until(
        page, "performance.getEntriesByType('resource').filter(e => e.name.includes('/media/')).length >= 10"
    )
    page.context.set_offline(True)
    for _ in range(12):
        ready(page)
        page.locator("#choices .choice").first.click()
    expect(page.locator("#offline")).to_have_text(
        "Offline: 12 answers saved on this device; they will be sent when you are back online."
    )
    expect(page.locator("#working")).to_be_visible()
    page.click("#undo")
    expect(page.locator("#notice")).to_contain_text("when the connection is back")
    offline, said = (page.locator(one).bounding_box() for one in ("#offline", "#notice"))
    assert offline["y"] + offline["height"] <= said["y"]
    assert rig.count_answers("Ben") == 0
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    sent(page)
    assert rig.count_answers("Ben") == 12


def test_when_what_is_kept_is_answered_the_screen_says_that_more_is_to_come(desk):
    page = desk("Emil")
    until(
        page, "performance.getEntriesByType('resource').filter(e => e.name.includes('/media/')).length >= 10"
    )
    page.context.set_offline(True)
    while page.locator("#working").is_visible():
        ready(page)
        page.locator("#choices .choice").nth(1).click()
    expect(page.locator("#reason")).to_contain_text("You are offline")
    expect(page.locator("#reason")).to_contain_text("to go")
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    sent(page)


def test_an_answer_survives_closing_the_page_while_offline(desk, rig):
    page = desk("Chandra")
    ready(page)
    page.context.set_offline(True)
    page.locator("#choices .choice").first.click()
    page.wait_for_selector("#offline:not([hidden])")
    page.context.set_offline(False)
    page.goto(f"{rig.address}/label")
    sent(page)
    assert rig.count_answers("Chandra") == 1


@pytest.mark.parametrize("size", SIZES)
def test_a_double_tap_answers_the_item_that_was_seen_and_no_other(desk, rig, size):
    page = desk("Dora", size=size)
    for _ in range(6):
        before, where = rig.count_answers("Dora"), page.locator("#where").inner_text()
        ready(page)
        box = page.locator("#choices .choice").first.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if size == "phone":
            page.touchscreen.tap(x, y)
            page.touchscreen.tap(x, y)
        else:
            page.mouse.dblclick(x, y, delay=20)
        until(page, f"document.getElementById('where').innerText !== {where!r}")
        sent(page)
        page.wait_for_timeout(100)
        assert rig.count_answers("Dora") == before + 1


@pytest.mark.parametrize("size", SIZES)
def test_the_answers_stay_where_they_are_from_item_to_item(desk, size):
    page = desk("owner", size=size)
    places, kinds = set(), set()
    for _ in range(12):
        ready(page)
        kinds.add(page.evaluate("document.querySelector('#content > *').tagName"))
        places.add(page.locator("#choices .choice").first.bounding_box()["y"])
        page.locator("#choices .choice").first.click()
    assert kinds == {"P", "IMG"}
    assert len(places) == 1


def test_a_choice_waits_for_the_picture(visit, rig):
    page = visit(**SIZES["phone"])
    held = []
    rig.enter(page, "Chandra")
    page.route("**/media/*", lambda route: held.append(route))
    page.context.new_cdp_session(page).send("Network.clearBrowserCache")
    page.goto(f"{rig.address}/label", wait_until="domcontentloaded")
    before = rig.count_answers("Chandra")
    while page.locator("#content > p.text").count():
        ready(page)
        page.locator("#choices .choice").first.click()
        before += 1
    page.wait_for_timeout(600)
    page.locator("#choices .choice").first.click()
    sent(page)
    assert rig.count_answers("Chandra") == before
    for route in held:
        route.continue_()
    ready(page)
    page.locator("#choices .choice").first.click()
    sent(page)
    assert rig.count_answers("Chandra") == before + 1


def test_undo_goes_back_as_often_as_it_is_pressed(desk, rig):
    page = desk("Ada")
    shown = []
    for n in (0, 1, 0):
        ready(page)
        shown.append(page.locator("#where").inner_text())
        page.locator("#choices .choice").nth(n).click()
    sent(page)
    for name in reversed(shown):
        page.keyboard.press("u")
        expect(page.locator("#where")).to_have_text(f"Change: {name}")
    ready(page)
    page.locator("#choices .choice").nth(1).click()
    expect(page.locator("#where")).not_to_contain_text("Change")
    sent(page)
    assert rig.answered_items("Ada")[-1] == rig.answered_items("Ada")[-4]


def test_the_second_tab_says_that_its_answer_replaces_the_first(desk, rig):
    page = desk("Ada")
    other = page.context.new_page()
    other.goto(f"{rig.address}/label")
    ready(other)
    other.evaluate("window.addEventListener('storage', e => e.stopImmediatePropagation(), true)")
    ready(page)
    page.locator("#choices .choice").first.click()
    sent(page)
    ready(other)
    other.locator("#choices .choice").nth(1).click()
    sent(other)
    assert rig.answered_items("Ada")[-1] == rig.answered_items("Ada")[-2]


def test_a_flag_reaches_the_owner_and_is_closed(desk, rig):
    page = desk("Ben")
    where = page.locator("#where").inner_text()
    page.get_by_role("button", name="Report a problem").click()
    page.get_by_role("button", name="Two things at once").click()  # which sends it
    expect(page.locator("#notice")).to_contain_text("The owner will see your comment")
    owner = desk("owner", "/review?status=flagged")
    owner.get_by_role("link", name=where).click()
    expect(owner.get_by_role("main")).to_contain_text("Two things at once")
    owner.get_by_role("button", name="Mark as resolved").click()
    owner.goto(f"{rig.address}/review?status=flagged")
    expect(owner.get_by_role("link", name=where)).to_have_count(0)


def test_a_picture_is_enlarged_by_wheel_pinch_and_keys(desk):
    page = desk("Dora")
    while page.locator("#zoom").is_hidden():
        ready(page)
        page.locator("#choices .choice").first.click()
    ready(page)
    page.keyboard.press("z")
    page.mouse.move(600, 400)
    page.mouse.wheel(0, -400)
    until(page, "parseInt(document.getElementById('scale').textContent) > 200")
    page.keyboard.press("0")
    expect(page.locator("#scale")).to_have_text("100%")
    page.keyboard.press("+")
    expect(page.locator("#scale")).to_have_text("150%")
    page.get_by_label("Invert").check()
    assert "invert(1)" in page.locator("#large").get_attribute("style")
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#zoomed")).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator("#zoomed")).to_be_visible()
    page.go_back()  # closes the picture, and stays on the page
    expect(page.locator("#zoomed")).to_be_hidden()
    ready(page)


def test_reload_back_and_a_second_tab_keep_the_place(desk, rig):
    page = desk("Emil")
    where = page.locator("#where").inner_text()
    page.reload()
    expect(page.locator("#where")).to_have_text(where)
    other = page.context.new_page()
    other.goto(f"{rig.address}/label")
    expect(other.locator("#where")).to_have_text(where)
    page.goto(f"{rig.address}/me")
    page.go_back()
    expect(page.locator("#where")).to_have_text(where)


def test_it_works_without_javascript(visit, rig):
    page = visit(java_script_enabled=False)
    before = rig.count_answers("Ada")
    rig.enter(page, "Ada")
    with page.expect_navigation():
        page.locator("#choices .choice").first.click()
    assert rig.count_answers("Ada") == before + 1


def test_an_owner_adds_a_class_finds_who_to_add_and_takes_it_out(desk, rig):
    page = desk("owner", "/classes")
    page.fill("#classes", "hexagon: six corners")
    page.get_by_role("button", name="Add classes").click()
    expect(page.locator("#notice")).to_contain_text("1 class added")
    page.goto(f"{rig.address}/board")
    expect(page.locator("table.pairs thead th")).to_have_count(10)
    page.get_by_role("button", name="Find who to add").click()
    page.wait_for_selector("#outcome h2")
    expect(page.locator("#outcome")).to_contain_text("hexagon")
    page.goto(f"{rig.address}/classes")
    page.get_by_role("link", name="hexagon").click()
    page.get_by_role("button", name="Retire hexagon").click()
    expect(page.locator("#notice")).to_contain_text("removed: nothing named it")


def test_an_owner_invites_somebody_who_then_sees_only_what_they_know(visit, desk, rig):
    page = desk("owner", "/people")
    page.fill("#name", f"Fay {rig.next_number()}")
    page.get_by_label("tomato").check()
    page.get_by_label("lemon").check()
    page.get_by_role("button", name="Create an invitation link").click()
    link = page.locator("#address").input_value()
    guest = visit()
    guest.goto(link)
    guest.get_by_role("button", name="Continue").click()
    expect(guest.locator("#choices .choice .name")).to_contain_text(["tomato", "lemon"])
    expect(guest.locator("#choices .choice")).to_have_count(2)


def test_a_refusal_is_a_sentence_on_the_page(desk):
    page = desk("owner", "/items")
    page.get_by_role("button", name="Add items").click()
    expect(page.locator("[role=alert]")).to_contain_text("Choose a file")


@pytest.mark.parametrize("screen", ["/label", "/progress", "/board", "/review"])
def test_a_page_is_light_for_a_browser_that_sees_it_first(desk, screen):
    page = desk("owner", screen, "phone")
    page.context.new_cdp_session(page).send("Network.clearBrowserCache")
    page.reload()
    weight = page.evaluate(
        "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".filter(e => !e.name.includes('/media/')).reduce((sum, e) => sum + e.transferSize, 0)"
    )
    assert 10_000 < weight < 150_000
    assert not page.failures
