"""Every page of an owner, the buttons on it, and what goes out and comes in."""

import html
import io
import json
import re
import subprocess
import sys
import zipfile

import pandas as pd
import pyarrow.parquet as pq
import pytest

import covote
from covote_studio.editing import classes, items
from covote_studio.exchange import importing
from covote_studio.exchange.table_files import safe_text
from covote_studio.people import managing
from covote_studio.storage.schema import adjudication, answer

TRUTH = {f"i{n}": ("cat", "dog", "fox")[n % 3] for n in range(1, 7)}
KNOWN = {"ann": ("cat", "dog"), "bob": ("dog", "fox"), "cyd": ("cat", "fox")}


@pytest.fixture
def voted(rig):
    """A rig in which everybody has answered everything, bob wrongly about i1."""
    for name, known in KNOWN.items():

        def choose(key, name=name, known=known):
            right = "fox" if (name, key) == ("bob", "i1") else TRUTH[key]
            return right if right in known else "none"

        rig.label_all(name, choose)
    return rig


PAGES = ["/progress", "/label", "/review", "/review/1", "/experts", "/board", "/people", "/items", "/export",
         "/settings", "/classes", "/classes/1", "/start", "/me", "/people/2", "/api/project",
         "/api/people", "/api/coverage", "/api/progress", "/api/labels", "/api/openapi.json"]  # fmt: skip


@pytest.mark.parametrize("state", ["rig", "voted"])
def test_every_page_is_there_with_and_without_votes(request, state):
    owner = request.getfixturevalue(state).browser("owner")
    assert {path: owner.get(path).status_code for path in PAGES} == dict.fromkeys(PAGES, 200)


def test_experts_see_only_their_own_pages(rig):
    ann = rig.browser("ann")
    mine = ("/label", "/me", "/api/project", "/api/openapi.json")
    found = {path: ann.get(path).status_code for path in PAGES}
    assert found == {path: 200 if path in mine else 403 for path in PAGES}


@pytest.mark.parametrize("name", ["owner", "ann", "cyd"])
def test_every_link_and_button_that_a_page_shows_is_open_to_who_sees_it(voted, name):
    with voted.studio.database.write() as connection:
        managing.change_person(connection, voted.people["cyd"], active=True, may_tick=False, role="reviewer")
        items.flag_item(connection, 1, voted.people["bob"], "too dark")
    browser, found, left, forms = voted.browser(name), {}, ["/"], set()
    while left:
        path = left.pop()
        answer = browser.get(path, headers={"Accept": "text/html"})
        found[path] = answer.status_code
        addresses = [html.unescape(one) for one in re.findall(r'(?:href|src)="(/[^"#]*)', answer.text)]
        left += [one for one in addresses if one not in found and one not in left]
        forms.update(re.findall(r'method="post" action="([^"]*)"', answer.text))
    assert {path: status for path, status in found.items() if status != 200} == {}
    assert len(found) > {"owner": 40, "ann": 8, "cyd": 20}[name]
    refused = [one for one in sorted(forms - {"/logout"}) if browser.post(one).status_code == 403]
    assert refused == []


def test_nobody_sees_anything_without_signing_in(rig):
    from starlette.testclient import TestClient

    stranger = TestClient(rig.app, headers={"Accept": "application/json"})
    for path in PAGES[:-1]:
        assert stranger.get(path).status_code == 401


def exported(browser, folder):
    """Return the folder with the votes and the panel of a project."""
    with zipfile.ZipFile(io.BytesIO(browser.get("/export/votes.zip").content)) as archive:
        assert sorted(archive.namelist()) == ["panel.toml", "votes.parquet"]
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_the_labels_are_what_the_command_line_makes_of_the_exported_votes(voted, tmp_path, kind):
    owner = voted.browser("owner")
    exported(owner, tmp_path)
    again = tmp_path / f"again.{kind}"
    command = [sys.executable, "-m", "covote", "decode", tmp_path / "votes.parquet", "--panel",
               tmp_path / "panel.toml", "-o", again]  # fmt: skip
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    given = owner.get(f"/export/labels.{kind}").content
    if kind == "csv":
        assert again.read_bytes() == given
    else:  # a workbook says when it was made
        written, sent = (pd.read_excel(one, engine="openpyxl") for one in (again, io.BytesIO(given)))
        assert written.equals(sent)
    panel = covote.Panel.load(tmp_path / "panel.toml")
    votes = covote.Votes.from_table(pq.read_table(tmp_path / "votes.parquet"), panel)
    decoded = covote.decode(votes)
    shown = {one["item"]: one["label"] for one in owner.get("/api/labels").json()}
    assert shown == dict(zip(decoded.items.tolist(), decoded.value.tolist(), strict=True))


