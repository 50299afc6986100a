"""Getting in: invitation links, passwords, one's own page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import select

from covote.studio.pages.rendering import (
    Form,
    Project,
    Who,
    back_to,
    class_ids,
    member_of,
    page,
    text_field,
)
from covote.studio.people import doors
from covote.studio.people.doors import SignInFirst
from covote.studio.people.roster import set_known
from covote.studio.rules import Refused
from covote.studio.storage.schema import answer, item, person

router = APIRouter()
_RECENT = 50


@router.get("/")
def home(request: Request) -> Response:
    """Lead everybody to the page that is theirs."""
    try:
        member = member_of(request)
    except SignInFirst:
        return RedirectResponse("/login", 303)
    return RedirectResponse("/progress" if member.is_owner else "/label", 303)


@router.get("/enter/{secret}")
def show_invitation(request: Request, studio: Project, secret: str) -> Response:
    """Greet the person whose link this is; only the button signs in, so that link previews do not."""
    with studio.database.read() as connection:
        found = doors.find_secret(connection, "enter", secret)
        if found is None:
            raise Refused(
                "This link is not valid any more: it has expired, was replaced, or is incomplete. Ask for a "
                "new one.",
                404,
            )
        name = connection.execute(select(person.c.name).where(person.c.id == found.person_id)).scalar_one()
    return page(request, "enter.html", name=name, secret=secret)


@router.post("/enter/{secret}")
def use_invitation(request: Request, studio: Project, secret: str) -> Response:
    """Sign in by link."""
    with studio.database.write() as connection:
        found = doors.find_secret(connection, "enter", secret)
        if found is None or found.person_id is None:
            raise Refused("This link is not valid any more; ask for a new one.", 404)
        session = doors.new_secret(connection, "session", found.person_id)
    return _signed_in(request, studio, session)


@router.get("/login")
def show_login(request: Request) -> Response:
    """Ask for name and password."""
    return page(request, "login.html")


@router.post("/login")
def login(request: Request, studio: Project, form: Form) -> Response:
    """Sign in by password; the session is a new one, whatever cookie the browser had."""
    try:
        with studio.database.read() as connection:
            person_id = studio.passwords.check(
                connection, text_field(form, "name").strip(), text_field(form, "password")
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
        samesite="lax", secure=request.url.scheme == "https", path="/",
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
            select(answer.c.item_id, answer.c.class_id, answer.c.at, item.c.key)
            .join(item, item.c.id == answer.c.item_id)
            .where(answer.c.person_id == who.id)
            .order_by(answer.c.id.desc())
            .limit(_RECENT)
        ).all()
        count = connection.execute(select(person.c.answers).where(person.c.id == who.id)).scalar_one()
    said = [(row, roster.answer_name(row.class_id)) for row in recent]
    return page(request, "me.html", who, classes=roster.classes, recent=said, count=count)


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
def change_password(studio: Project, who: Who, form: Form) -> Response:
    """Choose a password."""
    if text_field(form, "password") != text_field(form, "again"):
        raise Refused("The two passwords are not the same; type both again.", 422)
    with studio.database.write() as connection:
        doors.set_password(connection, who.id, text_field(form, "password"))
    return back_to("/me", "Your password is set; you can sign in with your name and it.")
