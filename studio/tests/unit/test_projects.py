"""Several projects on one server: one login, and nobody in a project to which they were not invited."""

import shutil
import zipfile

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from covote.errors import InputError
from covote_studio.app import create_server
from covote_studio.context import open_studio
from covote_studio.people import credentials, managing
from covote_studio.projects import Projects
from covote_studio.storage.database import back_up
from covote_studio.storage.schema import membership, person
from studio.tests.unit.conftest import SAME_ORIGIN, prepare

PAGES = {**SAME_ORIGIN, "Accept": "text/html"}
PASSWORD = "a long enough password"


class Town:
    """A server of several projects, and what tests ask of it."""

    def __init__(self, projects):
        self.projects = projects
        self.app = create_server(projects, ["testserver"])

    def browser(self):
        return TestClient(self.app, headers=PAGES)

    def enter(self, browser, name, project=None):
        """Open a link: of an account, or of a person of a project."""
        studio = self.projects.open[project] if project else self.projects.accounts
        with studio.database.write() as connection:
            who = connection.execute(select(person.c.id).where(person.c.name == name)).scalar_one()
            secret = credentials.new_secret(connection, "enter", who)
        return browser.post(f"/p/{project}/enter/{secret}" if project else f"/enter/{secret}")

    def maker(self):
        """Return the browser of who makes projects."""
        browser = self.browser()
        assert "Your projects" in self.enter(browser, "owner").text
        return browser

    def guest(self, name, project):
        """Return the browser of somebody who was invited to one project and made an account there."""
        browser = self.browser()
        self.enter(browser, name, project)
        made = {"name": f"account of {name}", "password": PASSWORD, "again": PASSWORD}
        assert browser.post(f"/p/{project}/me/account", data=made).status_code == 200
        return browser


@pytest.fixture(scope="session")
def fresh_root(tmp_path_factory):
    """Return a folder with two projects that are ready, to be copied."""
    folder = tmp_path_factory.mktemp("fresh") / "root"
    projects = Projects(folder)
    for title in ("Birds", "Skin lesions"):
        name = projects.create(title)
        prepare(projects.open[name])
    projects.stop()
    return folder


@pytest.fixture
def town(fresh_root, tmp_path):
    shutil.copytree(fresh_root, tmp_path / "root")
    projects = Projects(tmp_path / "root")
    yield Town(projects)
    projects.stop()


def test_who_makes_a_project_owns_it_and_finds_it_again(town):
    maker = town.maker()
    made = maker.post("/projects", data={"name": "Crème brûlée"})
    assert made.url.path == "/p/creme-brulee/start"
    assert "Crème brûlée" in maker.get("/").text
    assert maker.get("/p/creme-brulee/settings").status_code == 200


def test_one_login_opens_every_project_of_an_account_and_no_other(town):
    ann = town.guest("ann", "birds")
    assert ann.get("/p/birds/label").status_code == 200
    refused = ann.get("/p/skin-lesions/label")
    assert refused.status_code == 403
    assert "is not in this project" in refused.text
    town.enter(ann, "bob", "skin-lesions")
    elsewhere = town.browser()
    signed = elsewhere.post("/login", data={"name": "account of ann", "password": PASSWORD, "project": ""})
    assert "You are an expert, called ann there" in signed.text
    assert "You are an expert, called bob there" in signed.text
    for project in ("birds", "skin-lesions"):
        assert elsewhere.get(f"/p/{project}/label").status_code == 200


def test_a_person_answers_through_an_account(town):
    ann = town.guest("ann", "birds")
    ann.cookies.delete(town.projects.open["birds"].cookie)  # the account alone
    lease = ann.post("/p/birds/label/next").json()["leases"][0]
    sent = {"item": lease["item_id"], "token": lease["token"], "key": lease["answer_key"], "choice": -2,
            "shown": 1}  # fmt: skip
    assert ann.post("/p/birds/label/answer", json=sent).status_code == 200
    assert ann.post("/p/skin-lesions/label/answer", json=sent).status_code == 401