def test_a_panel_is_exported_before_anyone_has_answered(rig, tmp_path):
    owner = rig.browser("owner")
    with zipfile.ZipFile(io.BytesIO(owner.get("/export/votes.zip").content)) as archive:
        assert archive.namelist() == ["panel.toml"]
    assert owner.get("/export/labels.csv").status_code == 409
    assert owner.get("/export/everything.csv").text.count("\n") == 7


def test_votes_and_panel_come_back_into_an_empty_project(voted, tmp_path):
    from covote_studio.context import open_studio
    from studio.tests.unit.conftest import Rig

    owner = voted.browser("owner")
    exported(owner, tmp_path)
    files = {
        kind: (name, (tmp_path / name).read_bytes())
        for kind, name in (("panel", "panel.toml"), ("votes", "votes.parquet"))
    }
    other = open_studio(tmp_path / "other")
    importing.add_items(other.database, [(key, "text", key, None) for key in TRUTH])
    fresh = Rig(other)
    newcomer = fresh.browser("owner")
    assert newcomer.post("/import", files=files, follow_redirects=False).status_code == 303
    assert newcomer.get("/export/labels.csv").content == owner.get("/export/labels.csv").content
    assert '"left": 0' in html.unescape(fresh.browser("ann").get("/label").text)
    before = len(fresh.rows(answer))
    newcomer.post("/import", files=files)
    assert len(fresh.rows(answer)) == before
    other.stop()


def test_votes_come_from_an_export_of_another_tool(rig):
    said = {("i1", "ann"): "dog", ("i1", "bob"): "fox", ("i2", "cyd"): "cat"}
    tasks = [
        {
            "id": n,
            "data": {"item": item},
            "annotations": [
                {
                    "id": n,
                    "completed_by": {"id": n, "email": name},
                    "was_cancelled": False,
                    "result": [
                        {"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": [label]}}
                    ],
                }
            ],
        }
        for n, ((item, name), label) in enumerate(said.items())
    ]
    files = {"votes": ("export.json", json.dumps(tasks).encode())}
    owner = rig.browser("owner")
    answer_ = owner.post("/import", files=files, follow_redirects=False)
    assert answer_.status_code == 303, answer_.text
    found = everything(owner)
    assert {(row["item"], one["expert"]): one["answer"] for row in found for one in row["answers"]} == said


def everything(owner):
    return pq.read_table(io.BytesIO(owner.get("/export/everything.parquet").content)).to_pylist()


def test_provenance_says_who_answered_what_seeing_what(voted):
    first = everything(voted.browser("owner"))[0]
    assert first["item"] == "i1"
    assert {one["expert"]: one["answer"] for one in first["answers"]} == {
        "ann": "dog", "bob": "fox", "cyd": "none of mine",
    }  # fmt: skip
    assert first["answers"][0]["shown"] == ["cat", "dog"]


def test_the_review_names_who_must_be_wrong(voted):
    text = voted.browser("owner").get("/review/1").text
    assert "bob" in text
    assert "must be wrong" in text


def test_a_decision_needs_a_reason_and_stays_on_record(voted):
    owner = voted.browser("owner")
    dog = voted.classes["dog"]
    assert owner.post("/review/1", data={"class": dog, "reason": " "}).status_code == 422
    assert owner.post("/review/1", data={"class": dog, "reason": "It barks."}).status_code == 200
    assert owner.post("/review/1", data={"class": 0, "reason": ""}).status_code == 200
    assert [row.class_id for row in voted.rows(adjudication)] == [dog, None]


