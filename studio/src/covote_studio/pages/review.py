"""Results: progress, doubtful items, the reasons for a label, decisions, how reliable people are."""

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
from covote_studio.answers.results import Results, opinions
from covote_studio.answers.standing import Standing, seconds_per_answer, standing
from covote_studio.context import Studio
from covote_studio.editing import items
from covote_studio.editing.record import noted
from covote_studio.pages.rendering import (
    Form,
    Owner,
    Project,
    Reviewer,
    back_to,
    link_page,
    page,
    text_field,
    whole_fields,
)
from covote_studio.people import doors, managing
from covote_studio.people.managing import decisions
from covote_studio.people.roster import Roster
from covote_studio.rules import Refused
from covote_studio.storage.schema import CHOICE, answer, item, options, person

router = APIRouter()
_SHOWN = 30
"""Items of a page."""


def _values(studio: Studio) -> dict[str, Any]:
    results, newer = studio.results.get()
    with studio.database.read() as connection:
        setup, roster = studio.now(connection)
        now = standing(connection, setup, roster, results)
    steps = _steps(setup, roster)
    return {
        "now": now, "setup": setup, "newer": newer, "project_name": setup.name,
        "chart": _chart(now.curve), "sentence": _sentence(now),
        "finished": time.time() + 3600 * now.hours_left if now.hours_left else None,
        "board": roster.coverage if roster.classes else None,
        "steps": steps, "next_step": next((n for n, (done, *_) in enumerate(steps) if not done), None),
    }  # fmt: skip


def _steps(setup: Row[Any], roster: Roster) -> list[tuple[bool, str, str, str]]:
    """Return an owner's first steps: (whether done, page, name, explanation); empty once all are done."""
    covered = bool(roster.classes) and not roster.coverage["missing"]
    steps = [
        (bool(roster.classes), "/settings", "Add classes", "what an item can be."),
        (bool(setup.size), "/items", "Add items", "texts, pictures or sounds."),
        (bool(roster.voters), "/people", "Invite people", "and say what each of them knows."),
        (covered, "/board", "Check the coverage", "every pair of classes needs someone who knows both."),
    ]
    return [] if all(done for done, *_ in steps[:3]) else steps


WIDE, TALL = 600, 180
"""The size of the chart, without its labels."""


def _chart(curve: list[tuple[float, int]]) -> dict[str, Any] | None:
    """Return the chart of answers over time: points, and the ticks of both axes; None without a curve.

    >>> chart = _chart([(0.0, 0), (7200.0, 10)])
    >>> chart["points"], [text for _, text in chart["up"]], [text for _, text in chart["along"]]
    ('0.0,180.0 600.0,0.0', ['0', '5', '10'], ['00:00', '01:00', '02:00'])
    """
    if not curve:
        return None
    start, stop = curve[0][0], curve[-1][0]
    top = _round_up(max(1, curve[-1][1]))
    points = (
        f"{WIDE * (moment - start) / (stop - start):.1f},{TALL - TALL * count / top:.1f}"
        for moment, count in curve
    )
    shape = "%H:%M" if stop - start < 86_400 else "%-d %b"
    moments = [start + (stop - start) * part / 2 for part in range(3)]
    return {
        "points": " ".join(points),
        "up": [(TALL - TALL * part / 2, f"{top * part / 2:,.0f}") for part in range(3)],
        "along": [(WIDE * n / 2, time.strftime(shape, time.gmtime(one))) for n, one in enumerate(moments)],
    }


