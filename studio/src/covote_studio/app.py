"""The application: routes, guards, error pages; and its server."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from covote import __version__
from covote.errors import CovoteError, InputError
from covote_studio import api, api_project
from covote_studio.context import Studio
from covote_studio.guards import HEADERS, Guards, host_names
from covote_studio.pages import (
    board,
    class_pages,
    entrance,
    front,
    item_pages,
    label_screen,
    people_pages,
    project_pages,
    review,
    start,
)
from covote_studio.pages.rendering import STATIC, TEMPLATES, member_of, page, path_of, sentence_of
from covote_studio.people.credentials import NotSignedIn
from covote_studio.projects import Addresses, Projects
from covote_studio.rules import Member, Refusal

SILENT: dict[str, Any] = {
    "telemetry": dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
}
"""FastAPI sends no telemetry, whatever the environment says; versions without telemetry ignore this."""
_PAGES = (label_screen, entrance, start, people_pages, item_pages, class_pages, project_pages, board, review)


def create_app(studio: Studio | None, hosts: Collection[str] = ("localhost",)) -> FastAPI:
    """Return the web application of a project, or of the projects that :class:`Addresses` names.

    `hosts` are the names of this server, besides its addresses.
    """
    app = FastAPI(
        title="covote studio", version=__version__, docs_url=None, redoc_url=None, **SILENT,
        lifespan=None if studio is None else _lifespan(studio),
        openapi_url="/api/openapi.json", routes=[label_screen.ANSWER],
    )  # fmt: skip
    app.state.studio = studio
    for module in _PAGES:
        app.include_router(module.router, include_in_schema=False)
    app.include_router(api.router)
    app.include_router(api_project.router)
    return _guarded(app, hosts)


def create_server(projects: Projects, hosts: Collection[str] = ("localhost",)) -> Addresses:
    """Return the web application of a server of several projects."""
    front_app = FastAPI(
        lifespan=_lifespan(projects), docs_url=None, redoc_url=None, openapi_url=None, **SILENT
    )
    front_app.include_router(front.router)
    front_app.include_router(entrance.router)
    return Addresses(projects, create_app(None, hosts), _guarded(front_app, hosts))


def _lifespan(served: Studio | Projects) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        served.start()
        for name in TEMPLATES.list_templates():
            TEMPLATES.get_template(name)  # compiled now, so that the first visitor does not wait
        yield
        served.stop()

    return lifespan


def _guarded(app: FastAPI, hosts: Collection[str]) -> FastAPI:
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    app.add_middleware(Guards, hosts=hosts, refuse=_refusal)
    _add_refusals(app)
    return app


SENTENCES: dict[type[Exception], tuple[int, str]] = {
    IntegrityError: (409, "Someone changed the same thing at the same moment; try again."),
    OperationalError: (503, "The database did not answer. Nothing is lost; try again in a moment."),
    # SQLite raises the one, PostgreSQL the other.
    OverflowError: (422, "A number in this request is too large; reload the page."),
    DataError: (422, "A number in this request is too large; reload the page."),
    UnicodeEncodeError: (422, "A text in this request contains half a character; type or save it again."),
}
"""Messages that are shown instead of database errors, with their HTTP status."""


HEADINGS = {
    401: "Sign in first", 403: "This is not open to you", 404: "Not found", 409: "Something has changed",
    413: "Too large", 429: "Too many at once", 500: "Something is wrong here",
    503: "The database did not answer",
}  # fmt: skip
"""Headings of pages that say what did not work, by HTTP status."""


def _add_refusals(app: FastAPI) -> None:
    for kind, sentence in SENTENCES.items():
        app.add_exception_handler(kind, lambda request, _error, refusal=sentence: _refusal(request, *refusal))

    @app.exception_handler(ClientDisconnect)
    def hung_up(_request: Request, _error: Exception) -> Response:
        return Response(status_code=400)  # no one reads it, and it is no fault to be reported

    @app.exception_handler(Exception)
    def broken(request: Request, _error: Exception) -> Response:
        refusal = _refusal(request, 500, "This is a fault of the studio, not yours.")
        refusal.headers.update(HEADERS)  # it is made outside of what adds them
        return refusal

    @app.exception_handler(NotSignedIn)
    def sign_in(request: Request, refused: NotSignedIn) -> Response:
        if _wants_page(request) and request.method == "GET":
            return RedirectResponse("/login", 303)
        return _refusal(request, 401, str(refused))

    @app.exception_handler(CovoteError)
    def explain(request: Request, error: CovoteError) -> Response:
        return _refusal(request, error.status if isinstance(error, Refusal) else 422, sentence_of(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        first: Any = error.errors()[0]
        where = " ".join(str(part) for part in first["loc"][1:])
        return _refusal(request, 422, f"This request cannot be understood: {where}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        missing = error.status_code == 404
        return _refusal(
            request, error.status_code, "There is no such page." if missing else str(error.detail)
        )


def _wants_page(request: Request) -> bool:
    return not path_of(request).startswith("/api") and "text/html" in request.headers.get("accept", "")


def _refusal(request: Request, status: int, sentence: str) -> Response:
    if _wants_page(request):
        values: dict[str, Any] = {
            "problem": sentence, "status": status, "heading": HEADINGS.get(status, "That did not work"),
            "sent": request.method != "GET",
        }  # fmt: skip
        try:
            return page(request, "refused.html", _member(request), **values)
        except SQLAlchemyError:  # there is no name to show either
            return page(request, "refused.html", None, project_name="covote studio", **values)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"detail": sentence}, status, headers)


def _member(request: Request) -> Member | None:
    try:
        return member_of(request)
    except CovoteError:
        return None


def free_port(host: str, port: int) -> int:
    """Return the port if it is free, or reject it; 0 finds a free one."""
    if not 0 <= port < 1 << 16:
        raise InputError(f"--port {port} is out of range; choose a port from 0 (any that is free) to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot serve at {host} port {port}: {error.strerror}; choose another with --port, or 0 "
                "for any"
            ) from error
        return int(probe.getsockname()[1])


def serve(served: Studio | Projects, host: str, port: int) -> None:
    """Serve a project, or several, until stopped."""
    if isinstance(served, Studio):
        app: ASGIApp = create_app(served, host_names(host, served.public_url))
    else:
        app = create_server(served, host_names(host, served.accounts.public_url))
    uvicorn.run(
        app, host=host, port=port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=75, server_header=False,
    )  # fmt: skip
