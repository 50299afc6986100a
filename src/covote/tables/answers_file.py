"""The answers of a labelling run, in one SQLite file.

Every batch of answers is one transaction (write-ahead log, ``synchronous=FULL``): a run that is killed, or a
machine that loses power, loses at most what had not been answered yet. One process writes at a time.

The view ``votes`` shows the answers by name, for people and for other programs::

    SELECT item, expert, label FROM votes
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.arguments import no_file
from covote.errors import CovoteError, FileError

ENDING = ".answers.sqlite"
NOT_ASKED, NONE_OF_MINE, NO_ANSWER = -1, -2, -3
"""Labels that are not classes; an expert with `NO_ANSWER` was asked and gave nothing that can be used."""
_NONE = "none of mine"
_APPLICATION, _VERSION, _SEALED = 0x636F766F, 0x12, 0x24  # a file that was closed is sealed
_STEP = 1 << 14  # items of a batch of the table of votes

_SCHEMA = f"""
CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (position INTEGER PRIMARY KEY, name NOT NULL);
CREATE TABLE experts (id INTEGER PRIMARY KEY, name NOT NULL UNIQUE, about TEXT NOT NULL, note TEXT NOT NULL,
    in_panel INTEGER NOT NULL, usage TEXT, usual TEXT);
CREATE TABLE knows (expert INTEGER, position INTEGER, class NOT NULL, PRIMARY KEY (expert, position))
    WITHOUT ROWID;
CREATE TABLE answers (expert INTEGER, item INTEGER, label INTEGER NOT NULL, probabilities BLOB,
    PRIMARY KEY (expert, item)) WITHOUT ROWID;
CREATE TABLE scores (expert INTEGER, item INTEGER, options BLOB NOT NULL, PRIMARY KEY (expert, item))
    WITHOUT ROWID;
