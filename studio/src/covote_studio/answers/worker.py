"""Models: they answer in the background, batch by batch, as experts of the same panel."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select, update

from covote.errors import CovoteError
from covote_studio.answers.recording import advance, record_unasked
from covote_studio.people.roster import Roster, RosterKeeper, project_row
from covote_studio.rules import ADAPTIVE, Member
from covote_studio.storage import media
from covote_studio.storage.database import Database
from covote_studio.storage.schema import NONE, UNSURE, item, person

if TYPE_CHECKING:
    from covote.models import Batch, ModelExpert

BATCH = 64
"""Items that a model is asked about at a time."""
IDLE, AFTER_FAILURE = 2.0, 30.0
"""Seconds to wait when there is nothing to do, and after a model has failed."""


class Worker:
    """Asks every model of the panel about every item, and continues after a restart."""

    def __init__(self, database: Database, folder: Path, rosters: RosterKeeper, trust: bool) -> None:
        self._database, self._folder, self._trust = database, folder, trust
        self._rosters = rosters
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._opened: dict[tuple[int, tuple[str, ...]], ModelExpert] = {}
        self._rest: dict[int, float] = {}
        self.trouble = ""
        """Why models are not answering at the moment, if that is not the fault of one of them."""

    def start(self) -> None:
        """Start, in a separate thread."""
        self._thread = threading.Thread(target=self._loop, name="models", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current batch."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _loop(self) -> None:
        while not self._stopped.is_set():
            try:
                busy = self.step()
                self.trouble = ""
            except Exception as error:  # whatever it was: the models go on when it is over
                busy, lines = False, str(getattr(error, "orig", error)).strip().splitlines() or [""]
                self.trouble = f"{lines[0] or type(error).__name__}"
            if not busy:
                self._stopped.wait(IDLE)

    def step(self) -> bool:
        """Ask the models about one batch; return whether there was anything to do."""
        with self._database.read() as connection:
            setup = project_row(connection)
            roster = self._rosters.get(connection, setup.panel_version)
            models = [one for one in roster.voters if one.role == "model" and one.active]
            models = [one for one in models if self._rest.get(one.id, 0) < time.monotonic()]
            if not models:
                return False
            wanted = select(person.c.id, person.c.cursor).where(person.c.id.in_([one.id for one in models]))
            cursors = {row.id: row.cursor for row in connection.execute(wanted)}
            start = min(cursors.values())
            rows = connection.execute(
                select(item.c.id, item.c.position, item.c.kind, item.c.content)
                .where(item.c.position > start, item.c.retired.is_(False))
                .order_by(item.c.position)
                .limit(BATCH)
            ).all()
        if not rows:
            return False
        for one in models:
            mine = [row for row in rows if row.position > cursors[one.id]]
            if mine:
                self._ask(roster, one, mine)
        self._pass_on(rows)
        return True

    def _ask(self, roster: Roster, member: Member, rows: Sequence[Any]) -> None:
        """Ask one model, and record its answers; a failure is noted where the owner sees it."""
        try:
            answers = self._answers(roster, member, rows)
        except CovoteError as error:
            self._rest[member.id] = time.monotonic() + AFTER_FAILURE
            self._note(member, f"{error} It will be tried again; untick “Available” to continue without it.")
            return
        with self._database.write() as connection:
            if project_row(connection, locked=True).panel_version != roster.version:
                return  # the roster has changed meanwhile: ask again
            for row, choice in zip(rows, answers, strict=True):
                record_unasked(connection, roster, member, row.id, choice)
            connection.execute(
                update(person).where(person.c.id == member.id).values(cursor=rows[-1].position, note="")
            )

    def _note(self, member: Member, note: str) -> None:
        with self._database.write() as connection:
            connection.execute(update(person).where(person.c.id == member.id).values(note=note))

    def _answers(self, roster: Roster, member: Member, rows: Sequence[Any]) -> list[int]:
        """Return the class, NONE or UNSURE that a model answers about each item."""
        expert = self._expert(roster, member)
        known = [one.id for one in roster.classes if one.id in member.known]
        answers = dict.fromkeys((row.id for row in rows), UNSURE)
        for ids, batch in self._batches(rows):
            for item_id, label in zip(ids, expert.answer(batch).label.tolist(), strict=True):
                answers[item_id] = known[label] if label >= 0 else NONE if label == NONE else UNSURE
        return [answers[row.id] for row in rows]

    def _expert(self, roster: Roster, member: Member) -> ModelExpert:
        names = [one.name for one in roster.classes if one.id in member.known]
        key = (member.id, tuple(names))
        if key not in self._opened:
            from covote.models import open_expert  # loaded only if there are models

            found = roster.models[member.id]
            self._opened[key] = open_expert(
                member.name, names, found["model"], found["folder"], trust=self._trust
            )
        return self._opened[key]

    def _batches(self, rows: Sequence[Any]) -> list[tuple[list[int], Batch]]:
        """Return items in the form that models take: texts as a column, pictures of one shape as an array."""
        texts = [row for row in rows if row.kind == "text"]
        batches: list[tuple[list[int], Batch]] = []
        if texts:
            column = np.array([row.content for row in texts], dtype=object)
            batches.append(([row.id for row in texts], {"text": column}))
        shapes: dict[Any, list[tuple[int, Any]]] = {}
        for row in rows:
            if row.kind == "image" and row.content.startswith("/media/"):
                picture = _picture(media.path_of(self._folder, row.content.rpartition("/")[2]))
                shapes.setdefault(picture.shape, []).append((row.id, picture))
        for some in shapes.values():
            batches.append(([one for one, _ in some], np.stack([picture for _, picture in some])))
        return batches

    def _pass_on(self, rows: Sequence[Any]) -> None:
        """Ask people about what the models leave in doubt, if they are asked one after another."""
        with self._database.write() as connection:
            setup = project_row(connection, locked=True)
            if setup.ask in ADAPTIVE:
                roster = self._rosters.get(connection, setup.panel_version)
                for row in rows:
                    advance(connection, setup, roster, row.id)


def _picture(path: Path) -> Any:
    from PIL import Image

    try:
        with Image.open(path) as opened:
            return np.asarray(opened.convert("RGB"))
    except (OSError, ValueError, SyntaxError) as error:
        raise CovoteError(f"a picture cannot be read: {error}.") from error
