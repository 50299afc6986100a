"""Every screen in a real browser, on a phone and on a desk, by mouse, keyboard and reader."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SCREENS, wait

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours


def until(page, expression):
    """Wait until an expression is true; the page's policy allows no other way."""
    wait(lambda: page.evaluate(expression))


def sent(page):
    """Wait until the browser keeps no answer any more because the server has it."""
    until(page, "Object.keys(localStorage).filter(k => /:\\d+:/.test(k)).length === 0")


def fits(page):
    """Whether a page is no wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"] + 1


def test_an_expert_labels_with_the_keyboard_and_undoes(desk, rig):
    page = desk("Ada")
    first = page.locator("#where").inner_text()
    page.keyboard.press("1")
    until(page, f"document.getElementById('where').innerText !== {first!r}")
    sent(page)
    assert rig.count_answers("Ada") == 1
    page.keyboard.press("u")
    until(page, "document.getElementById('where').textContent.startsWith('Change')")
    expect(page.locator(".choice[aria-pressed=true] .name")).to_contain_text("circle")
    page.keyboard.press("n")
    until(page, "!document.getElementById('where').textContent.startsWith('Change')")
    sent(page)
    assert rig.last_answers("Ada") == ["circle", "none of mine"]


def test_an_answer_given_without_a_connection_is_kept_and_sent_later(desk, rig):
    page = desk("Ben")
    page.context.set_offline(True)
    page.locator("#choices .choice").first.click()
    page.locator("#choices .choice").nth(1).click()
    page.wait_for_selector("#offline:not([hidden])")
    expect(page.locator("#offline")).to_contain_text("kept on this device")
    assert rig.count_answers("Ben") == 0
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    sent(page)
    assert rig.count_answers("Ben") == 2


def test_an_answer_survives_closing_the_page_while_offline(desk, rig):
    page = desk("Chandra")
    page.context.set_offline(True)
    page.locator("#choices .choice").first.click()
    page.wait_for_selector("#offline:not([hidden])")
    page.context.set_offline(False)
    page.goto(f"{rig.address}/label")
    sent(page)
    assert rig.count_answers("Chandra") == 1


def test_a_double_click_is_one_answer_about_each_item(desk, rig):
    page = desk("Dora")
    page.locator("#choices .choice").first.dblclick()
    sent(page)
    items = rig.answered_items("Dora")
    assert len(items) == len(set(items))


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


def test_an_owner_adds_a_class_and_the_board_updates_while_it_is_open(desk, rig):
    board = desk("owner", "/board")
    expect(board.locator("table.pairs thead th")).to_have_count(9)
    settings = board.context.new_page()
    settings.goto(f"{rig.address}/settings")
    settings.fill("#classes", "hexagon: six corners")
    settings.get_by_role("button", name="Add classes").click()
    expect(settings.locator("#said")).to_contain_text("1 class added")
    until(board, "document.querySelectorAll('table.pairs thead th').length === 10")
    board.get_by_role("button", name="Whom to hire").click()
    board.wait_for_selector("#outcome h2")
    expect(board.locator("#outcome")).to_contain_text("hexagon")
    settings.get_by_role("button", name="Remove hexagon").click()
    expect(settings.locator("#said")).to_contain_text("removed")


def test_an_owner_invites_somebody_who_then_sees_only_what_they_know(visit, desk, rig):
    page = desk("owner", "/people")
    page.fill("#name", f"Fay {rig.next_number()}")
    page.get_by_label("star").check()
    page.get_by_label("ring").check()
    page.get_by_role("button", name="Make an invitation link").click()
    link = page.locator("#address").input_value()
    guest = visit()
    guest.goto(link)
    guest.get_by_role("button", name="Continue").click()
    expect(guest.locator("#choices .choice .name")).to_contain_text(["star", "ring"])
    expect(guest.locator("#choices .choice")).to_have_count(2)


def test_a_refusal_is_a_sentence_on_the_page(desk):
    page = desk("owner", "/items")
    page.get_by_role("button", name="Add items").click()
    expect(page.locator("[role=alert]")).to_contain_text("Choose a file")


@pytest.mark.parametrize("screen", SCREENS)
def test_no_screen_has_a_serious_accessibility_problem(open_screen, axe, screen):
    for size in ("phone", "desk"):
        page = open_screen(size, screen)
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            (one["id"], one["nodes"][0]["html"][:200])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], (size, screen)
        assert fits(page), (size, screen)


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


def test_every_screen_is_free_of_errors_in_the_console(open_screen):
    for size in ("phone", "desk"):
        for screen in SCREENS:
            assert open_screen(size, screen).failures == []
