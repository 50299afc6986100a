"""A real MLServer on this machine, asked over HTTP: its answers, its slowness, its failures."""

import json
import os
import socket
import subprocess
import time
import urllib.request

import numpy as np
import pytest

from covote.errors import ExpertError
from covote.models import open_expert

KNOWS = ("skin", "eye", "ear")
RUNTIME = '''
import asyncio
import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.types import InferenceResponse

NAMES = np.array(["ear", "eye", "skin"])


class Digit(MLModel):
    """The class is the first number of a row; its probability is the second."""

    asked = 0

    async def predict(self, payload):
        kind = self.settings.parameters.extra["kind"]
        Digit.asked += 1
        if kind == "failing" or (kind == "flaky" and Digit.asked % 3):
            raise RuntimeError("no weights today")
        await asyncio.sleep(60.0 if kind == "slow" else 0.0)
        rows = NumpyCodec.decode_input(payload.inputs[0])
        k = rows[:, 0].astype(int)
        chances = np.repeat((1 - rows[:, 1:2]) / 2, 3, axis=1)
        chances[np.arange(len(k)), k] = rows[:, 1]
        return InferenceResponse(model_name=self.name, outputs=[
            StringCodec.encode_output("label", NAMES[k].tolist()),
            NumpyCodec.encode_output("chances", chances),
        ])
'''


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="module")
def server(peers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "digit_runtime.py").write_text(RUNTIME)
    for kind in ("good", "slow", "failing", "flaky"):
        (folder / kind).mkdir()
        model = {
            "name": kind,
            "implementation": "digit_runtime.Digit",
            "parameters": {"extra": {"kind": kind}},
            "inputs": [{"name": "rows", "datatype": "FP32", "shape": [-1, 2]}],
        }
        (folder / kind / "model-settings.json").write_text(json.dumps(model))
    for _ in range(3):  # somebody else may have taken a port before the server does
        process, port = _started(peers, folder)
        try:
            if _ready(process, port):
                yield f"http://127.0.0.1:{port}"
                return
        finally:
            process.kill()  # it would wait for its slow answers
            process.wait()
    pytest.fail((folder / "log").read_text())


def _started(peers, folder):
    http, grpc, metrics = free_ports(3)
    settings = {"host": "127.0.0.1", "http_port": http, "grpc_port": grpc, "metrics_port": metrics,
                "parallel_workers": 0, "debug": False}  # fmt: skip
    (folder / "settings.json").write_text(json.dumps(settings))
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONWARNINGS": "ignore"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [peers / "mlserver", "start", "."], cwd=folder, stdout=log, stderr=log, env=environment
        )
    return process, http


def _ready(process, port):
    """Wait until the server answers; return False if it ends, or does not for a minute or two."""
    for _ in range(1200):
        if process.poll() is not None:
            return False
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5) as answer:
                if answer.status == 200:
                    return True
        except OSError:
            time.sleep(0.1)
    return False


def expert(server, model, **options):
    return open_expert("digit", KNOWS, {"use": f"{server}/v2/models/{model}", **options})


ROWS = np.array([[0, 0.8], [1, 0.5], [2, 0.9]] * 20)


def test_labels_and_probabilities_of_a_server(server):
    answers = expert(server, "good").answer(ROWS)
    assert answers.label.tolist() == [2, 1, 0] * 20
    assert answers.probability is None
    soft = expert(server, "good", classes=["ear", "eye", "skin"]).answer(ROWS)
    assert soft.label.tolist() == [2, 1, 0] * 20
    np.testing.assert_allclose(soft.probability[0], [0.1, 0.1, 0.8], atol=1e-6)
    named = expert(server, "good", output="label").answer({"k": ROWS[:, 0], "p": ROWS[:, 1]})
    assert (named.label == answers.label).all()


def test_a_slow_server_is_given_up_after_the_time_that_was_set(server):
    started = time.monotonic()
    with pytest.raises(ExpertError, match=r"expert 'digit' .*did not answer within 0.3 s \(2 tries\)"):
        expert(server, "slow", timeout=0.3, retries=1).answer(ROWS)
    assert time.monotonic() - started < 30


def test_a_failure_that_passes_is_asked_again(server):
    assert expert(server, "flaky", retries=4).answer(ROWS).label.tolist() == [2, 1, 0] * 20


def test_a_failing_model_is_named_with_what_the_server_says(server):
    with pytest.raises(
        ExpertError, match=r"/failing/infer with status 500: Internal Server Error \(2 tries\)"
    ):
        expert(server, "failing", retries=1).answer(ROWS)


def test_a_model_that_is_not_there_is_asked_for_once(server):
    with pytest.raises(ExpertError, match=r"status 404.*nobody") as found:
        expert(server, "nobody", retries=3).answer(ROWS)
    assert "tries" not in str(found.value)


def test_data_that_do_not_fit_are_explained(server):
    with pytest.raises(ExpertError, match="missing or infinite"):
        expert(server, "good").answer(np.array([[np.nan, 1.0]]))
    with pytest.raises(ExpertError, match="wants numbers"):
        expert(server, "good").answer({"text": np.array(["a", "b"], dtype=object)})
    with pytest.raises(ExpertError, match="no output 'logits'; it has: label, chances"):
        expert(server, "good", output="logits").answer(ROWS)


def test_a_server_that_is_not_running_is_told_so():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else gets this port, and nobody listens
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(
            ExpertError, match=r"cannot be reached: connection refused; is the server running"
        ):
            expert(address, "good", retries=0).answer(ROWS)
