# ruff: noqa: E501
"""Every change is on record, from pages and programs alike, with who made it and when."""

import ast
import importlib
import inspect
import pkgutil
import re
import time

import pytest

from covote_studio import api, api_project, pages
from covote_studio.storage.schema import event
from studio.tests.unit.test_safety import routes

NOT_CHANGES = {
    "/label", "/label/answer", "/label/next", "/label/undo", "/label/flag", "/api/leases", "/api/answers",
    "/api/undo",  # answers and flags are kept with the items
    "/login", "/logout", "/board/complete", "/board/outage",  # nothing changes
    "/projects", "/accounts", "/accounts/{account_id}", "/accounts/{account_id}/link",
    "/me/account",  # of a server of several projects: test_projects has them
}  # fmt: skip
TABLE = ("people.csv", b"name,knows\nDan,cat\n")
PICTURE = (
    "p.gif",
    b"GIF87a\x01\x00\x01\x00\x80\x01\x00\x00\x00\x00ccc,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
)


def test_pages_and_programs_change_things_through_the_same_functions():
    """Neither writes to the database: what both do is in `editing`, `people`, `answers` and `exchange`."""
    for module in (api, api_project, *all_pages()):
        tree = ast.parse(inspect.getsource(module))
        names = {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                 and node.module == "sqlalchemy" for one in node.names}  # fmt: skip
        assert not names & {"insert", "update", "delete", "text"}, module.__name__


def all_pages():
    found = [one.name for one in pkgutil.iter_modules(pages.__path__)]
    assert len(found) > 8
    return [importlib.import_module(f"covote_studio.pages.{name}") for name in found]


def ids(rig):
    return {"cat": rig.classes["cat"], "dog": rig.classes["dog"], "fox": rig.classes["fox"],
            "ann": rig.people["ann"], "bob": rig.people["bob"]}  # fmt: skip


CHANGES = {
    ("POST", "/start"): lambda r: ("/start", {"data": {"name": "new name", "classes": "owl"}}),
    ("POST", "/people/list"): lambda r: ("/people/list", {"data": {"confirm": "yes"}, "files": {"file": TABLE}}),
    ("POST", "/invitations"): lambda r: ("/invitations", {}),
    ("POST", "/enter/{secret}"): None,
    ("POST", "/items/import/{token}"): None,
    ("POST", "/me/knows"): lambda r: ("/me/knows", {"data": {"class": [r["cat"]]}}),
    ("POST", "/me/password"): lambda r: (
        "/me/password", {"data": {"password": "a long password", "again": "a long password"}}),
    ("POST", "/people"): lambda r: ("/people", {"data": {"name": "eve", "class": [r["cat"]]}}),
    ("POST", "/people/{person_id}"): lambda r: (
        f"/people/{r['ann']}", {"data": {"active": "on", "role": "reviewer", "class": [r["cat"], r["dog"]]}}),
    ("POST", "/people/{person_id}/link"): lambda r: (f"/people/{r['ann']}/link", {}),
    ("POST", "/people/{person_id}/token"): lambda r: (f"/people/{r['ann']}/token", {}),
    ("POST", "/people/{person_id}/close"): lambda r: (f"/people/{r['bob']}/close", {}),
    ("POST", "/items/{item_id}/change"): lambda r: ("/items/1/change", {"data": {"content": "other"}}),
    ("POST", "/items/{item_id}/gold"): lambda r: ("/items/1/gold", {"data": {"gold": r["cat"]}}),
    ("POST", "/items/gold"): lambda r: ("/items/gold", {"data": {"item": [2], "gold": r["cat"]}}),
    ("POST", "/items/{item_id}/retire"): lambda r: ("/items/1/retire", {}),
    ("POST", "/items/{item_id}/back"): lambda r: ("/items/1/back", {}),
    ("POST", "/items/{item_id}/flags"): lambda r: ("/items/2/flags", {}),
    ("POST", "/items"): lambda r: ("/items", {"data": {"typed": "one more"}}),
    ("POST", "/settings"): lambda r: ("/settings", {"data": {"name": "n", "instructions": "i", "ask": "elimination"}}),
    ("POST", "/classes"): lambda r: ("/classes", {"data": {"classes": "hen"}}),
    ("POST", "/classes/change"): lambda r: ("/classes/change", {"data": {"class": r["cat"], "name": "tom", "description": ""}}),
    ("POST", "/classes/move"): lambda r: ("/classes/move", {"data": {"class": r["cat"], "to": "down"}}),
    ("POST", "/classes/picture"): lambda r: (
        "/classes/picture", {"data": {"class": r["cat"]}, "files": {"picture": PICTURE}}),
    ("POST", "/classes/example"): lambda r: ("/classes/example", {"data": {"class": r["cat"], "text": "purrs"}}),
    ("POST", "/classes/example/remove"): lambda r: ("/classes/example/remove", {"data": {"class": r["cat"], "example": 1}}),
    ("POST", "/classes/merge"): lambda r: ("/classes/merge", {"data": {"class": r["fox"], "into": r["dog"]}}),
    ("POST", "/classes/unmerge"): lambda r: ("/classes/unmerge", {"data": {"class": r["fox"]}}),
    ("POST", "/classes/retire"): lambda r: ("/classes/retire", {"data": {"class": r["fox"]}}),
    ("POST", "/classes/back"): lambda r: ("/classes/back", {"data": {"class": r["fox"]}}),
    ("POST", "/import"): lambda r: ("/import", {"files": {"panel": ("p.csv", b"expert,dog\nhal,x\n")}}),
    ("POST", "/review/{item_id}"): lambda r: ("/review/2", {"data": {"class": r["dog"], "reason": "barks"}}),
    ("POST", "/share"): lambda r: ("/share", {}),
    ("POST", "/share/close"): lambda r: ("/share/close", {}),
    ("POST", "/api/people"): lambda r: ("/api/people", {"json": {"name": "ida", "knows": ["dog"]}}),
    ("PATCH", "/api/people/{person_id}"): lambda r: (f"/api/people/{r['bob']}", {"json": {"may_tick": True, "knows": ["dog"]}}),
    ("POST", "/api/items"): lambda r: ("/api/items", {"json": [{"id": "api-1", "text": "x"}]}),
    ("POST", "/api/classes"): lambda r: ("/api/classes", {"json": [{"name": "ibis"}]}),
    ("PATCH", "/api/classes/{class_id}"): lambda r: (f"/api/classes/{r['dog']}", {"json": {"description": "barks"}}),
    ("PATCH", "/api/items/{item_id}"): lambda r: ("/api/items/3", {"json": {"gold": "dog"}}),
    ("PUT", "/api/settings"): lambda r: ("/api/settings", {"json": {"trial": 2}}),
    ("PUT", "/api/decisions/{item_id}"): lambda r: ("/api/decisions/3", {"json": {"name": "dog", "reason": "tail"}}),
    ("PUT", "/api/hook"): lambda r: ("/api/hook", {"json": {"url": "https://93.184.216.34/x"}}),
    ("DELETE", "/api/hook"): lambda r: ("/api/hook", {}),
}  # fmt: skip
"""Every route that changes something: a request that does so, in an order in which all work; None where the
test below does it in another way."""


