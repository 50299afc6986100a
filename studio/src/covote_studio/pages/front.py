"""The pages of a server of several projects: your projects, your account, and who has one."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import func, select

from covote_studio.answers.standing import remaining
from covote_studio.context import Studio
from covote_studio.editing.record import note
from covote_studio.pages.rendering import (
    Form,
    Owner,
    Project,
    Who,
    back_to,
    link_page,
    member_of,
    page,
    projects_of,
    text_field,
)
from covote_studio.people import doors, managing
from covote_studio.people.doors import SignInFirst
from covote_studio.projects import Projects
from covote_studio.rules import Member, Refused
from covote_studio.storage.schema import membership, person

router = APIRouter()


def _several(request: Request) -> Projects:
    found = projects_of(request)
    assert found is not None  # these pages are served only where there are several
    return found


def _page(request: Request, template: str, who: Member, **values: Any) -> Response:
    return page(request, template, who, places=_places(who), **values)


def _places(who: Member) -> list[tuple[str, str]]:
    return [("/", "Projects"), *([("/accounts", "Accounts")] if who.is_owner else []), ("/me", who.name)]


@router.get("/")
def mine(request: Request) -> Response:
    """List the projects of whoever is signed in."""
    try:
        who = member_of(request)
    except SignInFirst:
        return RedirectResponse("/login", 303)
    several = _several(request)
    account = several.account_of(request)
    assert account is not None  # member_of has found it
    lines = [_line(name, one, member_id) for name, one, member_id in several.of_account(account)]
    return _page(request, "projects.html", who, lines=sorted(lines, key=lambda one: one["title"].lower()))


def _line(name: str, studio: Studio, member_id: int) -> dict[str, Any]:
    """Describe a project to someone: who they are there, and what is waiting for them."""
    with studio.database.read() as connection:
        setup, roster = studio.now(connection)
        one = roster.member_by_id[member_id]
        done = connection.execute(select(person.c.answers).where(person.c.id == member_id)).scalar_one()
        answers = connection.execute(select(func.sum(person.c.answers))).scalar_one()
    left = remaining(setup, one, done) if one.known and one.active else 0
    return {
        "name": name, "title": setup.name, "as": one.name, "role": one.role, "active": one.active,
        "size": setup.size, "answers": int(answers or 0), "left": left, "reviews": one.reviews,
    }  # fmt: skip


@router.get("/p/{name}")
def without_slash(name: str) -> Response:
    """Redirect to a project whose address was typed without its last slash."""
    return RedirectResponse(f"/p/{name}/", 303)


@router.post("/projects")
def create(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Create a project; its owner is whoever creates it."""
    several = _several(request)
    name = several.create(text_field(form, "name"), several.account_of(request))
    with studio.database.write() as connection:
        note(connection, who.id, f"Created the project {name}.")
    return back_to(f"/p/{name}/")


@router.get("/me")
def me(request: Request, studio: Project, who: Who) -> Response:
    """Show an account to its owner."""
    with studio.database.read() as connection:
        row = connection.execute(select(person.c.password).where(person.c.id == who.id)).one()
    return _page(request, "account.html", who, has_password=bool(row.password))


@router.get("/accounts")
def accounts(request: Request, studio: Project, who: Owner) -> Response:
    """List everyone who has an account."""
    joined = func.count(membership.c.project).label("projects")
    with studio.database.read() as connection:
        rows = connection.execute(
            select(person.c.id, person.c.name, person.c.role, person.c.active, joined)
            .outerjoin(membership, membership.c.person_id == person.c.id)
            .group_by(person.c.id)
            .order_by(person.c.id)
        ).all()
    return _page(request, "accounts.html", who, rows=rows)


@router.post("/accounts")
def add_account(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Create an account, and a link that signs its owner in."""
    name = text_field(form, "name")
    role = "owner" if "makes" in form else "expert"
    with studio.database.write() as connection:
        secret = doors.new_secret(connection, "enter", managing.add_person(connection, name, role))
        note(connection, who.id, f"Created the account {name}.")
    return _link(request, who, name, secret)


def _link(request: Request, who: Member, name: str, secret: str) -> Response:
    text = f"Send this link to {name}, who can then choose a password."
    return link_page(
        request, who, ("enter", secret), f"A link for {name}", text, back="/accounts", places=_places(who)
    )


@router.post("/accounts/{account_id}")
def change_account(studio: Project, who: Owner, form: Form, account_id: int) -> Response:
    """Change whether an account may create projects, and whether it may sign in."""
    one = studio.look()[1].member(account_id)
    with studio.database.write() as connection:
        managing.change_person(
            connection, account_id, cost=1.0, active="active" in form, may_tick=False,
            role="owner" if "makes" in form else "expert",
        )  # fmt: skip
        note(connection, who.id, f"Changed the account {one.name}.")
    return back_to("/accounts", f"{one.name} is saved.")


@router.post("/accounts/{account_id}/link")
def new_link(request: Request, studio: Project, who: Owner, account_id: int) -> Response:
    """Create a link for someone who has forgotten the password; earlier ones no longer work."""
    one = studio.look()[1].member(account_id)
    if not one.active:
        raise Refused(f"The account of {one.name} is closed; open it first.", 409)
    with studio.database.write() as connection:
        secret = doors.replace_secret(connection, "enter", account_id)
    return _link(request, who, one.name, secret)
