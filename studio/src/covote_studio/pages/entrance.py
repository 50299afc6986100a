"""The entrance: invitation links, name and password, a proxy that signs people in, accounts, signing out.

A server of several projects has the same entrance at its own address, for accounts; there, the entrance of a
project accepts only links, and redirects to the server's for everything else.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from sqlalchemy import Connection, select

from covote_studio.answers.progress import remaining
from covote_studio.context import Studio
from covote_studio.editing.record import note
from covote_studio.pages.rendering import (
    Form,
    Project,
    Who,
    back_to,
    base_address,
    page,
    projects_of,
    proxy_name,
    require_open,
    root_of,
    text_field,
)
from covote_studio.people import credentials, managing, passwords
from covote_studio.projects import Projects, join
from covote_studio.rules import Refusal
from covote_studio.storage.schema import person

router = APIRouter()
SERVER = "../../"
"""From /p/NAME/login to the pages of the server itself."""


def _project_of_several(request: Request) -> Projects | None:
    """Return the server's projects if a request is about one of them."""
    return projects_of(request) if root_of(request) else None


@router.get("/enter/{secret}")
def show_invitation(request: Request, studio: Project, secret: str) -> Response:
    """Greet the person whose link this is; only the button signs in, so that link previews do not."""
    with studio.database.read() as connection:
        found = credentials.open_link(connection, secret, "enter", "once")
        setup, roster = studio.snapshot(connection)
    member = roster.member(found.person_id)
    left = remaining(setup, member, found.answers)
    several = _project_of_several(request)
    account = several.account_of(request) if several else None
    return page(
        request, "enter.html", project_name=setup.name, name=found.person_name, secret=secret,
        account=account, setup=setup, left=left, known=len(member.known),
    )  # fmt: skip


@router.post("/enter/{secret}")
def use_invitation(request: Request, studio: Project, secret: str) -> Response:
    """Sign in by link; someone who is signed in to the server joins the project with that account."""
    several = _project_of_several(request)
    account = several.account_of(request) if several else None
    with studio.database.write() as connection:
        entering = credentials.open_link(connection, secret, "enter", "once")
        if several and account:
            with several.accounts.database.write() as accounts:
                join(accounts, account.person_id, studio.uid, entering.person_id)
        credentials.forget(connection, secret)
        managing.mark_entered(connection, entering.person_id)
        if account:
            return back_to("/", "The project has been added to your projects.")
        session = credentials.new_secret(connection, "session", entering.person_id)
    return signed_in(request, studio, session)


@router.get("/login")
def show_login(request: Request, studio: Project, project: str = "") -> Response:
    """Ask for name and password, or take the name from a trusted proxy."""
    several = _project_of_several(request)
    if several:
        account = several.account_of(request)
        if account is None:
            return RedirectResponse(f"{SERVER}login?project={root_of(request).removeprefix('/p/')}", 303)
        raise Refusal(
            f"You are signed in as {account.person_name}, who is not in this project; open your invitation "
            "link, or ask the owner for one."
        )
    name = proxy_name(request)
    if not name:
        return page(request, "login.html", project=project)
    with studio.database.write() as connection:
        session = credentials.new_secret(connection, "session", _known_to_proxy(request, connection, name))
    return signed_in(request, studio, session, project)


def _known_to_proxy(request: Request, connection: Connection, name: str) -> int:
    """Return the id of someone signed in by a trusted proxy; a server creates the account."""
    row = connection.execute(select(person.c.id, person.c.active).where(person.c.name == name)).one_or_none()
    if row is None and projects_of(request):
        account_id = managing.add_person(connection, name, "expert")
        note(connection, account_id, "Created the account, signed in by the proxy.")
        return account_id
    if row is None:
        raise Refusal(f"You are signed in as {name[:200]}, who is not in this project; ask its owner.")
    require_open(request, row.active)
    return int(row.id)


@router.post("/login")
async def login(request: Request, studio: Project, form: Form) -> Response:
    """Sign in by password, unless too many people are doing so.

    Excess requests are rejected before they take one of the threads that all pages share, so that people at
    work do not wait for strangers.
    """
    hashing = studio.passwords
    if hashing.signing_in >= passwords.AT_ONCE + passwords.WAITING:
        return PlainTextResponse(passwords.BUSY, 429, {"Retry-After": "5"})
    hashing.signing_in += 1
    try:
        return await run_in_threadpool(_login, request, studio, form)
    finally:
        hashing.signing_in -= 1


