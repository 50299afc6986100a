"""`covote label` with language models: a server that answers, fails and is killed; every call is paid for."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import covote as covote_package
from covote import Panel
from tests.chat_stub import Stub

CLASSES = ["ant", "bee", "cat", "dog"]
BLOCKS = [["ant", "bee", "cat"], ["ant", "dog"], ["bee", "dog"], ["cat", "dog"]]
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = np.random.default_rng(3).integers(0, 4, 40)
    rows = [f"q{n},item {n} truth: {CLASSES[k]}\n" for n, k in enumerate(truth)]
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(rows))
    return tmp_path


def truth(folder):
    return [line.split()[-1] for line in (folder / "items.csv").read_text().splitlines()[1:]]


def panel(url, **options):
    model = {"use": f"chat:{url}", "in_flight": 4, "retries": 1, **options}
    Panel.from_blocks(CLASSES, BLOCKS, NAMES, models=[model] * 4).save("panel.toml")


def run(covote, *arguments):
    return covote("label", "items.csv", "--panel", "panel.toml", "-o", "labels.csv", *arguments)


def labels():
    return pyarrow.csv.read_csv("labels.csv").column("label").to_pylist()


def test_every_call_is_kept_and_counted(covote, folder):
    with Stub() as stub:
        panel(stub.url, input_price=10, output_price=100)
        ran = run(covote)
        assert ran.status == 0, ran.err
        assert labels() == truth(folder)
        assert sum(stub.answered.values()) == 160
        assert "Expert 'a': 40 calls, 4,000 tokens in and 80 out, cost 0.05, in all runs." in ran.out
        assert run(covote, "--method", "em").status == 0
        assert sum(stub.answered.values()) == 160


def test_options_that_do_not_change_answers_may_change(covote, folder):
    with Stub() as stub:
        panel(stub.url)
        assert run(covote).status == 0
        panel(stub.url, in_flight=2, timeout=9, input_price=3)
        assert run(covote).status == 0
        assert sum(stub.answered.values()) == 160
        panel(stub.url, prompt="Other words.\n{item}\n{classes}")
        ran = run(covote)
        assert (ran.status, "an option" in ran.err) == (2, True), ran.err


def test_the_budget_is_kept_over_all_runs(covote, folder):
    with Stub() as stub:
        panel(stub.url, input_price=10_000)  # a call costs 1
        ran = run(covote, "--budget", "50")
        assert ran.status in (0, 3)
        assert "The budget was reached" in ran.out
        assert 40 <= sum(stub.answered.values()) <= 50
        before = sum(stub.answered.values())
        run(covote, "--budget", "50")
        assert sum(stub.answered.values()) <= 50
        assert run(covote).status == 0
        assert sum(stub.answered.values()) == 160 > before
        assert set(stub.answered.values()) == {4}


def test_a_budget_that_buys_no_call_asks_nobody(covote, folder):
    with Stub() as stub:
        panel(stub.url, input_price=100_000)  # a call costs about 5
        for budget in ("0", "0.5"):
            ran = run(covote, "--budget", budget)
            assert "The budget was reached" in ran.out, ran.err
        assert not stub.tried
        panel(stub.url)
        for budget, words in (("-1", "budget must be 0 or more, not -1"), ("5", "input_price")):
            ran = run(covote, "--budget", budget)
            assert (ran.status, words in ran.err) == (2, True), ran.err
        assert not stub.tried


def test_a_server_that_never_answers_loses_the_only_expert(covote, folder):
    model = {"retries": 0, "in_flight": 4}
    for said in (b"<html>", b'{"choices": []}', b'{"choices": [{"message": {"content": "zebra"}}]}'):
        with Stub(behave=lambda handler, *_, said=said: handler.send(200, said) or True) as stub:
            Panel.from_blocks(CLASSES, [CLASSES], ["a"], models=[model | {"use": f"chat:{stub.url}"}]).save(
                "panel.toml"
            )
            ran = run(covote, "--refresh")
        assert (ran.status, "expert 'a'" in ran.err) == (3, True), ran.err


def test_a_model_with_options_is_written_for_every_expert(covote, folder, monkeypatch):
    monkeypatch.setenv("STUB_KEY", "sk-hush-hush")
    (folder / "classes.txt").write_text("\n".join(CLASSES))
    with Stub() as stub:
        model = f'{{use = "chat:{stub.url}", name = "tiny", key_env = "STUB_KEY"}}'
        ran = covote("design", "classes.txt", "3", "--model", model, "-o", "panel.toml")
        assert ran.status == 0, ran.err
        assert run(covote).status == 0
        assert stub.keys == {"Bearer sk-hush-hush"}
        assert {body["model"] for body in stub.bodies} == {"tiny"}
        assert labels() == truth(folder)
    ran = covote("design", "classes.txt", "3", "--model", "{use = chat}", "-o", "other.toml")
    assert (ran.status, "write it as in a panel file" in ran.err) == (2, True), ran.err


def test_a_dry_run_asks_nobody(covote, folder):
    with Stub() as stub:
        panel(stub.url, input_price=10_000)
        ran = run(covote, "--dry-run")
    assert ran.status == 0, ran.err
    assert not stub.tried
    assert "item 0 truth:" in ran.out
    assert re.search(r"^a +40 +1,\d{3} +240 +\d", ran.out, re.M)
    assert ran.out.count("item 0 truth:") == 1  # one prompt, whoever else is asked
    assert "Nothing was asked." in ran.out
    assert not list(folder.glob("labels*"))
    (folder / "none.csv").write_text("id,text\n")
    ran = covote("label", "none.csv", "--panel", "panel.toml", "--dry-run")
    assert (ran.status, ran.err) == (2, "covote: none.csv has no items: there is nothing to label\n")


def failing(kind):
    def behave(handler, item, times, body):
        if item % 5 or times > 2:  # two tries of every fifth item fail, which is all that a run makes
            return False
        if kind == "500":
            handler.send(500, {"error": "busy"})
        elif kind == "429":
            handler.send(429, {"error": "later"}, Retry_After="0")
        elif kind == "garbage":
            handler.send(200, b"<html>")
        elif kind == "drop":
            handler.close_connection = True
            handler.connection.close()
        return True

    return behave


@pytest.mark.parametrize("kind", ["500", "429", "garbage", "drop"])
def test_a_server_that_fails_loses_nothing_and_is_paid_once(covote, folder, kind):
    with Stub(behave=failing(kind)) as stub:
        Panel.from_blocks(
            CLASSES, [CLASSES], ["a"], models=[{"use": f"chat:{stub.url}", "in_flight": 4, "retries": 1}]
        ).save("panel.toml")
        ran = run(covote, "--json")
        found = json.loads(ran.out)["experts"][0]
        assert (ran.status, found["lost"]) == (0, False)
        # A connection that is dropped when it is used again says nothing about the request.
        assert found["missing"] == 8 or (kind == "drop" and found["missing"] < 8)
        assert sum(found["failures"].values()) == found["failed"] == found["missing"]
        for _ in range(2):
            assert run(covote).status == 0
        assert labels() == truth(folder)
        assert set(stub.answered.values()) == {1}


def test_labels_outside_the_list_are_missing_and_a_lost_expert_is_status_3(covote, folder):
    def outside(handler, item, times, body):
        handler.complete("wolf")
        return True

    with Stub(behave=outside) as stub:
        panel(stub.url)
        good = {"use": f"python:{'right'}:say"}
        Path("right.py").write_text(
            "def say(batch):\n    return [text.split()[-1] for text in batch['text']]\n"
        )
        models = [good, {"use": f"chat:{stub.url}", "in_flight": 4}]
        Panel.from_blocks(CLASSES, [CLASSES, CLASSES], ["good", "wolf"], models=models).save("panel.toml")
        ran = run(covote, "--trust")
    assert ran.status == 3
    assert "answered 'wolf', which is not one of its options (all its answers are missing)" in ran.err
    assert labels() == truth(folder)
    assert set(stub.tried.values()) == {2}


def test_the_key_is_in_no_file_message_or_process(covote, folder, monkeypatch):
    monkeypatch.setenv("STUB_KEY", "sk-hush-hush")

    def quote(handler, item, times, body):
        if item % 2:
            handler.send(401, {"error": f"bad key {handler.headers['Authorization']}"})
        return bool(item % 2)

    with Stub(behave=quote) as stub:
        panel(stub.url, key_env="STUB_KEY")
        ran = run(covote, "--report", "report.html")
    assert stub.keys == {"Bearer sk-hush-hush"}
    assert "status 401: bad key Bearer ***" in ran.err
    assert "hush" not in ran.out + ran.err
    for path in folder.rglob("*"):
        assert not path.is_file() or b"hush" not in path.read_bytes(), path


def test_killed_runs_pay_again_only_for_calls_in_flight(folder):
    log = folder / "answered.log"
    environment = {**os.environ, "PYTHONPATH": str(Path(covote_package.__file__).parents[1])}
    stub = [sys.executable, str(Path(__file__).parents[1] / "chat_stub.py"), "0.02"]
    with subprocess.Popen(
        stub,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**environment, "STUB_LOG": str(log)},
        text=True,
    ) as server:
        panel(f"http://127.0.0.1:{server.stdout.readline().strip()}/v1")
        command = [sys.executable, "-m", "covote", "label", "items.csv", "--panel", "panel.toml", "-o"]

        def paid():
            return len(log.read_text().split()) if log.exists() else 0

        for kills in (20, 70, 130):
            process = subprocess.Popen(
                [*command, "labels.csv"],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while paid() < kills and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert subprocess.run([*command, "labels.csv"], env=environment, capture_output=True).returncode == 0
        again = Counter(log.read_text().split())
        assert subprocess.run([*command, "whole.csv"], env=environment, capture_output=True).returncode == 0
        server.stdin.close()
    assert Path("labels.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert set(again) == set(map(str, range(40)))
    # Four experts with four calls each are on their way at a time, and as many may wait to be written.
    assert sum(again.values()) - 160 <= 3 * 32


def test_a_server_without_schemas_is_offered_one_by_no_expert_twice(covote, folder):
    with Stub(schemas=False) as stub:
        model = {"use": f"chat:{stub.url}", "in_flight": 1}
        Panel(CLASSES, [[1, 1, 1, 1]] * 12, models=[model] * 12).save("panel.toml")
        assert run(covote).status == 0
    assert labels() == truth(folder)
    assert sum("response_format" in body for body in stub.bodies) == 12


def test_a_panel_of_prompts_is_designed(covote, folder):
    (folder / "classes.txt").write_text("\n".join(CLASSES))
    with Stub() as stub:
        ran = covote("design", "classes.txt", 3, "--model", f"chat:{stub.url}", "-o", "panel.toml")
        assert ran.status == 0, ran.err
        assert "Next: covote label items.csv" in ran.out
        text = (folder / "panel.toml").read_text()
        (folder / "panel.toml").write_text(f'{text}\n[describe]\nant = "six legs, no sting"\n')
        ran = run(covote)
        assert ran.status == 0, ran.err
        assert labels() == truth(folder)
        assert any("ant: six legs, no sting" in body["messages"][0]["content"] for body in stub.bodies)


def served(stub, requests, responses):
    """Answer a file of requests as a batch service does: in another order, some of them not at all."""
    lines = [json.loads(line) for line in Path(requests).read_text().splitlines()]
    assert len({line["custom_id"] for line in lines}) == len(lines)
    said = []
    for n, line in enumerate(reversed(lines)):
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        body = json.dumps(line["body"]).encode()
        address = f"{stub.url.removesuffix('/v1')}{line['url']}"
        with urllib.request.urlopen(urllib.request.Request(address, body)) as answer:
            found = {"status_code": 200, "body": json.load(answer)}
        failed = n % 10 == 3
        said.append({"id": f"r{n}", "custom_id": line["custom_id"], "response": None if failed else found,
                     "error": {"code": "batch_expired"} if failed else None})  # fmt: skip
    Path(responses).write_text("".join(json.dumps(one) + "\n" for one in said))


def test_a_batch_service_answers_instead_of_the_server(covote, folder):
    with Stub() as stub:
        panel(stub.url, input_price=10, extra={"service_tier": "flex"})
        ran = run(covote, "--write-requests", "requests.jsonl")
        assert (ran.status, stub.tried) == (0, {}), ran.err
        assert "Wrote requests.jsonl: " in ran.out
        assert not list(folder.glob("labels*"))
        served(stub, "requests.jsonl", "responses.jsonl")
        assert {body["service_tier"] for body in stub.bodies} == {"flex"}
        asked = sum(stub.tried.values())
        ran = run(covote, "--read-responses", "responses.jsonl")
        assert ran.status == 0, ran.err
        assert "batch_expired" in ran.err
        assert sum(stub.tried.values()) == asked  # nobody else was asked
        ran = run(covote, "--write-requests", "rest.jsonl")
        assert len(Path("rest.jsonl").read_text().splitlines()) == asked // 10
        assert run(covote).status == 0  # without a file, the server answers what is left
        assert sum(stub.tried.values()) == asked + asked // 10
        assert labels() == truth(folder)
        ran = run(covote, "--write-requests", "none.jsonl")
        assert (ran.status, "nothing was written" in ran.err) == (2, True)


def test_responses_to_other_requests_are_refused(covote, folder):
    with Stub() as stub:
        panel(stub.url)
        assert run(covote, "--write-requests", "requests.jsonl").status == 0
        served(stub, "requests.jsonl", "responses.jsonl")
        panel(stub.url, prompt="{classes} or not? {item}")
        ran = run(covote, "--read-responses", "responses.jsonl")
        assert (ran.status, "answers a request for other data or other models" in ran.err) == (2, True), (
            ran.err
        )
        Path("odd.jsonl").write_text("{}\n")
        ran = run(covote, "--read-responses", "odd.jsonl")
        assert (ran.status, "odd.jsonl, line 1, is not a response" in ran.err) == (2, True), ran.err
        panel(stub.url, extra={"messages": []})
        ran = run(covote, "--dry-run")
        assert (ran.status, "without messages" in ran.err) == (2, True), ran.err
    assert not list(folder.glob("labels*"))


def test_items_that_were_never_asked_are_not_counted_as_wrong(covote, folder):
    rows = [f"q{n},{name}\n" for n, name in enumerate(truth(folder))]
    Path("gold.csv").write_text("item,label\n" + "".join(rows))
    with Stub() as stub:
        model = {"use": f"chat:{stub.url}", "in_flight": 1, "input_price": 10, "output_price": 100}
        Panel.from_blocks(CLASSES, [CLASSES], ["a"], models=[model]).save("panel.toml")
        ran = run(covote, "--budget", "0.03", "--gold", "gold.csv", "--json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)["gold"]
    assert 0 < found["known"] == found["right"] == sum(stub.tried.values()) < 40


def test_tokens_per_minute_are_kept(covote, folder):
    with Stub() as stub:
        Panel.from_blocks(
            CLASSES, [CLASSES], ["a"], models=[{"use": f"chat:{stub.url}", "tokens_per_minute": 100_000}]
        ).save("panel.toml")
        started = time.monotonic()
        assert run(covote).status == 0
        took = time.monotonic() - started
        letters = sum(len(body["messages"][0]["content"]) for body in stub.bodies[:-1])
    assert took > letters / 4 / (100_000 / 60)
    assert labels() == truth(folder)
