"""Exports of other labelling tools, recognised by what is in them and read as one plain table of answers.

Each tool has a module that says whether a record is its own (`fits`) and adds the answers of all records to
:class:`~covote.tables.formats.exported_answers.ExportedAnswers` (`read`). A record is an object of JSON or a
row of CSV.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from covote.arguments import naming, no_file
from covote.errors import CovoteError, FileError
from covote.tables.formats import annotation_tools, crowd_platforms, hugging_face, label_studio
from covote.tables.formats.exported_answers import ExportedAnswers

Record = Mapping[str, Any]


class Format(NamedTuple):
    """What another tool writes: its name, which records are its own, and how they are read."""

    name: str
    fits: Callable[[Any], bool]
    read: Callable[[Iterable[Any], ExportedAnswers], None]


OBJECTS = {
    "label-studio": Format("a Label Studio export (JSON)", label_studio.fits, label_studio.read),
    "label-studio-min": Format(
        "a Label Studio export (JSON-MIN)", label_studio.fits_min, label_studio.read_min
    ),
    "ground-truth": Format(
        "a SageMaker Ground Truth consolidation file",
        crowd_platforms.fits_ground_truth,
        crowd_platforms.read_ground_truth,
    ),
    "argilla": Format("an Argilla export", annotation_tools.fits_argilla, annotation_tools.read_argilla),
    "prodigy": Format("a Prodigy export", annotation_tools.fits_prodigy, annotation_tools.read_prodigy),
    "doccano": Format("a doccano export", annotation_tools.fits_doccano, annotation_tools.read_doccano),
}
"""Exports in JSON, one array or one object per line; the first that fits a file's first record reads it."""
TABLES = {
    "label-studio-csv": Format("a Label Studio export (CSV)", label_studio.fits_min, label_studio.read_min),
    "mturk": Format(
        "results of Amazon Mechanical Turk", crowd_platforms.fits_mturk, crowd_platforms.read_mturk
    ),
}
"""Exports in CSV or TSV, recognised by the names of their columns."""
DATASET = b"huggingface"
"""The metadata that a Parquet file of a Hugging Face dataset has."""
_DATASET = "recognised as a Hugging Face dataset"
_SPACE = b"\xef\xbb\xbf \t\r\n"  # a mark of UTF-8 and blanks: of a line with nothing else, nothing is left
_FIRST = 1 << 20  # bytes of a file in which the first line is looked for


class Export(NamedTuple):
    """The answers in an export, and what there is to say about it."""

    table: pa.Table
    notes: list[str]


def from_file(path: str | os.PathLike[str]) -> Export | None:
    """Return the answers in a file of JSON or in a folder; None if it is not an export that covote knows.

    A file that ends in .json is always an export: covote's own tables have one object per line.
    """
    place = Path(path)
    if place.is_dir():
        return _from_folder(place)
    ending = place.suffix.lower()
    if ending == ".json":
        records = _array(place)
        if not records:
            raise FileError(f"{place} is empty: it has no records")
        found = _fitting(OBJECTS, records[0])
        if found is None:
            names = ", ".join(dict.fromkeys(tool.name.partition(" (")[0] for tool in OBJECTS.values()))
            raise FileError(f"{place} is none of these: {names}; save a table as .csv, .jsonl or .parquet")
        return _read(found, [(place, records)])
    if ending in (".jsonl", ".ndjson") and place.is_file():
        found = _fitting(OBJECTS, _first_line(place))
        return None if found is None else _read(found, [(place, _lines(place))])
    return None


def from_table(
    path: str | os.PathLike[str], names: Sequence[str], table: Callable[[], pa.Table]
) -> Export | None:
    """Return the answers in a table of another tool, recognised by the names of its columns."""
    place, found = Path(path), _fitting(TABLES, dict.fromkeys(names))
    if found is None:
        return None
    if place.suffix.lower() in (".csv", ".tsv"):
        data = place.read_bytes()
        if data.count(b'"') % 2 and not data.endswith(b"\n"):
            raise FileError(
                f"{place} ends within a quoted cell; check that it was written and copied to the end"
            )
    return _read(found, [(place, table().to_pylist())])