def _login(request: Request, studio: Studio, form: Form) -> Response:
    """Sign in by password; the session is a new one, whatever cookie the browser had."""
    if _project_of_several(request):
        raise Refusal("Sign in with your account, at the address of the server.", 404)
    address = request.client.host if request.client else ""
    project = text_field(form, "project")
    try:
        found = studio.passwords.check(
            studio.database, text_field(form, "name").strip(), text_field(form, "password"), address,
            request.cookies.get(f"{studio.cookie}_device", ""),
        )  # fmt: skip
        require_open(request, found.active)
    except Refusal as refused:
        return page(request, "login.html", problem=str(refused), status=refused.status, project=project)
    with studio.database.write() as connection:
        session = credentials.new_secret(connection, "session", found.id)
        device = credentials.new_secret(connection, "device", found.id)
    answer = signed_in(request, studio, session, project)
    _set_cookie(request, answer, f"{studio.cookie}_device", device, "device")
    return answer


def _set_cookie(request: Request, answer: Response, name: str, secret: str, purpose: str) -> None:
    """Keep a secret in a cookie for as long as it is good."""
    answer.set_cookie(
        name, secret, max_age=int(credentials.LIFETIME[purpose]), httponly=True, samesite="lax",
        secure=base_address(request).startswith("https:"), path="/",
    )  # fmt: skip


def signed_in(request: Request, studio: Studio, session: str, project: str = "") -> Response:
    """Store the session in a cookie, and redirect to the first page, or to a project."""
    several = projects_of(request)
    known = several is not None and project in several.open
    answer = RedirectResponse(f"/p/{project}/" if known else "/", 303)
    _set_cookie(request, answer, studio.cookie, session, "session")
    return answer


@router.post("/logout")
def logout(request: Request, studio: Project) -> Response:
    """Sign out of every project in this browser; other devices stay signed in."""
    several = projects_of(request)
    answer = RedirectResponse(f"{SERVER}login" if root_of(request) else "/login", 303)
    for one in (several.accounts, *several.open.values()) if several else (studio,):
        if secret := request.cookies.get(one.cookie):
            with one.database.write() as connection:
                credentials.forget(connection, secret)
            answer.delete_cookie(one.cookie, path="/")
    return answer


def new_password(studio: Studio, form: Form) -> str:
    """Return the hash of a password that was typed twice."""
    if text_field(form, "password") != text_field(form, "again"):
        raise Refusal("The two passwords are not the same; type both again.", 422)
    return studio.passwords.hashed(text_field(form, "password"))


@router.post("/me/password")
def change_password(request: Request, studio: Project, who: Who, form: Form) -> Response:
    """Set a password; every other session of the person ends."""
    if _project_of_several(request):
        raise Refusal("You sign in with your account; change its password on the server's own page.", 404)
    with studio.database.read() as connection:
        before = connection.execute(select(person.c.password).where(person.c.id == who.id)).scalar_one()
    if before and not studio.passwords.matches(before, text_field(form, "old")):
        raise Refusal("That is not your current password; type it again, or ask an owner for a link.", 403)
    hashed = new_password(studio, form)
    with studio.database.write() as connection:
        passwords.store(connection, who.id, hashed)
        note(connection, who.id, f"{who.name} {'changed the' if before else 'set a'} password.")
        ended = credentials.end_other_sessions(connection, who.id, request.cookies.get(studio.cookie, ""))
    others = " You are signed out on your other devices." if ended else ""
    return back_to("/me", f"Your password is set; you can now sign in with it.{others}")


@router.post("/me/account")
def join_account(request: Request, studio: Project, who: Who, form: Form) -> Response:
    """Add the project to the account that is signed in, or to a new one with a name and a password."""
    several = _project_of_several(request)
    if several is None:
        raise Refusal("There are no accounts here: this server has only one project.", 404)
    accounts, account = several.accounts, several.account_of(request)
    if account is None and accounts.sign_in_header:
        raise Refusal("Your account is created when you sign in; open the server's own page.", 403)
    hashed = "" if account else new_password(accounts, form)
    with accounts.database.write() as connection:
        if account:
            account_id = int(account.person_id)
        else:
            account_id = managing.add_person(connection, text_field(form, "name"), "expert")
            passwords.store(connection, account_id, hashed)
            note(connection, account_id, f"Created the account, from the project {studio.folder.name}.")
        join(connection, account_id, studio.uid, who.id)
        note(connection, account_id, f"Joined the project {studio.folder.name} as {who.name}.")
        session = None if account else credentials.new_secret(connection, "session", account_id)
    if session is None:
        return back_to("/me", "The project has been added to your projects.")
    return signed_in(request, accounts, session)
