"""Models answer in the same panel, by the same rules, and go on after a failure or a restart."""

import textwrap
import threading
import time

import pytest
from sqlalchemy.exc import OperationalError

from covote.panel import Panel
from covote_studio.answers.recording import record_unasked
from covote_studio.answers.worker import Worker
from covote_studio.people import managing
from covote_studio.rules import Refusal
from covote_studio.storage.schema import answer, person


def with_model(rig, tmp_path, body, ask="everybody"):
    (tmp_path / "models").mkdir(exist_ok=True)
    name = f"model_{abs(hash(body))}"
    (tmp_path / "models" / f"{name}.py").write_text(textwrap.dedent(body))
    panel = Panel.from_blocks(
        ["cat", "dog", "fox"], [["cat", "dog"]], ["robot"], models=[f"python:{name}:say"]
    )
    with rig.studio.database.write() as connection:
        managing.change_project(connection, "p", "", ask)
        managing.adopt_panel(connection, panel, str(tmp_path / "models"))
    return Worker(rig.studio.database, rig.studio.folder, rig.studio.rosters, True)


def test_a_model_answers_every_item_once(rig, tmp_path):
    worker = with_model(
        rig,
        tmp_path,
        """
        def say(batch):
            return ["cat" if text.endswith(("1", "2")) else "dog" for text in batch["text"]]
    """,
    )
    assert worker.step()
    assert not worker.step()
    rows = rig.rows(answer)
    assert [row.class_id for row in rows] == [rig.classes["cat"]] * 2 + [rig.classes["dog"]] * 4
    assert {row.via for row in rows} == {"model"}


def test_a_model_that_fails_is_noted_for_the_owner(rig, tmp_path):
    worker = with_model(
        rig,
        tmp_path,
        """
        def say(batch):
            raise RuntimeError("out of memory")
    """,
    )
    worker.step()
    robot = next(row for row in rig.rows(person) if row.name == "robot")
    assert "out of memory" in robot.note
    assert "out of memory" in rig.browser("owner").get(f"/people/{robot.id}").text
    assert rig.rows(answer) == []


def test_a_model_that_answers_outside_its_classes_gives_no_vote_for_them(rig, tmp_path):
    worker = with_model(
        rig,
        tmp_path,
        """
        def say(batch):
            return ["fox"] * len(batch["text"])
    """,
    )
    worker.step()
    assert rig.classes["fox"] not in {row.class_id for row in rig.rows(answer)}
    with rig.studio.database.write() as connection:
        robot = rig.studio.snapshot(connection)[1].member_by_id[rig.people["robot"]]
        with pytest.raises(Refusal, match="robot is not listed as knowing"):
            record_unasked(connection, rig.studio.snapshot(connection)[1], robot, 1, rig.classes["fox"])


def test_people_are_asked_what_a_model_leaves_in_doubt(rig, tmp_path):
    worker = with_model(
        rig,
        tmp_path,
        """
        def say(batch):
            return ["cat"] * len(batch["text"])
    """,
        "elimination",
    )
    bob = rig.browser("bob")
    assert bob.post("/label/next").json()["leases"] == []
    worker.step()
    asked = [rig.browser(name).post("/label/next").json()["leases"] for name in ("ann", "bob", "cyd")]
    items = [one["item_id"] for some in asked for one in some]
    assert len(items) == len(set(items)) > 0


def test_models_come_from_the_command_line_only(rig):
    toml = (
        b'classes = ["cat", "dog"]\n[[experts]]\nname = "evil"\nknows = ["cat", "dog"]\n'
        b'model = "python:os:system"\n'
    )
    refused = rig.browser("owner").post("/import", files={"panel": ("panel.toml", toml)})
    assert refused.status_code == 403
    assert "evil" not in rig.people


def test_the_worker_outlives_its_database_and_says_what_is_wrong(rig, monkeypatch):
    worker, failed, again = rig.studio.worker, threading.Event(), threading.Event()
    monkeypatch.setattr("covote_studio.answers.worker.IDLE", 0.001)

    def step():
        if not failed.is_set():
            failed.set()
            raise OperationalError("SELECT", {}, RuntimeError("server closed the connection"))
        if worker.trouble:
            seen.append(worker.trouble)
            again.set()
        return False

    seen = []
    monkeypatch.setattr(worker, "step", step)
    worker.start()
    assert again.wait(60)  # it goes on after the failure
    assert seen[0] == "server closed the connection"
    deadline = time.monotonic() + 60
    while worker.trouble:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    worker.stop()


def test_the_page_says_that_models_are_not_answering(rig):
    with rig.studio.database.write() as connection:
        managing.add_person(connection, "net", "model", model={"model": "m.onnx", "folder": "."})
    rig.label_all("ann", lambda _key: "cat")
    rig.studio.worker.trouble = "server closed the connection"
    page = rig.browser("owner").get("/progress", headers={"Accept": "text/html"}).text
    assert "Models are not answering: server closed the connection." in page


def test_an_expert_who_has_left_the_panel_is_away(rig):
    panel = Panel.from_blocks({"ann": ["cat"], "eve": ["dog"]}, left=[False, True])
    with rig.studio.database.write() as connection:
        managing.adopt_panel(connection, panel)
    assert {row.name: row.active for row in rig.rows(person) if row.name in panel.names} == {
        "ann": True,
        "eve": False,
    }
