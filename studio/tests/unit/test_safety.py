"""Each defence has a test that fails without it."""

import asyncio
import importlib
import pkgutil
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from covote.errors import CovoteError, InputError
from covote_studio import api, api_project, pages
from covote_studio.app import create_app, free_port
from covote_studio.context import owner_link
from covote_studio.exchange import importing, uploads
from covote_studio.guards import from_here, host_names
from covote_studio.people import credentials
from covote_studio.people.passwords import Passwords
from covote_studio.rules import Refusal
from covote_studio.storage import media
from covote_studio.storage.database import back_up
from covote_studio.storage.schema import class_, item, link, person
from studio.tests.browser.gallery import cell
from studio.tests.unit.conftest import SAME_ORIGIN


def test_writes_from_other_sites_are_refused(rig):
    ann = rig.browser("ann")
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ):
        assert ann.post("/label/next", headers=headers).status_code == 403
    assert not from_here({"host": "here", "origin": "http://evil"})
    assert not from_here({"host": "here", "origin": "null"})
    assert not from_here({"host": "here", "origin": "http://["})
    assert not from_here({"host": "here"})
    assert from_here({"host": "here:8000", "origin": "http://here:8000"})


def routes():
    """Return (method, path) of everything that is served."""
    modules = [
        importlib.import_module(f"covote_studio.pages.{one.name}")
        for one in pkgutil.iter_modules(pages.__path__)
    ]
    for module in [*modules, api, api_project]:
        for route in getattr(getattr(module, "router", None), "routes", ()):
            yield from ((method, route.path) for method in route.methods - {"HEAD", "OPTIONS"})
    yield "POST", "/label/answer"


def writes():
    """Return (method, path) of everything that changes something."""
    return [(method, re.sub(r"{[^}]*}", "1", path)) for method, path in routes() if method != "GET"]


def test_every_write_checks_where_it_comes_from(rig):
    owner, found = rig.browser("owner"), writes()
    assert len(found) > 25
    for method, path in found:
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "", "Origin": "http://evil"}):
            assert owner.request(method, path, headers=headers).status_code == 403, path


def test_nothing_is_loaded_from_other_sites(rig):
    owner = rig.browser("owner")
    for path in ("/label", "/board", "/progress", "/settings", "/people", "/items"):
        text = owner.get(path, headers={"Accept": "text/html"}).text
        assert not re.search(r"(src|href|action)=.(https?:)?//", text), path
    policy = owner.get("/login").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy


def test_only_this_machine_is_served_unless_told():
    from inspect import signature

    from covote.cli.studio import studio

    assert signature(studio).parameters["host"].default == "127.0.0.1"


def test_guessed_numbers_and_links_lead_nowhere(rig):
    ann, bob = rig.browser("ann"), rig.browser("bob")
    lease = bob.post("/label/next").json()["leases"][0]
    rig.answer(bob, lease, "dog")
    shown = ann.get(f"/label?again={lease['item_id']}", headers={"Accept": "text/html"}).text
    assert "Change your answer" not in shown
    assert '"chosen": 2' not in shown
    stranger = TestClient(rig.app, headers={"Accept": "application/json"})
    owner_only = ("/review/1", "/people/2", "/export/votes.zip", "/api/labels")
    assert [ann.get(path).status_code for path in owner_only] == [403] * len(owner_only)
    assert [stranger.get(path).status_code for path in owner_only] == [401] * len(owner_only)
    assert stranger.get("/shared/guess").status_code == 404
    assert rig.browser("owner").get("/review/999999").status_code == 404


def test_a_cookie_does_not_become_a_token_by_adding_a_header(rig):
    ann = rig.browser("ann")
    forged = {"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer x"}
    assert ann.post("/label/next", headers=forged).status_code == 401


def test_scripts_are_only_our_own_files(rig):
    owner = rig.browser("owner")
    for path in ("/label", "/board", "/progress", "/login"):
        answered = owner.get(path, headers={"Accept": "text/html"})
        policy = answered.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=\"|javascript:", answered.text)


