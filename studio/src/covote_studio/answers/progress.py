"""The progress of a project: what is settled, what is doubtful, what is still to come, and when."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, func, select

from covote.labels import STATUSES
from covote_studio.answers.results import Results
from covote_studio.people.managing import decisions
from covote_studio.people.roster import Roster
from covote_studio.rules import ADAPTIVE, Member, may_be_asked
from covote_studio.storage.schema import ANSWERED, DONE, answer, assignment, item, person

SHOWN_DAYS = 21
"""Days whose answers are shown."""
_DAY = 86_400.0
_WEEK = 7 * _DAY
_TIMED, _FEWEST_TIMED, _PAUSE = 50_000, 6, 300.0
"""Answers that speed is measured on, how many a person needs for that, and seconds after which someone was
away."""


@dataclass(frozen=True)
class ProjectProgress:
    """The numbers of the progress page; None for what cannot be estimated yet.

    An item is settled if its label is agreed, or a reviewer has decided it, or people are asked one after
    another and no one needs to be asked any more about a label that nothing speaks against.
    """

    items: int
    settled: int
    doubtful: int
    """Items in conflict or tied, which no one has decided."""
    answers: int
    needed: int | None
    """Answers that are still wanted."""
    late: list[str]
    """People who have not answered everything, if everyone is asked."""
    per_day: float | None
    """Answers a day in the last week; None on the first day."""
    accuracy: float | None
    people: list[dict[str, Any]]
    days: list[tuple[float, int]]
    """How many answers came on each of the last days: (its first second, answers)."""
    statuses: dict[str, int]

    @property
    def days_left(self) -> float | None:
        """In how many days the last answer comes at the present rate."""
        return self.needed / self.per_day if self.needed and self.per_day else None


def measure_progress(
    connection: Connection, setup: Row[Any], roster: Roster, results: Results | None
) -> ProjectProgress:
    """Compute the progress of a project."""
    rows = connection.execute(select(person.c.id, person.c.answers)).all()
    done = {int(row.id): int(row.answers) for row in rows}
    needed = _needed(connection, setup, roster, done)
    decided = _decided(connection)
    accuracy = None
    if results is not None and not np.all(np.isnan(results.labels.confidence)):
        accuracy = float(np.nanmean(results.labels.confidence))
    statuses = _statuses(setup, results, decided)
    late = [one.name for one in roster.members if remaining(setup, one, done[one.id])]
    return ProjectProgress(
        setup.size, len(_settled(connection, setup, results, decided)),
        statuses.get("conflict", 0) + statuses.get("tied", 0), sum(done.values()), needed, late,
        _per_day(connection), accuracy, _people(setup, roster, done), _days(connection), statuses,
    )  # fmt: skip


def _decided(connection: Connection) -> NDArray[np.int64]:
    """Return the ids of the items that a reviewer has decided."""
    gone = set(connection.execute(select(item.c.id).where(item.c.retired.is_(True))).scalars())
    return np.array(sorted(set(decisions(connection)) - gone), dtype=np.int64)


def settled_items(connection: Connection, setup: Row[Any], results: Results | None) -> NDArray[np.int64]:
    """Return the ids of the items that are settled, ascending."""
    return _settled(connection, setup, results, _decided(connection))


def _settled(
    connection: Connection, setup: Row[Any], results: Results | None, decided: NDArray[np.int64]
) -> NDArray[np.int64]:
    if results is None:
        return decided
    status = results.labels.evidence.status
    agreed = results.items[status == STATUSES.index("agreed")]
    if setup.ask in ADAPTIVE:
        done = connection.execute(select(item.c.id).where(item.c.state == DONE, item.c.retired.is_(False)))
        unopposed = results.items[(status == STATUSES.index("incomplete")) & (results.labels.index >= 0)]
        agreed = np.union1d(agreed, np.intersect1d(unopposed, np.fromiter(done.scalars(), np.int64)))
    return np.union1d(agreed, decided)


def _statuses(setup: Row[Any], results: Results | None, decided: NDArray[np.int64]) -> dict[str, int]:
    """Return how many items have each status; decided ones, and those without answers, count apart."""
    if results is None:
        return {}
    left = results.labels.evidence.status[~np.isin(results.items, decided)]
    counts = {name: int((left == n).sum()) for n, name in enumerate(STATUSES)}
    unanswered = setup.size - len(np.union1d(results.items, decided))
    return {
        "agreed": counts.pop("agreed"),
        "decided": len(decided),
        **counts,
        "no answer": max(0, unanswered),
    }


def _needed(connection: Connection, setup: Row[Any], roster: Roster, done: dict[int, int]) -> int | None:
    """Return how many answers are still wanted; None while no item is finished.

    If people are asked one after another, an open item is expected to need as many answers as finished ones
    took, but no more than there are people left to ask.
    """
    if setup.ask not in ADAPTIVE:
        return sum(remaining(setup, one, done[one.id]) or 0 for one in roster.members)
    finished = connection.execute(
        select(func.count()).select_from(item).where(item.c.retired.is_(False), item.c.state == DONE)
    ).scalar_one()
    left_items = setup.size - finished
    if not left_items:
        return 0
    if not finished:
        return None
    asked = [one for one in roster.active if one.role != "model"]
    given = (
        select(func.count())
        .select_from(assignment.join(item, item.c.id == assignment.c.item_id))
        .where(assignment.c.state == ANSWERED, item.c.retired.is_(False))
        .where(assignment.c.person_id.in_([one.id for one in asked]))
    )
    on_finished = connection.execute(given.where(item.c.state == DONE)).scalar_one()
    on_open = connection.execute(given.where(item.c.state != DONE)).scalar_one()
    expected: float = left_items * on_finished / finished - on_open
    most: float = left_items * len(asked) - on_open
    return round(max(0.0, min(expected, most)))


def _per_day(connection: Connection) -> float | None:
    """Return answers a day in the last week, pauses included; None if the first answer is not a day old."""
    now = time.time()
    first = connection.execute(select(func.min(answer.c.at))).scalar_one()
    if first is None or now - first < _DAY:
        return None
    recent = select(func.count()).select_from(answer).where(answer.c.at > now - _WEEK)
    return float(connection.execute(recent).scalar_one() / (min(_WEEK, now - first) / _DAY))


def _days(connection: Connection) -> list[tuple[float, int]]:
    """Return how many answers came on each of the last days (UTC), up to the last with an answer."""
    first, last = connection.execute(select(func.min(answer.c.at), func.max(answer.c.at))).one()
    if first is None:
        return []
    end = last // _DAY
    starts = [day * _DAY for day in range(int(max(first // _DAY, end - SHOWN_DAYS + 1)), int(end) + 1)]
    counts = connection.execute(
        select(
            *(
                select(func.count())
                .select_from(answer)
                .where(answer.c.at >= start, answer.c.at < start + _DAY)
                .scalar_subquery()
                for start in starts
            )
        )
    ).one()
    return list(zip(starts, map(int, counts), strict=True))


def seconds_per_answer(connection: Connection) -> dict[str, float]:
    """Return the median time that people take for an answer, by their names.

    It is the time since the previous answer, if that is less than five minutes.
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
        gaps = -np.diff(moments)
        gaps = gaps[(gaps > 0) & (gaps < _PAUSE)]
        if len(gaps) >= _FEWEST_TIMED:
            found[name] = float(np.median(gaps))
    return found


def _people(setup: Row[Any], roster: Roster, done: dict[int, int]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name, "answers": done[one.id],
            "share": min(1.0, done[one.id] / setup.size) if setup.size else 0.0, "active": one.active,
        }
        for one in roster.members
        if one.known or done[one.id]
    ]  # fmt: skip


def remaining(setup: Row[Any], member: Member, answered: int) -> int | None:
    """Return how many items a person still has to answer; None if that depends on others' answers."""
    if setup.ask in ADAPTIVE or not may_be_asked(member):
        return None
    return max(0, int(setup.size) - answered)
