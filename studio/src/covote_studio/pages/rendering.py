"""Shared by all pages: templates, who is asking, forms."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import AsyncIterator, Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote, unquote

import jinja2
import segno
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.datastructures import FormData, UploadFile

from covote.errors import CovoteError
from covote.labels import MEANINGS
from covote_studio.context import Studio
from covote_studio.people import credentials
from covote_studio.people.credentials import Credentials
from covote_studio.people.roster import project_row
from covote_studio.projects import Projects
from covote_studio.rules import Member, Refusal, join_names, require_owner, require_reviewer, sentence

_FOLDER = Path(__file__).parents[1]
STATIC = _FOLDER / "static"
MOST_FIELDS = 30_000


def _when(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment.day} {moment:%b %Y, %H:%M}"


def _day(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%A}, {moment.day} {moment:%B}"


def _percent(value: float) -> str:
    if value != value:
        return "–"
    return "> 99%" if 0.995 <= value < 1 else f"{100 * value:.0f}%"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
STATUS = {"agreed": "good", "tied": "warn", "conflict": "bad", "incomplete": "quiet", "given": "good"}
"""The style of each status of a label."""
_PLACES = (
    ("/progress", "Progress"), ("/label", "Label"), ("/review", "Review"), ("/experts", "Experts"),
    ("/board", "Coverage"), ("/people", "People"), ("/items", "Items"), ("/classes", "Classes"),
    ("/export", "Export"), ("/settings", "Settings"), ("/record", "Record"),
)  # fmt: skip
_REVIEWED = ("/progress", "/label", "/review", "/experts", "/record")


def places_of(member: Member) -> list[tuple[str, str]]:
    """Return the pages that a person may open, and their names."""
    open_to = ("/label",) if not member.reviews else _REVIEWED
    mine = [one for one in _PLACES if member.is_owner or one[0] in open_to]
    return [*mine, ("/me", member.name)]


@cache
def asset(name: str) -> str:
    """Return the address of a static file; it changes with the content, so that browsers may cache it."""
    content = (STATIC / name).read_bytes()
    return f"/static/{name}?{hashlib.sha256(content).hexdigest()[:12]}"


@jinja2.pass_context
def here(context: jinja2.runtime.Context, address: str) -> str:
    """Return an address as a link: one that begins with a slash is below the project's own address."""
    return f"{context['root']}{address}" if address.startswith("/") else address


TEMPLATES.globals.update(status_of=STATUS, meaning_of=MEANINGS, asset=asset)
TEMPLATES.filters.update(
    when=_when, day=_day, percent=_percent, number=_number, here=here, join_names=join_names
)


def studio_at(request: Request) -> Studio:
    """Return the project that a request is about."""
    found: Studio = request.scope.get("studio") or request.app.state.studio
    return found


async def studio_of(request: Request) -> Studio:
    """Return the project that a request is about, as a dependency that needs no thread."""
    return studio_at(request)


def projects_of(request: Request) -> Projects | None:
    """Return the projects of the server if it has several."""
    found: Projects | None = request.scope.get("projects")
    return found


def root_of(request: Request) -> str:
    """Return the prefix of this project's addresses: empty, or /p/NAME."""
    return str(request.scope.get("root_path", ""))


def path_of(request: Request) -> str:
    """Return the address of a request within its project."""
    return request.url.path.removeprefix(root_of(request))


def credentials_of(request: Request) -> Credentials:
    """Return the credentials of a request: a token, an account of the server, or a session cookie."""
    bearer = request.headers.get("authorization", "")
    if bearer.lower().startswith("bearer "):
        return Credentials("api", bearer[7:].strip())
    studio, several = studio_at(request), projects_of(request)
    if several and root_of(request):
        member_id = several.member_id(several.account_of(request), studio)
        if member_id is not None:
            return Credentials("account", "", person_id=member_id)
    return Credentials("session", request.cookies.get(studio.cookie, ""), proxy_name(request))


def proxy_name(request: Request) -> str | None:
    """Return who is signed in according to a trusted proxy; None if no proxy signs people in."""
    studio = studio_at(request)
    if studio.sign_in_header is None:
        return None
    return request.headers.get(studio.sign_in_header, "").strip()


def member_of(request: Request) -> Member:
    """Return who sends a request."""
    studio = studio_at(request)
    with studio.database.read() as connection:
        setup = credentials.open_with(connection, credentials_of(request))
        member = studio.rosters.get(connection, setup.panel_version).member_by_id[setup.person_id]
    require_open(request, member.active)
    request.state.project_name = setup.name
    return member


def require_open(request: Request, active: bool) -> None:
    """Reject a closed account of the server; who is away from a project can still sign in to it."""
    if not active and projects_of(request) and not root_of(request):
        raise Refusal("This account is closed; ask an administrator of the server.")


