"""People: who is in the project, what they know, the links that let them in."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import select

from covote.studio.context import Studio
from covote.studio.pages.rendering import (
    Form,
    Owner,
    Project,
    back_to,
    base_address,
    class_ids,
    number_field,
    page,
    text_field,
)
from covote.studio.people import doors, managing
from covote.studio.people.roster import set_known
from covote.studio.rules import Member, Refused
from covote.studio.storage.schema import person

router = APIRouter()
_NAMED = 6
"""Classes of each person that the list of people names."""


def _member(studio: Studio, person_id: int) -> Member:
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
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
    return page(request, "invited.html", who, name=name, address=f"{base_address(request)}/enter/{secret}")


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
            may_tick="may_tick" in form, owner="owner" in form,
        )  # fmt: skip
        ticked = class_ids(form, roster.class_by_id)
        again = set_known(connection, person_id, ticked) if set(ticked) != one.known else 0
    asked = f" {again:,} items are asked once more, now that more classes are in view." if again else ""
    return back_to("/people", f"{one.name} is saved.{asked}")


@router.post("/people/{person_id}/link")
def new_link(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Make a new link; earlier ones do not work any more."""
    one = _member(studio, person_id)
    with studio.database.write() as connection:
        doors.revoke(connection, person_id=person_id, purpose="enter")
        secret = doors.new_secret(connection, "enter", person_id)
    return page(
        request, "invited.html", who, name=one.name, address=f"{base_address(request)}/enter/{secret}"
    )


@router.post("/people/{person_id}/token")
def new_token(request: Request, studio: Project, who: Owner, person_id: int) -> Response:
    """Make a token with which a program answers as this person."""
    one = _member(studio, person_id)
    with studio.database.write() as connection:
        doors.revoke(connection, person_id=person_id, purpose="api")
        secret = doors.new_secret(connection, "api", person_id)
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
