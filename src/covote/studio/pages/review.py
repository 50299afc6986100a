"""Results: progress, items by doubt, why a label is what it is, decisions, how good people seem to be."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response
from numpy.typing import NDArray
from sqlalchemy import Row, select

from covote.labels import STATUSES
from covote.studio.answers.results import Results, opinions
from covote.studio.answers.standing import standing
from covote.studio.context import Studio
from covote.studio.editing import items
from covote.studio.editing.record import noted
from covote.studio.pages.rendering import (
    Form,
    Owner,
    Project,
    Reviewer,
    back_to,
    base_address,
    page,
    text_field,
    whole_fields,
)
from covote.studio.people import doors, managing
from covote.studio.people.managing import decisions
from covote.studio.people.roster import Roster
from covote.studio.rules import Refused
from covote.studio.storage.schema import CHOICE, answer, item, options, person

router = APIRouter()
_SHOWN = 30
"""Items of a page."""


def _values(studio: Studio) -> dict[str, Any]:
    results, newer = studio.results.get()
    with studio.database.read() as connection:
        setup, roster = studio.now(connection)
        now = standing(connection, setup, roster, results)
    return {
        "now": now, "setup": setup, "newer": newer, "project_name": setup.name,
        "curve": _points(now.curve, 600, 140), "span": _span(now.curve),
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


def _points(curve: list[tuple[float, int]], width: int, height: int) -> str:
    """Return the curve as points of an SVG polyline.

    >>> _points([(0.0, 0), (1.0, 10)], 100, 50)
    '0.0,50.0 100.0,0.0'
    """
    if not curve:
        return ""
    start, stop, top = curve[0][0], curve[-1][0], max(1, curve[-1][1])
    return " ".join(
        f"{width * (moment - start) / (stop - start):.1f},{height - height * count / top:.1f}"
        for moment, count in curve
    )


def _span(curve: list[tuple[float, int]]) -> tuple[str, str]:
    """Return the beginning and the end of a curve, as people read them."""
    if not curve:
        return "", ""
    shape = "%H:%M" if curve[-1][0] - curve[0][0] < 86_400 else "%d %b"
    return time.strftime(shape, time.gmtime(curve[0][0])), time.strftime(shape, time.gmtime(curve[-1][0]))


@router.get("/progress")
def progress(request: Request, studio: Project, who: Reviewer) -> Response:
    """Show where the project stands."""
    return page(request, "progress.html", who, shared=False, **_values(studio))


@router.post("/share")
def share(request: Request, studio: Project, who: Owner) -> Response:
    """Make a read-only link to the report; an earlier one does not work any more."""
    with studio.database.write() as connection:
        doors.revoke(connection, purpose="share")
        secret = doors.new_secret(connection, "share", who.id)
    return page(
        request, "invited.html", who, title="A link to the report", back="/progress",
        text="Whoever has this link sees the report and nothing else. It is shown only now and works for 90 "
        "days; an earlier link does not work any more.",
        address=f"{base_address(request)}/shared/{secret}",
    )  # fmt: skip


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
        doors.open_link(connection, secret, "share")
    return page(request, "progress.html", None, shared=True, **_values(studio))


@router.get("/review")
def review(request: Request, studio: Project, who: Reviewer, status: str = "", start: int = 0) -> Response:
    """List items, the most doubtful first, or those that somebody flagged."""
    results, newer = studio.results.get()
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
        flagged = items.flagged_items(connection)
        ids = flagged if status == "flagged" else _by_doubt(results, status)
        start = max(0, min(start, len(ids)))
        some = [int(one) for one in ids[start : start + _SHOWN]]
        rows = {row.id: row for row in connection.execute(select(item).where(item.c.id.in_(some)))}
        decided = decisions(connection, some)
    counts = {**(results.labels.count() if results else {}), "flagged": len(flagged)}
    return page(
        request, "review.html", who, results=results, newer=newer, roster=roster, wanted=status, start=start,
        lines=[_line(results, rows[one], decided) for one in some], counts=counts, total=len(ids),
        shown=_SHOWN, statuses=(*STATUSES, "flagged"),
    )  # fmt: skip


def _by_doubt(results: Results | None, status: str) -> NDArray[np.int64]:
    """Return the ids of items with votes, the most doubtful first: all, or those of a status."""
    if results is None:
        return np.zeros(0, dtype=np.int64)
    order = results.by_doubt
    if status in STATUSES:
        order = order[results.labels.evidence.status[order] == STATUSES.index(status)]
    return results.items[order]


def _line(results: Results | None, row: Any, decided: dict[int, Any]) -> dict[str, Any]:
    """Return what a list or a page says about an item; `label` and `status` are None without votes."""
    decision = decided.get(row.id)
    about = {"decided": decision.class_id if decision else None, "id": row.id, "key": row.key,
             "kind": row.kind, "content": row.content}  # fmt: skip
    at = None if results is None else results.position(row.id)
    if results is None or at is None:
        return {**about, "label": None, "status": None, "confidence": math.nan, "violations": 0, "tied": []}
    labels = results.labels
    tied = [] if labels.index[at] >= 0 else [str(one) for one in labels.tied_classes(at)]
    return {**about, **results.verdict(at), "tied": tied}


@router.get("/review/{item_id}")
def one_item(request: Request, studio: Project, who: Reviewer, item_id: int) -> Response:
    """Show one item: who said what, and why the label is what it is."""
    results, newer = studio.results.get()
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
        row = items.item_row(connection, item_id)
        history = connection.execute(
            select(CHOICE, answer.c.at, answer.c.via, person.c.name, options.c.classes)
            .join(person, person.c.id == answer.c.person_id)
            .join(options, options.c.id == answer.c.options_id)
            .where(answer.c.item_id == item_id)
            .order_by(answer.c.id)
        ).all()
        decision = decisions(connection, [item_id]).get(item_id)
        changes, flags = noted(connection, item_id=item_id), items.flags_of(connection, item_id)
    at = results.position(item_id) if results is not None else None
    why = _why(results, at) if results is not None and at is not None else []
    line = _line(results, row, {})
    following = results.following(at) if results is not None and at is not None else None
    said = [(one, roster.answer_name(one.choice)) for one in history]
    return page(
        request, "item.html", who, row=row, line=line, why=why, history=said, roster=roster,
        decision=decision, newer=newer, following=following, changes=changes, flags=flags,
    )  # fmt: skip


def _why(results: Results, at: int) -> list[tuple[str, list[Any]]]:
    """Return, for the label or for every class that ties, who agrees and who must be wrong."""
    label = int(results.labels.index[at])
    classes = [label] if label >= 0 else [int(k) for k in results.labels.tied_indices([at])[0]][:6]
    return [(str(results.panel.classes[k]), opinions(results, at, k)) for k in classes]


@router.post("/review/{item_id}")
def decide(studio: Project, who: Reviewer, form: Form, item_id: int) -> Response:
    """Decide an item, with a reason."""
    if not text_field(form, "class"):
        raise Refused("No class was chosen; choose the one that the item is.", 422)
    (chosen,) = whole_fields([form.get("class")])
    with studio.database.write() as connection:
        _, roster = studio.now(connection)
        items.item_row(connection, item_id)
        if chosen and chosen not in roster.class_by_id:
            raise Refused("That class is no longer there; reload the page.", 409)
        managing.adjudicate(connection, item_id, chosen or None, who.id, text_field(form, "reason"))
    return back_to(
        f"/review/{item_id}", "The decision is on record." if chosen else "The decision is taken back."
    )


@router.get("/experts")
def experts(request: Request, studio: Project, who: Reviewer) -> Response:
    """Compare what people are said to know with what they show."""
    results, newer = studio.results.get()
    if results is None:
        return page(request, "experts.html", who, lines=None, newer=newer, claims=[])
    report = results.report
    lines = [
        {
            "name": str(name), "accuracy": float(report.accuracy[i]), "low": float(report.low[i]),
            "high": float(report.high[i]), "inside": float(np.round(report.inside[i])),
            "none": float(report.none[i]), "size": int(results.panel.sizes[i]),
        }
        for i, name in enumerate(results.panel.names)
    ]  # fmt: skip
    ids = {one.name: one.id for one in results.roster.members}
    return page(
        request, "experts.html", who, lines=lines, newer=newer, claims=results.doubtful_claims[:50],
        ids=ids, gold=len(results.gold),
    )  # fmt: skip
