"""A page that says what did not work also says what to do, whatever went wrong."""

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from covote_studio.guards import HEADERS
from studio.tests.unit.conftest import SAME_ORIGIN

PAGE = {"Accept": "text/html"}


def test_a_link_that_has_expired_says_whom_to_ask(rig):
    stranger = TestClient(rig.app, headers=PAGE)
    for path, told in (("/enter/old", "Your answers are kept"), ("/shared/old", "person who sent it")):
        answer = stranger.get(path)
        assert answer.status_code == 404
        assert "This link no longer works" in answer.text
        assert told in answer.text


@pytest.mark.parametrize(("path", "told"), [("/nothing", "cut off"), ("/settings", "open to you is still")])
def test_a_page_that_is_not_there_or_not_open_leads_back_to_the_items(rig, path, told):
    answer = rig.browser("ann").get(path, headers=PAGE)
    assert told in answer.text
    assert "Go to your items" in answer.text


def test_a_write_from_another_site_is_answered_with_a_page(rig):
    answer = rig.browser("ann").post("/me/knows", headers={**PAGE, "Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert "came from another site, so nothing was changed" in answer.text
    assert "repeat the last step" in answer.text
    told = rig.browser("ann").post("/label/next", headers={"Sec-Fetch-Site": "cross-site"})
    assert told.json() == {"detail": "This request came from another site, so nothing was changed."}


def test_a_fault_of_the_studio_is_a_page_with_the_headers_of_every_page(rig):
    rig.app.add_api_route("/fault", lambda: 1 // 0)
    visitor = TestClient(rig.app, headers={**SAME_ORIGIN, **PAGE}, raise_server_exceptions=False)
    answer = visitor.get("/fault")
    assert answer.status_code == 500
    assert "a fault of the studio, not yours" in answer.text
    assert "ZeroDivisionError" not in answer.text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_without_its_database_a_page_still_says_what_to_do(rig):
    ann = rig.browser("ann")
    with rig.studio.database.write() as connection:
        connection.execute(text("ALTER TABLE project RENAME TO gone"))
    answer = ann.get("/label", headers=PAGE)
    assert answer.status_code == 503
    assert "Wait a moment, then try again." in answer.text
