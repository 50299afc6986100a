"""The roster: the project, its classes and its people at one version of the panel."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, update

from covote.bounds import worst_case_accuracy
from covote.panel import Panel
from covote_studio.rules import Member, Refusal, join_names
from covote_studio.storage.schema import NONE, UNSURE, class_, knows, person, project

if TYPE_CHECKING:
    from covote_studio.answers.inquiry import Inquiry

LARGEST_TABLE = 80
"""Most classes whose pairs are shown as a table; with more, the weakest are listed."""
LISTED = 60
"""Uncovered pairs that are listed."""


@dataclass(frozen=True)
class Class:
    """A class of the project."""

    id: int
    name: str
    description: str
    picture: str | None
    retired: bool = False
    """Whether it is no longer offered: retired, or merged into another class."""
    merged_into: int | None = None
    voted: bool = False
    """Whether votes for it count although it is retired."""


@dataclass(frozen=True)
class Roster:
    """Who knows what; it is read again when `version` has changed."""

    version: int
    every_class: tuple[Class, ...]
    """All classes that ever existed, in the order in which people see them."""
    members: tuple[Member, ...]
    models: dict[int, dict[str, Any]]
    """Models by their ids: `model` as in panel files, and the `folder` that its paths are relative to."""

    @cached_property
    def classes(self) -> tuple[Class, ...]:
        """The classes that people can choose."""
        return tuple(one for one in self.every_class if not one.retired)

    @cached_property
    def voting_classes(self) -> tuple[Class, ...]:
        """The classes that votes can name: those that can be chosen, then retired ones that have votes."""
        retired = {one for member in self.voters for one in member.former}
        return (*self.classes, *(one for one in self.every_class if one.id in retired))

    @cached_property
    def canonical_class(self) -> dict[int, int]:
        """The class that answers naming a class count for, by ids: itself, or what it was merged into."""
        merged = {one.id: one.merged_into for one in self.every_class}
        return {one: end_of(one, merged) for one in merged}

    @cached_property
    def class_by_id(self) -> dict[int, Class]:
        """Every class that can be chosen by its id."""
        return {one.id: one for one in self.classes}

    @cached_property
    def class_by_name(self) -> dict[str, Class]:
        """Every class that can be chosen by its name."""
        return {one.name: one for one in self.classes}

    @cached_property
    def classes_by_id(self) -> dict[int, Class]:
        """Every class that ever existed by its id."""
        return {one.id: one for one in self.every_class}

    def merged(self, class_id: int, into: int) -> Roster:
        """Return the roster as it would be if a class were merged into another."""
        return Roster(
            self.version,
            tuple(
                replace(one, retired=True, merged_into=into) if one.id == class_id else one
                for one in self.every_class
            ),
            tuple(
                replace(
                    one,
                    known=one.known - {class_id} | ({into} if class_id in one.known | one.former else set()),
                    former=one.former - {class_id},
                )
                for one in self.members
            ),
            self.models,
        )

    @cached_property
    def has_costs(self) -> bool:
        """Whether answers cost differently; otherwise pages do not speak of costs."""
        return len({one.cost for one in self.members}) > 1

    @cached_property
    def column(self) -> dict[int, int]:
        """The position of every class in the panel of the votes, by its id."""
        return {one.id: k for k, one in enumerate(self.voting_classes)}

    @cached_property
    def member_by_id(self) -> dict[int, Member]:
        """Every person by id."""
        return {one.id: one for one in self.members}

    @cached_property
    def voters(self) -> tuple[Member, ...]:
        """The members of the panel: everyone who knows something and is asked, or was asked before."""
        return tuple(one for one in self.members if (one.known or one.former) and (one.active or one.answers))

    @cached_property
    def active(self) -> tuple[Member, ...]:
        """The voters who can be asked today."""
        return tuple(one for one in self.voters if one.active and one.known)

    @cached_property
    def row(self) -> dict[int, int]:
        """The position of every voter in the panel, by id."""
        return {one.id: i for i, one in enumerate(self.voters)}

    def _matrix(self, members: tuple[Member, ...], classes: tuple[Class, ...]) -> NDArray[np.bool_]:
        column = {one.id: k for k, one in enumerate(classes)}
        knows_what = np.zeros((len(members), len(classes)), dtype=bool)
        for i, one in enumerate(members):
            knows_what[i, [column[k] for k in (*one.known, *one.former) if k in column]] = True
        return knows_what

    def panel_of(self, members: tuple[Member, ...], classes: tuple[Class, ...]) -> Panel | None:
        """Return the panel of some of the people; None without classes."""
        if not classes:
            return None
        return Panel(
            [one.name for one in classes],
            self._matrix(members, classes),
            [one.name for one in members],
            [one.cost for one in members],
            models=[self.models[one.id]["model"] if one.id in self.models else None for one in members],
        )

    @cached_property
    def panel(self) -> Panel | None:
        """The panel in which votes are decoded."""
        return self.panel_of(self.voters, self.voting_classes)

    @cached_property
    def active_panel(self) -> Panel | None:
        """The panel of those who can be asked today."""
        return self.panel_of(self.active, self.classes)

    @cached_property
    def inquiries(self) -> dict[str, Inquiry]:
        """Rules of asking for these people; see :func:`covote_studio.answers.inquiry.inquiry_of`."""
        return {}

    def names_of(self, known: Iterable[int], most: int | None = None) -> list[str]:
        """Return the names of classes in the order of the panel: all, or the first ones."""
        return [self.classes[k].name for k in sorted(self.column[one] for one in known)[:most]]

    @cached_property
    def _screens(self) -> dict[frozenset[int], str]:
        return {}

    def screen(self, member: Member) -> str:
        """Return a digest of what a person's answer buttons show; a page with another one is out of date."""
        found = self._screens.get(member.known)
        if found is None:
            shown = [
                (one.id, one.name, one.description, one.picture)
                for one in self.classes
                if one.id in member.known
            ]
            found = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]
            self._screens[member.known] = found
        return found

    def answer_name(self, class_id: int) -> str:
        """Return an answer as people read it."""
        if class_id == NONE:
            return "none of mine"
        if class_id == UNSURE:
            return "not sure"
        found = self.classes_by_id.get(class_id)
        if found is None:
            return "a class that is not in this project"
        if found.merged_into is not None:
            return f"{found.name} (now {self.classes_by_id[self.canonical_class[class_id]].name})"
        return f"{found.name} (retired)" if found.retired else found.name

    def vote_name(self, class_id: int) -> str:
        """Return the name of what an answer counts for, as in files."""
        counted = self.canonical_class.get(class_id)
        return self.answer_name(class_id) if counted is None else self.classes_by_id[counted].name

    def member(self, person_id: int) -> Member:
        """Return the person with an id, or reject it."""
        if person_id not in self.member_by_id:
            raise Refusal("There is no one with that number; go back to the list.", 404)
        return self.member_by_id[person_id]

    @cached_property
    def coverage(self) -> dict[str, Any]:
        """What the coverage board shows: pairs that no one knows, and those that depend on one person."""
        panel = self.active_panel
        assert panel is not None  # there are classes
        count, missing = len(panel.classes), panel.count_uncovered()
        return {
            "names": list(panel.classes),
            "table": panel.pair_counts().tolist() if count <= LARGEST_TABLE else None,
            "pairs": count * (count - 1) // 2,
            "uncovered": panel.uncovered(most=LISTED),
            "missing": missing,
            "single": panel.count_uncovered(2) - missing,
            "people": len(panel),
            "critical": [] if missing else [str(name) for name, _ in panel.survives().critical],
            "advice": _advice(panel, missing),
            "recovered": recovered(panel),
        }


