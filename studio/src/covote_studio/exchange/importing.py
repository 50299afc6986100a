"""Imports: items from tables, folders and ZIP files, a panel file, votes."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, func, insert, select, update

from covote.errors import CovoteError
from covote.panel import Panel
from covote.votes import Votes
from covote_studio.answers.assignments import assign
from covote_studio.editing.items import set_gold
from covote_studio.editing.record import note
from covote_studio.exchange import table_files, uploads
from covote_studio.people.expertise import count_answers
from covote_studio.people.roster import Roster
from covote_studio.rules import LONGEST_TEXT, Member, Refusal, check_choice, check_text
from covote_studio.storage import media
from covote_studio.storage.database import Database
from covote_studio.storage.schema import ANSWERED, BEGUN, CHOICE, NONE, answer, answer_columns, item, project

CHUNK = 20_000
"""Items written in one transaction, which is as long as people who answer meanwhile may have to wait."""
GOLD_CHUNK = 200
"""Items that become gold in one transaction."""
LONGEST_KEY = 500
LISTED = 20
"""Problems of a table that one message lists."""
_IDS = ("id", "item", "key", "task", "nr", "no", "number")
_GOLD = ("gold", "label", "class")
_CONTENTS = ("image", "picture", "audio", "sound", "text", "content")
_KINDS = {"picture": "image", "sound": "audio", "content": "text"}
_ENDINGS = (
    ".png", ".jpg", ".jpeg", ".gif", ".webp", ".heic", ".heif", ".tif", ".tiff", ".bmp",
    ".wav", ".mp3", ".ogg", ".flac",
)  # fmt: skip
"""Endings of the files that are looked for in a folder."""


NewItem = tuple[str, str, str, int | None]
"""An item to add: key, kind, content, and the class that it is known to have."""


@dataclass(frozen=True)
class ImportCounts:
    """How many items were added, how many existed already, and how many of these are gold now."""

    added: int
    known: int
    golden: int = 0

    def __str__(self) -> str:
        there = f"; {self.known:,} already existed" if self.known else ""
        gold = f"; gold is set for {self.golden:,}" if self.golden else ""
        return f"{self.added:,} item{'' if self.added == 1 else 's'} added{there}{gold}."


@dataclass(frozen=True)
class Columns:
    """The role of each column of a table; `kind` is what people are shown: text, image or audio.

    Without a column of contents, the table says which class items have that are there already.
    """

    content: str
    kind: str
    id: str | None = None
    gold: str | None = None


def find_columns(names: Sequence[str]) -> Columns | None:
    """Guess the role of each column from its name; None if no column seems to be the content.

    >>> find_columns(["ID", "text", "gold"])
    Columns(content='text', kind='text', id='ID', gold='gold')
    >>> find_columns(["nr", "note", "gold"]).content, find_columns(["nr", "gold"]).content
    ('note', '')
    >>> find_columns(["a", "b"]) is None
    True
    """
    identity, gold = _named(names, _IDS), _named(names, _GOLD)
    content = _named(names, _CONTENTS)
    if content is not None:
        name = content.strip().lower()
        return Columns(content, _KINDS.get(name, name), identity, gold)
    others = [name for name in names if name not in (identity, gold)]
    if len(others) == 1:
        return Columns(others[0], "text", identity, gold)
    return Columns("", "text", identity, gold) if identity and gold and not others else None


def _named(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """Return the column that has one of the usual names, the first of these that there is."""
    there = {name.strip().lower(): name for name in reversed(names)}
    return next((there[one] for one in usual if one in there), None)


@dataclass(frozen=True)
class TableCheck:
    """The items of a table's good rows, and the problems of the others."""

    items: list[NewItem]
    problems: list[tuple[int, str]]
    """(row, sentence); rows are numbered from 1, below the names of the columns."""

    def refuse(self) -> None:
        """Reject a table with problems, all of them in one message."""
        if self.problems:
            listed = " ".join(sentence for _, sentence in self.problems[:LISTED])
            more = len(self.problems) - LISTED
            raise Refusal(f"{listed} And {more:,} more rows." if more > 0 else listed, 422)


