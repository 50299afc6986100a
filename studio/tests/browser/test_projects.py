"""Several projects in Chromium: an owner makes one, somebody joins two of them with one account."""

import re

import pytest
from playwright.sync_api import expect

from covote_studio.app import create_server
from covote_studio.demo import fill
from covote_studio.projects import Projects
from studio.tests.browser.conftest import SIZES, served

PASSWORD = "a long enough password"


@pytest.fixture
def town(browser, tmp_path):
    """Serve two projects that are alike."""
    projects = Projects(tmp_path / "root")
    for title in ("Farm box", "Second farm"):
        name = projects.create(title)
        fill(projects.open[name], alive=False)
    with served(projects.accounts, create_server(projects)) as rig:
        rig.projects = projects
        yield rig


def test_an_owner_makes_a_project_and_goes_back_to_all_of_them(town, visit):
    page = visit(**SIZES["phone"])
    page.goto(town.link("owner"))
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("Third farm")
    page.get_by_role("button", name="Create a project").click()
    page.wait_for_url(re.compile("/p/third-farm/start"))
    page.fill("#classes", "cat\ndog")
    page.get_by_role("button", name="Add classes").click()
    expect(page.get_by_role("main")).to_contain_text("dog")
    page.get_by_role("button", name="Progress").click()
    page.get_by_role("link", name="All projects").click()
    expect(page.get_by_role("link", name="Third farm")).to_be_visible()
    assert page.failures == []


def test_somebody_labels_in_two_projects_with_one_account(town, visit):
    page = visit(**SIZES["phone"])
    for name in ("farm-box", "second-farm"):
        page.goto(town.link("Ada", town.projects.open[name], f"/p/{name}"))
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(re.compile(f"/p/{name}/label"))
        expect(page.locator("#desk")).to_have_attribute("data-ready", "yes")
        page.locator("#choices .choice").first.click()
        expect(page.locator("#counted")).to_contain_text("1 answered")
        if name == "farm-box":
            page.goto(f"{town.address}/p/{name}/me")
            page.get_by_label("New password").fill(PASSWORD)
            page.get_by_label("Repeat password").fill(PASSWORD)
            page.get_by_role("button", name="Create an account").click()
            page.wait_for_url(re.compile("/label"))
    page.goto(town.address)
    expect(page.get_by_role("heading", level=2)).to_have_count(2)
    for name, studio in town.projects.open.items():
        assert town.count_answers("Ada", studio) == 1, name
    assert page.failures == []