def test_what_people_type_is_never_markup(rig):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    rig.label_all("bob", lambda _key: "dog")
    rig.browser("owner").post("/review/1", data={"class": rig.classes["dog"], "reason": evil})
    with rig.studio.database.write() as connection:
        connection.execute(update(class_).where(class_.c.name == "cat").values(description=evil))
        connection.execute(update(class_).where(class_.c.name == "dog").values(name=evil))
        connection.execute(update(person).where(person.c.name == "bob").values(name=evil))
        connection.execute(update(item).values(content=evil, key=item.c.key + evil))
    rig.browser("owner").post("/settings", data={"name": evil, "instructions": evil, "ask": "everybody"})
    pages = {
        "ann": ["/label", "/me"],
        "owner": [
            "/people",
            "/items",
            "/review",
            "/review/1",
            "/settings",
            "/board",
            "/progress",
            "/people/3",
            "/experts",
        ],
    }
    for name, paths in pages.items():
        browser = rig.browser(name)
        for path in paths:
            text = browser.get(path).text
            assert "<script>alert" not in text, path
            assert "<img src=x" not in text, path


def test_links_are_kept_as_hashes_and_expire_and_can_be_revoked(rig):
    with rig.studio.database.write() as connection:
        secret = credentials.new_secret(connection, "enter", rig.people["ann"])
        stored = {row.digest for row in connection.execute(select(link.c.digest))}
        assert secret not in stored
        assert credentials.find_session(connection, credentials.Credentials("enter", secret)) is not None
        assert credentials.find_session(connection, credentials.Credentials("api", secret)) is None
        connection.execute(update(link).values(expires=time.time() - 1))
        assert credentials.find_session(connection, credentials.Credentials("enter", secret)) is None
        fresh = credentials.new_secret(connection, "enter", rig.people["ann"])
        credentials.revoke(connection, person_id=rig.people["ann"])
        assert credentials.find_session(connection, credentials.Credentials("enter", fresh)) is None


def test_opening_a_link_does_not_sign_in_but_its_button_does(rig):
    with rig.studio.database.write() as connection:
        secret = credentials.new_secret(connection, "enter", rig.people["ann"])
    preview = TestClient(rig.app)
    shown = preview.get(f"/enter/{secret}")
    assert "Continue as ann" in shown.text
    assert not preview.cookies
    assert preview.get("/enter/guess").status_code == 404


def test_signing_in_makes_a_new_session_whatever_the_browser_brings(rig):
    planted = TestClient(rig.app, headers={"Sec-Fetch-Site": "same-origin"})
    name = next(iter(rig.browser("ann").cookies))
    planted.cookies.set(name, "planted-by-somebody-else")
    with rig.studio.database.write() as connection:
        secret = credentials.new_secret(connection, "enter", rig.people["ann"])
    given = planted.post(f"/enter/{secret}", follow_redirects=False).headers["set-cookie"]
    assert "planted" not in given
    assert "HttpOnly" in given
    assert "samesite=lax" in given.lower()
    thief = TestClient(
        rig.app, headers={"Accept": "application/json"}, cookies={name: "planted-by-somebody-else"}
    )
    assert thief.get("/me").status_code == 401


def test_a_session_and_a_token_expire(rig):
    ann, program = rig.browser("ann"), rig.program("ann")
    assert ann.get("/me").status_code == 200
    assert program.get("/api/project").status_code == 200
    with rig.studio.database.write() as connection:
        connection.execute(update(link).values(expires=time.time() - 1))
    assert ann.get("/me").status_code == 401
    assert program.get("/api/project").status_code == 401
    assert ann.post("/label/answer", json={}).status_code in (401, 422)


def test_signing_out_ends_the_session_on_the_server(rig):
    ann = rig.browser("ann")
    name, value = next(iter(ann.cookies.items()))
    ann.post("/logout")
    thief = TestClient(rig.app, headers={"Accept": "application/json"}, cookies={name: value})
    assert thief.get("/me").status_code == 401


def test_a_password_is_kept_as_argon2_and_cannot_be_guessed_for_long(rig):
    ann = rig.browser("ann")
    assert ann.post("/me/password", data={"password": "short", "again": "short"}).status_code == 422
    right = "correct horse battery"
    assert ann.post("/me/password", data={"password": right, "again": right}).status_code == 200
    stored = next(row.password for row in rig.rows(person) if row.name == "ann")
    assert stored.startswith("$argon2id$")
    good = {"name": "ann", "password": right}
    here, stranger = door_from(rig, "192.0.2.1"), door_from(rig, "192.0.2.66")
    assert here.post("/login", data=good, follow_redirects=False).status_code == 303
    bad = [stranger.post("/login", data={"name": "ann", "password": "wrong"}).status_code for _ in range(11)]
    assert bad == [401] * 10 + [429]
    assert stranger.post("/login", data=good).status_code == 429
    assert here.post("/login", data=good, follow_redirects=False).status_code == 303  # ann is not locked out


