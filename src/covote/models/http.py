"""HTTP requests with time-outs, and with tries that wait longer each time."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from covote.errors import ExpertError

_PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses worth another try
_FIRST, _LONGEST = 0.25, 30.0  # seconds of pause after the first failure, and at most


class Patience:
    """How long a group of requests is waited for: until they are given up, all together and for good."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._waiting: set[http.client.HTTPConnection] = set()

    def give_up(self) -> None:
        """Let requests fail at once: those on their way and later ones."""
        with self._lock:
            self._over.set()
            for connection in self._waiting:
                if connection.sock is not None:
                    with suppress(OSError):
                        connection.sock.shutdown(socket.SHUT_RDWR)

    def pause(self, seconds: float) -> None:
        """Wait, unless requests are given up."""
        self._over.wait(seconds)

    @property
    def over(self) -> bool:
        """Whether requests are given up."""
        return self._over.is_set()

    @contextmanager
    def waiting(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        """Wait for a connection that is made; one that comes too late is not used at all."""
        with self._lock:
            if self.over:
                raise ConnectionAbortedError("given up")
            self._waiting.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.discard(connection)


PATIENCE: ContextVar[Patience] = ContextVar("covote-patience")
"""With which patience the threads of a run ask; where there is none, each batch has its own."""


class Connections:
    """Connections to one server, kept open between requests and shared by threads.

    Nothing is followed elsewhere: a redirect is an error.
    """

    def __init__(self, url: str, *, timeout: float, retries: int) -> None:
        parts = urlsplit(url)
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port = parts.hostname or "", parts.port
        self._server = f"{parts.scheme}://{parts.netloc}"
        self._timeout, self._retries = timeout, retries
        self._idle: list[http.client.HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)

    def json(self, patience: Patience, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and again if the failure may pass; return what the JSON of the answer says."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        failure, wanted = "", None
        for number in range(self._retries + 1):
            if number:
                patience.pause(_pause(number, wanted))
            if patience.over:
                raise ExpertError(f"on {self._server} was not waited for any longer")
            status, said, failure, wanted = self._sent(patience, method, path, data)
            if status == 200:
                try:
                    return json.loads(said)
                except ValueError as error:
                    raise ExpertError(f"on {self._server} answered something that is no JSON") from error
            if status not in _PASSING and status != 0:
                break
        tries = "" if number == 0 else f" ({number + 1} tries)"
        raise ExpertError(f"on {self._server} {failure}{tries}")

    def _sent(
        self, patience: Patience, method: str, path: str, data: bytes | None
    ) -> tuple[int, bytes, str, str | None]:
        """Return (status, content, what went wrong, when to come again); status 0 if there was no answer."""
        try:
            connection, used = self._idle.pop(), True
        except IndexError:
            connection, used = self._kind(self._host, self._port, timeout=self._timeout), False
        headers = {"Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            if connection.sock is None:
                connection.connect()
            with patience.waiting(connection):
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if used and isinstance(error, ConnectionError) and not patience.over:
                # The server has closed it since the last answer: that says nothing about this request.
                return self._sent(patience, method, path, data)
            return 0, b"", self._reason(error), None
        self._idle.append(connection)
        failure = f"answered {method} {path} with status {answer.status}{_detail(said)}"
        return answer.status, said, failure, answer.headers.get("Retry-After")

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"did not answer within {self._timeout:g} s"
        if isinstance(error, ConnectionRefusedError):
            return "cannot be reached: connection refused; is the server running?"
        return f"cannot be reached: {error or type(error).__name__}"


def _pause(number: int, wanted: str | None) -> float:
    """Return how long to wait: twice as long each time, spread so that threads do not come together."""
    if wanted is not None and wanted.isdigit():
        return min(float(wanted), _LONGEST)
    spread = 0.5 + zlib.crc32(f"{threading.get_ident()} {number}".encode()) / 2**32
    return float(min(_LONGEST, _FIRST * 2 ** (number - 1)) * spread)


def _close(connections: list[http.client.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def _detail(said: bytes) -> str:
    """Return what an answer says about what went wrong: the protocol's error message, or else its text."""
    try:
        found = json.loads(said)
        text = str(found.get("error") or found.get("detail") or "")
    except (ValueError, AttributeError):
        text = said.decode("utf-8", "replace")
    return f": {' '.join(text.split())[:200]}" if text else ""