def test_the_board_finds_what_is_missing_and_whom_to_hire(rig):
    owner = rig.browser("owner")
    assert owner.get("/api/coverage").json()["missing"] == 0
    with rig.studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass("owl")])
    assert owner.get("/api/coverage").json()["missing"] == 3
    told = owner.post("/board/complete", data={"size": 4, "times": 1}).text
    while "Searching" in told:
        told = owner.get(told.split('data-again="')[1].split('"')[0]).text
    assert "Add 1 person" in told
    assert "owl" in told


def test_a_page_does_not_wait_for_results_that_take_long(voted, monkeypatch):
    owner, ann = voted.browser("owner"), voted.browser("ann")
    owner.get("/review")
    monkeypatch.setattr("covote_studio.answers.results.PATIENCE", -1.0)
    monkeypatch.setattr("covote_studio.answers.results.ResultsKeeper._start", lambda _keeper: None)
    again = ann.post("/label/undo").json()["lease"]
    voted.answer(ann, again, "none")
    assert "being counted" in owner.get("/review", headers={"Accept": "text/html"}).text
    voted.studio.results.refresh()
    assert "being counted" not in owner.get("/review", headers={"Accept": "text/html"}).text


def test_an_outage_names_the_pairs_that_nobody_is_left_for(rig):
    owner = rig.browser("owner")
    told = owner.post("/board/outage", data={"away": ["ann"]}).text
    # Without ann, nobody tells a cat from a dog: of three classes two can be told for certain.
    assert "66% of the items can be recovered" in told
    assert "1 pair uncovered" in told
    assert "cat–dog" in told


def test_the_share_link_shows_the_report_and_nothing_else(voted):
    from starlette.testclient import TestClient

    address = voted.browser("owner").post("/share").text.split('value="http://testserver')[1].split('"')[0]
    stranger = TestClient(voted.app)
    assert "18" in stranger.get(address).text
    assert stranger.get("/review", follow_redirects=False).status_code in (303, 401)
    voted.browser("owner").post("/share/close")
    assert stranger.get(address).status_code == 404


def test_cells_that_a_spreadsheet_would_run_are_marked(voted):
    importing.add_items(voted.studio.database, [('=HYPERLINK("http://evil")', "text", "text", None)])
    text = voted.browser("owner").get("/export/everything.csv").text
    assert "'=HYPERLINK" in text
    assert '"=HYPERLINK' not in text
    assert [safe_text(x) for x in ("+1", "-1", "@a", "a", None, 1)] == ["'+1", "'-1", "'@a", "a", None, 1]


def test_a_text_that_was_typed_is_shown_once(rig):
    rig.browser("owner").post("/items", data={"typed": "a wren\n" + "long text " * 20})
    leases = rig.browser("ann").post("/label/next").json()["leases"]
    assert [one["title"] for one in leases] == [*(f"i{n}" for n in range(1, 7)), "Text", "Text"]
    assert {one["key"] for one in leases} >= {"a wren"}
    rig.label_all("ann", lambda _key: "cat")
    shown = rig.browser("ann").get("/me", headers={"Accept": "text/html"}).text
    assert shown.count("a wren") == 1


def test_sixty_classes_are_still_a_table(rig):
    with rig.studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass(f"class {n}") for n in range(57)])
    text = rig.browser("owner").get("/board", headers={"Accept": "text/html"}).text
    assert text.count('<th scope="col">') == 60
    assert "Add one person who knows cat, class 0, class 1 and class 2; " in text


def test_who_exports_labels_learns_that_decisions_are_in_another_file(voted):
    owner = voted.browser("owner")
    assert "decided by a reviewer" not in owner.get("/export", headers={"Accept": "text/html"}).text
    owner.post("/review/1", data={"class": voted.classes["cat"], "reason": "seen"})
    shown = owner.get("/export", headers={"Accept": "text/html"}).text
    assert "1 item was decided by a reviewer" in shown


def test_an_owner_who_labels_nothing_is_led_to_the_ticks(rig):
    shown = rig.browser("owner").get("/label", headers={"Accept": "text/html"}).text
    assert '<a class="button main" href="/me">Tick what you know</a>' in shown