def door_from(rig, address):
    """Return a browser at an address of the internet, with nobody signed in."""
    return TestClient(rig.app, headers={"Sec-Fetch-Site": "same-origin"}, client=(address, 50_000))


def test_strangers_from_everywhere_do_not_lock_out_who_was_here_before(rig, monkeypatch):
    monkeypatch.setattr("covote_studio.people.passwords.ALL_TRIES", 12)
    right = "correct horse battery"
    rig.browser("ann").post("/me/password", data={"password": right, "again": right})
    here = door_from(rig, "192.0.2.1")
    assert here.post("/login", data={"name": "ann", "password": right}, follow_redirects=False).is_redirect
    wrong = {"name": "bob", "password": "wrong"}
    told = [door_from(rig, f"198.51.100.{n}").post("/login", data=wrong).status_code for n in range(14)]
    assert told == [401] * 12 + [429] * 2
    rig.studio.passwords = Passwords()  # as after a restart
    for n in range(12):
        door_from(rig, f"198.51.100.{n}").post("/login", data=wrong)
    elsewhere = door_from(rig, "203.0.113.7")  # the same browser on another network
    elsewhere.cookies.update(dict(here.cookies))
    signed_in = elsewhere.post("/login", data={"name": "ann", "password": right}, follow_redirects=False)
    assert signed_in.is_redirect
    assert elsewhere.post("/login", data=wrong).status_code == 429  # it is not the browser of bob


def test_a_browser_that_is_known_has_ten_tries_as_well(rig):
    right = "correct horse battery"
    rig.browser("ann").post("/me/password", data={"password": right, "again": right})
    here = door_from(rig, "192.0.2.1")
    here.post("/login", data={"name": "ann", "password": right})
    told = [here.post("/login", data={"name": "ann", "password": "x"}).status_code for _ in range(12)]
    assert told == [401] * 10 + [429] * 2


HOSTS = {"evil.example": 421, "label.example.org": 200, "10.0.0.7:8000": 200, "[::1]:8000": 200, "": 200}


@pytest.mark.parametrize("host", HOSTS)
def test_links_begin_only_with_names_of_this_server(rig, host):
    names = host_names("0.0.0.0", "https://label.example.org")
    owner = rig.browser("owner")
    owner.app = create_app(rig.studio, names)
    browser = TestClient(owner.app, headers=SAME_ORIGIN, cookies=dict(owner.cookies))
    told = browser.post(f"/people/{rig.people['ann']}/link", headers={"Host": host})
    assert told.status_code == HOSTS[host]
    assert "evil.example/enter" not in told.text
    if told.status_code != 200:
        assert "--public-url" in told.text


def test_two_passwords_are_hashed_at_a_time_and_who_would_wait_long_is_told(rig, monkeypatch):
    passwords, inside, most = rig.studio.passwords, [], []
    monkeypatch.setattr("covote_studio.people.passwords.TRIES", 1000)
    gate = threading.Event()

    def slow():
        inside.append(1)
        most.append(len(inside))
        gate.wait(20)
        inside.pop()

    def sent():
        try:
            passwords._in_turn(slow)
        except Refusal as refused:
            return refused.status

    with ThreadPoolExecutor(40) as pool:
        told = [pool.submit(sent) for _ in range(40)]
        deadline = time.monotonic() + 20
        while sum(one.done() for one in told) < 18 and time.monotonic() < deadline:
            time.sleep(0.01)
        gate.set()
    assert sorted(one.result() or 200 for one in told) == [200] * 22 + [429] * 18
    assert max(most) == 2


def test_who_comes_when_many_sign_in_takes_no_thread_and_no_connection(rig, monkeypatch):
    client = TestClient(rig.app, headers={"Sec-Fetch-Site": "same-origin"})
    rig.studio.passwords.signing_in = 22
    monkeypatch.setattr(rig.studio.database, "read", None)
    told = client.post("/login", data={"name": "ann", "password": "wrong"})
    assert (told.status_code, told.headers["retry-after"]) == (429, "5")
    assert rig.studio.passwords.signing_in == 22
    monkeypatch.undo()
    rig.studio.passwords.signing_in = 0
    assert client.post("/login", data={"name": "ann", "password": "wrong"}).status_code == 401
    assert rig.studio.passwords.signing_in == 0


