"""Whatever is typed, pasted or uploaded: a page or a sentence, never an error of the server."""

import random
import re

import pytest

from studio.tests.unit.test_safety import routes

FIELDS = ("name", "instructions", "ask", "classes", "class", "typed", "active", "owner", "item",
          "choice", "token", "key", "size", "times", "reason", "password", "again", "away", "person",
          "status", "start", "after")  # fmt: skip
TYPED = ("", " ", "\0", "x" * 5000, "9" * 400, "-1", "0", "1", "2", "1.5", "1e400", "NaN", "inf", "posterior",
         "\u202e", "a\tb", "<script>", "=1+1", "٣", "1;2", "9" * 20)  # fmt: skip
NUMBERS = ("0", "1", "2", "-1", "9" * 30, "x", "%00", "..%2f..")
UPLOADS = ("x.csv", "x.jsonl", "x.parquet", "x.zip", "x.png", "panel.toml", "a.docx", "..", "panel.csv")
CONTENTS = (b"", b"\0", b"id,text\n1,2\n1,3", b'{"id":', b"PK\3\4", b"\x89PNG\r\n\x1a\n", b"classes = 3",
            b"\xff\xfe", b"item,expert,label\ni1,ann,cat", b"expert,cat\nann,1")  # fmt: skip
BODIES = (b"", b"{", b"[]", b"\xff", b'"x"', b'{"item": 1e999}',
          b'{"item": 99999999999999999999, "token": "a", "key": "12345678", "choice": -2}')  # fmt: skip


def send_everything(rig, seed):
    """Send wrong values to every address; nothing may be an error of the server, or without a sentence."""
    chance, owner = random.Random(seed), rig.browser("owner")
    for method, path in sorted(routes()):
        if path == "/logout":
            continue
        place = re.sub(r"{[^}]*}", lambda _: chance.choice(NUMBERS), path)
        form = {name: chance.choice(TYPED) for name in chance.sample(FIELDS, chance.randrange(len(FIELDS)))}
        sent = [{"params": form}]
        if method != "GET":
            field = chance.choice(("files", "folder", "panel", "votes", "picture", "name"))
            upload = {field: (chance.choice(UPLOADS), chance.choice(CONTENTS))}
            json = {"content": chance.choice(BODIES), "headers": {"Content-Type": "application/json"}}
            sent = [{"data": form}, {"data": form, "files": upload}, json]
        for one in sent:
            told = owner.request(method, place, follow_redirects=False, **one)
            assert told.status_code < 500, (method, place, one)
            if told.status_code >= 400:
                is_page = told.headers["content-type"].startswith("text/html")
                assert 'role="alert"' in told.text if is_page else len(told.json()["detail"]) > 10
            if told.status_code == 401:
                owner = rig.browser("owner")


@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_a_form_can_send_is_an_error_of_the_server(rig, seed):
    send_everything(rig, seed)