def test_pages_of_a_project_lead_to_pages_of_the_same_project(town):
    maker = town.maker()
    town.enter(maker, "owner", "birds")
    for page in ("progress", "label", "review", "experts", "board", "people", "people/2", "items", "classes",
                 "export", "start", "settings", "record", "me"):  # fmt: skip
        text = maker.get(f"/p/birds/{page}").text
        for mark in ('href="', 'action="', 'src="', 'data-ask="'):
            for link in (part.split('"')[0] for part in text.split(mark)[1:]):
                own = link.startswith(("/p/birds/", "/static/", "#", "https://"))
                assert own or link == "/" or (page, link) == ("me", "/me"), (page, mark, link)
    changed = maker.post("/p/birds/classes", data={"classes": "owl"})
    assert changed.url.path == "/p/birds/classes"
    assert "/p/birds/enter/" in maker.post("/p/birds/people/2/link").text


def test_the_link_of_a_project_opens_that_project_only(town):
    # Its owner can make a link for anybody in the project: it must not open what the same person may
    # see elsewhere.
    town.enter(town.guest("ann", "birds"), "ann", "skin-lesions")
    thief = town.browser()
    town.enter(thief, "ann", "birds")
    assert thief.get("/p/birds/label").status_code == 200
    assert thief.get("/p/skin-lesions/label").url.path == "/login"
    assert thief.get("/").url.path == "/login"


def test_an_invitation_joins_one_account_once(town):
    ann = town.guest("ann", "birds")
    town.enter(ann, "ann", "birds")  # again: nothing changes
    twice = town.enter(ann, "bob", "birds")
    assert twice.status_code == 409
    assert "as someone else" in twice.text
    other = town.guest("bob", "skin-lesions")
    taken = town.enter(other, "ann", "birds")
    assert taken.status_code == 409
    assert "Another account" in taken.text
    with town.projects.accounts.database.read() as connection:
        assert len(connection.execute(select(membership)).all()) == 2


def test_a_project_that_takes_the_place_of_another_is_closed_to_its_people(town, tmp_path):
    ann = town.guest("ann", "birds")
    prepare(open_studio(tmp_path / "other"))
    town.projects.open["birds"] = open_studio(tmp_path / "other")
    assert ann.get("/p/birds/label").status_code == 403


def test_signing_out_ends_everything_on_this_device(town):
    ann = town.guest("ann", "birds")
    kept = dict(ann.cookies)
    assert ann.post("/p/birds/logout").url.path == "/login"
    again = town.browser()
    again.cookies.update(kept)
    assert again.get("/").url.path == "/login"
    assert again.get("/p/birds/label").url.path == "/login"


def test_a_closed_account_opens_nothing(town):
    ann, maker = town.guest("ann", "birds"), town.maker()
    ann.cookies.delete(town.projects.open["birds"].cookie)
    with town.projects.accounts.database.read() as connection:
        number = connection.execute(select(person.c.id).where(person.c.name == "account of ann")).scalar_one()
    maker.post(f"/accounts/{number}", data={})
    assert ann.get("/p/birds/label").url.path == "/login"
    told = ann.post("/login", data={"name": "account of ann", "password": PASSWORD, "project": ""})
    assert (told.status_code, "This account is closed" in told.text) == (403, True)
    assert ann.get("/p/birds/label").url.path == "/login"


def test_an_owner_who_signs_somebody_out_everywhere_ends_the_membership(town):
    ann, maker = town.guest("ann", "birds"), town.maker()
    town.enter(maker, "owner", "birds")
    with town.projects.open["birds"].database.read() as connection:
        number = connection.execute(select(person.c.id).where(person.c.name == "ann")).scalar_one()
    maker.post(f"/p/birds/people/{number}/close")
    assert ann.get("/p/birds/label").status_code == 403


def test_only_who_may_make_projects_makes_projects_and_accounts(town):
    ann = town.guest("ann", "birds")
    for path in ("/projects", "/accounts", "/accounts/1", "/accounts/1/link"):
        assert ann.post(path, data={"name": "mine"}).status_code == 403
    assert ann.get("/accounts").status_code == 403
    assert "Create a project" not in ann.get("/").text