def test_unknown_names_and_wrong_passwords_take_the_same_work(rig, monkeypatch):
    right = "correct horse battery"
    rig.browser("ann").post("/me/password", data={"password": right, "again": right})
    passwords, seen = rig.studio.passwords, []
    _ = passwords._nobody
    real = passwords._hasher.verify
    spied = type("Spied", (), {"verify": lambda _self, hashed, password: seen.append(hashed) or
                               real(hashed, password)})()  # fmt: skip
    monkeypatch.setitem(passwords.__dict__, "_hasher", spied)
    for name in ("ann", "bob", "nobody"):  # with a password, without one, unknown
        door_from(rig, "192.0.2.9").post("/login", data={"name": name, "password": "wrong"})
    terms = [hashed.rsplit("$", 2)[0] for hashed in seen]
    assert terms == ["$argon2id$v=19$m=19456,t=2,p=1"] * 3


def test_a_password_is_changed_with_the_old_one_and_ends_other_sessions(rig):
    ann, other = rig.browser("ann"), rig.browser("ann")
    first, second = "correct horse battery", "another horse battery"
    assert ann.post("/me/password", data={"password": first, "again": first}).status_code == 200
    assert other.get("/me").status_code == 401
    assert ann.post("/me/password", data={"password": second, "again": second}).status_code == 403
    changed = {"old": first, "password": second, "again": second}
    assert ann.post("/me/password", data=changed).status_code == 200
    assert ann.get("/me").status_code == 200


def test_the_link_of_the_start_works_once(rig):
    link = owner_link(rig.studio, "http://testserver").removeprefix("http://testserver")
    door = door_from(rig, "192.0.2.1")
    assert "Continue as owner" in door.get(link).text
    assert door.get(link).status_code == 200  # looking does not use it up
    assert door.post(link, follow_redirects=False).status_code == 303
    assert door_from(rig, "192.0.2.2").post(link).status_code == 404


def test_links_begin_with_the_public_address_whatever_the_host_header_says(rig):
    rig.studio.public_url = "https://label.example.org"
    owner = rig.browser("owner", base_url="https://testserver")
    for path in (f"/people/{rig.people['ann']}/link", "/share"):
        told = owner.post(path, headers={"Host": "203.0.113.9"}).text
        assert 'value="https://label.example.org/' in told
        assert "203.0.113.9" not in told


def test_a_trusted_proxy_signs_people_in_and_nobody_else(rig):
    rig.studio.sign_in_header = "X-Remote-User"
    headers = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html", "X-Remote-User": "ann"}
    ann = TestClient(rig.app, headers=headers)
    assert "content&#34;: &#34;text " in ann.get("/label").text
    assert ann.get("/me").status_code == 200
    assert TestClient(rig.app, headers={**headers, "X-Remote-User": "eve"}).get("/label").status_code == 403
    stolen = {**headers, "X-Remote-User": "bob", "Accept": "application/json"}
    thief = TestClient(rig.app, headers=stolen, cookies=dict(ann.cookies))
    assert thief.get("/me").status_code == 401
    sent = {"item": 1, "token": "x", "key": "some-new-key", "choice": -2, "shown": 1}
    assert thief.post("/label/answer", json=sent).status_code == 401


def test_only_the_one_who_runs_the_studio_can_read_its_files(rig, tmp_path):
    place = back_up(rig.studio.folder, tmp_path / "copy.zip")
    rights = {one.name: oct(one.stat().st_mode & 0o777) for one in (rig.studio.folder, place)}
    assert rights == {"project": "0o700", "copy.zip": "0o600"}
    for one in rig.studio.folder.glob("studio.db*"):
        assert oct(one.stat().st_mode & 0o777) == "0o600", one


def test_no_message_shows_the_password_of_the_database():
    from covote_studio.storage.database import Database

    for url in (
        "mysql://ann:geheim@host/db",
        "postgresql://ann:geheim@127.0.0.1:1/db",
        "postgres://a:geheim@[",
    ):
        with pytest.raises(CovoteError) as told:
            Database(url).make_tables()
        assert "geheim" not in str(told.value)


