"""The answers that `covote label` keeps in a SQLite file, as a table of votes.

Nothing here changes the file; :class:`covote.labelling.answers_file.AnswersFile` writes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.arguments import no_file
from covote.errors import CovoteError, FileError
from covote.tables.arrow_names import NONE_OF_MINE, NOT_ASKED

NO_ANSWER = -3
"""The label of an expert who was asked and gave nothing that can be used."""
_NONE = "none of mine"
APPLICATION, VERSION, SEALED = 0x636F766F, 0x12, 0x24
"""Marks of a file of answers, of its format, and of one that was closed and has a checksum."""
STEP = 1 << 14
"""Items that are read or written together."""

SCHEMA = f"""
CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (position INTEGER PRIMARY KEY, name NOT NULL);
CREATE TABLE experts (id INTEGER PRIMARY KEY, name NOT NULL UNIQUE, about TEXT NOT NULL, note TEXT NOT NULL,
    in_panel INTEGER NOT NULL, usage TEXT);
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
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""


def sqlite_address(path: PurePath) -> str:
    """Return the address of an absolute path for SQLite, which knows no names of servers.

    >>> from pathlib import PurePosixPath, PureWindowsPath
    >>> sqlite_address(PurePosixPath("/data/a b.sqlite")), sqlite_address(PureWindowsPath("C:/a.sqlite"))
    ('file:///data/a%20b.sqlite', 'file:///C:/a.sqlite')
    >>> sqlite_address(PureWindowsPath("//server/share/a.sqlite"))
    'file:////server/share/a.sqlite'
    """
    place = path.as_posix()
    return f"file://{'' if place.startswith('/') else '/'}{quote(os.fsencode(place), safe='/:')}"


class StoredAnswers:
    """An open file of answers.

    ``run`` holds what the answers are about, ``experts`` what each was asked with, ``answers`` one row per
    expert and item: `label` is a position in what the expert knows, -2 for "none of mine" or -3 for an
    answer that cannot be used; `probabilities` are float32 over what it knows.
    """

    _writes = False

    def __init__(self, path: Path | None) -> None:
        self.path = path
        if path is not None and not self._writes and not path.is_file():
            raise no_file(path)
        if path is not None and path.is_dir():
            raise FileError(f"{path} is a folder; answers are kept in a file: choose another name")
        with self.errors_as_messages():
            mode = "rwc" if self._writes else "ro"
            place = ":memory:" if path is None else f"{sqlite_address(path.absolute())}?mode={mode}"
            # A stream of votes may end in another thread than it began in, though never in two at once.
            self._db = sqlite3.connect(
                place, timeout=0, isolation_level=None, uri=True, check_same_thread=False
            )
            try:
                self._prepare()
                self._check()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        """Make the tables of a new file, where files are written."""

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _check(self) -> None:
        """Reject other files, and those whose content has changed since they were closed."""
        if self._value("PRAGMA application_id") != APPLICATION:
            raise FileError(f"{self.path} is a SQLite file, but not one of `covote label`; choose another")
        version = self._value("PRAGMA user_version")
        if version not in (VERSION, SEALED) or self._structure() != _structure():
            raise FileError(f"{self.path} was written by another version of covote; choose another -o")
        items, (first, last) = len(self), self._rows("SELECT min(position), max(position) FROM items")[0]
        if items and (first, last) != (0, items - 1):
            odd = first if first else last
            raise self._damaged(ValueError(f"it has {items:,} items, but one at position {odd:,}"))
        if version == SEALED:
            with self.reading():  # SQLite does not check the content
                seal = self._value("SELECT value FROM run WHERE name = 'seal'")
                if self._value("PRAGMA integrity_check(1)") != "ok" or seal != self._seal():
                    raise ValueError("its content is not what was written")
            if self._writes:  # a run that is killed leaves a file without a seal
                self._db.execute(f"PRAGMA user_version = {VERSION}")

    def _structure(self) -> list[Any]:
        """Return the definitions of tables and views: others may never end when they are read."""
        return self._rows("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")

    def _seal(self) -> str:
        """Return a checksum of everything in the file."""
        checksum = hashlib.blake2b(digest_size=16)
        queries = [
            "SELECT * FROM run WHERE name <> 'seal' ORDER BY name",
            "SELECT * FROM experts ORDER BY id",
            "SELECT * FROM knows ORDER BY expert, position",
            "SELECT * FROM scores ORDER BY expert, item",
        ]
        for query in queries:
            for row in self._db.execute(query):
                checksum.update(repr(row).encode())
        last = self._value("SELECT max(position) FROM items")
        for low in range(0, 0 if last is None else last + 1, STEP):
            span = (low, low + STEP)
            names = "SELECT json_group_array(name) FROM items WHERE position >= ? AND position < ?"
            checksum.update(str(self._value(names, *span)).encode())
            for (key,) in self._db.execute("SELECT id FROM experts ORDER BY id").fetchall():
                answers = self._db.execute(
                    "SELECT json_group_array(item), json_group_array(label), "
                    "group_concat(hex(coalesce(probabilities, ''))) "
                    "FROM answers WHERE expert = ? AND item >= ? AND item < ?",
                    (key, *span),
                ).fetchone()
                checksum.update(repr(answers).encode())
        return checksum.hexdigest()

    @contextmanager
    def errors_as_messages(self) -> Iterator[None]:
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
        with self.errors_as_messages():
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

    def _key(self, expert: Any) -> int:
        key = self._value("SELECT id FROM experts WHERE name = ?", expert)
        return -1 if key is None else int(key)

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
            known = self._value("SELECT count(*) FROM knows WHERE expert = ?", self._key(expert))
            if found.min(initial=0) < NO_ANSWER or found.max(initial=-1) >= known:
                raise ValueError(f"a label of expert {expert!r} is not one of the {known} that it knows")
        return found

    def has_probabilities(self, expert: Any) -> bool:
        """Whether some answer of an expert has probabilities."""
        return bool(
            self._value(
                "SELECT EXISTS (SELECT 1 FROM answers WHERE expert = ? AND probabilities IS NOT NULL "
                f"AND label <> {NO_ANSWER})",
                self._key(expert),
            )
        )

    def probabilities(self, expert: Any, start: int, stop: int, width: int) -> NDArray[np.float32]:
        """Return (items x what the expert knows) its probabilities for the items start:stop; NaN if none."""
        rows = self._rows(
            "SELECT item, probabilities FROM answers WHERE expert = ? AND item >= ? AND item < ? "
            "AND probabilities IS NOT NULL",
            self._key(expert),
            start,
            stop,
        )
        found = np.full((stop - start, width), np.nan, dtype=np.float32)
        if rows:
            items, blobs = zip(*rows, strict=True)
            if any(len(blob) != 4 * width for blob in blobs):
                raise FileError(f"{self.path} is damaged; remove it, and its questions are asked again")
            found[np.array(items) - start] = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, width)
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


