"""Guards around every request: where writes come from, how large they are, what a page may load."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https:; "
    "media-src 'self' https:; connect-src 'self'; font-src 'self'; manifest-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""No inline script or style anywhere; pictures and sounds may be addresses that the owner gave."""

HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
LARGEST_FORM = 2 * 1024 * 1024
LARGEST_UPLOAD = 2 * 1024**3
UPLOADS = ("/items", "/import", "/classes/picture")
"""Addresses that take files; everything else takes forms."""
KEPT = b"public, max-age=31536000, immutable"
"""How long a browser keeps a static file whose address names its content."""
_SAFE = ("GET", "HEAD", "OPTIONS")


class Guards:
    """ASGI middleware: refuses writes from other sites, bodies that are too large; adds safety headers."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if scope["method"] not in _SAFE and not from_here(headers):
            await _refuse(
                send, 403, "This request came from another site and was refused; open the studio itself."
            )
            return
        limit = LARGEST_UPLOAD if scope["path"].startswith(UPLOADS) else LARGEST_FORM
        if _length(headers) > limit:
            await _refuse(send, 413, _too_large(limit))
            return
        kept = scope["path"].startswith("/static/") and bool(scope["query_string"])
        await self.app(scope, _limited(receive, limit), _with_headers(send, KEPT if kept else b"no-store"))


def from_here(headers: MutableMapping[bytes, bytes]) -> bool:
    """Whether a write comes from a page of this server, or from a program with a token of its own.

    A browser says where a request comes from in Sec-Fetch-Site, older ones in Origin. A program that sends a
    token is not a browser that was tricked: browsers never add that header by themselves.
    """
    if headers.get(b"authorization", b"").lower().startswith(b"bearer "):
        return True
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site == b"same-origin"
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    return bool(host) and urlsplit(origin).netloc == host


def _too_large(limit: int) -> str:
    return f"That is more than {limit / 1e6:,.0f} MB; send it in smaller parts."


def _length(headers: MutableMapping[bytes, bytes]) -> int:
    try:
        return int(headers.get(b"content-length", b"0"))
    except ValueError:
        return LARGEST_UPLOAD + 1


def _limited(receive: Receive, limit: int) -> Receive:
    """Return a receive that refuses more than `limit` bytes, whether or not a length was announced."""
    seen = 0

    async def counted() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return counted


def _with_headers(send: Send, cache: bytes = b"no-store") -> Send:
    async def with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added = [pair for pair in HEADERS if pair[0] not in present]
            if b"cache-control" not in present:
                added.append((b"cache-control", cache))
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return with_headers


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = sentence.encode()
    await _with_headers(send)(
        {"type": "http.response.start", "status": status,
         "headers": [(b"content-type", b"text/plain; charset=utf-8"),
                     (b"content-length", str(len(body)).encode())]}
    )  # fmt: skip
    await send({"type": "http.response.body", "body": body})
