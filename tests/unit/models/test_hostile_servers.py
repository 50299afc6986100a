"""Servers that answer slowly, endlessly or too much end in one line, in time."""

import json
import socket
import threading
import time

import numpy as np
import pytest

from covote.errors import ExpertError
from covote.models import connections, open_expert


class Hostile:
    """A server that takes a request and then does what it wants with the connection."""

    def __init__(self, behave):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.over = threading.Event()
        self.behave = behave
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while not self.over.is_set():
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        try:
            connection.recv(65536)
            self.behave(self, connection.sendall)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(1)
            while connection.recv(65536):  # a connection that is closed with bytes unread is reset
                pass
        except OSError:
            pass
        finally:
            connection.close()

    def drip(self, send, byte=b"x"):
        while not self.over.wait(0.05):
            send(byte)


def slow_status(server, send):
    server.drip(send, b"H")


def slow_headers(server, send):
    send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    server.drip(send)


def slow_body(server, send):
    send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    server.drip(send)


def slow_body_without_end(server, send):
    send(b"HTTP/1.1 200 OK\r\n\r\n")
    server.drip(send, b" ")


def slow_chunks(server, send):
    send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    server.drip(send, b"1\r\n \r\n")


def endless(server, send):
    send(b"HTTP/1.1 200 OK\r\n\r\n")
    while not server.over.is_set():
        send(b" " * 65536)


def interim_answers_without_end(server, send):
    while not server.over.is_set():
        send(b"HTTP/1.1 100 Continue\r\n\r\n")


def told(behave, scheme="http", path="v2/models/m", timeout=0.4, **options):
    server = Hostile(behave)
    use = f"{scheme}://127.0.0.1:{server.listening.getsockname()[1]}/{path}"
    model = {"use": use, "timeout": timeout, "retries": 0, **options}
    try:
        with pytest.raises(ExpertError) as error:
            open_expert("ann", ["a", "b"], model).answer({"x": np.zeros(2)})
    finally:
        server.over.set()
        server.listening.close()
    return str(error.value)