def owner_of(request: Request) -> Member:
    """Return who sends a request, if it is an owner."""
    member = member_of(request)
    require_owner(member)
    return member


def reviewer_of(request: Request) -> Member:
    """Return who sends a request, if it is an owner or a reviewer."""
    member = member_of(request)
    require_reviewer(member)
    return member


async def form_of(request: Request) -> AsyncIterator[FormData]:
    """Yield the form that was sent; its files are closed afterwards."""
    async with request.form(max_files=MOST_FIELDS, max_fields=MOST_FIELDS, max_part_size=1 << 22) as form:
        yield form


RequestCredentials = Annotated[Credentials, Depends(credentials_of)]
Who = Annotated[Member, Depends(member_of)]
Owner = Annotated[Member, Depends(owner_of)]
Reviewer = Annotated[Member, Depends(reviewer_of)]
Form = Annotated[FormData, Depends(form_of)]
Project = Annotated[Studio, Depends(studio_of)]


def page(request: Request, template: str, member: Member | None = None, /, **values: Any) -> HTMLResponse:
    """Return a page."""
    status = int(values.get("status", 200))
    name = values.pop("project_name", None) or getattr(request.state, "project_name", None)
    if name is None and root_of(request):
        name = root_of(request).removeprefix("/p/")  # a stranger does not learn what the project is called
    elif name is None:
        with studio_at(request).database.read() as connection:
            name = project_row(connection).name
    notice = unquote(request.cookies.get("notice", ""))
    shown = {"problem": "", "notice": notice, **values}
    places = places_of(member) if member else []
    text = TEMPLATES.get_template(template).render(
        member=member, project_name=name, path=path_of(request), root=root_of(request),
        **{"places": places, **shown},
    )  # fmt: skip
    answer = HTMLResponse(text, status)
    if notice:
        answer.delete_cookie("notice", path="/")
    return answer


def qr_code(address: str) -> Markup:
    """Return an address as a picture that phones read."""
    return Markup(segno.make(address, error="m").svg_inline(scale=4, border=2))


def link_page(
    request: Request, member: Member, secret_link: tuple[str, str], title: str, text: str, **values: Any
) -> HTMLResponse:
    """Show a new link (purpose and secret), which cannot be shown again."""
    purpose, secret = secret_link
    days = credentials.LIFETIME[purpose] / credentials.DAY
    address = f"{base_address(request)}/{'shared' if purpose == 'share' else purpose}/{secret}"
    text = f"{text} The link is shown only once and works for {days:.0f} days."
    code = qr_code(address)
    return page(request, "invited.html", member, title=title, text=text, address=address, code=code, **values)


def fragment(request: Request, template: str, **values: Any) -> HTMLResponse:
    """Return a part of a page, which a script puts in its place."""
    return HTMLResponse(TEMPLATES.get_template(template).render(root=root_of(request), **values))


def sentence_of(error: CovoteError) -> str:
    """Return an error's message as a sentence; a refusal already is one."""
    return str(error) if isinstance(error, Refusal) else sentence(str(error))


def back_to(place: str, notice: str = "") -> Response:
    """Redirect to another page, which shows a message once."""
    answer = RedirectResponse(place, 303)
    if notice:
        answer.set_cookie("notice", quote(notice[:1000]), max_age=30, httponly=True, samesite="lax", path="/")
    return answer


def files_of(form: FormData, name: str) -> list[tuple[str, BinaryIO]]:
    """Return the files of a field: (name, file)."""
    sent = [one for one in form.getlist(name) if isinstance(one, UploadFile)]
    return [(one.filename, one.file) for one in sent if one.filename]


def text_field(form: FormData, name: str, otherwise: str = "") -> str:
    """Return a field of a form as text."""
    value = form.get(name, otherwise)
    if not isinstance(value, str):
        raise Refusal(f"The field “{name}” is a file where text is expected; type it instead.", 422)
    return value


def whole_fields(values: Iterable[Any]) -> list[int]:
    """Return fields of a form as whole numbers."""
    try:
        return [int(str(value)) for value in values]
    except ValueError as error:
        raise Refusal("A field of this form should be a number and is not; reload the page.", 422) from error


def class_ids(form: FormData, known: Iterable[int]) -> list[int]:
    """Return the classes that are ticked in a form; all must exist."""
    ticked, there = whole_fields(form.getlist("class")), set(known)
    gone = [one for one in ticked if one not in there]
    if gone:
        raise Refusal("A class of this form is no longer there; reload the page and tick again.", 409)
    return ticked


def base_address(request: Request) -> str:
    """Return the address that links begin with: the public one, or that of the request."""
    studio = studio_at(request)
    if studio.public_url:
        return studio.public_url + root_of(request)
    return str(request.base_url).rstrip("/")
