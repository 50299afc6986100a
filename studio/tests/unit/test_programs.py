"""Programs: everything that pages do, and a webhook that is signed and sent until it is taken."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from covote_studio.storage.schema import delivery
from studio.tests.unit.conftest import KNOWN


@pytest.fixture
def program(rig):
    return rig.program("owner")


def test_a_program_changes_classes_as_pages_do(rig, program):
    rig.label_all("ann", lambda _key: "cat")
    cat, dog = rig.classes["cat"], rig.classes["dog"]
    assert program.patch(f"/api/classes/{cat}", json={"name": "kitten"}).json()["name"] == "kitten"
    assert program.post("/api/classes", json=[{"name": "owl"}]).json() == {"done": "1 added."}
    merged = program.patch(f"/api/classes/{cat}", json={"merged_into": "dog"}).json()
    assert merged == {"id": cat, "name": "kitten", "description": "", "retired": True, "merged_into": "dog"}
    assert {one["label"] for one in program.get("/api/labels").json()} == {"dog"}
    apart = program.patch(f"/api/classes/{cat}", json={"merged_into": "", "description": "small"}).json()
    assert (apart["merged_into"], apart["description"]) == (None, "small")
    assert program.patch(f"/api/classes/{dog}", json={"retired": True}).json()["retired"]
    assert not program.patch(f"/api/classes/{dog}", json={"retired": False}).json()["retired"]
    owl = next(one["id"] for one in program.get("/api/classes").json() if one["name"] == "owl")
    assert program.patch(f"/api/classes/{owl}", json={"retired": True}).json() is None  # nothing named it
    assert program.patch(f"/api/classes/{owl}", json={"retired": True}).status_code == 404


def test_a_program_changes_items_gold_people_and_settings(rig, program):
    changed = program.patch("/api/items/1", json={"content": "new", "gold": "dog", "retired": True}).json()
    assert changed == {
        "id": 1,
        "item": "i1",
        "kind": "text",
        "content": "new",
        "gold": "dog",
        "retired": True,
    }
    assert program.patch("/api/items/1", json={"gold": "", "retired": False}).json()["gold"] is None
    assert len(program.get("/api/items?start=1&count=3").json()) == 3
    ann = rig.people["ann"]
    assert program.patch(f"/api/people/{ann}", json={"role": "reviewer", "knows": ["fox"]}).status_code == 200
    assert next(one["knows"] for one in program.get("/api/people").json() if one["name"] == "ann") == ["fox"]
    assert (
        next(one for one in program.get("/api/people").json() if one["name"] == "ann")["role"] == "reviewer"
    )
    assert program.put("/api/settings", json={"ask": "posterior", "trial": 3}).json()["trial"] == 3
    assert program.get("/api/settings").json()["ask"] == "posterior"
    assert program.put("/api/settings", json={"ask": "tea leaves"}).status_code == 422


def test_a_program_reads_answers_decides_and_takes_files(rig, program):
    rig.label_all("ann", lambda _key: "cat")
    said = program.get("/api/answers?after=2&count=2").json()
    assert [(one["id"], one["answer"], one["shown"]) for one in said] == [
        (3, "cat", ["cat", "dog"]), (4, "cat", ["cat", "dog"])
    ]  # fmt: skip
    assert program.put("/api/decisions/1", json={"name": "fox", "reason": "the tail"}).status_code == 200
    assert [one["name"] for one in program.get("/api/decisions").json()] == ["fox"]
    assert program.get("/api/exports/labels.csv").text.startswith("item,label,")
    assert program.get("/api/exports/votes.csv").status_code == 404
    assert any("Added" in one["text"] for one in program.get("/api/record").json())
    assert program.get("/api/flags").json() == []


def test_experts_cannot_and_reviewers_can_only_decide(rig, program):
    rig.label_all("ann", lambda _key: "cat")
    expert = rig.program("ann")
    assert expert.get("/api/classes").status_code == 403
    program.patch(f"/api/people/{rig.people['ann']}", json={"role": "reviewer"})
    assert expert.put("/api/decisions/1", json={"name": "cat", "reason": "it purrs"}).status_code == 200
    assert expert.patch(f"/api/people/{rig.people['bob']}", json={"role": "owner"}).status_code == 403
    assert expert.get("/people").status_code == 403


def test_every_operation_is_described(program):
    paths = program.get("/api/openapi.json").json()["paths"]
    assert len(paths) > 15
    for path, methods in paths.items():
        assert all(one.get("description") for one in methods.values()), path


class Listener(HTTPServer):
    """A program that listens; `failures` says whether it refuses a message."""

    def __init__(self, failures):
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures, self.heard = failures, []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fails = self.server.failures(body)
        if not fails:
            self.server.heard.append((dict(self.headers), body))
        self.send_response(503 if fails else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def listening(rig, program, monkeypatch):
    """Let a program be told, and return it with the secret of its messages."""
    rig.studio.private_webhooks = True
    monkeypatch.setattr("covote_studio.editing.hooks.FIRST_WAIT", 0.0)
    listener = Listener(failures=lambda _body: False)
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
    thread.start()
    url = f"http://127.0.0.1:{listener.server_port}/heard"
    yield listener, program.put("/api/hook", json={"url": url}).json()["secret"]
    listener.shutdown()
    thread.join()
    listener.server_close()


def agree(rig):
    """Let everyone say that all items are cats."""
    for name, known in KNOWN.items():
        rig.label_all(name, lambda _key, known=known: "cat" if "cat" in known else "none")


def test_settled_items_are_told_signed_and_again_until_they_are_taken(rig, program, listening):
    listener, secret = listening
    left = [2]
    listener.failures = lambda _body: left.append(left.pop() - 1) or left[0] >= 0
    agree(rig)
    for _ in range(5):
        rig.studio.send_webhooks()
    told = [json.loads(body) for _, body in listener.heard]
    assert [one["type"] for one in told].count("item.settled") == 6
    assert {one["data"]["item"]: one["data"]["label"] for one in told if one["type"] == "item.settled"} == {
        f"i{n}": "cat" for n in range(1, 7)
    }
    assert [one["data"] for one in told if one["type"] == "project.settled"] == [{"items": 6}]
    for headers, body in listener.heard:  # as standardwebhooks.com says
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"
        assert abs(int(headers["webhook-timestamp"]) - time.time()) < 600
    assert len({headers["webhook-id"] for headers, _ in listener.heard}) == 7
    assert sorted(row.tries for row in rig.rows(delivery)) == [1, 1, 1, 1, 1, 2, 2]
    state = program.get("/api/hook").json()
    assert (state["waiting"], state["given_up"], state["last_outcome"]) == (0, 0, "204")


def test_one_message_that_fails_does_not_hold_the_others_back(rig, program, listening):
    listener, _ = listening
    listener.failures = lambda body: b'"i1"' in body
    agree(rig)
    rig.studio.send_webhooks()
    assert len(listener.heard) == 6
    state = program.get("/api/hook").json()
    assert state["waiting"] == 1
    assert "1 waiting" in rig.browser("owner").get("/export", headers={"Accept": "text/html"}).text


PRIVATE = ("http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]/x", "http://0.0.0.0/x", "http://2130706433/x",
           "http://10.0.0.1/x", "http://192.168.1.1/x", "http://169.254.169.254/latest", "http://[fe80::1]/x",
           "http://[::ffff:127.0.0.1]/x", "http://[64:ff9b::7f00:1]/x", "http://224.0.0.1/x")  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE)
def test_webhooks_into_the_servers_own_networks_are_refused(program, url):
    told = program.put("/api/hook", json={"url": url})
    assert told.status_code == 422
    assert program.get("/api/hook").json() is None


def test_a_name_that_leads_into_the_own_network_later_is_not_reached(rig, program, listening):
    listener, _ = listening  # set while it was allowed, as a name that was public then
    rig.studio.private_webhooks = False
    agree(rig)
    rig.studio.send_webhooks()
    assert listener.heard == []
    assert "--private-webhooks" in program.get("/api/hook").json()["last_outcome"]


def test_a_hook_is_an_address_and_can_be_removed(program):
    assert program.put("/api/hook", json={"url": "file:///etc/passwd"}).status_code == 422
    assert program.put("/api/hook", json={"url": "https://93.184.216.34/heard"}).status_code == 200
    assert program.delete("/api/hook").status_code == 200
    assert program.get("/api/hook").json() is None


@pytest.mark.parametrize(
    "url", ["http://example.org:99999/", "http://[::1", f"https://{'a' * 70}.org/", "x" * 300]
)
def test_an_address_that_is_none_is_told_in_a_sentence(program, url):
    told = program.put("/api/hook", json={"url": url})
    assert (told.status_code, "is not an address" in told.json()["detail"]) == (422, True)


def test_nobody_waits_while_a_host_is_looked_up(rig, program, monkeypatch):
    def look_up(*_about, **_more):
        assert rig.others_can_write()
        return [(None, None, None, None, ("93.184.216.34", 443))]

    monkeypatch.setattr("covote_studio.editing.hooks.socket.getaddrinfo", look_up)
    assert program.put("/api/hook", json={"url": "https://slow.example/heard"}).status_code == 200


def test_a_decision_that_there_is_not_cannot_be_withdrawn(rig, program):
    told = program.put("/api/decisions/1", json={})
    assert (told.status_code, told.json()["detail"]) == (409, "No one has decided this item.")
    assert program.put("/api/decisions/1", json={"name": "cat", "reason": "seen"}).status_code == 200
    assert program.put("/api/decisions/1", json={}).status_code == 200
    assert program.get("/api/decisions").json() == []
    withdrawn = [one for one in program.get("/api/record").json() if "Withdrew" in one["text"]]
    assert len(withdrawn) == 1