def test_a_backup_of_a_project_on_postgresql_names_pg_dump(tmp_path):
    with pytest.raises(CovoteError, match="pg_dump"):
        back_up(tmp_path)


def test_a_damaged_picture_is_refused_with_its_name(rig):
    whole = cell(3, np.random.default_rng(1))
    owner = rig.browser("owner")
    for content in (whole[: len(whole) // 2], whole[:200] + b"\0" * 200):
        told = owner.post("/items", files={"files": ("star.png", content)})
        assert "0 items added. 1 left out." in told.text
        assert "“star.png” is damaged" in told.text


def test_a_bad_panel_is_told_by_its_own_name(rig):
    told = rig.browser("owner").post("/import", files={"panel": ("doctors.toml", b"classes = 3")})
    assert told.status_code == 422
    assert "doctors.toml" in told.json()["detail"]
    assert "/tmp" not in told.json()["detail"]


def test_half_a_character_is_told_in_a_sentence(rig):
    told = rig.browser("owner").post("/api/items", content=b'[{"id": "a", "text": "\\ud83d"}]')
    assert told.status_code == 422


def test_someone_who_is_away_is_not_asked_and_can_come_back(rig):
    ann, owner = rig.browser("ann"), rig.browser("owner")
    lease = ann.post("/label/next").json()["leases"][0]
    link = re.search(
        r'value="http://testserver([^"]+)"', owner.post(f"/people/{rig.people['ann']}/link").text
    )[1]
    away = {"class": list(rig.classes.values())[:2]}
    assert owner.post(f"/people/{rig.people['ann']}", data=away).status_code == 200
    told = ann.post("/label/next").json()
    assert told["leases"] == []
    assert "away" in told["reason"]
    assert ann.get("/me").status_code == 200  # still signed in
    assert rig.answer(ann, lease, "cat").status_code == 200  # from a device that was offline
    owner.post(f"/people/{rig.people['ann']}", data={**away, "active": "on"})
    assert ann.post("/label/next").json()["leases"]
    assert TestClient(rig.app, headers=SAME_ORIGIN).get(link).status_code == 200


def test_someone_who_is_away_can_sign_in_again(rig):
    ann, owner = rig.browser("ann"), rig.browser("owner")
    right = {"password": "correct horse battery", "again": "correct horse battery"}
    assert ann.post("/me/password", data=right).status_code == 200
    owner.post(f"/people/{rig.people['ann']}", data={"role": "expert"})
    here = TestClient(rig.app, headers={**SAME_ORIGIN, "X-Remote-User": "ann"})
    here.post("/login", data={"name": "ann", **right})
    assert here.get("/me").status_code == 200
    rig.studio.sign_in_header = "X-Remote-User"
    here.cookies.clear()
    assert here.get("/login").url.path == "/label"


def test_signing_someone_out_everywhere_asks_first_and_ends_links_and_sessions(rig):
    ann, owner = rig.browser("ann"), rig.browser("owner")
    asked = owner.get(f"/people/{rig.people['ann']}/close", headers={"Accept": "text/html"})
    assert "Sign ann out everywhere?" in asked.text
    assert ann.get("/me").status_code == 200
    assert owner.post(f"/people/{rig.people['ann']}/close").status_code == 200
    assert ann.post("/label/next").status_code == 401


def test_owners_who_sign_themselves_out_elsewhere_stay_in_here(rig):
    here, elsewhere = rig.browser("owner"), rig.browser("owner")
    assert here.post(f"/people/{rig.people['owner']}/close").status_code == 200
    assert here.get("/people").status_code == 200
    assert elsewhere.get("/people").status_code == 401


def test_the_last_owner_cannot_lock_everybody_out(rig):
    owner, number = rig.browser("owner"), rig.people["owner"]
    assert owner.post(f"/people/{number}", data={"active": "on", "role": "expert"}).status_code == 409
    assert owner.post(f"/people/{number}", data={"role": "owner"}).status_code == 200  # away, and still there
    assert owner.get("/people").status_code == 200


def test_files_are_what_their_content_says(rig):
    drawn = cell(3, np.random.default_rng(1))
    with rig.studio.database.write() as connection:
        kind, place = media.keep(connection, rig.studio.folder, "../../star.html", drawn)
        for evil in (b"<html><script>1</script>", b"<svg onload=alert(1)>", b"MZ\x90"):
            with pytest.raises(Refusal, match="not a picture"):
                media.keep(connection, rig.studio.folder, "evil.png", evil)
        with pytest.raises(Refusal, match="MB"):
            media.keep(connection, rig.studio.folder, "big.png", drawn + b"\0" * media.LARGEST)
    assert kind == "image"
    shown = rig.browser("ann").get(place)
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["content-type"] == "image/jpeg"
    assert TestClient(rig.app, headers={"Accept": "application/json"}).get(place).status_code == 401


OUTSIDE = [
    "/media/../studio.db", "/media/%2e%2e%2fstudio.db", "/static/../app.py", "/static/%2e%2e/app.py",
    "/media/" + "a" * 64, "/export/..%2f..%2fpasswd",
]  # fmt: skip


def test_no_path_leads_out_of_the_project(rig):
    owner = rig.browser("owner")
    assert {path: owner.get(path).status_code for path in OUTSIDE} == dict.fromkeys(OUTSIDE, 404)


def test_a_zip_with_evil_names_writes_nothing_outside(rig, tmp_path):
    import io
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../../evil.png", cell(1, np.random.default_rng(2)))
        archive.writestr("/etc/notes.txt", "ignored")
    upload = uploads.receive(rig.studio.database, rig.studio.folder, [("pictures.zip", packed)])
    importing.import_media(rig.studio.database, upload.stored)
    assert [name for name, _ in upload.left_out] == ["/etc/notes.txt"]
    assert not list(tmp_path.rglob("evil*"))
    assert rig.rows(item)[-1].kind == "image"


def test_bodies_that_are_too_large_are_refused(rig):
    assert rig.browser("owner").post("/settings", data={"name": "x" * 3_000_000}).status_code == 413


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/settings", "application/x-www-form-urlencoded"),
        ("/label/answer", "application/json"),
        ("/api/answers", "application/json"),
    ],
)
def test_a_body_that_announces_no_length_is_limited_too(rig, path, kind):
    sent = []

    def parts():
        for _ in range(100):
            sent.append(1)
            yield b"x" * 100_000

    refused = rig.browser("owner").post(path, content=parts(), headers={"Content-Type": kind})
    assert "content-length" not in refused.request.headers
    assert refused.status_code == 413
    assert "smaller parts" in refused.json()["detail"]