def from_parquet(path: Path, schema: pa.Schema) -> Export | None:
    """Return the answers in a Parquet file of a Hugging Face dataset, if it has classes with names."""
    table = hugging_face.from_parquet(path, schema.metadata)
    return None if table is None else Export(table, [_DATASET])


def _from_folder(folder: Path) -> Export | None:
    """Return the answers in a dataset, or in several exports of one tool: one per project or member."""
    if hugging_face.fits(folder):
        return Export(hugging_face.read(folder), [_DATASET])
    readers = {".json": _array, ".jsonl": _lines}
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in readers)
    every = [(file, records) for file in files if (records := readers[file.suffix.lower()](file))]
    kinds = {_fitting(OBJECTS, records[0]) for _, records in every}
    found = kinds.pop() if len(kinds) == 1 else None
    return None if found is None else _read(found, every)


def _fitting(formats: Mapping[str, Format], first: Any) -> Format | None:
    if not isinstance(first, Mapping):
        return None
    return next((tool for tool in formats.values() if tool.fits(first)), None)


def _read(found: Format, files: Sequence[tuple[Path, Sequence[Record]]]) -> Export:
    """Return the answers of all records, or say which record is damaged."""
    rows = ExportedAnswers()
    for path, records in files:
        rows.file = path.stem
        with naming(path):
            try:
                found.read(rows.count_records(records), rows)
            except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
                if isinstance(error, CovoteError):
                    raise
                what = f"has no {error}" if isinstance(error, KeyError) else "is not as that tool writes it"
                raise FileError(
                    f"{path} looks like {found.name}, but record {rows.record} {what}; export it again"
                ) from error
    place = files[0][0]
    with naming(place):
        try:
            table = rows.table()
        except UnicodeEncodeError as error:  # JSON can spell half of a character: "\ud800"
            raise _damaged(place, error) from error
    if table is None:
        left = f" ({'; '.join(rows.notes())})" if rows.notes() else ""
        raise FileError(
            f"{place} is {found.name}, but it has no answers{left}; covote reads one label per item and "
            "expert"
        )
    return Export(table, [f"recognised as {found.name}", *rows.notes()])


def _array(path: Path) -> list[Any]:
    """Return the records of a file of JSON: an array, one object, or objects line by line."""
    try:
        data = path.read_bytes()
        if not data.strip(_SPACE):
            return []
        found = json.loads(data)
    except FileNotFoundError as error:
        raise no_file(path) from error
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            return _lines(path)
        raise _damaged(path, error) from error
    return found if isinstance(found, list) else [found]


def _lines(path: Path) -> list[Any]:
    """Return the records of a file with one object per line."""
    records = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip(_SPACE):
                    records.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise _damaged(path, error, number) from error
    return records


def _first_line(path: Path) -> Any:
    """Return the first record of a file of lines; None if it is not JSON."""
    try:
        with path.open("rb") as file:
            line = b" "
            while line and not line.strip(_SPACE):
                line = file.readline(_FIRST)
            return json.loads(line)
    except (OSError, ValueError, RecursionError):
        return None


def _damaged(path: Path, error: Exception, line: int = 0) -> FileError:
    remedy, reason = "check that it was written and copied to the end", " ".join(str(error).split())
    if isinstance(error, RecursionError):
        reason = "it is nested too deep"
    elif isinstance(error, UnicodeError):
        remedy = "save it as UTF-8"
    elif isinstance(error, json.JSONDecodeError):
        reason = f"{error.msg} (line {line or error.lineno}, column {error.colno})"
    return FileError(f"{path} cannot be read as JSON: {reason}; {remedy}")
