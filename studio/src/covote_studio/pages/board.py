"""The coverage board: how many people know each pair of classes, and what the next should know."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from covote.panel import Panel
from covote_studio.pages.rendering import Form, Owner, Project, fragment, page, text_field, whole_fields
from covote_studio.people.roster import Roster, recovered
from covote_studio.rules import Refusal

router = APIRouter()
_LISTED = 60


@router.get("/board")
def show_board(request: Request, studio: Project, who: Owner) -> Response:
    """Show the board."""
    _, roster = studio.snapshot()
    board = roster.coverage if roster.classes else None
    return page(request, "board.html", who, board=board, roster=roster)


def _active(studio: Project) -> tuple[Panel, Roster]:
    _, roster = studio.snapshot()
    if roster.active_panel is None:
        raise Refusal("There are no classes yet; add them under Settings.", 409)
    return roster.active_panel, roster


@router.post("/board/complete")
def suggest(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Find the fewest people to add so that the panel is complete."""
    panel, roster = _active(studio)
    size, times = whole_fields([text_field(form, "size", "4"), text_field(form, "times", "1")])
    if size < 2:
        raise Refusal(f"Someone who knows {size} class covers no pair; type 2 or more.", 422)

    from covote.covers import complete

    whole = complete(panel, size, redundancy=times, effort="fast")
    new = whole.blocks()[len(panel) :]
    ids = [[roster.class_by_name[str(name)].id for name in block] for block in new]
    return fragment(
        request, "_outcome.html", outcome={"kind": "complete", "new": list(zip(new, ids, strict=True))}
    )


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
