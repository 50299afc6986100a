"""Votes that come back in: the files that the studio and `covote decode` know."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from sqlalchemy import Connection, insert, select, update

from covote.studio.context import Studio
from covote.studio.exchange import importing
from covote.studio.people.roster import Roster
from covote.studio.rules import Member, Refused, check_choice
from covote.studio.storage.schema import ANSWERED, BEGUN, NONE, answer, assignment, item, person
from covote.votes import Votes


def import_votes(studio: Studio, name: str, content: bytes) -> str:
    """Add votes from a file: each is checked as an answer would be; all or none are kept.

    Experts answer for classes they know, about items that are here. What a person has said already stays,
    unless the file says something else: then that is a change, and both are on record.
    """
    with studio.database.write() as connection:
        _, roster = studio.now(connection)
        votes = _read(name, content, roster)
        ids = _items(connection, votes)
        new, changed = _add(connection, roster, votes, ids)
    return f"{new:,} votes added, {changed:,} changed; {votes.answers - new - changed:,} were there already."


def _read(name: str, content: bytes, roster: Roster) -> Votes:
    if roster.panel is None or not len(roster.panel):
        raise Refused("Add classes and people first, or import the panel file; then the votes.", 409)
    table = importing.read_table(name, content)
    if Path(name).suffix.lower() == ".csv":
        table = importing.without_formula_marks(table)
    return Votes.from_table(table, roster.panel, layout="ragged")


def _items(connection: Connection, votes: Votes) -> list[int]:
    wanted = [str(key) for key in votes.items]
    found: dict[str, int] = {}
    for start in range(0, len(wanted), 5000):
        some = select(item.c.id, item.c.key).where(item.c.key.in_(wanted[start : start + 5000]))
        found.update({row.key: row.id for row in connection.execute(some)})
    missing = [key for key in wanted if key not in found]
    if missing:
        raise Refused(
            f"There is no item “{missing[0]}” in this project ({len(missing):,} of the file's items are not "
            "here); add the items first.",
            422,
        )
    return [found[key] for key in wanted]


def _add(connection: Connection, roster: Roster, votes: Votes, ids: list[int]) -> tuple[int, int]:
    now = time.time()
    said = {
        (row.item_id, row.person_id): row.class_id
        for row in connection.execute(
            select(answer.c.item_id, answer.c.person_id, answer.c.class_id).order_by(answer.c.id)
        )
    }
    runs = votes.ragged
    owner = np.repeat(np.array(ids), np.diff(runs.indptr))
    answers, given, counts = [], [], dict.fromkeys(roster.row, 0)
    batch = f"import-{time.time_ns():x}"
    for n, (item_id, expert, label) in enumerate(zip(owner, runs.expert, runs.label, strict=True)):
        member: Member = roster.voters[int(expert)]
        choice = NONE if label < 0 else roster.classes[int(label)].id
        check_choice(member, choice, None)
        before = said.get((int(item_id), member.id))
        if before == choice:
            continue
        answers.append(
            {"item_id": int(item_id), "person_id": member.id, "class_id": choice, "key": f"{batch}-{n}",
             "options_id": member.options_id, "via": "import", "at": now}
        )  # fmt: skip
        if before is None:
            counts[member.id] += 1
            given.append({"item_id": int(item_id), "person_id": member.id})
    if answers:
        connection.execute(insert(answer), answers)
    _assign(connection, given)
    for person_id, count in counts.items():
        if count:
            connection.execute(
                update(person).where(person.c.id == person_id).values(answers=person.c.answers + count)
            )
    return len(given), len(answers) - len(given)


def _assign(connection: Connection, given: list[dict[str, int]]) -> None:
    """Note who has answered which item, also where it was in somebody's hands."""
    there: set[tuple[int, int]] = set()
    for start in range(0, len(given), 5000):
        ids = [one["item_id"] for one in given[start : start + 5000]]
        some = select(assignment.c.item_id, assignment.c.person_id).where(assignment.c.item_id.in_(ids))
        there.update((row.item_id, row.person_id) for row in connection.execute(some))
    new = [one for one in given if (one["item_id"], one["person_id"]) not in there]
    for one in given:
        if (one["item_id"], one["person_id"]) in there:
            connection.execute(
                update(assignment)
                .where(assignment.c.item_id == one["item_id"], assignment.c.person_id == one["person_id"])
                .values(state=ANSWERED)
            )
    if new:
        connection.execute(insert(assignment), [{**one, "state": ANSWERED, "expires": 0.0} for one in new])
    for start in range(0, len(given), 5000):
        ids = [one["item_id"] for one in given[start : start + 5000]]
        connection.execute(update(item).where(item.c.id.in_(ids)).values(state=BEGUN))


def load_panel(name: str, content: bytes) -> Path:
    """Put an uploaded panel file where :meth:`covote.Panel.load` can read it; the caller removes it."""
    ending = Path(name).suffix.lower()
    if ending not in (".toml", ".json", ".csv"):
        raise Refused(f"“{name}” is no panel file; it ends in .toml, .json or .csv.", 415)
    place = Path(tempfile.mkdtemp(prefix="covote-")) / f"panel{ending}"
    place.write_bytes(content)
    return place