@pytest.mark.parametrize(
    "behave",
    [
        slow_status, slow_headers, slow_body, slow_body_without_end, slow_chunks,
        interim_answers_without_end,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_an_answer_that_comes_byte_by_byte_does_not_outlast_the_time_out(behave):
    start = time.monotonic()
    assert "did not answer within 0.4 s" in told(behave)
    assert time.monotonic() - start < 60  # the server itself would go on for longer


def test_keys_that_are_agreed_on_byte_by_byte_do_not_outlast_the_time_out():
    def slow_keys(server, send):
        send(b"\x16\x03\x03\x40\x00")  # the head of a long handshake record
        server.drip(send, b"\x02")

    start = time.monotonic()
    assert "did not answer within 0.4 s" in told(slow_keys, "https")
    assert time.monotonic() - start < 60


def test_an_answer_without_end_is_not_read_into_memory(monkeypatch):
    monkeypatch.setattr(connections, "LARGEST", 1 << 20)
    assert "more than 1 MiB" in told(endless, timeout=30)


OK = b"HTTP/1.1 200 OK\r\n"
NO = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: "
ODD_HTTP = {
    "redirect to itself": (b"HTTP/1.1 302 Found\r\nLocation: /v2/models/m\r\n\r\n", "with status 302"),
    "redirect to a file": (b"HTTP/1.1 301 M\r\nLocation: file:///etc/passwd\r\n\r\n", "with status 301"),
    "another protocol": (b"220 welcome\r\n", "broke the connection"),
    "no status": (b"HTTP/1.1 abc No\r\n\r\n", "broke the connection"),
    "no answer": (b"", "broke the connection"),
    "a length that is too long": (OK + b"Content-Length: 100\r\n\r\n{}", "98 more expected"),
    "a length that is too short": (OK + b"Content-Length: 1\r\n\r\n{}", "invalid JSON"),
    "a length of 5,000 digits": (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{", "invalid JSON"),
    "a length below zero": (OK + b"Content-Length: -5\r\n\r\n{", "invalid JSON"),
    "a huge chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 16 + b"\r\n{}", "broke the conn"),
    "a chunk below zero": (OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n", "expert 'ann' "),
    "a thousand headers": (OK + b"X: y\r\n" * 1000, "more than 100 headers"),
    "a header of 1 MB": (OK + b"X: " + b"y" * 1_000_000, "more than 65536 bytes"),
    "compressed, though nobody asked": (OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08", "invalid JSON"),
    "deep brackets": (OK + b"\r\n" + b"[" * 100_000, "invalid JSON"),
    "deep brackets in an error": (b"HTTP/1.1 400 No\r\n\r\n" + b"[" * 100_000, "with status 400: [[["),
    "a number of 10,000 digits": (OK + b"\r\n" + b"9" * 10_000, "invalid JSON"),
    "bytes that are no text": (OK + b"\r\n\xff\xfe", "invalid JSON"),
}


@pytest.mark.parametrize("use", ["http", "json:http", "chat:http"])
@pytest.mark.parametrize("name", ODD_HTTP)
def test_odd_answers_end_in_one_line(name, use):
    sent, words = ODD_HTTP[name]
    options = {"name": "m", "path": "v1"} if use == "chat:http" else {}
    line = told(lambda server, send: send(sent), use, timeout=30, **options)
    assert words in line
    assert line.startswith("expert 'ann' ")
    assert "\n" not in line.strip()


def output(**other):
    return {"outputs": [{"name": "o", "datatype": "INT64", "shape": [2], "data": [0, 1], **other}]}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([7], "inputs that are not a list of tensors"),
        ({"inputs": 7}, "inputs that are not a list of tensors"),
        ({"inputs": [{}]}, "inputs that are not a list of tensors"),
        ({"inputs": [{"name": "x", "datatype": ["FP32"]}]}, "which is not supported"),
        ({"outputs": {"name": "o"}}, "outputs that are not a list of tensors"),
        ({"outputs": [None]}, "outputs that are not a list of tensors"),
        (output(data=[2**70, 1]), "cannot be read"),
        (output(datatype="UINT8", data=[300, 1]), "cannot be read"),
        (output(datatype="FP64", data=[10**400, 1]), "cannot be read"),
        (output(datatype=["FP64"]), "cannot be read"),
        (output(shape=[10**30]), "cannot be read"),
        (output(shape="two"), "cannot be read"),
        (output(shape=[0, 10**12], data=[]), "to a request with 2 items"),
    ],
)
def test_tensors_that_no_model_has_end_in_one_line(said, words):
    body = json.dumps(said).encode()
    assert words in told(lambda server, send: send(OK + b"\r\n" + body), timeout=30)


@pytest.mark.parametrize(
    "wanted", ["9" * 400, "soon", "\xb2", "Mon, 01 Jan 0001 00:00:00 -2359", "Mon, 99 Jan 99999 00:00:00"]
)
def test_a_server_cannot_make_anyone_wait_for_longer_than_half_a_minute(monkeypatch, wanted):
    waited = []
    monkeypatch.setattr(connections.RequestGroup, "pause", lambda _, seconds: waited.append(seconds))
    busy = NO + wanted.encode("latin1") + b"\r\n\r\n"
    assert "status 503 (3 tries)" in told(lambda server, send: send(busy), timeout=30, retries=2)
    assert len(waited) == 2
    assert 0 <= min(waited) <= max(waited) <= 30


def test_a_request_is_sent_again_after_the_server_closed_a_connection_that_was_kept():
    def answers(server, send):  # the connection is closed behind the answer, without a word before
        send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    server = Hostile(answers)
    kept = connections.Connections(
        f"http://127.0.0.1:{server.listening.getsockname()[1]}", timeout=5, retries=0
    )
    try:
        for number in range(5):
            assert kept.json(connections.RequestGroup(), "POST", "/ask", {"number": number}) == {}
            time.sleep(0.05)  # until the other side has closed it
    finally:
        server.over.set()
        server.listening.close()