def test_an_account_that_was_made_gets_in_by_its_link_and_chooses_a_password(town):
    maker = town.maker()
    page = maker.post("/accounts", data={"name": "Dr Lee", "role": "creator"}).text
    link = page.split('value="')[1].split('"')[0].removeprefix("http://testserver")
    lee = town.browser()
    assert "Create a project" in lee.post(link).text
    lee.post("/me/password", data={"password": PASSWORD, "again": PASSWORD})
    lee = town.browser()
    assert (
        "Create a project"
        in lee.post("/login", data={"name": "Dr Lee", "password": PASSWORD, "project": ""}).text
    )


def account_id(town, name):
    with town.projects.accounts.database.read() as connection:
        return connection.execute(select(person.c.id).where(person.c.name == name)).scalar_one()


@pytest.fixture
def lee(town):
    """Return the browser of an account that may create projects."""
    page = town.maker().post("/accounts", data={"name": "Dr Lee", "role": "creator"}).text
    lee = town.browser()
    lee.post(page.split('value="')[1].split('"')[0].removeprefix("http://testserver"))
    return lee


def test_who_may_create_projects_cannot_become_anybody_else(town, lee):
    assert lee.post("/projects", data={"name": "Mine"}).status_code == 200
    assert lee.get("/accounts").status_code == 403
    for number in (account_id(town, "owner"), account_id(town, "Dr Lee")):
        assert lee.post(f"/accounts/{number}/link").status_code == 403
        assert lee.post(f"/accounts/{number}", data={"role": "owner", "active": "on"}).status_code == 403
    assert lee.post("/accounts", data={"name": "other", "role": "owner"}).status_code == 403
    assert "Accounts" not in lee.get("/").text


def test_a_link_for_an_administrator_comes_from_the_command_line_only(town, lee):
    maker, number = town.maker(), account_id(town, "Dr Lee")
    assert maker.post(f"/accounts/{number}/link").status_code == 200
    assert maker.post("/accounts", data={"name": "other", "role": "owner"}).status_code == 422
    maker.post(f"/accounts/{number}", data={"role": "owner", "active": "on"})
    refused = maker.post(f"/accounts/{number}/link")
    assert refused.status_code == 403
    assert "command line" in refused.text
    link = town.projects.first_links("http://testserver", "Dr Lee")[0][1]
    assert "Continue as Dr Lee" in town.browser().get(link.removeprefix("http://testserver")).text
    with pytest.raises(InputError, match="no owner called 'nobody'"):
        town.projects.first_links("http://testserver", "nobody")


def test_every_change_of_an_account_is_on_record(town, lee):
    maker, number = town.maker(), account_id(town, "Dr Lee")
    maker.post(f"/accounts/{number}/link")
    maker.post(f"/accounts/{number}", data={"role": "expert"})
    text = maker.get("/accounts").text
    for told in ("Created the account Dr Lee, which may create projects",
                 "Created a link that signs Dr Lee in",
                 "The account Dr Lee now opens its projects", "Closed the account Dr Lee"):  # fmt: skip
        assert told in text


def test_the_last_administrator_and_the_only_owner_of_a_project_stay(town, lee):
    maker, number = town.maker(), account_id(town, "Dr Lee")
    lee.post("/projects", data={"name": "Mine"})
    refused = maker.post(f"/accounts/{number}", data={"role": "creator"})
    assert refused.status_code == 409
    assert "only owner of the project mine" in refused.text
    alone = maker.post(f"/accounts/{account_id(town, 'owner')}", data={"role": "creator", "active": "on"})
    assert alone.status_code == 409
    own = lee.get("/p/mine/people").text
    me = next(part.split('"')[0] for part in own.split('href="/p/mine/people/')[1:])
    lee.post(f"/p/mine/people/{me}/close")  # of oneself: the project stays
    assert lee.get("/p/mine/people").status_code == 200


def test_a_trusted_proxy_signs_accounts_in_and_makes_them(tmp_path):
    projects = Projects(tmp_path / "root", sign_in_header="X-Remote-User")
    town = Town(projects)
    projects.create("Birds")
    prepare(projects.open["birds"])
    lee = TestClient(town.app, headers={**PAGES, "X-Remote-User": "lee"})
    assert "You are not in a project yet" in lee.get("/").text
    town.enter(lee, "ann", "birds")
    assert lee.get("/p/birds/label").status_code == 200
    other = TestClient(town.app, headers={**PAGES, "X-Remote-User": "mallory"}, cookies=dict(lee.cookies))
    assert other.get("/p/birds/label").status_code == 403
    with_link = TestClient(town.app, headers=PAGES)
    town.enter(with_link, "bob", "birds")
    made = {"name": "boss", "password": PASSWORD, "again": PASSWORD}
    assert with_link.post("/p/birds/me/account", data=made).status_code == 403
    projects.stop()


