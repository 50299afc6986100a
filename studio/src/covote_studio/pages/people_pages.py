"""People: their own pages, who is in the project, and what they know."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import func, select

from covote_studio.editing.record import note
from covote_studio.pages.rendering import (
    Form,
    Owner,
    Project,
    Who,
    back_to,
    base_address,
    class_ids,
    link_page,
    member_of,
    page,
    projects_of,
    text_field,
)
from covote_studio.people import credentials, managing
from covote_studio.people.credentials import NotSignedIn
from covote_studio.people.expertise import asked_again, set_known
from covote_studio.projects import leave
from covote_studio.rules import Member, Refusal, require_owner
from covote_studio.storage.schema import CHOICE, answer, item, person

router = APIRouter()
_RECENT = 50
"""Answers listed on a person's own page."""
_NAMED = 6
"""Classes of each person that the list of people shows."""


@router.get("/")
def home(request: Request) -> Response:
    """Redirect everyone to their own first page."""
    try:
        member = member_of(request)
    except NotSignedIn:
        return RedirectResponse("/login", 303)
    return RedirectResponse("/progress" if member.reviews else "/label", 303)


@router.get("/me")
def me(request: Request, studio: Project, who: Who) -> Response:
    """Show what a person knows and answered."""
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        recent = connection.execute(
            select(answer.c.item_id, CHOICE, answer.c.at, item.c.key, item.c.kind, item.c.content)
            .join(item, item.c.id == answer.c.item_id)
            .where(answer.c.person_id == who.id)
            .order_by(answer.c.id.desc())
            .limit(_RECENT)
        ).all()
        row = connection.execute(select(person).where(person.c.id == who.id)).one()
    answers = [(one, roster.answer_name(one.choice)) for one in recent]
    several = projects_of(request)
    account = several.account_of(request) if several else None
    joined = several is not None and several.member_id(account, studio) == who.id
    return page(
        request, "me.html", who, classes=roster.classes, recent=answers, count=row.answers,
        has_password=bool(row.password), account=account, joined=joined,
        by_proxy=several is not None and several.accounts.sign_in_header is not None,
    )  # fmt: skip


@router.post("/me/knows")
def tick(studio: Project, who: Who, form: Form) -> Response:
    """Change what you know, if the owner allows it."""
    if not who.ticks:
        raise Refusal("Only the owner of the project can change what you know; ask them.")
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        again = set_known(connection, who.id, class_ids(form, roster.class_by_id), who.id)
    asked = f" You are asked about {again} items again, with all your classes." if again else ""
    return back_to("/me", f"Saved.{asked}")


@router.get("/people")
def people(request: Request, studio: Project, who: Owner) -> Response:
    """List everyone."""
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        last = (
            select(func.max(answer.c.at))
            .where(answer.c.person_id == person.c.id)
            .scalar_subquery()
            .label("last")
        )
        about = {row.id: row for row in connection.execute(select(person, last))}
    waiting = sum(
        row.entered is None and row.active and row.role in ("expert", "reviewer") for row in about.values()
    )
    first_known = {one.id: roster.names_of(one.known, _NAMED) for one in roster.members}
    return page(
        request, "people.html", who, roster=roster, about=about, ticked=_wanted(request),
        first_known=first_known, waiting=waiting,
    )  # fmt: skip


def _wanted(request: Request) -> set[int]:
    """Return the classes that another page suggests for a new person."""
    return {int(one) for one in request.query_params.getlist("class") if one.isdecimal() and len(one) < 10}


@router.post("/people")
def invite(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Invite someone: the link is shown once."""
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        name = text_field(form, "name")
        ticked = class_ids(form, roster.class_by_id)
        _, secret = managing.invite(connection, name, ticked, "may_tick" in form, who.id)
    return _invitation(request, who, name, secret)


def _invitation(request: Request, who: Member, name: str, secret: str) -> Response:
    text = f"Send this link to {name}; it works on several devices."
    return link_page(request, who, ("enter", secret), f"A link for {name}", text, back="/people")


@router.get("/people/{person_id}")
def one_person(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Show a person, to be changed."""
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        one = roster.member(person_id)
        row = connection.execute(select(person).where(person.c.id == person_id)).one()
    return page(request, "person.html", who, one=one, row=row, classes=roster.classes)


@router.post("/people/{person_id}")
def change(studio: Project, who: Owner, form: Form, person_id: int) -> Response:
    """Change a person, and what they know."""
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        one = roster.member(person_id)
        managing.change_person(
            connection, person_id, active="active" in form, may_tick="may_tick" in form,
            role=text_field(form, "role", "expert"), by=who.id,
        )  # fmt: skip
        ticked = class_ids(form, roster.class_by_id)
        again = set_known(connection, person_id, ticked, who.id) if set(ticked) != one.known else 0
    asked = f" {again:,} items are asked about again, now with more classes." if again else ""
    return back_to("/people", f"{one.name} is saved.{asked}")


@router.get("/people/{person_id}/again")
def again(request: Request, studio: Project, who: Who, person_id: int) -> Response:
    """Show, before it is saved, how many items would be asked about again."""
    if who.id != person_id:
        require_owner(who)
    with studio.database.read() as connection:
        count = asked_again(connection, person_id, _wanted(request))
    message = f"{count:,} item{' is' if count == 1 else 's are'} asked about again: the answer was given "
    return HTMLResponse(f"{message}without a class that is ticked now." if count else "")


@router.post("/people/{person_id}/link")
def new_link(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Create a new link; earlier ones no longer work."""
    one = studio.snapshot()[1].member(person_id)
    with studio.database.write() as connection:
        secret = credentials.replace_secret(connection, "enter", person_id)
        note(connection, who.id, f"Created an invitation link for {one.name}; earlier ones no longer work.")
    return _invitation(request, who, one.name, secret)


@router.post("/people/{person_id}/token")
def new_token(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Create a token for programs that act as this person."""
    one = studio.snapshot()[1].member(person_id)
    with studio.database.write() as connection:
        secret = credentials.replace_secret(connection, "api", person_id)
        note(connection, who.id, f"Created a token for the programs of {one.name}.")
    return page(request, "token.html", who, name=one.name, secret=secret, base=base_address(request))


@router.get("/people/{person_id}/close")
def ask_to_close(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Ask whether a person is to be signed out everywhere."""
    one = studio.snapshot()[1].member(person_id)
    return page(request, "close.html", who, one=one, several=projects_of(request) is not None)


@router.post("/people/{person_id}/close")
def close(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Revoke every link, session and token of a person; owners keep the session in which they ask for it."""
    one = studio.snapshot()[1].member(person_id)
    myself = person_id == who.id
    with studio.database.write() as connection:
        session = request.cookies.get(studio.cookie, "") if myself else ""
        credentials.revoke(connection, person_id=person_id, but=session)
        note(
            connection, who.id, f"Signed {one.name} out everywhere; earlier links and tokens no longer work."
        )
    several = projects_of(request)
    if several and not myself:
        with several.accounts.database.write() as connection:
            leave(connection, studio.uid, person_id)
    here = " You stay signed in here." if myself else ""
    return back_to(
        "/people", f"{one.name} is signed out everywhere; earlier links and tokens no longer work.{here}"
    )