BAD_FILES = [
    ("a.csv", b"", "empty"),
    ("a.csv", b"id,text\n1,a,b,c\n2,d\n", "cannot be read"),
    ("a.csv", b'id,text\n1,"a\n2,b\n', "never closed"),
    ("a.jsonl", b'{"id": 1\n', "JSON"),
    ("a.jsonl", b"[1]\n", "object"),
    ("a.jsonl", b'{"id": "a", "text": "\\ud83d"}\n', "surrogate"),
    ("a.parquet", b"not parquet", "Parquet"),
    ("a.docx", b"PK", "not a picture"),
    ("a.zip", b"PK nonsense", "unpacked"),
]


@pytest.mark.parametrize("path", ["/login", "/label/answer", "/items"])
def test_whoever_hangs_up_in_the_middle_leaves_no_traceback(rig, path):
    cookie = "; ".join(f"{name}={value}" for name, value in rig.browser("owner").cookies.items())
    headers = {"host": "testserver", "sec-fetch-site": "same-origin", "cookie": cookie,
               "content-type": "application/x-www-form-urlencoded", "content-length": "9"}  # fmt: skip
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("192.0.2.1", 5000), "server": ("testserver", 80), "scheme": "http", "http_version": "1.1",
        "root_path": "",
    }  # fmt: skip
    parts = iter([{"type": "http.request", "body": b"na", "more_body": True}, {"type": "http.disconnect"}])
    answered = []

    async def receive():
        return next(parts)

    async def send(message):
        answered.append(message)

    asyncio.run(rig.app(scope, receive, send))
    assert answered[0]["status"] == 400


def test_a_file_that_cannot_be_used_is_told_in_a_sentence(rig):
    owner = rig.browser("owner")
    for name, content, told in BAD_FILES:
        refused = owner.post("/items", files={"files": (name, content)})
        if refused.status_code == 200:
            assert "1 left out." in refused.text
        else:
            assert 400 <= refused.status_code < 500, (name, content)
        assert told in refused.text
        assert "/tmp" not in refused.text


