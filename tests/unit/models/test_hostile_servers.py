"""Servers that answer slowly, endlessly or too much end in one line, in time."""

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
        except OSError:
            pass
        finally:
            connection.close()

    def drip(self, send, byte=b"x"):
        while not self.over.wait(0.05):
            send(byte)


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


def told(behave, timeout=0.4):
    server = Hostile(behave)
    port = server.listening.getsockname()[1]
    model = {"use": f"http://127.0.0.1:{port}/v2/models/m", "timeout": timeout, "retries": 0}
    try:
        with pytest.raises(ExpertError) as error:
            open_expert("ann", ["a", "b"], model).answer(np.zeros((2, 2)))
    finally:
        server.over.set()
        server.listening.close()
    return str(error.value)


@pytest.mark.parametrize(
    "behave",
    [slow_body, slow_body_without_end, slow_chunks],
    ids=lambda f: f.__name__,
)
def test_an_answer_that_comes_byte_by_byte_does_not_outlast_the_time_out(behave):
    start = time.monotonic()
    assert "did not answer within 0.4 s" in told(behave)
    assert time.monotonic() - start < 60  # the server itself would go on for longer


def test_an_answer_without_end_is_not_read_into_memory(monkeypatch):
    monkeypatch.setattr(connections, "LARGEST", 1 << 20)
    assert "more than 1 MiB" in told(endless, timeout=30)


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