def test_every_route_that_writes_is_here():
    there = {(method, path) for method, path in routes() if method != "GET"}
    assert {one for one in there if one[1] not in NOT_CHANGES} == set(CHANGES)


def test_every_change_is_on_record_with_who_and_when(rig):
    owner, began = rig.browser("owner"), time.time()
    ann = rig.browser("ann")
    lease = next(one for one in ann.post("/label/next").json()["leases"] if one["item_id"] == 2)
    ann.post("/label/flag", json={"item": lease["item_id"], "comment": "blurred"})
    numbers, me = ids(rig), rig.people["owner"]
    for route, request in CHANGES.items():
        if request is None:
            continue
        before = len(rig.rows(event))
        path, sent = request(numbers)
        done = owner.request(route[0], path, **sent)
        assert done.status_code == 200, (route, done.text)
        new = rig.rows(event)[before:]
        assert new, f"{route} is not on record"
        assert {row.by for row in new} == {me}, route
        assert all(began <= row.at <= time.time() + 1 and row.text for row in new)


def test_a_table_and_an_invitation_are_on_record(rig):
    owner = rig.browser("owner")
    begun = owner.post("/items", files={"files": ("t.csv", b"id,text\n1,a\n")})
    owner.post(begun.url.path, data={"content": "text", "kind": "text", "id": "id"})
    assert rig.rows(event)[-1].text == "Added 1 item."
    rig.browser("cyd")
    assert rig.rows(event)[-1].text == "cyd opened the invitation."


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"class": [1], "active": "on"}, "ann does not know dog."),
        ({"class": [1, 2]}, "ann is away."),
        ({"class": [1, 2], "active": "on", "may_tick": "on"}, "ann may change their own classes."),
        ({"class": [1, 2], "active": "on", "role": "owner"}, "ann is now an owner."),
    ],
)
def test_the_record_says_what_changed(rig, sent, told):
    rig.browser("owner").post(f"/people/{rig.people['ann']}", data={"role": "expert", **sent})
    page = rig.browser("owner").get("/record", headers={"Accept": "text/html"}).text
    assert told in re.sub(r"\s+", " ", page)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"name": "pets"}, "Renamed the project project to pets."),
        ({"instructions": "look"}, "Changed the instructions."),
        ({"ask": "elimination"}, "Changed who is asked from “everyone” to “as few as needed”."),
        ({"trial": 2, "feedback": True}, "Qualification round: 2 gold items per class, before the other items; "
         "people see the right class."),
    ],
)  # fmt: skip
def test_every_setting_is_on_record(rig, sent, told):
    assert rig.program("owner").put("/api/settings", json=sent).status_code == 200
    assert rig.rows(event)[-1].text == told


def test_words_find_what_is_on_record_and_who_did_it(rig):
    owner = rig.browser("owner")
    owner.post("/classes", data={"classes": "Owl"})
    owner.post("/items/1/gold", data={"gold": rig.classes["cat"]})

    def found(words):
        shown = owner.get("/record", params={"words": words}, headers={"Accept": "text/html"}).text
        return [one in shown for one in ("Added the class Owl", "i1 is gold: cat")]

    assert [found(words) for words in ("owl", "I1 is", "OWNER", "100%_")] == [
        [True, False], [False, True], [True, True], [False, False],
    ]  # fmt: skip
