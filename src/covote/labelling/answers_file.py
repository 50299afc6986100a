"""The answers of a labelling run, in one SQLite file.

Every batch of answers is one transaction (write-ahead log, ``synchronous=FULL``): a run that is killed, or a
machine that loses power, loses at most what had not been answered yet. One process writes at a time.

The view ``votes`` shows the answers by name, for people and for other programs::

    SELECT item, expert, label FROM votes
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import FileError
from covote.tables.arrow_names import NOT_ASKED
from covote.tables.stored_answers import NO_ANSWER, SCHEMA, SEALED, STEP, StoredAnswers

ENDING = ".answers.sqlite"
WAIT = 60.0
"""Seconds that a run waits for others to have read the file."""


class AnswersFile(StoredAnswers):
    """An open file of answers to which answers are added; no other process can open it meanwhile.

    Parameters
    ----------
    path
        The file, which is made if it is not there; None keeps everything in memory.
    """

    _writes = True

    def _prepare(self) -> None:
        # Alone with the file, SQLite needs no shared memory, which network folders do not have.
        started = time.monotonic()
        while True:
            try:
                for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
                    self._db.execute(f"PRAGMA {pragma}")
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or not self._is_read():
                    raise
                if time.monotonic() - started > WAIT:
                    raise FileError(
                        f"another program has been reading {self.path} for {WAIT:.0f} s; close it there, or "
                        "choose another -o"
                    ) from error
                time.sleep(0.05)
        with self.transaction():
            if not self._value("SELECT count(*) FROM sqlite_schema"):
                for statement in SCHEMA.split(";\n")[:-1]:
                    self._db.execute(statement)

    def _is_read(self) -> bool:
        """Whether others that keep this process from writing only read: then they can be read next to."""
        try:
            # Let go of the locks that the attempt to write has taken; the next access does that.
            self._db.execute("PRAGMA locking_mode = NORMAL")
            self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError:
            return False
        return True

    def close(self) -> None:
        """Close the file; all of it is then in one piece. A file without a single answer is removed."""
        empty = False
        if self.path is not None:
            with suppress(sqlite3.Error, FileError):
                empty = not self._value("SELECT EXISTS (SELECT 1 FROM answers)")
                if not empty:
                    self._db.execute("INSERT OR REPLACE INTO run VALUES ('seal', ?)", (self._seal(),))
                    self._db.execute(f"PRAGMA user_version = {SEALED}")
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        if empty and self.path is not None:
            self.path.unlink(missing_ok=True)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything in the block, or nothing."""
        with self.errors_as_messages():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # What the answers are about

    def fact(self, name: str) -> Any:
        """Return a fact about the run, None if it was not written."""
        return self._stored("SELECT value FROM run WHERE name = ?", name)

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        """Write facts about the run, in a transaction."""
        self._db.executemany(
            "INSERT OR REPLACE INTO run VALUES (?, ?)",
            [(name, json.dumps(fact)) for name, fact in facts.items()],
        )

    def write_items(self, names: Sequence[Any]) -> None:
        """Write the names of all items, in a transaction."""
        self._db.execute("DELETE FROM items")
        if any(isinstance(name, int) and name >= 1 << 63 for name in names):
            names = [str(name) for name in names]  # SQLite has 64 bits with a sign
        for start in range(0, len(names), STEP):
            some = json.dumps(names[start : start + STEP], ensure_ascii=False, default=str)  # dates
            self._db.execute("INSERT INTO items SELECT ? + key, value FROM json_each(?)", (start, some))

    def about(self, expert: Any) -> dict[str, Any] | None:
        """Return what an expert was asked with, None if it never was."""
        found = self._stored("SELECT about FROM experts WHERE name = ?", expert)
        with self.reading():
            return None if found is None else dict(found)

    def add(self, expert: Any, knows: Sequence[Any], about: Mapping[str, Any]) -> None:
        """Add an expert, or change what it is asked with from now on, in a transaction."""
        self._db.execute(
            "INSERT INTO experts (name, about, note, in_panel) VALUES (?, ?, '', 1) "
            "ON CONFLICT (name) DO UPDATE SET about = excluded.about",
            (expert, json.dumps(about)),
        )
        key = self._key(expert)
        self._db.execute("DELETE FROM knows WHERE expert = ?", (key,))
        self._db.executemany("INSERT INTO knows VALUES (?, ?, ?)", [(key, k, c) for k, c in enumerate(knows)])

    def choose(self, experts: Sequence[Any]) -> None:
        """Choose the experts whose answers are votes, in a transaction; others are kept but not shown."""
        self._db.execute("UPDATE experts SET in_panel = 0")
        self._db.executemany(
            "UPDATE experts SET in_panel = 1 WHERE name = ?", [(expert,) for expert in experts]
        )

    def forget(self, expert: Any) -> None:
        """Remove an expert and all its answers, in a transaction."""
        key = self._key(expert)
        tables = (("answers", "expert"), ("scores", "expert"), ("knows", "expert"), ("experts", "id"))
        for table, column in tables:
            self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", (key,))

    def move(self, expert: Any, source: NDArray[np.int64]) -> None:
        """Move an expert's answers to other positions, in a transaction.

        Item n is now what item ``source[n]`` was; -1 for an item that is new.
        """
        key = self._key(expert)
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS moves (now INTEGER PRIMARY KEY, was INTEGER)")
        self._db.execute("DELETE FROM moves")
        pairs = [(now, was) for now, was in enumerate(source.tolist()) if was >= 0]
        self._db.executemany("INSERT INTO moves VALUES (?, ?)", pairs)
        self._db.execute(
            "INSERT INTO answers SELECT ?, now, label, probabilities FROM moves "
            "JOIN answers ON item = was AND expert = ?",
            (-key, key),
        )
        self._db.execute("DELETE FROM answers WHERE expert = ?", (key,))
        self._db.execute("UPDATE answers SET expert = ? WHERE expert = ?", (key, -key))

    # Answers

    def has_answers(self, expert: Any) -> bool:
        """Whether there is any answer of an expert that can be used."""
        query = f"SELECT EXISTS (SELECT 1 FROM answers WHERE expert = ? AND label <> {NO_ANSWER})"
        return bool(self._value(query, self._key(expert)))

    def count(self, expert: Any) -> int:
        """Return how many items an expert was asked about."""
        return int(self._value("SELECT count(*) FROM answers WHERE expert = ?", self._key(expert)))

    def note(self, expert: Any) -> str:
        """Return what the first unusable answer was; empty if there is none."""
        return self._value("SELECT note FROM experts WHERE name = ?", expert) or ""

    def insert(
        self,
        expert: Any,
        start: int,
        label: NDArray[np.integer[Any]],
        probability: NDArray[np.float32] | None = None,
        note: str = "",
    ) -> None:
        """Keep what an expert said about the items from `start` on, in a transaction.

        `NOT_ASKED` stands where it said nothing. Of two answers to one item the first counts.
        """
        width = 0 if probability is None else 4 * probability.shape[1]
        blobs = None if probability is None else probability.astype("<f4", copy=False).tobytes()
        # One statement for all rows: Python would take three times as long to hand them over.
        self._db.execute(
            "INSERT OR IGNORE INTO answers SELECT experts.id, ? + key, value, substr(?, key * ? + 1, ?) "
            f"FROM experts, json_each(?) WHERE experts.name = ? AND value <> {NOT_ASKED}",
            (start, blobs, width, width, json.dumps(label.tolist()), expert),
        )
        if note:
            self._db.execute("UPDATE experts SET note = ? WHERE name = ? AND note = ''", (note, expert))

    # Language models: scores of options, from which labels follow, and what calls have cost

    def insert_scores(self, expert: Any, item: int, scores: NDArray[np.float32]) -> None:
        """Keep the scores of all options for one item, in a transaction."""
        options = scores.astype("<f4", copy=False).tobytes()
        self._db.execute(
            "INSERT OR IGNORE INTO scores SELECT id, ?, ? FROM experts WHERE name = ?",
            (item, options, expert),
        )

    def scores(self, expert: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the items that have scores, and (items x options) these."""
        rows = self._rows(
            "SELECT item, options FROM scores WHERE expert = ? ORDER BY item", self._key(expert)
        )
        with self.reading():
            options = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4")
            width = len(options) // max(1, len(rows))
            return np.array([item for item, _ in rows], dtype=np.int64), options.reshape(len(rows), width)

    def replace(
        self, expert: Any, items: NDArray[np.int64], label: NDArray[Any], probability: NDArray[np.float32]
    ) -> None:
        """Replace answers by what their calibrated scores say."""
        blobs = [row.astype("<f4", copy=False).tobytes() for row in probability]
        key = self._key(expert)
        rows = zip(label.tolist(), blobs, [key] * len(items), items.tolist(), strict=True)
        with self.transaction():
            self._db.executemany(
                "UPDATE answers SET label = ?, probabilities = ? WHERE expert = ? AND item = ?", rows
            )

    def usage(self, expert: Any) -> list[float]:
        """Return what the calls of an expert have cost, in all runs; empty if nothing was written."""
        return self._stored("SELECT usage FROM experts WHERE name = ?", expert) or []

    def write_usage(self, expert: Any, usage: Sequence[float]) -> None:
        """Write what the calls of an expert have cost, in a transaction."""
        self._db.execute("UPDATE experts SET usage = ? WHERE name = ?", (json.dumps(list(usage)), expert))

    def asked(self, expert: Any, items: int) -> NDArray[np.bool_]:
        """Return which items an expert was asked about."""
        steps = [(low, min(low + STEP, items)) for low in range(0, items, STEP)]
        parts = [self.labels(expert, low, high) != NOT_ASKED for low, high in steps]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)
