"""The roster: the project, its classes and its people at one version of the panel."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sqlalchemy import Connection, Row, select, update

from covote.panel import Panel
from covote.studio.rules import Member
from covote.studio.storage.database import insert_if_new
from covote.studio.storage.schema import (
    ANSWERED,
    BEGUN,
    NONE,
    UNSURE,
    WAITING,
    assignment,
    class_,
    item,
    knows,
    options,
    person,
    project,
)

if TYPE_CHECKING:
    from covote.studio.answers.inquiry import Inquiry

LARGEST_TABLE = 40
"""Most classes whose pairs are shown as a table; more are drawn as a picture."""
LARGEST_PICTURE = 500
"""Points of the picture in each direction."""
COLOURS = bytes((201, 66, 53, 226, 164, 66, 93, 158, 110, 35, 108, 62))
"""Red, amber, light and dark green of the picture of all pairs."""
LISTED = 60
"""Uncovered pairs that are listed."""


@dataclass(frozen=True)
class Class:
    """A class of the project."""

    id: int
    name: str
    description: str
    picture: str | None


@dataclass(frozen=True)
class Roster:
    """Everything about who knows what; it is read again when `version` has changed."""

    version: int
    classes: tuple[Class, ...]
    members: tuple[Member, ...]
    models: dict[int, dict[str, Any]]
    """Models by their ids: `model` as panel files name it, and the `folder` at which its paths start."""

    @cached_property
    def class_by_id(self) -> dict[int, Class]:
        """Every class by its id."""
        return {one.id: one for one in self.classes}

    @cached_property
    def class_by_name(self) -> dict[str, Class]:
        """Every class by its name."""
        return {one.name: one for one in self.classes}

    @cached_property
    def column(self) -> dict[int, int]:
        """The position of every class in the panel, by its id."""
        return {one.id: k for k, one in enumerate(self.classes)}

    @cached_property
    def member_by_id(self) -> dict[int, Member]:
        """Every person by id."""
        return {one.id: one for one in self.members}

    @cached_property
    def voters(self) -> tuple[Member, ...]:
        """Who is in the panel: whoever knows something and is asked, or was asked before."""
        return tuple(one for one in self.members if one.known and (one.active or one.answers))

    @cached_property
    def active(self) -> tuple[Member, ...]:
        """Who of the voters can be asked today."""
        return tuple(one for one in self.voters if one.active)

    @cached_property
    def row(self) -> dict[int, int]:
        """The position of every voter in the panel, by id."""
        return {one.id: i for i, one in enumerate(self.voters)}

    def _matrix(self, members: tuple[Member, ...]) -> NDArray[np.bool_]:
        knows_what = np.zeros((len(members), len(self.classes)), dtype=bool)
        for i, one in enumerate(members):
            knows_what[i, [self.column[k] for k in one.known]] = True
        return knows_what

    def panel_of(self, members: tuple[Member, ...]) -> Panel | None:
        """Return the panel of some of the people; None without classes."""
        if not self.classes:
            return None
        return Panel(
            [one.name for one in self.classes],
            self._matrix(members),
            [one.name for one in members],
            [one.cost for one in members],
            models=[self.models[one.id]["model"] if one.id in self.models else None for one in members],
        )

    @cached_property
    def panel(self) -> Panel | None:
        """The panel in which votes are decoded."""
        return self.panel_of(self.voters)

    @cached_property
    def active_panel(self) -> Panel | None:
        """The panel of those who can be asked today."""
        return self.panel_of(self.active)

    @cached_property
    def inquiries(self) -> dict[str, Inquiry]:
        """Rules of asking at work on these people; see :func:`covote.studio.answers.inquiry.inquiry_of`."""
        return {}

    def names_of(self, known: Iterable[int], most: int | None = None) -> list[str]:
        """Return the names of classes in the order of the panel: all, or the first ones."""
        return [self.classes[k].name for k in sorted(self.column[one] for one in known)[:most]]

    @cached_property
    def picture(self) -> bytes:
        """The board as a PNG file: red uncovered, amber one person, green more.

        A point is a pair, or the weakest of some pairs where there are more than a screen shows.
        """
        counts = self.pair_counts
        starts = np.arange(0, len(counts), -(-len(counts) // LARGEST_PICTURE))
        for axis in (0, 1):
            counts = np.minimum.reduceat(counts, starts, axis=axis)
        drawn, packed = Image.fromarray(np.minimum(counts, 3).astype(np.uint8)), io.BytesIO()
        drawn.putpalette(COLOURS)
        drawn.save(packed, "PNG", bits=2)
        return packed.getvalue()

    def answer_name(self, class_id: int) -> str:
        """Return an answer as people read it."""
        if class_id == NONE:
            return "none of mine"
        if class_id == UNSURE:
            return "not sure"
        found = self.class_by_id.get(class_id)
        return found.name if found is not None else "a class that was removed"

    @cached_property
    def pair_counts(self) -> NDArray[np.int32]:
        """How many of those who can be asked know both classes of each pair."""
        active = self._matrix(self.active).astype(np.float32)
        return (active.T @ active).astype(np.int32)

    @cached_property
    def coverage(self) -> dict[str, Any]:
        """What the coverage board shows: pairs, those that nobody knows, those that hang on one person."""
        counts, names = self.pair_counts, [one.name for one in self.classes]
        upper = np.triu(np.ones_like(counts, dtype=bool), 1)
        missing = np.argwhere((counts == 0) & upper)
        return {
            "names": names,
            "table": counts.tolist() if len(names) <= LARGEST_TABLE else None,
            "pairs": int(upper.sum()),
            "uncovered": [(names[a], names[b]) for a, b in missing[:LISTED]],
            "missing": len(missing),
            "single": int(((counts == 1) & upper).sum()),
            "fewest": int(counts[upper].min()) if upper.any() else 0,
            "people": len(self.active),
            "critical": self._critical() if not len(missing) else [],
            "version": self.version,
        }

    def _critical(self) -> list[str]:
        """Return the people without whom some pair would be uncovered."""
        lonely = np.triu(self.pair_counts == 1, 1)
        known = zip(self.active, self._matrix(self.active), strict=True)
        return [one.name for one, mine in known if lonely[np.ix_(mine, mine)].any()]


def project_row(connection: Connection, *, locked: bool = False) -> Row[Any]:
    """Return the project; if it is locked, nobody changes who knows what until the transaction ends."""
    wanted = select(project)
    return connection.execute(wanted.with_for_update(read=True) if locked else wanted).one()


def read_roster(connection: Connection, version: int) -> Roster:
    """Read classes and people."""
    classes = connection.execute(select(class_).order_by(class_.c.position)).all()
    people = connection.execute(select(person).order_by(person.c.id)).all()
    known: dict[int, set[int]] = {row.id: set() for row in people}
    for person_id, class_id in connection.execute(select(knows)):
        known[person_id].add(class_id)
    return Roster(
        version,
        tuple(Class(row.id, row.name, row.description, row.picture) for row in classes),
        tuple(
            Member(
                row.id, row.name, row.role, row.active, row.chosen, row.may_tick, row.cost, row.answers,
                frozenset(known[row.id]), row.options_id,
            )
            for row in people
        ),
        {row.id: json.loads(row.model) for row in people if row.model is not None},
    )  # fmt: skip


class RosterKeeper:
    """Keeps the newest roster, and reads it again when the panel has changed."""

    def __init__(self) -> None:
        self._newest: Roster | None = None
        self._lock = threading.Lock()

    def get(self, connection: Connection, version: int) -> Roster:
        """Return who knows what at a version of the panel that was read on this connection."""
        known = self._newest
        if known is not None and known.version == version:
            return known
        fresh = read_roster(connection, version)
        with self._lock:
            if self._newest is None or self._newest.version < version:
                self._newest = fresh
        return fresh


def touch(connection: Connection) -> None:
    """Say that who knows what has changed; every change of classes or people ends with this."""
    connection.execute(update(project).values(panel_version=project.c.panel_version + 1))


def options_of(connection: Connection, classes: Iterable[int]) -> int:
    """Return the id of a list of classes that are shown together."""
    listed = json.dumps(sorted(classes))
    digest = hashlib.sha256(listed.encode()).hexdigest()
    insert_if_new(connection, options, {"digest": digest, "classes": listed})
    return int(connection.execute(select(options.c.id).where(options.c.digest == digest)).scalar_one())


def set_known(connection: Connection, person_id: int, classes: Iterable[int]) -> int:
    """Say what a person knows, and return how many of the person's items must be asked again.

    Items are asked again if there are classes among the new ones that were not in view before.
    """
    now = set(classes)
    before = set(connection.execute(select(knows.c.class_id).where(knows.c.person_id == person_id)).scalars())
    connection.execute(knows.delete().where(knows.c.person_id == person_id))
    if now:
        connection.execute(knows.insert(), [{"person_id": person_id, "class_id": one} for one in sorted(now)])
    connection.execute(
        update(person).where(person.c.id == person_id).values(options_id=options_of(connection, now))
    )
    touch(connection)
    if not before or now <= before:
        return 0
    again = connection.execute(
        update(assignment)
        .where(assignment.c.person_id == person_id, assignment.c.state == ANSWERED)
        .values(state=WAITING, token=None)
    )
    connection.execute(
        update(person).where(person.c.id == person_id).values(answers=person.c.answers - again.rowcount)
    )
    connection.execute(
        update(item)
        .where(item.c.id.in_(select(assignment.c.item_id).where(assignment.c.person_id == person_id)))
        .values(state=BEGUN)
    )
    # A model, which takes no leases, begins anew.
    connection.execute(
        update(person).where(person.c.id == person_id, person.c.role == "model").values(cursor=0)
    )
    return int(again.rowcount)
