"""People: how they get in, their own page, who is in the project and what they know."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select

from covote.studio.context import Studio
from covote.studio.pages.rendering import (
    Form,
    Owner,
    Project,
    Who,
    back_to,
    base_address,
    class_ids,
    member_of,
    number_field,
    page,
    proxy_name,
    text_field,
)
from covote.studio.people import doors, managing, passwords
from covote.studio.people.doors import SignInFirst
from covote.studio.people.roster import asked_again, set_known
from covote.studio.rules import Member, Refused, require_owner
from covote.studio.storage.schema import CHOICE, answer, item, person

router = APIRouter()
_RECENT = 50
"""Answers that a person's own page lists."""
_NAMED = 6
"""Classes of each person that the list of people names."""


@router.get("/")
def home(request: Request) -> Response:
    """Lead everybody to the page that is theirs."""
    try:
        member = member_of(request)
    except SignInFirst:
        return RedirectResponse("/login", 303)
    return RedirectResponse("/progress" if member.reviews else "/label", 303)


@router.get("/enter/{secret}")
def show_invitation(request: Request, studio: Project, secret: str) -> Response:
    """Greet the person whose link this is; only the button signs in, so that link previews do not."""
    with studio.database.read() as connection:
        name = doors.open_link(connection, secret, "enter", "once").person_name
    return page(request, "enter.html", name=name, secret=secret)


@router.post("/enter/{secret}")
def use_invitation(request: Request, studio: Project, secret: str) -> Response:
    """Sign in by link."""
    with studio.database.write() as connection:
        entering = doors.open_link(connection, secret, "enter", "once")
        doors.forget(connection, secret)
        session = doors.new_secret(connection, "session", entering.person_id)
    return _signed_in(request, studio, session)


@router.get("/login")
def show_login(request: Request, studio: Project) -> Response:
    """Ask for name and password, or take the name from a trusted proxy."""
    name = proxy_name(request)
    if not name:
        return page(request, "login.html")
    with studio.database.write() as connection:
        person_id = connection.execute(
            select(person.c.id).where(person.c.name == name, person.c.active.is_(True))
        ).scalar_one_or_none()
        if person_id is None:
            raise Refused(f"You are signed in as {name[:200]}, who is not in this project; ask its owner.")
        session = doors.new_secret(connection, "session", person_id)
    return _signed_in(request, studio, session)


@router.post("/login")
def login(request: Request, studio: Project, form: Form) -> Response:
    """Sign in by password; the session is a new one, whatever cookie the browser had."""
    address = request.client.host if request.client else ""
    try:
        with studio.database.read() as connection:
            person_id = studio.passwords.check(
                connection, text_field(form, "name").strip(), text_field(form, "password"), address
            )
    except Refused as refused:
        return page(request, "login.html", problem=str(refused), status=refused.status)
    with studio.database.write() as connection:
        session = doors.new_secret(connection, "session", person_id)
    return _signed_in(request, studio, session)


def _signed_in(request: Request, studio: Project, session: str) -> Response:
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        studio.cookie, session, max_age=int(doors.LIFETIME["session"]), httponly=True,
        samesite="lax", secure=base_address(request).startswith("https:"), path="/",
    )  # fmt: skip
    return answer


@router.post("/logout")
def logout(request: Request, studio: Project) -> Response:
    """Sign out here; other devices stay signed in."""
    with studio.database.write() as connection:
        doors.forget(connection, request.cookies.get(studio.cookie, ""))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(studio.cookie, path="/")
    return answer


@router.get("/me")
def me(request: Request, studio: Project, who: Who) -> Response:
    """Show what a person knows and answered."""
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
        recent = connection.execute(
            select(answer.c.item_id, CHOICE, answer.c.at, item.c.key, item.c.kind, item.c.content)
            .join(item, item.c.id == answer.c.item_id)
            .where(answer.c.person_id == who.id)
            .order_by(answer.c.id.desc())
            .limit(_RECENT)
        ).all()
        row = connection.execute(select(person).where(person.c.id == who.id)).one()
    said = [(one, roster.answer_name(one.choice)) for one in recent]
    return page(
        request, "me.html", who, classes=roster.classes, recent=said, count=row.answers,
        has_password=bool(row.password),
    )  # fmt: skip


@router.post("/me/knows")
def tick(studio: Project, who: Who, form: Form) -> Response:
    """Say oneself what one knows, where the owner lets people do so."""
    if not who.ticks:
        raise Refused("Only the owner of the project says what you know; ask for a change.")
    with studio.database.write() as connection:
        _, roster = studio.now(connection)
        again = set_known(connection, who.id, class_ids(form, roster.class_by_id))
    asked = f" {again} items are asked once more, with all your classes." if again else ""
    return back_to("/me", f"Saved.{asked}")


