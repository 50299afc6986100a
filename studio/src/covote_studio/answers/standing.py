"""The progress of a project: answers so far and still needed, cost, time, expected accuracy."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select

from covote_studio.answers.results import Results
from covote_studio.people.roster import Roster
from covote_studio.rules import ADAPTIVE, Member, may_be_asked
from covote_studio.storage.schema import ANSWERED, DONE, answer, assignment, item, person

_POINTS = 60
_RECENT, _DAY, _WEEK = 3600.0, 86_400.0, 7 * 86_400.0
_TIMED, _FEWEST_TIMED, _PAUSE = 50_000, 6, 300.0
"""Answers that speed is measured on, how many a person needs for that, and seconds after which someone was
away."""


@dataclass(frozen=True)
class Standing:
    """The numbers of the progress page; None for what cannot be estimated yet."""

    items: int
    settled: int
    answers: int
    needed: int | None
    cost: float
    cost_left: float | None
    hours_left: float | None
    per_hour: float
    accuracy: float | None
    people: list[dict[str, Any]]
    curve: list[tuple[float, int]]
    statuses: dict[str, int]


def standing(connection: Connection, setup: Row[Any], roster: Roster, results: Results | None) -> Standing:
    """Compute the progress of a project."""
    rows = connection.execute(select(person.c.id, person.c.answers)).all()
    done = {int(row.id): int(row.answers) for row in rows}
    answers = sum(done.values())
    cost = sum(done[one.id] * one.cost for one in roster.members)
    settled = count_settled(connection, setup, roster)
    needed, cost_left = _needed(connection, setup, roster, done, settled)
    rate = _rate(connection)
    accuracy = None
    statuses: dict[str, int] = {}
    if results is not None:
        confidence = results.labels.confidence
        if not np.all(np.isnan(confidence)):
            accuracy = float(np.nanmean(confidence))
        statuses = results.labels.count()
    hours = needed / rate if needed and rate else None
    return Standing(
        setup.size, settled, answers, needed, cost, cost_left, hours, rate, accuracy,
        _people(setup, roster, done), _curve(connection), statuses,
    )  # fmt: skip


def _needed(
    connection: Connection, setup: Row[Any], roster: Roster, done: dict[int, int], settled: int
) -> tuple[int | None, float | None]:
    """Return how many answers are still needed and what they cost; None while no item is settled.

    If people are asked one after another, an open item is expected to need as many answers as settled ones
    took, but no more than there are people left to ask.
    """
    if setup.ask not in ADAPTIVE:
        left = [(one.cost, remaining(setup, one, done[one.id]) or 0) for one in roster.members]
        return sum(count for _, count in left), sum(cost * count for cost, count in left)
    left_items = setup.size - settled
    if not left_items:
        return 0, 0.0
    if not settled:
        return None, None
    asked = [one for one in roster.active if one.role != "model"]
    given = (
        select(func.count())
        .select_from(assignment.join(item, item.c.id == assignment.c.item_id))
        .where(assignment.c.state == ANSWERED, item.c.retired.is_(False))
        .where(assignment.c.person_id.in_([one.id for one in asked]))
    )
    on_settled = connection.execute(given.where(item.c.state == DONE)).scalar_one()
    on_open = connection.execute(given.where(item.c.state != DONE)).scalar_one()
    expected = left_items * on_settled / settled - on_open
    most = left_items * len(asked) - on_open
    needed = round(max(0.0, min(expected, most)))
    mean_cost = sum(one.cost for one in asked) / max(1, len(asked))
    return needed, needed * mean_cost


def count_settled(connection: Connection, setup: Row[Any], roster: Roster) -> int:
    """Return how many items no one needs to be asked about any more."""
    live = select(func.count()).select_from(item).where(item.c.retired.is_(False))
    if setup.ask in ADAPTIVE:
        return int(connection.execute(live.where(item.c.state == DONE)).scalar_one())
    return int(connection.execute(live.where(item.c.id.in_(answered_by_all(setup, roster)))).scalar_one())


def answered_by_all(setup: Row[Any], roster: Roster) -> Any:
    """Return a query for the items that everyone who is asked has answered."""
    asked = [one.id for one in roster.members if may_be_asked(one, setup.ask)]
    return (
        select(assignment.c.item_id)
        .where(assignment.c.state == ANSWERED, assignment.c.person_id.in_(asked))
        .group_by(assignment.c.item_id)
        .having(func.count() >= max(1, len(asked)))
    )


def _rate(connection: Connection) -> float:
    """Return answers per hour: of the last week, including pauses; or of the last hour of a new project.

    The last hour is the last one in which there were answers.
    """
    last = connection.execute(select(func.max(answer.c.at))).scalar_one()
    if last is None:
        return 0.0
    now = time.time()
    week = _answers_since(connection, now - _WEEK)
    if week is not None and now - week[1] > _DAY:
        return week[0] / (now - week[1]) * 3600.0
    recent = _answers_since(connection, last - _RECENT)
    return 0.0 if recent is None else recent[0] / max(60.0, last - recent[1]) * 3600.0


def _answers_since(connection: Connection, moment: float) -> tuple[int, float] | None:
    """Return the number of answers after a moment, and the time of the first; None if there are none."""
    first = connection.execute(
        select(answer.c.at, answer.c.id).where(answer.c.at > moment).order_by(answer.c.at).limit(1)
    ).one_or_none()
    if first is None:
        return None
    newest = connection.execute(select(func.max(answer.c.id))).scalar_one()
    return int(newest - first.id + 1), float(first.at)


def _number(moment: float) -> Any:
    """Return a query for the id of the last answer before a moment, which counts the answers."""
    latest = select(answer.c.id).where(answer.c.at <= moment).order_by(answer.c.at.desc()).limit(1)
    return func.coalesce(latest.scalar_subquery(), 0)


def seconds_per_answer(connection: Connection) -> dict[str, tuple[float, float, float]]:
    """Return how long people take for an answer: the median with its 95% interval, by their names.

    It is the time since the previous answer, if that is less than five minutes. The interval lies between two
    of the sorted times, by the binomial distribution.
    """
    rows = connection.execute(
        select(person.c.name, answer.c.at)
        .join(person, person.c.id == answer.c.person_id)
        .where(answer.c.via == "page")
        .order_by(answer.c.id.desc())
        .limit(_TIMED)
    )
    times: dict[str, list[float]] = {}
    for name, at in rows:
        times.setdefault(name, []).append(at)
    found = {}
    for name, moments in times.items():
        gaps = np.sort(-np.diff(moments))
        gaps = gaps[(gaps > 0) & (gaps < _PAUSE)]
        if len(gaps) >= _FEWEST_TIMED:
            first = int(len(gaps) / 2 - 0.98 * len(gaps) ** 0.5)
            found[name] = (float(np.median(gaps)), float(gaps[first]), float(gaps[-1 - first]))
    return found


def _people(setup: Row[Any], roster: Roster, done: dict[int, int]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name, "answers": done[one.id], "cost": done[one.id] * one.cost,
            "share": min(1.0, done[one.id] / setup.size) if setup.size else 0.0, "active": one.active,
        }
        for one in roster.members
        if one.known or done[one.id]
    ]  # fmt: skip


def _curve(connection: Connection) -> list[tuple[float, int]]:
    """Return the number of answers at points in time."""
    first, last = connection.execute(select(func.min(answer.c.at), func.max(answer.c.at))).one()
    if first is None or last <= first:
        return []
    moments = [float(moment) for moment in np.linspace(first, last, _POINTS)]
    counts = connection.execute(select(*(_number(moment) for moment in moments))).one()
    return [(moment, int(count)) for moment, count in zip(moments, counts, strict=True)]


def remaining(setup: Row[Any], member: Member, answered: int) -> int | None:
    """Return how many items a person still has to answer; None if that depends on others' answers."""
    if setup.ask in ADAPTIVE or not may_be_asked(member, setup.ask):
        return None
    return max(0, int(setup.size) - answered)
