"""What an owner does with the answers: decides, looks at the panel, shares, takes files out and in."""

import re
import zipfile

import pytest
from playwright.sync_api import expect

from covote_studio.editing import classes
from studio.tests.browser.conftest import SIZES
from studio.tests.browser.test_screens import fits

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours


@pytest.fixture(params=SIZES)
def owner(request, visit, answered):
    page = visit(**SIZES[request.param])
    answered.enter(page, "owner")
    return page


def test_an_owner_decides_what_is_in_doubt_and_goes_on(owner):
    owner.get_by_role("link", name=re.compile("Review .* doubtful")).click()
    owner.locator("tbody a").first.click()
    owner.get_by_role("radio", name="lemon").check()
    owner.get_by_label("Reason").fill("It has tips.")
    owner.get_by_role("button", name="Record the decision").click()
    expect(owner.locator("#notice")).to_contain_text("on record")
    expect(owner.get_by_role("main")).to_contain_text("lemon by owner")
    owner.get_by_role("button", name="Withdraw the decision").click()
    expect(owner.locator("#notice")).to_contain_text("withdrawn")
    shown = owner.url
    owner.get_by_role("link", name="Next doubtful item").click()
    expect(owner).not_to_have_url(shown)
    assert fits(owner)


def test_the_buttons_of_the_board_do_what_the_command_line_does(owner, answered):
    owner.goto(answered.address + "/board")
    told = owner.locator("#outcome")
    owner.get_by_label("Emil").check()
    owner.get_by_role("button", name="Check").click()
    expect(told).to_contain_text("Without Emil")
    owner.locator("#size").fill("1")
    owner.get_by_role("button", name="Find who to add").click()
    expect(owner.get_by_role("alert")).to_contain_text("type 2 or more")


def test_a_suggestion_whom_to_hire_becomes_an_invitation(owner, answered):
    with answered.studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass("hexagon")])
    owner.goto(answered.address + "/board")
    owner.get_by_role("button", name="Find who to add").click()
    expect(owner.locator("#outcome")).to_contain_text(re.compile(r"Add \d people"))
    owner.get_by_role("link", name="Invite").first.click()
    owner.fill("#name", "Gil")
    expect(owner.locator("#new-list input:checked")).to_have_count(4)
    owner.get_by_role("button", name="Create an invitation link").click()
    expect(owner.get_by_role("heading", name="A link for Gil")).to_be_visible()


def test_files_that_go_out_come_back_in(owner, answered, tmp_path):
    owner.goto(answered.address + "/export")
    with owner.expect_download() as given:
        owner.locator('a[href="/export/votes.zip"]').click()
    with zipfile.ZipFile(given.value.path()) as archive:
        archive.extractall(tmp_path)
    for field, name in (("panel", "panel.toml"), ("votes", "votes.parquet")):
        owner.set_input_files(f"#{field}", tmp_path / name)
    owner.get_by_role("button", name="Import").click()
    expect(owner.locator("#notice")).to_contain_text("0 answers added, 0 changed; 72 already existed")


def test_the_boss_sees_the_report_by_a_link_and_nothing_else(owner, answered, visit):
    owner.get_by_role("button", name="Create a link to the report").click()
    link = owner.locator("#address").input_value()
    boss = visit()
    boss.goto(link)
    expect(boss.get_by_role("main")).to_contain_text("answers in all")
    expect(boss.get_by_role("navigation")).to_have_count(0)
    boss.goto(answered.address + "/review")
    expect(boss).to_have_url(re.compile("/login"))