def _round_up(count: int) -> int:
    """Return an even number with one or two digits and zeros that is not smaller.

    >>> [_round_up(one) for one in (1, 10, 294, 1203, 99999)]
    [2, 10, 300, 1300, 100000]
    """
    unit: int = 10 ** max(0, len(str(count)) - 2)
    rounded = -(-count // unit) * unit
    return rounded if rounded % 2 == 0 else rounded + unit


def _sentence(now: Standing) -> str:
    """Summarise the progress in one sentence."""
    if not now.items:
        return "There are no items yet."
    settled = f"{now.settled:,} of {now.items:,} items {'is' if now.settled == 1 else 'are'} settled"
    if now.settled >= now.items:
        return f"All {now.items:,} items are settled, after {now.answers:,} answers."
    if now.needed is None:
        return f"{settled}; an estimate of the answers still needed appears with the first settled items."
    if not now.hours_left:
        return f"{settled}; about {now.needed:,} answers are left."
    return f"{settled}; about {now.needed:,} answers are left ({_duration(now.hours_left)} at this rate)."


def _duration(hours: float) -> str:
    """Return a time as people say it.

    >>> [_duration(one) for one in (0.2, 1.2, 30, 80)]
    ['12 minutes', '1 hour', '30 hours', '3 days']
    """
    for count, unit in ((hours / 24, "day"), (hours, "hour"), (hours * 60, "minute")):
        if count >= (2 if unit == "day" else 1) or unit == "minute":
            whole = max(1, round(count))
            return f"{whole:,} {unit}{'' if whole == 1 else 's'}"
    raise AssertionError


@router.get("/progress")
def progress(request: Request, studio: Project, who: Reviewer) -> Response:
    """Show the progress of the project."""
    return page(request, "progress.html", who, shared=False, **_values(studio))


@router.post("/share")
def share(request: Request, studio: Project, who: Owner) -> Response:
    """Create a read-only link to the report; an earlier one no longer works."""
    with studio.database.write() as connection:
        doors.revoke(connection, purpose="share")
        secret = doors.new_secret(connection, "share", who.id)
    text = "Anyone who has this link sees the report and nothing else. An earlier link no longer works."
    return link_page(request, who, ("share", secret), "A link to the report", text, back="/progress")


@router.post("/share/close")
def unshare(studio: Project, who: Owner) -> Response:
    """Close the read-only link."""
    with studio.database.write() as connection:
        doors.revoke(connection, purpose="share")
    return back_to("/progress", "The link to the report no longer works.")


@router.get("/shared/{secret}")
def shared(request: Request, studio: Project, secret: str) -> Response:
    """Show the report to anyone with the link; they cannot change anything and see no items."""
    with studio.database.read() as connection:
        doors.open_link(connection, secret, "share")
    return page(request, "progress.html", None, shared=True, **_values(studio))


@router.get("/review")
def review(request: Request, studio: Project, who: Reviewer, status: str = "", start: int = 0) -> Response:
    """List items, the most doubtful first, or those that someone flagged."""
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
    """Return what a list or a page shows about an item; `label` and `status` are None without votes."""
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
    """Show one item: who said what, and why it has its label."""
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
        f"/review/{item_id}", "The decision is on record." if chosen else "The decision is withdrawn."
    )


@router.get("/experts")
def experts(request: Request, studio: Project, who: Reviewer) -> Response:
    """Compare what people are said to know with how they answer."""
    results, newer = studio.results.get()
    if results is None:
        return page(request, "experts.html", who, lines=None, newer=newer, claims=[])
    report, agreement = results.report, np.stack(results.agreement, axis=1)
    accuracy = np.stack([report.accuracy, report.low, report.high], axis=1)
    lines = [
        {
            "name": str(name), "accuracy": accuracy[i].tolist(), "agreement": agreement[i].tolist(),
            "inside": float(np.round(report.inside[i])), "none": float(report.none[i]),
            "size": int(results.panel.sizes[i]),
        }
        for i, name in enumerate(results.panel.names)
    ]  # fmt: skip
    ids = {one.name: one.id for one in results.roster.members}
    with studio.database.read() as connection:
        speeds = seconds_per_answer(connection)
    return page(
        request, "experts.html", who, lines=lines, newer=newer, claims=results.doubtful_claims[:50],
        ids=ids, gold=len(results.gold), speeds=speeds,
        skills=[
            [one for one in results.skills if (one.suggestion == "keep") is kept] for kept in (False, True)
        ],
    )  # fmt: skip