CREATE VIEW votes AS
    SELECT items.name AS item, experts.name AS expert, iif(label = {NONE_OF_MINE}, '{_NONE}', class) AS label
    FROM answers JOIN items ON items.position = item JOIN experts ON experts.id = answers.expert
    LEFT JOIN knows ON knows.expert = answers.expert AND knows.position = label
    WHERE in_panel AND label <> {NO_ANSWER};
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
"""


class AnswersFile:
    """An open file of answers.

    ``run`` holds what the answers are about, ``experts`` what each was asked with, ``answers`` one row per
    expert and item: `label` is a position in what the expert knows, -2 for "none of mine" or -3 for an
    answer that cannot be used; `probabilities` are float32 over what it knows.

    Parameters
    ----------
    path
        The file; None keeps everything in memory.
    write
        Whether answers are added; the file is made if it is not there, and no other process can open it.
    """

    def __init__(self, path: Path | None, *, write: bool = True) -> None:
        self.path = path
        self._writes = write
        if path is not None and not write and not path.is_file():
            raise no_file(path)
        if path is not None and path.is_dir():
            raise FileError(f"{path} is a folder; answers are kept in a file: choose another name")
        with self.explained():
            place = (
                ":memory:" if path is None else f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
            )
            # A stream of votes may end in another thread than it began in, though never in two at once.
            self._db = sqlite3.connect(
                place, timeout=0, isolation_level=None, uri=True, check_same_thread=False
            )
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise

    def _open(self) -> None:
        if self._writes:
            # Alone with the file, SQLite needs no shared memory, which network folders do not have.
            for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
                self._db.execute(f"PRAGMA {pragma}")
            with self.transaction():
                if not self._value("SELECT count(*) FROM sqlite_schema"):
                    for statement in _SCHEMA.split(";\n")[:-1]:
                        self._db.execute(statement)
        if self._value("PRAGMA application_id") != _APPLICATION:
            raise FileError(f"{self.path} is a SQLite file, but not one of `covote label`; choose another")
        version = self._value("PRAGMA user_version")
        if version not in (_VERSION, _SEALED):
            raise FileError(f"{self.path} was written by another version of covote; choose another -o")
        if version == _SEALED:
            self._check_content()

    def _check_content(self) -> None:
        """Reject a file whose content has changed since it was closed; SQLite does not check that."""
        with self.reading():
            structure = self._value("PRAGMA integrity_check(1)")
            if structure != "ok" or self._value("SELECT value FROM run WHERE name = 'seal'") != self._seal():
                raise ValueError("its content is not what was written")
        if self._writes:  # a run that is killed leaves a file without a seal
            self._db.execute(f"PRAGMA user_version = {_VERSION}")

    def _seal(self) -> str:
        """Return a checksum of everything in the file."""
        whole = hashlib.blake2b(digest_size=16)
        queries = [
            "SELECT * FROM run WHERE name <> 'seal' ORDER BY name",
            "SELECT * FROM experts ORDER BY id",
            "SELECT * FROM knows ORDER BY expert, position",
            "SELECT * FROM scores ORDER BY expert, item",
        ]
        for query in queries:
            for row in self._db.execute(query):
                whole.update(repr(row).encode())
        last = self._value("SELECT max(position) FROM items")
        for low in range(0, 0 if last is None else last + 1, _STEP):
            span = (low, low + _STEP)
            names = "SELECT json_group_array(name) FROM items WHERE position >= ? AND position < ?"
            whole.update(str(self._value(names, *span)).encode())
            for (key,) in self._db.execute("SELECT id FROM experts ORDER BY id").fetchall():
                said = self._db.execute(
                    "SELECT json_group_array(item), json_group_array(label), "
                    "group_concat(hex(coalesce(probabilities, ''))) "
                    "FROM answers WHERE expert = ? AND item >= ? AND item < ?",
                    (key, *span),
                ).fetchone()
                whole.update(repr(said).encode())
        return whole.hexdigest()

    def close(self) -> None:
        """Close the file; all of it is then in one piece. A file without a single answer is removed."""
        empty = False
        if self._writes and self.path is not None:
            with suppress(sqlite3.Error, FileError):
                empty = not self._value("SELECT EXISTS (SELECT 1 FROM answers)")
                if not empty:
                    self._db.execute("INSERT OR REPLACE INTO run VALUES ('seal', ?)", (self._seal(),))
                    self._db.execute(f"PRAGMA user_version = {_SEALED}")
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        if empty and self.path is not None:
            self.path.unlink(missing_ok=True)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn SQLite's errors into one clear line."""
        try:
            yield
        except UnicodeEncodeError as error:
            raise FileError(f"the name {error.object[:60]!r} is not proper text; rename it") from error
        except (sqlite3.Error, json.JSONDecodeError, UnicodeDecodeError) as error:  # of a damaged file
            if "locked" in str(error):
                raise FileError(
                    f"another run is writing to {self.path}; wait for its end, or choose another file"
                ) from error
            if self._writes and isinstance(error, sqlite3.OperationalError):
                remedy = "make room there, or choose another place"
                raise FileError(f"cannot keep answers in {self.path}: {error}; {remedy}") from error
            raise self._damaged(error) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors from content that covote did not write into one that names the file."""
        with self.explained():
            try:
                yield
            except CovoteError:
                raise
            except (ValueError, IndexError, TypeError, OverflowError) as error:
                raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> FileError:
        return FileError(
            f"{self.path} cannot be read as a file of answers: {error}; remove it, and its questions are "
            "asked again"
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything in the block, or nothing."""
        with self.explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self.reading():
            return self._db.execute(query, values).fetchall()

    def _value(self, query: str, *values: Any) -> Any:
        rows = self._rows(query, *values)
        return rows[0][0] if rows else None

    def _stored(self, query: str, *values: Any) -> Any:
        """Return a value that was written as JSON; None if it was not written."""
        with self.reading():
            text = self._value(query, *values)
            return None if text is None else json.loads(text)

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
        for start in range(0, len(names), _STEP):
            some = json.dumps(names[start : start + _STEP], ensure_ascii=False, default=str)  # dates
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

    def _key(self, expert: Any) -> int:
        key = self._value("SELECT id FROM experts WHERE name = ?", expert)
        return -1 if key is None else int(key)

    def heard(self, expert: Any) -> bool:
        """Whether there is any answer of an expert."""
        return bool(self._value("SELECT EXISTS (SELECT 1 FROM answers WHERE expert = ?)", self._key(expert)))

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
        chances = None if probability is None else probability.astype("<f4", copy=False).tobytes()
        # One statement for all rows: Python would take three times as long to hand them over.
        self._db.execute(
            "INSERT OR IGNORE INTO answers SELECT experts.id, ? + key, value, substr(?, key * ? + 1, ?) "
            f"FROM experts, json_each(?) WHERE experts.name = ? AND value <> {NOT_ASKED}",
            (start, chances, width, width, json.dumps(label.tolist()), expert),
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
        chances = [row.astype("<f4", copy=False).tobytes() for row in probability]
        key = self._key(expert)
        rows = zip(label.tolist(), chances, [key] * len(items), items.tolist(), strict=True)
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

    def usual(self, expert: Any) -> Any:
        """Return what an expert says about an item without content; None if nothing was written."""
        return self._stored("SELECT usual FROM experts WHERE name = ?", expert)

    def write_usual(self, expert: Any, usual: Mapping[str, Any]) -> None:
        """Write what an expert says about an item without content, in a transaction."""
        self._db.execute("UPDATE experts SET usual = ? WHERE name = ?", (json.dumps(usual), expert))

    def labels(self, expert: Any, start: int, stop: int) -> NDArray[np.int32]:
        """Return what an expert said about the items start:stop."""
        found = np.full(stop - start, NOT_ASKED, dtype=np.int32)
        with self.reading():
            items, labels = self._db.execute(
                "SELECT json_group_array(item), json_group_array(label) FROM answers "
                "WHERE expert = ? AND item >= ? AND item < ?",
                (self._key(expert), start, stop),
            ).fetchone()
            found[np.array(json.loads(items), dtype=np.int64) - start] = json.loads(labels)
        return found

    def asked(self, expert: Any, items: int) -> NDArray[np.bool_]:
        """Return which items an expert was asked about."""
        steps = [(low, min(low + _STEP, items)) for low in range(0, items, _STEP)]
        parts = [self.labels(expert, low, high) != NOT_ASKED for low, high in steps]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)

    def soft(self, expert: Any) -> bool:
        """Whether every answer of an expert has probabilities."""
        return not self._value(
            "SELECT EXISTS (SELECT 1 FROM answers WHERE expert = ? AND probabilities IS NULL "
            f"AND label <> {NO_ANSWER})",
            self._key(expert),
        )

    def probabilities(self, expert: Any, start: int, stop: int, width: int) -> NDArray[np.float32]:
        """Return (items x what the expert knows) its probabilities for the items start:stop; 0 if none."""
        rows = self._rows(
            "SELECT item, probabilities FROM answers WHERE expert = ? AND item >= ? AND item < ? "
            "AND probabilities IS NOT NULL",
            self._key(expert),
            start,
            stop,
        )
        found = np.zeros((stop - start, width), dtype=np.float32)
        if rows:
            items, chances = zip(*rows, strict=True)
            if any(len(chance) != 4 * width for chance in chances):
                raise FileError(f"{self.path} is damaged; remove it, and its questions are asked again")
            found[np.array(items) - start] = np.frombuffer(b"".join(chances), dtype="<f4").reshape(-1, width)
        return found

    # As a table of votes

    def experts(self) -> dict[Any, tuple[Any, ...]]:
        """Return the experts of the panel, and what each knows."""
        rows = self._rows(
            "SELECT name, class FROM experts JOIN knows ON expert = id WHERE in_panel ORDER BY id, position"
        )
        found: dict[Any, list[Any]] = {}
        for name, known in rows:
            found.setdefault(name, []).append(known)
        return {name: tuple(known) for name, known in found.items()}

    def numbered(self) -> bool:
        """Whether the names of all items are whole numbers."""
        return not self._value("SELECT EXISTS (SELECT 1 FROM items WHERE typeof(name) <> 'integer')")

    def items(self, start: int, stop: int) -> list[Any]:
        """Return the names of the items start:stop."""
        rows = self._rows(
            "SELECT name FROM items WHERE position >= ? AND position < ? ORDER BY position", start, stop
        )
        return [name for (name,) in rows]

    def __len__(self) -> int:
        return int(self._value("SELECT count(*) FROM items"))


