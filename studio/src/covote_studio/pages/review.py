"""Results: progress, doubtful items, the reasons for a label, decisions, how reliable people are."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import select

from covote.labels import STATUSES
from covote_studio.answers.progress import ProjectProgress, measure_progress, seconds_per_answer
from covote_studio.answers.results import Results, opinions
from covote_studio.context import Studio
from covote_studio.editing import items
from covote_studio.editing.record import note, record_entries
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
from covote_studio.pages.start import is_running
from covote_studio.people import credentials, managing
from covote_studio.people.managing import decisions
from covote_studio.people.roster import Roster
from covote_studio.rules import Refusal, join_names
from covote_studio.storage.schema import CHOICE, answer, item, options, person

router = APIRouter()
_SHOWN = 30
"""Items of a page."""
KEYS = "123456789"
"""Keys that choose the first classes where an item is decided."""


def _values(studio: Studio) -> dict[str, Any]:
    results, newer = studio.results.get()
    with studio.database.read() as connection:
        setup, roster = studio.snapshot(connection)
        now = measure_progress(connection, setup, roster, results)
        wanted = select(person.c.name, person.c.note).where(person.c.note != "", person.c.active.is_(True))
        failing = [f"{row.name}: {row.note}" for row in connection.execute(wanted)]
    if studio.worker.trouble and roster.models:
        failing.append(f"Models are not answering: {studio.worker.trouble}.")
    return {
        "now": now, "setup": setup, "newer": newer, "project_name": setup.name,
        "bars": _bars(now.days), "sentence": _sentence(now), "due": _due(now), "thin": _thin(now, roster),
        "failing": failing,
        "board": roster.coverage if roster.classes else None, "begun": bool(now.answers),
        "moment": time.time(),
    }  # fmt: skip


WIDE, TALL = 600, 150
"""The size of the chart, without its labels."""


def _bars(days: list[tuple[float, int]]) -> dict[str, Any] | None:
    """Return the chart of answers a day: bars (x, y, width, height, day, count), and labels of both axes.

    >>> chart = _bars([(0.0, 5), (86400.0, 10)])
    >>> chart["bars"][1][1:5], chart["top"], [text for _, text in chart["along"]]
    ((0.0, 294.0, 150.0, '2 Jan'), 10, ['1 Jan', '2 Jan'])
    """
    if not days:
        return None
    top = _round_up(max(count for _, count in days))
    step = WIDE / max(len(days), 2)
    bars = [
        (round(n * step + 3, 1), round(TALL - TALL * count / top, 1), round(step - 6, 1),
         round(TALL * count / top, 1), _short(day), count)
        for n, (day, count) in enumerate(days)
    ]  # fmt: skip
    ends = [0] if len(days) == 1 else [0, len(days) - 1]
    return {"bars": bars, "top": top, "along": [(round((n + 0.5) * step, 1), bars[n][4]) for n in ends]}


def _short(day: float) -> str:
    moment = time.gmtime(day)
    return f"{moment.tm_mday} {time.strftime('%b', moment)}"


def _round_up(count: int) -> int:
    """Return an even number with one or two digits and zeros that is not smaller.

    >>> [_round_up(one) for one in (1, 10, 294, 1203, 99999)]
    [2, 10, 300, 1300, 100000]
    """
    unit: int = 10 ** max(0, len(str(count)) - 2)
    rounded = -(-count // unit) * unit
    return rounded if rounded % 2 == 0 else rounded + unit


def _sentence(now: ProjectProgress) -> str:
    """Say in one sentence how much is done."""
    if not now.items:
        return "There are no items yet."
    if now.settled >= now.items:
        return f"All {now.items:,} items are settled."
    return f"{now.settled:,} of {now.items:,} items {'is' if now.settled == 1 else 'are'} settled."


def _due(now: ProjectProgress) -> str:
    """Say how much is still to come, from whom, and when it is due."""
    if not now.items or now.needed is None or not now.answers:
        return ""
    if not now.needed:
        return "Everyone has answered everything." if now.answers else ""
    left = f"About {now.needed:,} answer{'' if now.needed == 1 else 's'} can still come"
    if now.late:
        left += f", from {join_names(now.late, 2)}"
    if now.days_left is None:
        return f"{left}. A date appears after the first day."
    day = time.gmtime(time.time() + 86_400 * now.days_left)
    when = f"{time.strftime('%A', day)}, {day.tm_mday} {time.strftime('%B', day)}"
    return f"{left}. At {now.per_day:,.0f} answers a day, the last one is due on {when}."


def _thin(now: ProjectProgress, roster: Roster) -> str:
    """Say what to do about labels that rest on too few people, once no one else is going to answer."""
    left = now.items - now.settled - now.doubtful - now.statuses.get("no answer", 0)
    if now.needed != 0 or left <= 0:
        return ""
    known = Counter(one for member in roster.active for one in member.known)
    alone = [one.name for one in roster.classes if known[one.id] == 1]
    return (
        f"{left:,} label{' rests' if left == 1 else 's rest'} on too few people: invite someone else who "
        f"knows {join_names(alone, 3, 'or') or 'these classes'}, or decide {'it' if left == 1 else 'them'}."
    )


@router.get("/progress")
def progress(request: Request, studio: Project, who: Reviewer) -> Response:
    """Show the progress of the project; before anyone has answered, owners go on setting it up."""
    with studio.database.read() as connection:
        running = is_running(connection)
    if who.is_owner and not running:
        return RedirectResponse("/start", 303)
    return page(request, "progress.html", who, shared=False, **_values(studio))


@router.post("/share")
def share(request: Request, studio: Project, who: Owner) -> Response:
    """Create a read-only link to the report; an earlier one no longer works."""
    with studio.database.write() as connection:
        credentials.revoke(connection, purpose="share")
        secret = credentials.new_secret(connection, "share", who.id)
        note(connection, who.id, "Created a read-only link to the report; an earlier one no longer works.")
    text = "Anyone who has this link sees the report and nothing else. An earlier link no longer works."
    return link_page(request, who, ("share", secret), "A link to the report", text, back="/progress")


@router.post("/share/close")
def unshare(studio: Project, who: Owner) -> Response:
    """Close the read-only link."""
    with studio.database.write() as connection:
        if credentials.revoke(connection, purpose="share"):
            note(connection, who.id, "Withdrew the read-only link to the report.")
    return back_to("/progress", "The link to the report no longer works.")


@router.get("/shared/{secret}")
def shared(request: Request, studio: Project, secret: str) -> Response:
    """Show the report to anyone with the link; they cannot change anything and see no items."""
    with studio.database.read() as connection:
        credentials.open_link(connection, secret, "share")
    return page(request, "progress.html", None, shared=True, **_values(studio))


DOUBTFUL = ("conflict", "tied")
"""Statuses that wait for a decision."""


@router.get("/review")
def review(
    request: Request, studio: Project, who: Reviewer, status: str = "", start: int = 0,
    label: Annotated[str, Query(max_length=200)] = "",
) -> Response:  # fmt: skip
    """List the items that wait for a decision, the most doubtful first; or others, by status or label."""
    results, newer = studio.results.get()
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        flagged = items.flagged_items(connection)
        decided = decisions(connection)
        ids = flagged if status == "flagged" else _queue(results, status, decided, label)
        start = max(0, min(start, len(ids)))
        some = [int(one) for one in ids[start : start + _SHOWN]]
        rows = {row.id: row for row in connection.execute(select(item).where(item.c.id.in_(some)))}
    counts = _counts(results, decided, len(flagged))
    return page(
        request, "review.html", who, results=results, newer=newer, roster=roster, wanted=status, start=start,
        lines=[_line(results, rows[one], decided) for one in some], counts=counts, total=len(ids),
        shown=_SHOWN, tabs=_TABS, label=label,
    )  # fmt: skip


_TABS = (
    ("", "To decide"), ("incomplete", "Incomplete"), ("agreed", "Agreed"), ("decided", "Decided"),
    ("flagged", "Flagged"), ("all", "All"),
)  # fmt: skip


def _queue(results: Results | None, status: str, decided: dict[int, Any], label: str = "") -> list[int]:
    """Return the ids of items, the most doubtful first: those to decide, of a status, decided, or all."""
    if results is None:
        return [*decided] if status == "decided" else []
    order = results.by_doubt
    if label:
        order = order[results.labels.value[order] == label]
    if status == "decided":
        return [one for one in results.items[order].tolist() if one in decided]
    wanted = DOUBTFUL if not status else (status,) if status in STATUSES else STATUSES
    codes = [STATUSES.index(one) for one in wanted]
    order = order[np.isin(results.labels.evidence.status[order], codes)]
    return [one for one in results.items[order].tolist() if status == "all" or one not in decided]


def _counts(results: Results | None, decided: dict[int, Any], flagged: int) -> dict[str, int]:
    """Return how many items each tab has."""
    found = {one: len(_queue(results, one, decided)) for one, _ in _TABS if one != "flagged"}
    return {**found, "flagged": flagged}


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
        _, roster = studio.snapshot(connection)
        row = items.item_row(connection, item_id)
        history = connection.execute(
            select(CHOICE, answer.c.at, answer.c.via, person.c.name, options.c.classes)
            .join(person, person.c.id == answer.c.person_id)
            .join(options, options.c.id == answer.c.options_id)
            .where(answer.c.item_id == item_id)
            .order_by(answer.c.id)
        ).all()
        all_decided = decisions(connection)
        decision = all_decided.get(item_id)
        changes, flags = record_entries(connection, item_id=item_id), items.flags_of(connection, item_id)
    at = results.position(item_id) if results is not None else None
    why = _why(results, at) if results is not None and at is not None else None
    line = _line(results, row, {})
    left = _queue(results, "", all_decided)
    place = left.index(item_id) if item_id in left else -1
    following = next(iter(left[place + 1 :]), None) if place >= 0 else next(iter(left), None)
    answers = [(one, roster.answer_name(one.choice)) for one in history]
    return page(
        request, "item.html", who, row=row, line=line, why=why, history=answers, roster=roster,
        decision=decision, newer=newer, following=following, changes=changes, flags=flags,
        waiting=len(left), keys=KEYS,
    )  # fmt: skip


def _why(results: Results, at: int) -> dict[str, Any]:
    """Return the evidence as a table: candidate classes, and for each person what they said and what that
    means if the item is one of these; those who must be wrong come first."""
    label = int(results.labels.index[at])
    classes = [label] if label >= 0 else [int(k) for k in results.labels.tied_indices([at])[0]][:6]
    columns = [opinions(results, at, k) for k in classes]
    order = {"must be wrong": 0, "agrees": 1}
    rows = sorted(zip(*columns, strict=True), key=lambda some: order.get(some[0].role, 2))
    return {"classes": [str(results.panel.classes[k]) for k in classes], "rows": rows}


@router.post("/review/{item_id}")
def decide(studio: Project, who: Reviewer, form: Form, item_id: int) -> Response:
    """Decide an item, with a reason."""
    if not text_field(form, "class"):
        raise Refusal("No class was chosen; choose the one that the item is.", 422)
    (chosen,) = whole_fields([form.get("class")])
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        items.item_row(connection, item_id)
        if chosen and chosen not in roster.class_by_id:
            raise Refusal("That class is no longer there; reload the page.", 409)
        managing.adjudicate(connection, item_id, chosen or None, who.id, text_field(form, "reason"))
    if "next" in form:
        results, _ = studio.results.get()
        with studio.database.read() as connection:
            left = _queue(results, "", decisions(connection))
        where = f"/review/{left[0]}" if left else "/review"
        return back_to(where, "The decision is on record." + ("" if left else " Nothing is left to decide."))
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