ROWS = b"number,what,class\n1,a,cat\n1,b,dog\n3,,\n,c,\n5,d,horse\n6,e,\n"


def test_a_table_is_shown_with_every_problem_before_anything_is_added(rig):
    owner = rig.browser("owner")
    begun = owner.post("/items", files={"files": ("a.csv", ROWS)})
    assert begun.url.path.startswith("/items/import/")
    assert "2 items can be added" in begun.text  # names of columns that people often give
    chosen = {"content": "what", "kind": "text", "id": "number", "gold": "class"}
    shown = owner.get(begun.url.path, params=chosen).text
    for told in ("2 items can be added; 4 rows cannot be read", "Row 2 has the id “1” of an earlier row",
                 "Row 3 (“3”) is empty",
                 "Row 4 has no id", "“horse”, which is not a class here"):  # fmt: skip
        assert told in shown
    assert len(rig.rows(item)) == 6
    assert "Add 2 items and leave out 4 rows" in shown
    nothing = {**chosen, "content": "", "id": "class", "gold": "what"}
    refused = owner.post(begun.url.path, data=nothing)
    assert (refused.status_code, "Row 5" in refused.json()["detail"]) == (422, True)
    assert len(rig.rows(item)) == 6
    added = owner.post(begun.url.path, data=chosen, headers={"Accept": "text/html"}).text
    assert "2 items added. 4 left out." in added
    assert [(row.key, row.content, row.gold) for row in rig.rows(item)[6:]] == [
        ("1", "a", rig.classes["cat"]), ("6", "e", None)
    ]  # fmt: skip
    assert owner.get(begun.url.path).status_code == 404


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_tables_come_as_programs_write_them(rig, tmp_path, name):
    if name == "a.csv":
        content = "id;text\n007;Zoë\n".encode("cp1252")
    else:
        import xlsxwriter

        with xlsxwriter.Workbook(tmp_path / name) as book:
            sheet = book.add_worksheet()
            for n, row in enumerate((["id", "text"], ["007", "Zoë"])):
                sheet.write_row(n, 0, row)
        content = (tmp_path / name).read_bytes()
    owner = rig.browser("owner")
    begun = owner.post("/items", files={"files": (name, content)})
    owner.post(begun.url.path, data={"content": "text", "kind": "text", "id": "id"})
    assert [(row.key, row.content) for row in rig.rows(item)[6:]] == [("007", "Zoë")]


def test_nothing_is_reported_to_others_whatever_the_environment_says(rig, monkeypatch):
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    reports = getattr(create_app(rig.studio), "_telemetry", {})
    assert not any(value is True for value in reports.values())


def test_a_port_that_cannot_be_used_is_rejected_with_a_remedy():
    with pytest.raises(InputError, match="--port 99999 is out of range; choose a port from 0"):
        free_port("127.0.0.1", 99999)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot serve at 127.0.0.1 port {port}: .*, or 0 for any"):
            free_port("127.0.0.1", port)
    assert free_port("127.0.0.1", 0) > 0


def test_comments_on_items_are_limited(rig, monkeypatch):
    monkeypatch.setattr("covote_studio.editing.items.MOST_FLAGS", 3)
    ann = rig.browser("ann")
    ann.post("/label/next")
    sent = [
        ann.post("/label/flag", json={"item": 1, "comment": f"blurred {n}"}).status_code for n in range(4)
    ]
    assert sent == [200, 200, 200, 429]
    not_given = rig.invite("dan")
    assert rig.browser("dan").post("/label/flag", json={"item": 1, "comment": "x"}).status_code == 403
    assert not_given


def test_programs_learn_how_to_sign_in_and_experts_only_their_classes(rig):
    told = TestClient(rig.app, headers={"Accept": "application/json"}).get("/api/project")
    assert (told.status_code, told.headers["www-authenticate"]) == (401, "Bearer")
    shown = rig.program("ann").get("/api/openapi.json").json()
    assert shown["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert shown["paths"]["/api/leases"]["post"]["security"] == [{"HTTPBearer": []}]
    assert rig.program("ann").get("/api/project").json()["classes"] == ["cat", "dog"]
    assert rig.program("owner").get("/api/project").json()["classes"] == ["cat", "dog", "fox"]
