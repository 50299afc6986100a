"""Guards around every request: its host, the origin and size of writes, and what a page may load."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https:; "
    "media-src 'self' https:; connect-src 'self'; font-src 'self'; manifest-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""No inline scripts or styles; pictures and sounds may come from addresses that the owner gave."""

HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LARGEST_FORM = 2 * 1024 * 1024
LARGEST_UPLOAD = 2 * 1024**3
UPLOADS = ("/items", "/import", "/classes/picture", "/classes/example")
"""Addresses that take files; everything else takes forms."""
CACHED = "public, max-age=31536000, immutable"
"""How long a browser keeps a static file whose address names its content."""
_SAFE = ("GET", "HEAD", "OPTIONS")


class Guards:
    """ASGI middleware: rejects foreign hosts and sites, and large bodies; adds safety headers."""

    def __init__(
        self, app: ASGIApp, hosts: Collection[str], refuse: Callable[[Request, int, str], Response]
    ) -> None:
        self.app, self._hosts, self._refuse = app, hosts, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, app, root = Headers(scope=scope), self.app, scope.get("root_path", "")
        path = scope["path"].removeprefix(root)
        immutable = path.startswith("/static/") and bool(scope["query_string"])
        limit = LARGEST_UPLOAD if path.startswith(UPLOADS) else LARGEST_FORM
        host = headers.get("host", "")
        if not is_ours(host, self._hosts):
            app = PlainTextResponse(
                f"This server does not know the name {host[:100]}; whoever runs the studio starts it with "
                "--public-url and the address that people use.",
                421,
            )
        elif scope["method"] not in _SAFE and not from_here(headers):
            message = "This request came from another site, so nothing was changed."
            app = await run_in_threadpool(self._refuse, Request(scope), 403, message)
        elif _length(headers) > limit:
            app = await run_in_threadpool(self._refuse, Request(scope), 413, _too_large(limit))
        await app(
            scope, _limited(receive, limit), _with_headers(send, CACHED if immutable else "no-store", root)
        )


def host_names(host: str, public_url: str | None) -> frozenset[str]:
    """Return the names of this server: of the machine, of where it listens, of its public address."""
    machine = socket.gethostname().lower()
    public = urlsplit(public_url or "").hostname or "localhost"
    return frozenset({"localhost", host.lower(), public, machine, f"{machine.partition('.')[0]}.local"})


def is_ours(host: str, names: Collection[str]) -> bool:
    """Whether the header Host names this server: links begin with it, and a foreign name may be a trap.

    Addresses are fine: browsers send one only if it is where the request goes.

    >>> [is_ours(one, {"localhost"}) for one in ("localhost:8000", "[::1]:8000", "10.0.0.7", "evil.example")]
    [True, True, True, False]
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return not host or name in names or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def from_here(headers: Mapping[str, str]) -> bool:
    """Whether a write comes from a page of this server, or from a program with a token.

    Browsers name the origin of a request in Sec-Fetch-Site, older ones in Origin. A request with a token does
    not come from a tricked browser: browsers never add that header by themselves.
    """
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    host = headers.get("host", "")
    return bool(host) and headers.get("origin", "").partition("://")[2] == host


def _too_large(limit: int) -> str:
    return f"That is more than {limit / 1e6:,.0f} MB; send it in smaller parts."


def _length(headers: Mapping[str, str]) -> int:
    try:
        return int(headers.get("content-length", "0"))
    except ValueError:
        return LARGEST_UPLOAD + 1


def _limited(receive: Receive, limit: int) -> Receive:
    """Return a receive that rejects more than `limit` bytes, whether or not a length was announced."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return counted


def _with_headers(send: Send, cache: str, root: str) -> Send:
    """Return a send that adds safety headers; redirects stay below `root`."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in (*HEADERS.items(), ("cache-control", cache)):
                headers.setdefault(name, value)
            if headers.get("location", "").startswith("/"):
                headers["location"] = root + headers["location"]
        await send(message)

    return with_headers
