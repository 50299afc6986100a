"""Items from tables and folders: CSV, Parquet, JSON-lines, pictures and sounds."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, func, select, update

from covote.studio.people.roster import Roster
from covote.studio.rules import Refused
from covote.studio.storage import media
from covote.studio.storage.database import Database
from covote.studio.storage.schema import item, project

CHUNK = 20_000
"""Items written in one transaction: people who answer meanwhile wait for no more than that."""
LONGEST_TEXT = 100_000
LONGEST_KEY = 500
MOST_UNPACKED = 4 * 1024**3
"""Bytes that a ZIP file may have when it is unpacked."""
_IDS = ("id", "item", "key", "task")
_CONTENTS = ("image", "picture", "audio", "sound", "text", "content")
_KINDS = {"picture": "image", "sound": "audio", "content": "text"}
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".wav", ".mp3", ".ogg", ".flac")

_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class Imported:
    """How many items were added, and how many were there before."""

    added: int
    known: int

    def __str__(self) -> str:
        there = f"; {self.known:,} were there already" if self.known else ""
        return f"{self.added:,} item{'' if self.added == 1 else 's'} added{there}."


def is_readable(name: str) -> bool:
    """Whether a file of a folder can be items; what systems leave in folders is not.

    >>> is_readable("birds/1.JPG"), is_readable("birds/.DS_Store"), is_readable("birds/._1.jpg")
    (True, False, False)
    """
    path = Path(name)
    return path.suffix.lower() in (*_ENDINGS, *_TABLES) and not path.name.startswith(".")


def read_table(name: str, content: bytes | Path) -> pa.Table:
    """Read a table of items with every column as text, whatever its format."""
    ending = Path(name).suffix.lower()
    try:
        if ending in (".parquet", ".pq"):
            import pyarrow.parquet as pq

            source = pa.BufferReader(content) if isinstance(content, bytes) else content
            return _as_text(pq.read_table(source))
        data = content if isinstance(content, bytes) else content.read_bytes()
        if ending in (".jsonl", ".ndjson", ".json"):
            return _from_json_lines(name, data)
        if ending in (".csv", ".tsv", ".txt"):
            return _from_csv(name, data)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise Refused(f"“{name}” cannot be read: {reason}. Check the file and send it again.", 422) from error
    raise Refused(
        f"“{name}” is of no known kind; give a .csv, .parquet or .jsonl file, pictures, sounds, or a .zip of "
        "pictures.",
        415,
    )


def _decoded(name: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            f"“{name}” is not in UTF-8 (byte {error.start + 1:,}); save it as “CSV UTF-8” or in UTF-8.", 422
        ) from error
    if "\0" in text:
        raise Refused(f"“{name}” is no text file (it holds NUL characters); save it as UTF-8 text.", 422)
    return text


def _from_csv(name: str, data: bytes) -> pa.Table:
    from pyarrow import csv as arrow_csv

    text = _decoded(name, data[: 1 << 16].rpartition(b"\n")[0] or data[: 1 << 16])
    first = text.splitlines()[0] if text.strip() else ""
    if not first:
        raise Refused(f"“{name}” is empty; its first line names the columns, for example: id,text", 422)
    comma = max((",", ";", "\t"), key=first.count)
    header = next(csv.reader([first], delimiter=comma))
    names = [column.strip() for column in header]
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise Refused(f"“{name}” has two columns named {twice!r}; give them different names.", 422)
    _decoded(name, data)
    body = data.removeprefix(b"\xef\xbb\xbf")
    return arrow_csv.read_csv(
        io.BytesIO(body),
        read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1),
        parse_options=arrow_csv.ParseOptions(delimiter=comma, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )


def _from_json_lines(name: str, data: bytes) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(_decoded(name, data).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Refused(f"“{name}”, line {number}: this is no JSON ({error}).", 422) from error
        if not isinstance(row, dict):
            raise Refused(
                f'“{name}”, line {number}: every line is an object such as {{"id": "1", "text": "..."}}.', 422
            )
        rows.append(row)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return pa.table(
        {column: pa.array([_plain(row.get(column)) for row in rows], pa.string()) for column in columns}
    )


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _as_text(table: pa.Table) -> pa.Table:
    columns = {}
    for name in table.column_names:
        try:
            columns[name] = table[name].cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            columns[name] = pa.array([_plain(value) for value in table[name].to_pylist()], pa.string())
    return pa.table(columns)


def without_formula_marks(table: pa.Table) -> pa.Table:
    """Take away the mark that exports put before what a spreadsheet would run as a formula."""
    for n, name in enumerate(table.column_names):
        values = [
            value[1:]
            if value and value[0] == "'" and value[1:2] in ("=", "+", "-", "@", "\t", "\r")
            else value
            for value in table.column(n).to_pylist()
        ]
        table = table.set_column(n, name, pa.array(values, pa.string()))
    return table


def rows_of(
    table: pa.Table, roster: Roster, stored: Mapping[str, tuple[str, str]]
) -> list[tuple[str, str, str, int | None]]:
    """Return (key, kind, content, gold) of every row, or refuse the table and say where it is wrong.

    `stored` says where pictures and sounds that came with the table are kept, by name: (kind, address).
    """
    names = {name.strip().lower(): name for name in table.column_names}
    kind, column = _content_column(names)
    count = table.num_rows
    if not count:
        raise Refused("The table has column names but no rows; add at least one item.", 422)
    id_column = next((names[one] for one in _IDS if one in names), None)
    keys = table[id_column].to_pylist() if id_column else [f"item-{n}" for n in range(1, count + 1)]
    contents = table[column].to_pylist()
    golds = table[names["gold"]].to_pylist() if "gold" in names else [None] * count
    rows = []
    seen: set[str] = set()
    gold_ids = {name: one.id for name, one in roster.class_by_name.items()}
    for number, (key, content, gold) in enumerate(zip(keys, contents, golds, strict=True), start=1):
        _check_row(number, key, content, seen)
        seen.add(key)
        gold_id = None
        if gold:
            gold_id = gold_ids.get(gold)
            if gold_id is None:
                raise Refused(
                    f"Row {number} says that the item is “{gold}”, which is no class here; correct the "
                    "column “gold”, or add the class first.",
                    422,
                )
        if kind != "text":
            row_kind, content = _address(number, kind, content, stored)
            rows.append((key, row_kind, content, gold_id))
        else:
            rows.append((key, kind, content, gold_id))
    return rows


def _content_column(names: Mapping[str, str]) -> tuple[str, str]:
    for name in _CONTENTS:
        if name in names:
            return _KINDS.get(name, name), names[name]
    others = [column for lower, column in names.items() if lower not in (*_IDS, "gold")]
    if len(others) == 1:
        return "text", others[0]
    listed = ", ".join(repr(column) for column in list(names.values())[:10]) or "none"
    raise Refused(
        f"No column is named text, image or audio (the columns are: {listed}); rename the one that people "
        "shall see.",
        422,
    )


def _check_row(number: int, key: str | None, content: str | None, seen: set[str]) -> None:
    if not key or not key.strip():
        raise Refused(f"Row {number} has no id; every item needs one of its own.", 422)
    if len(key) > LONGEST_KEY:
        raise Refused(f"Row {number} has an id of {len(key):,} characters; use at most {LONGEST_KEY}.", 422)
    if key in seen:
        raise Refused(f"Row {number} has the id “{key}” of an earlier row; every item needs its own.", 422)
    if content is None or not content.strip():
        raise Refused(f"Row {number} (“{key}”) is empty; there is nothing to show. Remove the row.", 422)
    if len(content) > LONGEST_TEXT:
        raise Refused(
            f"Row {number} (“{key}”) has {len(content):,} characters; show at most {LONGEST_TEXT:,}.", 422
        )
    if "\0" in content or "\0" in key:
        raise Refused(f"Row {number} holds a NUL character; remove it.", 422)


def _address(number: int, kind: str, content: str, stored: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    if content.startswith("https://"):
        return kind, content.strip()
    found = stored.get(content) or stored.get(Path(content).name)
    if found is not None:
        return found
    raise Refused(
        f"Row {number}: “{content[:200]}” is neither an address that begins with https:// nor a file "
        "that was sent along; send the pictures and the table together.",
        422,
    )


def add_items(
    database: Database,
    rows: Sequence[tuple[str, str, str, int | None]],
    progress: Callable[[int, int], None] | None = None,
) -> Imported:
    """Add items at the end of the project; what is there under the same id stays as it is."""
    with database.read() as connection:
        there = set()
        if connection.execute(select(func.count()).select_from(item)).scalar_one():
            there = set(connection.execute(select(item.c.key)).scalars())
    new = [row for row in rows if row[0] not in there] if there else rows
    for start in range(0, len(new), CHUNK):
        with database.write() as connection:
            _append(connection, new[start : start + CHUNK])
        if progress is not None:
            progress(min(start + CHUNK, len(new)), len(new))
    return Imported(len(new), len(rows) - len(new))


def _append(connection: Connection, rows: Sequence[tuple[str, str, str, int | None]]) -> None:
    connection.execute(select(project.c.id).with_for_update())
    last = connection.execute(select(func.coalesce(func.max(item.c.position), 0))).scalar_one()
    numbered: Iterator[tuple[Any, ...]] = (
        (last + n, key, kind, content, gold, 0, 0.0)
        for n, (key, kind, content, gold) in enumerate(rows, start=1)
    )
    columns = ("position", "key", "kind", "content", "gold", "state", "held_until")
    if connection.dialect.name == "postgresql":
        raw = connection.connection.cursor()
        with raw.copy(f"COPY item ({', '.join(columns)}) FROM STDIN") as copy:
            for row in numbered:
                copy.write_row(row)
    else:
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO item ({', '.join(columns)}) VALUES ({marks})"
        connection.connection.cursor().executemany(sql, list(numbered))
    connection.execute(update(project).values(size=last + len(rows)))


def typed_rows(text: str) -> list[tuple[str, str, str, int | None]]:
    """Return one text item for each line; its id is its text, shortened if it is long."""
    rows: dict[str, tuple[str, str, str, int | None]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if content:
            digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:8]
            key = content if len(content) <= 40 else f"{content[:40]}… ({digest})"
            _check_row(number, key, content, set())
            rows[key] = (key, "text", content, None)
    return list(rows.values())


def files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Give the pictures and sounds in a folder, in the order of their names."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix.lower() in _ENDINGS:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def files_in_zip(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Give the pictures and sounds in a ZIP file; nothing is ever unpacked to a path."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        entries = [one for one in archive.infolist() if not one.is_dir()]
        total = 0
        for entry in sorted(entries, key=lambda one: one.filename):
            if Path(entry.filename).suffix.lower() not in _ENDINGS:
                continue
            total += entry.file_size
            if entry.file_size > media.LARGEST or total > MOST_UNPACKED:
                raise Refused(
                    f"“{entry.filename}” in “{name}” is too large; a picture has at most "
                    f"{media.LARGEST / 1e6:.0f} MB.",
                    413,
                )
            with archive.open(entry) as opened:
                yield entry.filename, opened.read(media.LARGEST + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError) as error:
        raise Refused(f"“{name}” cannot be unpacked: {error}. Make the ZIP file again.", 422) from error


def import_files(
    database: Database, folder: Path, roster: Roster, files: Iterable[tuple[str, bytes]]
) -> Imported:
    """Add what was sent: tables with what they point to, or pictures and sounds that are items themselves."""
    stored: dict[str, tuple[str, str]] = {}
    tables: list[tuple[str, bytes]] = []
    for name, content in _unzipped(files):
        if Path(name).suffix.lower() in _ENDINGS:
            with database.write() as connection:
                stored[name] = media.keep(connection, folder, name, content)
        else:
            tables.append((name, content))
    if not tables and not stored:
        raise Refused("Nothing was sent; choose a table (.csv, .parquet, .jsonl) or pictures first.", 422)
    rows: list[tuple[str, str, str, int | None]] = []
    by_base = {**{Path(name).name: place for name, place in stored.items()}, **stored}
    for name, content in tables:
        try:
            rows.extend(rows_of(read_table(name, content), roster, by_base))
        except Refused as error:
            raise Refused(f"“{name}”: {error}", error.status) from error
    if not tables:
        rows = [(name[:LONGEST_KEY], kind, place, None) for name, (kind, place) in stored.items()]
    return add_items(database, rows)


def _unzipped(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for name, content in files:
        if Path(name).suffix.lower() == ".zip":
            yield from files_in_zip(name, content)
        else:
            yield name, content


def import_path(database: Database, folder: Path, roster: Roster, path: Path) -> Imported:
    """Add a table or a folder of pictures that is on this machine."""
    if path.is_dir():
        return import_files(database, folder, roster, files_in(path))
    if not path.is_file():
        raise Refused(f"There is no file or folder {path}.", 404)
    beside: dict[str, tuple[str, str]] = {}
    table = read_table(path.name, path)
    names = {name.strip().lower(): name for name in table.column_names}
    kind, column = _content_column(names)
    if kind != "text":
        for name in set(table[column].to_pylist()):
            place = path.parent / str(name)
            if not str(name).startswith("https://") and place.is_file():
                with database.write() as connection:
                    beside[str(name)] = media.keep(connection, folder, str(name), place.read_bytes())
    return add_items(database, rows_of(table, roster, beside))
