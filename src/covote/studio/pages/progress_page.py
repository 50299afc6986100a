"""Progress, and the same for somebody outside by a read-only link."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Row

from covote.studio.answers.standing import path_of, span_of, standing
from covote.studio.context import Studio
from covote.studio.pages.rendering import Owner, Project, back_to, base_address, page
from covote.studio.people import doors
from covote.studio.people.roster import Roster
from covote.studio.rules import Refused

router = APIRouter()


def _values(studio: Studio) -> dict[str, Any]:
    results, newer = studio.results.get()
    with studio.database.read() as connection:
        setup, roster = studio.now(connection)
        now = standing(connection, setup, roster, results)
    return {
        "now": now, "setup": setup, "newer": newer, "project_name": setup.name,
        "curve": path_of(now.curve, 600, 140), "span": span_of(now.curve),
        "board": roster.coverage if roster.classes else None,
        "steps": _steps(setup, roster),
    }  # fmt: skip


def _steps(setup: Row[Any], roster: Roster) -> list[tuple[bool, str, str, str]]:
    """Return what an owner does first: (whether it is done, page, name, explanation); nothing once all is."""
    covered = bool(roster.classes) and not roster.coverage["missing"]
    steps = [
        (bool(roster.classes), "/settings", "Add classes", "what an item can be."),
        (bool(setup.size), "/items", "Add items", "texts, pictures or sounds."),
        (bool(roster.voters), "/people", "Invite people", "say what each of them knows."),
        (covered, "/board", "Look at the coverage", "every pair of classes needs somebody who knows both."),
    ]
    return [] if all(done for done, *_ in steps[:3]) else steps


@router.get("/progress")
def progress(request: Request, studio: Project, who: Owner) -> Response:
    """Show where the project stands."""
    return page(request, "progress.html", who, shared=False, **_values(studio))


@router.post("/share")
def share(request: Request, studio: Project, who: Owner) -> Response:
    """Make a read-only link to the report; an earlier one does not work any more."""
    with studio.database.write() as connection:
        doors.revoke(connection, purpose="share")
        secret = doors.new_secret(connection, "share", who.id)
    return page(
        request, "invited.html", who, name="the report", address=f"{base_address(request)}/shared/{secret}"
    )


@router.post("/share/close")
def unshare(studio: Project, who: Owner) -> Response:
    """Close the read-only link."""
    with studio.database.write() as connection:
        doors.revoke(connection, purpose="share")
    return back_to("/progress", "The link to the report does not work any more.")


@router.get("/shared/{secret}")
def shared(request: Request, studio: Project, secret: str) -> Response:
    """Show the report to whoever has the link; nothing can be changed, and no item is shown."""
    with studio.database.read() as connection:
        if doors.find_secret(connection, "share", secret) is None:
            raise Refused("This link is not valid any more; ask for a new one.", 404)
    return page(request, "progress.html", None, shared=True, **_values(studio))