def _advice(panel: Panel, missing: int) -> str:
    """Suggest in one sentence what to do about the pairs that no one knows."""
    if len(panel.classes) < 2:
        return "Coverage begins with the second class."
    if not missing:
        return "Every two classes share someone who can tell them apart."
    pairs = panel.uncovered(most=LISTED)
    wanted = [pairs[0][0], *(b for a, b in pairs if a == pairs[0][0])][:4]
    columns = panel.knows[:, [panel.class_index(one) for one in wanted]].astype(np.int64)
    covered = int((np.triu(columns.T @ columns == 0, 1)).sum())
    advice = f"Add one person who knows {join_names([str(one) for one in wanted])}"
    left = missing - covered
    more = f"; {left:,} more pair{'' if left == 1 else 's'} would be left"
    return f"{advice}{more if left else ''}."


def recovered(panel: Panel | None) -> str:
    """Describe how many items a panel with uncovered pairs can still recover; empty if it covers all.

    >>> recovered(Panel.from_blocks(5, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])).split(", ")[1][:16]
    '50% of the items'
    """
    if panel is None or not len(panel) or len(panel.classes) > LARGEST_TABLE:
        return ""
    share = worst_case_accuracy(panel)
    if share >= 1:
        return ""
    return (
        "Whatever people answer about classes that they do not know, "
        f"{int(100 * share + 1e-6)}% of the items can be recovered on average, "
        "if all classes are equally frequent."
    )


def end_of(class_id: int, merged: Mapping[int, int | None]) -> int:
    """Return the class that answers naming a class count for: itself, or what it was merged into."""
    while (following := merged[class_id]) is not None:
        class_id = following
    return class_id


def project_row(connection: Connection, *, locked: bool = False) -> Row[Any]:
    """Return the project; `locked`, no one can change who knows what until the transaction ends."""
    wanted = select(project)
    return connection.execute(wanted.with_for_update(read=True) if locked else wanted).one()


def read_roster(connection: Connection, version: int) -> Roster:
    """Read classes and people."""
    classes = connection.execute(select(class_).order_by(class_.c.position)).all()
    people = connection.execute(select(person).order_by(person.c.id)).all()
    merged = {row.id: row.merged_into for row in classes}
    live = {row.id for row in classes if not row.retired and row.merged_into is None}
    voted = {row.id for row in classes if row.retired and row.voted and row.merged_into is None}
    known: dict[int, set[int]] = {row.id: set() for row in people}
    former: dict[int, set[int]] = {row.id: set() for row in people}
    for person_id, class_id in connection.execute(select(knows)):
        now = end_of(class_id, merged)
        if now in live:
            known[person_id].add(now)
        elif now in voted:
            former[person_id].add(now)
    return Roster(
        version,
        tuple(
            Class(
                row.id, row.name, row.description, row.picture, row.id not in live, row.merged_into,
                row.id in voted,
            )
            for row in classes
        ),
        tuple(
            Member(
                row.id, row.name, row.role, row.active, row.may_tick, row.cost, row.answers,
                frozenset(known[row.id]), row.options_id, frozenset(former[row.id]),
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
    """Mark the roster as changed; every change of classes or people ends with this."""
    connection.execute(update(project).values(panel_version=project.c.panel_version + 1))