@router.post("/me/password")
def change_password(request: Request, studio: Project, who: Who, form: Form) -> Response:
    """Choose a password; every other session of the person ends."""
    if text_field(form, "password") != text_field(form, "again"):
        raise Refused("The two passwords are not the same; type both again.", 422)
    with studio.database.read() as connection:
        before = connection.execute(select(person.c.password).where(person.c.id == who.id)).scalar_one()
    if before and not studio.passwords.matches(before, text_field(form, "old")):
        raise Refused("That is not your present password; type it again, or ask an owner for a link.", 403)
    hashed = studio.passwords.hashed(text_field(form, "password"))
    with studio.database.write() as connection:
        passwords.store(connection, who.id, hashed)
        ended = doors.end_other_sessions(connection, who.id, request.cookies.get(studio.cookie, ""))
    others = " You are signed out on your other devices." if ended else ""
    return back_to("/me", f"Your password is set; you can sign in with your name and it.{others}")


def _member(studio: Studio, person_id: int) -> Member:
    _, roster = studio.look()
    if person_id not in roster.member_by_id:
        raise Refused("There is nobody with that number; go back to the list of people.", 404)
    return roster.member_by_id[person_id]


@router.get("/people")
def people(request: Request, studio: Project, who: Owner) -> Response:
    """List everybody."""
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
        answers = {row.id: row.answers for row in connection.execute(select(person.c.id, person.c.answers))}
    first_known = {one.id: roster.names_of(one.known, _NAMED) for one in roster.members}
    return page(
        request, "people.html", who, roster=roster, answers=answers, ticked=_wanted(request),
        first_known=first_known,
    )  # fmt: skip


def _wanted(request: Request) -> set[int]:
    """Return the classes that another page suggests for a new person."""
    return {int(one) for one in request.query_params.getlist("class") if one.isdecimal() and len(one) < 10}


@router.post("/people")
def invite(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Invite somebody: the link is shown once."""
    with studio.database.write() as connection:
        _, roster = studio.now(connection)
        name = text_field(form, "name")
        _, secret = managing.invite(
            connection, name, class_ids(form, roster.class_by_id), number_field(form, "cost"),
            "may_tick" in form,
        )  # fmt: skip
    return _invitation(request, who, name, secret)


def _invitation(request: Request, who: Member, name: str, secret: str) -> Response:
    return page(
        request, "invited.html", who, title=f"A link for {name}", back="/people",
        text=f"Send this link to {name}. It is shown only now, works for 14 days, and on several devices.",
        address=f"{base_address(request)}/enter/{secret}",
    )  # fmt: skip


@router.get("/people/{person_id}")
def one_person(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Show a person, to be changed."""
    one = _member(studio, person_id)
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
        row = connection.execute(select(person).where(person.c.id == person_id)).one()
    return page(request, "person.html", who, one=one, row=row, classes=roster.classes)


@router.post("/people/{person_id}")
def change(studio: Project, who: Owner, form: Form, person_id: int) -> Response:
    """Change what a person knows and costs."""
    one = _member(studio, person_id)
    with studio.database.write() as connection:
        _, roster = studio.now(connection)
        managing.change_person(
            connection, person_id, cost=number_field(form, "cost"), active="active" in form,
            may_tick="may_tick" in form, role=text_field(form, "role", "expert"),
        )  # fmt: skip
        ticked = class_ids(form, roster.class_by_id)
        again = set_known(connection, person_id, ticked) if set(ticked) != one.known else 0
    asked = f" {again:,} items are asked once more, now that more classes are in view." if again else ""
    return back_to("/people", f"{one.name} is saved.{asked}")


@router.get("/people/{person_id}/again")
def again(request: Request, studio: Project, who: Who, person_id: int) -> Response:
    """Say, before it is saved, how many items would be asked once more."""
    if who.id != person_id:
        require_owner(who)
    with studio.database.read() as connection:
        count = asked_again(connection, person_id, _wanted(request))
    told = f"{count:,} item{' is' if count == 1 else 's are'} asked once more: they were answered "
    return HTMLResponse(f"{told}without a class that is ticked now." if count else "")


@router.post("/people/{person_id}/link")
def new_link(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Make a new link; earlier ones do not work any more."""
    one = _member(studio, person_id)
    with studio.database.write() as connection:
        secret = doors.replace_secret(connection, "enter", person_id)
    return _invitation(request, who, one.name, secret)


@router.post("/people/{person_id}/token")
def new_token(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Make a token with which a program answers as this person."""
    one = _member(studio, person_id)
    with studio.database.write() as connection:
        secret = doors.replace_secret(connection, "api", person_id)
    return page(request, "token.html", who, name=one.name, secret=secret, base=base_address(request))


@router.post("/people/{person_id}/close")
def close(studio: Project, who: Owner, person_id: int) -> Response:
    """Revoke every link, session and token of a person."""
    one = _member(studio, person_id)
    with studio.database.write() as connection:
        doors.revoke(connection, person_id=person_id)
    return back_to(
        "/people", f"{one.name} is signed out everywhere, and every earlier link and token is void."
    )
