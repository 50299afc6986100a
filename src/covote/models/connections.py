"""Connections to servers over HTTP: requests with time-outs, and retries that wait longer each time."""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import threading
import time
import weakref
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from covote.errors import ExpertError, InputError, OutageError

_PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses worth another try
_FIRST, _LONGEST = 0.25, 30.0  # seconds of pause after the first failure, and at most
_LETTERS = 200  # of what a server says about a failure
_NOT_THERE = "cannot be reached"
LARGEST = 1 << 28
"""Bytes of the largest answer that is read: 256 items and 10,000 classes take a fifth of them."""


class RequestGroup:
    """Whether a group of requests is still waited for; they are given up together, and for good."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._waiting: set[socket.socket] = set()

    def cancel(self) -> None:
        """Let all requests fail at once, those on their way and later ones."""
        with self._lock:
            self._over.set()
            for line in self._waiting:
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)

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
        line = connection.sock
        with self._lock:
            if self.over:
                raise ConnectionAbortedError("given up")
            self._waiting.add(line)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.discard(line)


REQUESTS: ContextVar[RequestGroup] = ContextVar("covote-group")
"""The group that the threads of a run share; without one, each batch has its own."""


class _TimedReader(socket.SocketIO):
    """What arrives on a socket until a moment, however slowly it comes."""

    def __init__(self, line: socket.socket, end: float) -> None:
        super().__init__(line, "r")
        self._line, self._end = line, end

    def readinto(self, buffer: Any) -> int | None:
        """Read what there is."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._line.settimeout(left)
        return super().readinto(buffer)


class _TimedResponse(http.client.HTTPResponse):
    """An answer that has to be complete at a moment: its status, each header and its body."""

    def __init__(self, line: socket.socket, *args: Any, end: float, **options: Any) -> None:
        super().__init__(line, *args, **options)
        self.fp.close()
        line._io_refs += 1  # type: ignore[attr-defined]  # as in socket.makefile
        self.fp = io.BufferedReader(_TimedReader(line, end))


class Connections:
    """Connections to one server, kept open between requests and shared by threads.

    An answer, headers included, has `timeout` seconds until its last byte. Nothing is followed
    elsewhere: a redirect is an error.
    """

    def __init__(self, url: str, *, timeout: float, retries: int, key: str | None = None) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        self._kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._host, self._port = parts.hostname or "", parts.port
        self._server = without_password(f"{parts.scheme}://{parts.netloc}")
        self._timeout, self._retries = timeout, retries
        self._secrets: list[str] = []
        self._authorization = self._authorization_of(parts.username, parts.password, key)
        self._idle: list[http.client.HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)

    def json(self, group: RequestGroup, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and again if the failure may pass; return what the JSON of the answer says."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        failure, wanted = "", None
        for number in range(self._retries + 1):
            if number:
                group.pause(_pause(number, wanted))
            if group.over:
                raise ExpertError(f"on {self._server} was not waited for any longer: the run was stopped")
            status, content, failure, wanted = self._send(group, method, path, data)
            if status == 200:
                try:
                    return json.loads(content)
                except (ValueError, RecursionError) as error:
                    raise OutageError(f"on {self._server} answered with invalid JSON") from error
            if status not in _PASSING and status != 0:
                break
        tries = "" if number == 0 else f" ({number + 1} tries)"
        passes = status in _PASSING or (status == 0 and not failure.startswith(_NOT_THERE))
        raise (OutageError if passes else ExpertError)(f"on {self._server} {failure}{tries}")

    def _send(
        self, group: RequestGroup, method: str, path: str, data: bytes | None
    ) -> tuple[int, bytes, str, str | None]:
        """Return (status, content, what went wrong, when to come again); status 0 if there was no answer."""
        try:
            connection, used = self._idle.pop(), True
        except IndexError:
            connection, used = self._kind(self._host, self._port, timeout=self._timeout), False
        headers = {"Accept": "application/json"}
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            if connection.sock is None:
                connection.connect()
            with group.waiting(connection):
                connection.sock.settimeout(self._timeout)
                end = time.monotonic() + self._timeout
                connection.response_class = partial(_TimedResponse, end=end)  # type: ignore[assignment]
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                content = answer.read(LARGEST + 1)
            if answer.length and len(content) <= LARGEST:
                raise http.client.IncompleteRead(content, answer.length)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if used and isinstance(error, ConnectionError) and not group.over:
                # The server has closed it since the last answer: that says nothing about this request.
                return self._send(group, method, path, data)
            return 0, b"", self._reason(error), None
        except ValueError:  # what http.client makes of a chunk of negative length
            connection.close()
            raise
        if len(content) > LARGEST:
            connection.close()
            return (
                413,
                b"",
                f"answered {method} {path} with more than {LARGEST >> 20} MiB; ask for less",
                None,
            )
        self._idle.append(connection)
        if answer.status == 200:
            return 200, content, "", None
        detail = self.without_key(_detail(content))[:_LETTERS]
        failure = f"answered {method} {path} with status {answer.status}{detail and ': ' + detail}"
        return answer.status, content, failure, answer.headers.get("Retry-After")

    def _authorization_of(self, user: str | None, password: str | None, key: str | None) -> str | None:
        """Return what proves who asks: a key, or the name and the password that the address has."""
        if key is not None:
            if user is not None:
                raise InputError(
                    f"the address of {self._server} has a name and a password, and key_env names a key; a "
                    "server takes one of them"
                )
            self._secrets = [key]
            return f"Bearer {key}"
        if user is None:
            return None
        password = unquote(password or "")
        code = b64encode(f"{unquote(user)}:{password}".encode()).decode()
        self._secrets = [secret for secret in (code, password) if secret]
        return f"Basic {code}"

    def without_key(self, text: str) -> str:
        """Return a text without the key or the password, which a server may quote."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"did not answer within {self._timeout:g} s"
        if isinstance(error, ConnectionRefusedError):
            return f"{_NOT_THERE}: connection refused; is the server running?"
        if isinstance(error, socket.gaierror):
            return f"{_NOT_THERE}: {error}"
        return f"broke the connection: {error or type(error).__name__}"


def without_password(url: str) -> str:
    """Return an address for people to read: without the name and the password that may stand in it.

    >>> without_password("http://ann:secret@models.example:8080/v2/models/skin")
    'http://models.example:8080/v2/models/skin'
    """
    return re.sub(r"//.*@", "//", url)


def _pause(number: int, wanted: str | None) -> float:
    """Return how long to wait: twice as long each time, spread so that threads do not retry together."""
    if wanted is not None:
        with suppress(ValueError):
            seconds = float(wanted) if wanted.isdigit() else _until(wanted)
            return min(max(seconds, 0.0), _LONGEST)
    spread = 0.5 + zlib.crc32(f"{threading.get_ident()} {number}".encode()) / 2**32
    return float(min(_LONGEST, _FIRST * 2 ** (number - 1)) * spread)


def _until(date: str) -> float:
    """Return the seconds until a date, as HTTP writes it."""
    return parsedate_to_datetime(date).timestamp() - time.time()


def _close(connections: list[http.client.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def _detail(content: bytes) -> str:
    """Return what an answer says about what went wrong: the protocol's error message, or else its text."""
    try:
        found = json.loads(content)
        error = found.get("error") or found.get("detail") or ""
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, AttributeError, RecursionError):
        text = content.decode("utf-8", "replace")
    return " ".join(text.split())