def examine(
    table: pa.Table, columns: Columns, roster: Roster, stored: Mapping[str, tuple[str, str]],
    there: Collection[str] = (),
) -> TableCheck:  # fmt: skip
    """Check every row of a table of items, and collect all problems.

    `stored` says where pictures and sounds that came with the table are kept, by name: (kind, address);
    `there` are the ids of the items of the project.
    """
    count = table.num_rows
    if not count:
        raise Refusal("The table has column names but no rows; add at least one item.", 422)
    keys = table[columns.id].to_pylist() if columns.id else [f"item-{n}" for n in range(1, count + 1)]
    golds = table[columns.gold].to_pylist() if columns.gold else [None] * count
    contents = table[columns.content].to_pylist() if columns.content else keys
    items: list[NewItem] = []
    problems: list[tuple[int, str]] = []
    seen: set[str] = set()
    rows = zip(keys, contents, golds, strict=True)
    for number, (key, content, gold) in enumerate(rows, start=1):
        try:
            _check_row(number, key, content, seen)
            seen.add(key)
            known = _gold_class(number, gold, roster)
            if not columns.content and key not in there:
                raise Refusal(f"Row {number}: there is no item “{key[:100]}” here; correct its id.", 422)
            place = (
                (columns.kind, content)
                if columns.kind == "text"
                else _address(number, columns.kind, content, stored)
            )
            items.append((key, *place, known))
        except Refusal as problem:
            problems.append((number, str(problem)))
    return TableCheck(items, problems)


def _gold_class(number: int, gold: str | None, roster: Roster) -> int | None:
    if not gold or not gold.strip():
        return None
    found = roster.class_by_name.get(gold.strip())
    if found is None:
        raise Refusal(
            f"Row {number} says that the item is “{gold}”, which is not a class here; correct the gold "
            "column, or add the class first.",
            422,
        )
    return found.id


def _columns_or_refuse(table: pa.Table) -> Columns:
    found = find_columns(table.column_names)
    if found is None:
        listed = ", ".join(repr(column) for column in table.column_names[:10]) or "none"
        raise Refusal(
            f"No column is named text, image or audio (the columns are: {listed}); rename the one that "
            "people should see.",
            422,
        )
    return found


def _check_row(number: int, key: str | None, content: str | None, seen: set[str]) -> None:
    if not key or not key.strip():
        raise Refusal(f"Row {number} has no id; every item needs its own.", 422)
    if len(key) > LONGEST_KEY:
        raise Refusal(f"Row {number} has an id of {len(key):,} characters; use at most {LONGEST_KEY}.", 422)
    if key in seen:
        raise Refusal(f"Row {number} has the id “{key}” of an earlier row; every item needs its own.", 422)
    if content is None or not content.strip():
        raise Refusal(f"Row {number} (“{key}”) is empty; there is nothing to show. Remove the row.", 422)
    for text in (key, content):
        check_text(text, f"Row {number}", LONGEST_TEXT)