@cache
def _structure() -> list[Any]:
    """Return what :meth:`StoredAnswers._structure` returns for a file that covote wrote."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(SCHEMA)
        query = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
        return empty.execute(query).fetchall()


def votes_schema(path: Path) -> tuple[pa.Schema, int]:
    """Return the columns of the votes of a file of answers, and how many items it has."""
    with closing(StoredAnswers(path)) as file:
        return _schema(file), len(file)


def _schema(file: StoredAnswers) -> pa.Schema:
    names = pa.dictionary(pa.int32(), pa.string())
    integer_names = file.numbered()
    columns = {"item": pa.int64() if integer_names else pa.string(), "expert": names, "label": names}
    experts = file.experts()
    if any(map(file.has_probabilities, experts)):
        columns["probabilities"] = pa.list_(pa.float32())
    return pa.schema(columns)


def read_votes(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the votes of a file of answers: item, expert, label, and probabilities if some answers have them.

    The answers to an item are together; items come in the order of the data.
    """
    with closing(StoredAnswers(path)) as file:
        experts = file.experts()
        schema = _schema(file)
        integer_names, soft = schema.field("item").type == pa.int64(), "probabilities" in schema.names
        place = {name: k for k, name in enumerate(dict.fromkeys(chain.from_iterable(experts.values())))}
        voters = pa.array(map(str, experts), pa.string())
        classes = pa.array([*map(str, place), _NONE], pa.string())
        for start in range(0, len(file), STEP):
            names = file.items(start, start + STEP)
            items = pa.array(names if integer_names else list(map(str, names)), schema.field("item").type)
            label_codes = np.empty((len(experts), len(names)), dtype=np.int32)
            for i, (name, knows) in enumerate(experts.items()):
                # Behind the classes, the codes of "none of mine" (-2) and of no answer (-1).
                codes = np.array([*map(place.__getitem__, knows), len(place), NOT_ASKED], dtype=np.int32)
                label = file.labels(name, start, start + len(names))
                label_codes[i] = codes[np.where(label == NO_ANSWER, NOT_ASKED, label)]
            at, who = np.nonzero(label_codes.T >= 0)
            columns = {
                "item": items.take(pa.array(at)),
                "expert": pa.DictionaryArray.from_arrays(pa.array(who, pa.int32()), voters),
                "label": pa.DictionaryArray.from_arrays(pa.array(label_codes[who, at]), classes),
            }
            if soft:
                probabilities = [
                    file.probabilities(name, start, start + len(names), len(knows))
                    for name, knows in experts.items()
                ]
                lists = [probabilities[i][n] for i, n in zip(who.tolist(), at.tolist(), strict=True)]
                columns["probabilities"] = pa.array(lists, pa.list_(pa.float32()))
            yield pa.RecordBatch.from_pydict(columns, schema)