def test_programs_use_the_address_of_their_project(town):
    with town.projects.open["birds"].database.write() as connection:
        token = credentials.new_secret(connection, "api", 1)
    program = TestClient(town.app, headers={"Authorization": f"Bearer {token}"})
    assert program.get("/p/birds/api/project").json()["name"] == "Birds"
    assert program.get("/p/skin-lesions/api/project").status_code == 401
    assert program.get("/p/birds/api/openapi.json").json()["servers"] == [{"url": "/p/birds"}]


def test_writes_from_other_sites_are_refused(town):
    maker = town.maker()
    maker.headers["Sec-Fetch-Site"] = "cross-site"
    for path in ("/projects", "/p/birds/settings", "/login", "/accounts"):
        assert maker.post(path, data={"name": "x"}).status_code == 403


def test_strangers_cannot_tell_which_projects_there_are(town):
    stranger = town.browser()

    def seen(name):
        found = []
        for path in ("", "label", "login", "api/project", "enter/guess", "static/studio.css", "no/such"):
            for accept in ("text/html", "application/json"):
                told = stranger.get(f"/p/{name}/{path}", headers={"Accept": accept}, follow_redirects=False)
                place = told.headers.get("location", "")
                found.append((told.status_code, place.replace(name, "X"), told.text.replace(name, "X")))
        return found

    assert seen("skin-lesions") == seen("no-such-project")


def test_an_address_without_a_project_is_not_found(town):
    told = town.maker().get("/p/nothing/label")
    assert told.status_code == 403
    assert "who is not in this project" in told.text
    assert town.maker().get("/p/birds").url.path == "/p/birds/login"


def test_projects_are_served_again_with_their_people(town, tmp_path):
    ann = town.guest("ann", "birds")
    again = Town(Projects(tmp_path / "root"))
    browser = TestClient(again.app, headers=PAGES, cookies=dict(ann.cookies))
    assert browser.get("/p/birds/label").status_code == 200
    assert sorted(again.projects.open) == ["birds", "skin-lesions"]
    again.projects.stop()


def test_a_project_is_the_same_alone_and_among_others(tmp_path):
    alone = open_studio(tmp_path / "root" / "alone")
    prepare(alone)
    projects = Projects(tmp_path / "root")
    (_, _), (name, link) = projects.first_links("http://testserver")
    assert name == "alone"  # no account owns it yet
    owner = Town(projects).maker()
    owner.post(link.removeprefix("http://testserver"))
    assert owner.get("/p/alone/settings").status_code == 200
    assert len(projects.first_links("http://testserver")) == 1
    with alone.database.read() as connection:
        assert managing.decisions(connection) == {}
    alone.stop()
    projects.stop()


def test_a_project_is_not_a_folder_of_several(tmp_path):
    open_studio(tmp_path / "one").stop()
    with pytest.raises(InputError, match="is itself a project"):
        Projects(tmp_path / "one")


def test_a_folder_that_cannot_be_an_address_is_named(tmp_path):
    open_studio(tmp_path / "root" / "my project").stop()
    with pytest.raises(InputError, match="'my project'"):
        Projects(tmp_path / "root")


def test_a_backup_has_all_projects_and_accounts(town, tmp_path):
    town.guest("ann", "birds")
    with zipfile.ZipFile(back_up(tmp_path / "root", tmp_path / "copy.zip")) as archive:
        archive.extractall(tmp_path / "restored")
    restored = Projects(tmp_path / "restored")
    assert sorted(restored.open) == ["birds", "skin-lesions"]
    browser = Town(restored).browser()
    signed = browser.post("/login", data={"name": "account of ann", "password": PASSWORD, "project": "birds"})
    assert signed.url.path == "/p/birds/label"
    restored.stop()