def _address(number: int, kind: str, content: str, stored: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    if content.startswith("https://"):
        return kind, content.strip()
    found = stored.get(content) or stored.get(Path(content).name)
    if found is not None:
        return found
    raise Refusal(
        f"Row {number}: “{content[:200]}” is neither an address that begins with https:// nor a file "
        "that was sent along; send the pictures and the table together.",
        422,
    )


def add_items(database: Database, rows: Sequence[NewItem], by: int | None = None) -> ImportCounts:
    """Add items at the end of the project; of items that are there with the same id, only gold changes."""
    with database.read() as connection:
        there = {row.key: row for row in connection.execute(select(item.c.key, item.c.id, item.c.gold))}
    new = [row for row in rows if row[0] not in there] if there else rows
    for start in range(0, len(new), CHUNK):
        with database.write() as connection:
            some = new[start : start + CHUNK]
            _append(connection, some)
            note(connection, by, f"Added {len(some):,} item{'' if len(some) == 1 else 's'}.")
    golden = [
        (there[key].id, gold)
        for key, _, _, gold in rows
        if gold is not None and key in there and there[key].gold != gold
    ]
    for start in range(0, len(golden), GOLD_CHUNK):
        with database.write() as connection:
            for item_id, gold in golden[start : start + GOLD_CHUNK]:
                set_gold(connection, item_id, gold, by)
    return ImportCounts(len(new), len(rows) - len(new), len(golden))


def _append(connection: Connection, rows: Sequence[NewItem]) -> None:
    connection.execute(select(project.c.id).with_for_update())
    last = connection.execute(select(func.coalesce(func.max(item.c.position), 0))).scalar_one()
    numbered: Iterator[tuple[Any, ...]] = (
        (last + n, key, kind, content, gold, 0, 0.0, 0, False, False)
        for n, (key, kind, content, gold) in enumerate(rows, start=1)
    )
    columns = (
        "position", "key", "kind", "content", "gold", "state", "held_until", "version", "retired", "announced"
    )  # fmt: skip
    if connection.dialect.name == "postgresql":
        raw = connection.connection.cursor()
        with raw.copy(f"COPY item ({', '.join(columns)}) FROM STDIN") as copy:
            for row in numbered:
                copy.write_row(row)
    else:
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO item ({', '.join(columns)}) VALUES ({marks})"
        connection.connection.cursor().executemany(sql, list(numbered))
    connection.execute(update(project).values(size=project.c.size + len(rows)))


def typed_rows(text: str) -> list[NewItem]:
    """Return one text item for each line; its id is its text, shortened if it is long."""
    rows: dict[str, NewItem] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if content:
            digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:8]
            key = content if len(content) <= 40 else f"{content[:40]}… ({digest})"
            _check_row(number, key, content, set())
            rows[key] = (key, "text", content, None)
    return list(rows.values())


def import_media(
    database: Database, stored: Mapping[str, tuple[str, str]], by: int | None = None
) -> ImportCounts:
    """Add pictures and sounds that are items themselves."""
    rows = [(name[:LONGEST_KEY], kind, place, None) for name, (kind, place) in stored.items()]
    return add_items(database, rows, by)


