"""Experts on servers are asked side by side; a run that is stopped does not wait for them."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from covote import Panel
from covote.errors import ExpertError
from covote.labelling import Asking, label_file
from covote.labelling.batch_questions import side_by_side
from covote.models.connections import REQUESTS, RequestGroup
from covote.models.inference_server import Server

PATIENT = 60
"""Seconds that are waited for what comes at once, unless the machine is busy."""
SLOW = 300
"""Seconds that an answer takes which nobody waits for."""


class Models(ThreadingHTTPServer):
    """Models a, b and c, which speak the Open Inference Protocol and take their time."""

    daemon_threads = True

    def __init__(self, seconds):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seconds, self.lock, self.shifts = seconds, threading.Lock(), False
        self.busy, self.most, self.together = Counter(), Counter(), 0
        self.asked, self.over = threading.Event(), threading.Event()
        self.meeting = None if isinstance(seconds, int) else threading.Barrier(3)

    def panel(self):
        url = f"http://127.0.0.1:{self.server_port}/v2/models"
        models = [{"use": f"{url}/{name}", "batch": 50, "in_flight": 1} for name in "abc"]
        return Panel.from_blocks(["x", "y", "z"], [["x", "y"], ["x", "z"], ["y", "z"]], models=models)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, said):
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        with suppress(BrokenPipeError, ConnectionResetError):  # nobody waits any longer
            self.end_headers()
            self.wfile.write(body)

    def do_GET(self):
        self.answer({"inputs": [{"name": "rows", "datatype": "FP64", "shape": [-1, 1]}]})

    def do_POST(self):
        name = self.path.split("/")[3]
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"][0]["data"]
        models = self.server
        with models.lock:
            models.busy[name] += 1
            models.most[name] = max(models.most[name], models.busy[name])
            models.together = max(models.together, len(+models.busy))
        models.asked.set()
        if models.meeting is None:
            models.over.wait(models.seconds)
        else:
            models.meeting.wait(PATIENT)
        with models.lock:
            models.busy[name] -= 1
        known = {"a": "xy", "b": "xz", "c": "yz"}[name]
        data = [known[int(row) % 2] for row in rows]
        if models.shifts:  # one answer fewer in the first request, one more in the last
            data = data[1:] if rows[0] == 0 else [*data, data[-1]]
        output = {"name": "label", "datatype": "BYTES", "shape": [len(data)], "data": data}
        self.answer({"outputs": [output]})


@pytest.fixture
def models(request):
    with Models(request.param) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(300.0).reshape(-1, 1))
    return tmp_path / "rows.npy"


@pytest.mark.parametrize("models", [0], indirect=True)
def test_a_password_in_an_address_is_kept_in_no_file(models, rows, tmp_path):
    panel = models.panel()
    secret = [json.loads(json.dumps(model).replace("http://", "http://ann:hush@")) for model in panel.models]
    assert "ann:hush@" in json.dumps(secret)
    panel = Panel(panel.classes, panel.knows, panel.names, models=secret)
    label_file(rows, tmp_path / "labels.csv", panel, asking=Asking(batch=100))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "labels.answers.sqlite" for path in files)
    assert [path for path in files if b"hush" in path.read_bytes()] == []


@pytest.mark.parametrize("models", [0], indirect=True)
def test_answers_are_counted_for_each_request(models):
    models.shifts = True
    server = Server(models.panel().models[0]["use"], batch=10)
    with pytest.raises(ExpertError, match=r"answers of shape \(9,\) to a request with 10 items"):
        server(np.arange(20.0).reshape(-1, 1))


@pytest.mark.parametrize("models", ["until all are asked"], indirect=True)
def test_servers_are_asked_at_the_same_time_and_each_one_question_after_another(models, rows, tmp_path):
    told = []
    found = label_file(
        rows,
        tmp_path / "labels.parquet",
        models.panel(),
        asking=Asking(batch=50),
        progress=lambda *said: told.append(said),
    )
    assert [(run.asked, run.calls, run.failed) for run in found.experts] == [(300, 6, 0)] * 3
    assert models.together == 3
    assert models.most == {"a": 1, "b": 1, "c": 1}
    for name in found.outcome.panel.names:
        assert [done for who, done, _ in told if who == name] == [1, 2, 3, 4, 5, 6]
    again = label_file(rows, tmp_path / "labels.parquet", models.panel(), asking=Asking(batch=50))
    assert [run.asked for run in again.experts] == [0, 0, 0]


@pytest.mark.parametrize("models", [1], indirect=True)
def test_a_server_is_sent_as_many_batches_at_a_time_as_the_panel_says(models, rows, tmp_path):
    two = [model | {"in_flight": 2} for model in models.panel().models]
    panel = Panel.from_blocks(["x", "y", "z"], models.panel().blocks(), models=two)
    found = label_file(rows, tmp_path / "labels.parquet", panel, asking=Asking(batch=100))
    assert models.most == {"a": 2, "b": 2, "c": 2}  # the first batch was asked about alone
    assert [run.calls for run in found.experts] == [3, 3, 3]


@pytest.mark.parametrize("models", [SLOW], indirect=True)
def test_an_interrupted_run_does_not_wait_for_answers(models, rows, tmp_path):
    models.panel().save(tmp_path / "panel.toml")
    # Where the tests run in the background, Ctrl-C is switched off for all that they start.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    covote = f"{listening}; from covote.cli import main; main()"
    command = [sys.executable, "-c", covote, "label", rows, "--panel", tmp_path / "panel.toml",
               "-o", tmp_path / "labels.parquet"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert models.asked.wait(PATIENT)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENT)
    assert process.returncode == 130
    assert "run the same command to continue" in told


class Interrupted(ThreadPoolExecutor):
    """Ctrl-C comes when a stream of questions has just been handed over."""

    def submit(self, *stream):
        super().submit(*stream)
        raise KeyboardInterrupt


@pytest.mark.parametrize("models", [SLOW], indirect=True)
def test_a_request_that_nobody_has_noted_yet_is_given_up_too(models, monkeypatch):
    monkeypatch.setattr("covote.labelling.batch_questions.ThreadPoolExecutor", Interrupted)
    server = Server(models.panel().models[0]["use"])
    ended = threading.Event()

    def ask(question):
        with suppress(ExpertError):
            server(np.arange(float(question)).reshape(-1, 1))
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(ask, [iter([2])], lambda result: None))
    assert ended.wait(PATIENT)


@pytest.mark.parametrize("models", [SLOW], indirect=True)
def test_nobody_is_asked_after_the_others_were_given_up(models):
    group = RequestGroup()
    group.cancel()
    server = Server(models.panel().models[0]["use"])
    token = REQUESTS.set(group)
    try:
        with pytest.raises(ExpertError, match="not waited for"):
            server(np.zeros((3, 1)))
    finally:
        REQUESTS.reset(token)
    assert not models.asked.is_set()
    models.over.set()
    assert server(np.zeros((3, 1))).tolist() == ["x", "x", "x"]  # the next run asks as ever


def test_a_connection_made_too_late_is_not_used(models_that_listen):
    group = RequestGroup()
    with closing(HTTPConnection("127.0.0.1", models_that_listen)) as connection:
        connection.request("GET", "/")
        threading.Timer(0.1, group.cancel).start()
        with pytest.raises(ConnectionError), group.waiting(connection):
            connection.getresponse()
        with pytest.raises(ConnectionAbortedError, match="given up"), group.waiting(connection):
            pass


@pytest.fixture
def models_that_listen():
    with socket.create_server(("127.0.0.1", 0)) as listening:  # and never answer
        yield listening.getsockname()[1]


def test_streams_wait_for_their_turn_and_stay_in_order():
    lock, busy, seen = threading.Lock(), Counter(), []
    first_two = threading.Barrier(2)

    def ask(question):
        with lock:
            busy[question[0]] += 1
            seen.append(len(+busy))
            assert busy[question[0]] == 1
            early = len(seen) <= 2
        if early:
            first_two.wait(PATIENT)
        with lock:
            busy[question[0]] -= 1
        return question

    streams = [
        iter([(name, n) for n in range(size)]) for name, size in (("a", 4), ("b", 0), ("c", 7), ("d", 2))
    ]
    said = [one for group in side_by_side(ask, streams, lambda result: None) for one in group]
    assert max(seen) > 1
    for name, size in (("a", 4), ("b", 0), ("c", 7), ("d", 2)):
        assert [n for who, n in said if who == name] == list(range(size))
