"""The coverage board: how many people know each pair of classes, and what the next should know."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from covote.errors import CovoteError
from covote.panel import Panel
from covote_studio.pages.rendering import (
    Form,
    Owner,
    Project,
    back_to,
    fragment,
    page,
    sentence_of,
    text_field,
    whole_fields,
)
from covote_studio.people import managing
from covote_studio.people.roster import Roster, recovered
from covote_studio.rules import Refused

router = APIRouter()
_LISTED = 60


@router.get("/board")
def show_board(request: Request, studio: Project, who: Owner) -> Response:
    """Show the board."""
    _, roster = studio.look()
    board = roster.coverage if roster.classes else None
    return page(request, "board.html", who, board=board, roster=roster)


@router.get("/board/live")
def live(request: Request, studio: Project, who: Owner, version: int = 0) -> Response:
    """Return the board again if it has changed."""
    _, roster = studio.look()
    if roster.version == version or not roster.classes:
        return Response(status_code=204)
    return fragment(request, "_board.html", board=roster.coverage)


@router.get("/board/class")
def one_class(request: Request, studio: Project, who: Owner, name: str = "") -> Response:
    """List, for one class, how many people know it together with each other class."""
    _, roster = studio.look()
    found = roster.class_by_name.get(name.strip())
    if found is None:
        raise Refused(f"There is no class “{name[:100]}”; type a class as it is listed.", 404)
    row = roster.pair_counts[roster.column[found.id]]
    order = np.argsort(row, kind="stable")
    pairs = [(roster.classes[k].name, int(row[k])) for k in order if roster.classes[k].id != found.id]
    known = [one.name for one in roster.active if found.id in one.known]
    return fragment(
        request, "_class.html", name=found.name, pairs=pairs[:_LISTED], more=len(pairs) - _LISTED, known=known
    )


@router.get("/board/picture.png")
def picture(studio: Project, who: Owner) -> Response:
    """Draw the board, one point per pair."""
    _, roster = studio.look()
    return Response(roster.picture, media_type="image/png")


def _active(studio: Project) -> tuple[Panel, Roster]:
    _, roster = studio.look()
    if roster.active_panel is None:
        raise Refused("There are no classes yet; add them under Settings.", 409)
    return roster.active_panel, roster


@router.post("/board/complete")
def suggest(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Find the fewest people to add so that the panel is complete."""
    panel, roster = _active(studio)
    size, times = whole_fields([text_field(form, "size", "4"), text_field(form, "times", "1")])
    if size < 2:
        raise Refused(f"Someone who knows {size} class covers no pair; type 2 or more.", 422)

    def work() -> dict[str, Any]:
        from covote.covers import complete

        whole = complete(panel, size, redundancy=times, effort="fast")
        new = whole.blocks()[len(panel) :]
        ids = [[roster.class_by_name[str(name)].id for name in block] for block in new]
        return {"kind": "complete", "new": list(zip(new, ids, strict=True))}

    return _told(request, studio, studio.jobs.start(work))


@router.post("/board/select")
def cheapest(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Find the cheapest people who still cover every pair."""
    panel, _ = _active(studio)
    (times,) = whole_fields([text_field(form, "times", "1")])

    def work() -> dict[str, Any]:
        from covote.covers import select

        part = select(panel, redundancy=times, effort="fast")
        return {
            "kind": "select", "chosen": [str(name) for name in part.names], "all": len(panel),
            "cost": float(part.cost.sum()), "before": float(panel.cost.sum()),
        }  # fmt: skip

    return _told(request, studio, studio.jobs.start(work))


@router.post("/board/choose")
def choose(studio: Project, who: Owner, form: Form) -> Response:
    """Ask only these people from now on."""
    names = [str(name) for name in form.getlist("name")]
    with studio.database.write() as connection:
        setup, _ = studio.now(connection)
        managing.choose(connection, names)
        managing.change_project(connection, setup.name, setup.instructions, "cover")
    return back_to("/board", f"From now on {len(names)} people are asked about every item.")


@router.post("/board/outage")
def outage(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Show what happens if some people are away."""
    panel, _ = _active(studio)
    away = [str(name) for name in form.getlist("away")]
    left = panel.without(*away)
    missing = left.uncovered() if len(left) else []
    return fragment(
        request, "_outcome.html", outcome={"kind": "outage", "away": away, "missing": missing[:_LISTED],
                                  "count": len(missing), "left": len(left), "recovered": recovered(left)},
    )  # fmt: skip


@router.get("/board/job/{name}")
def job(request: Request, studio: Project, who: Owner, name: str) -> Response:
    """Return the outcome of a search, or poll again."""
    return _told(request, studio, name)


def _told(request: Request, studio: Project, name: str) -> HTMLResponse:
    done, outcome = studio.jobs.outcome(name, 0.2)
    if not done:
        return fragment(request, "_outcome.html", outcome={"kind": "working", "job": name})
    if isinstance(outcome, CovoteError):
        return fragment(request, "_outcome.html", outcome={"kind": "error", "sentence": sentence_of(outcome)})
    return fragment(request, "_outcome.html", outcome=outcome)