def by_any_name(stored: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the places of pictures and sounds, also by their names without folders."""
    return {**{Path(name).name: place for name, place in stored.items()}, **stored}


def import_path(database: Database, folder: Path, roster: Roster, path: Path) -> ImportCounts:
    """Add a table or a folder of pictures that is on this machine; every file must be readable."""
    if path.is_dir():
        with ExitStack() as stack:
            files = [
                (one.relative_to(path).as_posix(), stack.enter_context(one.open("rb")))
                for one in sorted(path.rglob("*"))
                if one.is_file() and one.suffix.lower() in _ENDINGS
            ]
            upload = uploads.receive(database, folder, files)
        if upload.left_out:
            raise Refusal(" ".join(why for _, why in upload.left_out[:LISTED]), 422)
        return import_media(database, upload.stored)
    if not path.is_file():
        raise Refusal(f"There is no file or folder {path}.", 404)
    pictures: dict[str, tuple[str, str]] = {}
    table, _ = table_files.read_table(path.name, path)
    columns = _columns_or_refuse(table)
    if columns.kind != "text":
        for name in set(table[columns.content].to_pylist()):
            place = path.parent / str(name)
            if not str(name).startswith("https://") and place.is_file():
                with database.write() as connection:
                    pictures[str(name)] = media.keep(connection, folder, str(name), place.read_bytes())
    examined = examine(table, columns, roster, pictures)
    examined.refuse()
    return add_items(database, examined.items)


def read_panel(name: str, content: bytes) -> Panel:
    """Read a panel file that was sent."""
    ending = Path(name).suffix.lower()
    if ending not in (".toml", ".json", ".csv"):
        raise Refusal(f"“{name}” is not a panel file; it ends in .toml, .json or .csv.", 415)
    with tempfile.TemporaryDirectory(prefix="covote-") as folder:
        place = Path(folder) / f"panel{ending}"
        place.write_bytes(content)
        try:
            panel = Panel.load(place)
        except CovoteError as error:
            raise Refusal(str(error).replace(str(place), name).replace(str(folder), ""), 422) from error
    if any(model is not None for model in panel.models):
        raise Refusal(
            "This panel names models, which only the person who starts the studio may bring in: "
            "covote studio PROJECT --panel FILE.",
        )
    return panel


def import_votes(connection: Connection, roster: Roster, name: str, content: bytes, by: int | None) -> str:
    """Add votes from a file: each is checked as an answer would be; all or none are kept.

    Votes must name classes that their experts know, and items of the project. Existing answers stay, unless
    the file has another one: then it is a change, and both are on record.
    """
    votes = _read_votes(name, content, roster)
    new, changed = _add_votes(connection, roster, votes, _item_ids(connection, votes))
    message = (
        f"{new:,} answers added, {changed:,} changed; {votes.answers - new - changed:,} already existed."
    )
    note(connection, by, f"Imported {Path(name).name}: {message}")
    return message


def _read_votes(name: str, content: bytes, roster: Roster) -> Votes:
    if roster.panel is None or not len(roster.panel):
        raise Refusal("Add classes and people first, or import the panel file; then the answers.", 409)
    table, _ = table_files.read_table(name, content, exports=True)
    return Votes.from_table(table, roster.panel).to_ragged()


def _item_ids(connection: Connection, votes: Votes) -> list[int]:
    wanted = [str(key) for key in votes.items]
    found: dict[str, int] = {}
    for start in range(0, len(wanted), 5000):
        some = select(item.c.id, item.c.key).where(item.c.key.in_(wanted[start : start + 5000]))
        found.update({row.key: row.id for row in connection.execute(some)})
    missing = [key for key in wanted if key not in found]
    if missing:
        raise Refusal(
            f"There is no item “{missing[0]}” in this project ({len(missing):,} of the file's items are not "
            "here); add the items first.",
            422,
        )
    return [found[key] for key in wanted]


def _add_votes(connection: Connection, roster: Roster, votes: Votes, ids: list[int]) -> tuple[int, int]:
    now = time.time()
    earlier = {
        (row.item_id, row.person_id): row.choice
        for row in connection.execute(
            select(answer.c.item_id, answer.c.person_id, CHOICE).order_by(answer.c.id)
        )
    }
    ragged = votes.ragged
    owner = np.repeat(np.array(ids), np.diff(ragged.indptr))
    answers, given = [], []
    batch = f"import-{time.time_ns():x}"
    for n, (item_id, expert, label) in enumerate(zip(owner, ragged.expert, ragged.label, strict=True)):
        member: Member = roster.voters[int(expert)]
        choice = NONE if label < 0 else roster.voting_classes[int(label)].id
        before = earlier.get((int(item_id), member.id))
        if before is not None and roster.canonical_class.get(before, before) == choice:
            continue
        check_choice(member, choice, member.known, roster.answer_name(choice))
        answers.append(
            {"item_id": int(item_id), "person_id": member.id, **answer_columns(choice), "key": f"{batch}-{n}",
             "options_id": member.options_id, "via": "import", "at": now}
        )  # fmt: skip
        if before is None:
            given.append({"item_id": int(item_id), "person_id": member.id})
    if answers:
        connection.execute(insert(answer), answers)
    assign(connection, [{**one, "state": ANSWERED} for one in given])
    for start in range(0, len(given), 5000):
        ids = [one["item_id"] for one in given[start : start + 5000]]
        connection.execute(update(item).where(item.c.id.in_(ids)).values(state=BEGUN))
    for person_id in {one["person_id"] for one in given}:
        count_answers(connection, person_id)
    return len(given), len(answers) - len(given)