def votes_schema(path: Path) -> tuple[pa.Schema, int]:
    """Return the columns of the votes of a file of answers, and how many items it has."""
    with closing(AnswersFile(path, write=False)) as file:
        return _schema(file), len(file)


def _schema(file: AnswersFile) -> pa.Schema:
    names = pa.dictionary(pa.int32(), pa.string())
    whole = file.numbered()
    columns = {"item": pa.int64() if whole else pa.string(), "expert": names, "label": names}
    experts = file.experts()
    if experts and all(map(file.soft, experts)):
        columns["probabilities"] = pa.list_(pa.float32())
    return pa.schema(columns)


def read_votes(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the votes of a file of answers: item, expert, label, and probabilities if all answers have them.

    The answers to an item are together; items come in the order of the data.
    """
    with closing(AnswersFile(path, write=False)) as file:
        experts = file.experts()
        schema = _schema(file)
        whole, soft = schema.field("item").type == pa.int64(), "probabilities" in schema.names
        place = {name: k for k, name in enumerate(dict.fromkeys(chain.from_iterable(experts.values())))}
        voters = pa.array(map(str, experts), pa.string())
        classes = pa.array([*map(str, place), _NONE], pa.string())
        for start in range(0, len(file), _STEP):
            names = file.items(start, start + _STEP)
            items = pa.array(names if whole else list(map(str, names)), schema.field("item").type)
            said = np.empty((len(experts), len(names)), dtype=np.int32)
            for i, (name, knows) in enumerate(experts.items()):
                # Behind the classes, the codes of "none of mine" (-2) and of no answer (-1).
                codes = np.array([*map(place.__getitem__, knows), len(place), NOT_ASKED], dtype=np.int32)
                label = file.labels(name, start, start + len(names))
                said[i] = codes[np.where(label == NO_ANSWER, NOT_ASKED, label)]
            at, who = np.nonzero(said.T >= 0)
            columns = {
                "item": items.take(pa.array(at)),
                "expert": pa.DictionaryArray.from_arrays(pa.array(who, pa.int32()), voters),
                "label": pa.DictionaryArray.from_arrays(pa.array(said[who, at]), classes),
            }
            if soft:
                chances = [
                    file.probabilities(name, start, start + len(names), len(knows))
                    for name, knows in experts.items()
                ]
                lists = [chances[i][n] for i, n in zip(who.tolist(), at.tolist(), strict=True)]
                columns["probabilities"] = pa.array(lists, pa.list_(pa.float32()))
            yield pa.RecordBatch.from_pydict(columns, schema)
