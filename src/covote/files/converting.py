"""Votes, labels and panels in the formats of other tools."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa

from covote import atomic
from covote.arguments import check_choice
from covote.errors import FileError, InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.tables import ReadOptions
from covote.tables.column_roles import id_column
from covote.tables.formats import annotation_tools, hugging_face, label_studio
from covote.tables.formats.exported_answers import Labelled
from covote.tables.table_file import TableFile
from covote.tables.writing import write_table
from covote.votes import Votes

Place = str | os.PathLike[str]
Tool = Literal["table", "crowd-kit", "label-studio", "hugging-face", "argilla", "doccano", "prodigy"]
TOOLS: tuple[Tool, ...] = get_args(Tool)
_LABELS = {"label", "confidence", "status"}  # columns that only a file of labels has together
_CROWD_KIT = {"item": "task", "expert": "worker"}
_ENDINGS = {"label-studio": ".json", "argilla": ".json", "doccano": ".jsonl", "prodigy": ".jsonl"}
_TAGS = {"image": "Image", "audio": "Audio", "video": "Video", "html": "HyperText"}


def convert(
    source: Place,
    target: Place,
    tool: Tool | None = None,
    *,
    panel: Panel | None = None,
    items: Place | None = None,
    shown: str = "item",
    reading: ReadOptions | None = None,
    note: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write votes, labels or a panel for another tool; return the files that were written.

    Parameters
    ----------
    source
        Votes in any format that covote reads, labels that it wrote, or, for configurations, a panel file.
    target
        What to write. A ``.parquet``, ``.csv``, ``.jsonl`` or ``.xlsx`` file is a plain table, a ``.json``
        file has tasks with predictions for Label Studio, a ``.toml`` file is a panel, and any other name is a
        folder: one labelling configuration per expert, or a Hugging Face dataset. From a panel in a ``.toml``
        file, every file is a panel.
    tool
        "crowd-kit" names the columns task, worker and label; "hugging-face" writes a dataset; "argilla"
        (``.json``), "doccano" and "prodigy" (``.jsonl``) get labels to review. By default, the ending of
        `target` decides.
    panel
        Who knows what, for votes; by default everyone knows every class.
    items
        A table with more about the items, which people see in these tools: texts, addresses of pictures.
    shown
        The field of the tasks' data that a configuration shows: image, audio, video and html are shown as
        such, everything else as text.
    reading
        How votes are read.
    note
        Is called with each sentence about how the votes were understood: which tool wrote them, what was left
        out.
    """
    place = Path(target)
    ending = place.suffix.lower()
    if tool is None:
        tool = "label-studio" if ending in (".json", "") else "table"
    check_choice("tool", tool, TOOLS)
    how = reading or ReadOptions()
    is_panel = Path(source).suffix.lower() == ".toml"
    if (tool == "table" and ending == ".toml") or (is_panel and ending):
        Panel.load(source).save(place)
        return [place]
    if tool == "label-studio" and not ending:
        is_table = not is_panel and Path(source).suffix.lower() != ".json"
        if is_table and set(TableFile(source).names) >= _LABELS:
            raise InputError(
                f"{source} is a file of labels, and configurations are made from a panel; labels are written "
                "to a .json file for Label Studio, or with --to for other tools"
            )
        return _configurations(Panel.load(source), place, shown, how.none)
    table, classes, notes = _answers(source, panel, how)
    if note is not None:
        for sentence in notes:
            note(sentence)
    if tool == "hugging-face":
        if "probabilities" in table.column_names:
            raise InputError(
                f"{source} has lists of probabilities, which are written to a .parquet file only"
            )
        return hugging_face.write(place, table, {"label": classes})
    if tool in _ENDINGS:
        if ending != _ENDINGS[tool]:
            raise InputError(f"{place}: what {tool} imports is written to a {_ENDINGS[tool]} file")
        records = list(_records(tool, table, classes, {} if items is None else _known(items)))
        atomic.write_text(place, _json(records, lines=ending == ".jsonl"))
        return [place]
    if tool == "crowd-kit":
        table = table.rename_columns([_CROWD_KIT.get(name, name) for name in table.column_names])
    write_table(place, table)
    return [place]


def _answers(
    source: Place, panel: Panel | None, reading: ReadOptions
) -> tuple[pa.Table, list[str], list[str]]:
    """Return votes or labels as a table, the names of the classes, and how the file was understood."""
    found: Labels | Votes
    file = TableFile(source, exports=True)
    if set(file.names) >= _LABELS:
        found = Labels.load(source, panel)
    else:
        found = Votes.load(source, panel, reading=reading)
    table = found.to_arrow()
    known = list(map(str, found.panel.classes))
    answered = dict.fromkeys(
        str(name) for name in table.column("label").unique().to_pylist() if name is not None
    )
    # The answers may also be "none of mine".
    return table, [*known, *(name for name in answered if name not in known)], file.notes


def _records(
    tool: Tool, table: pa.Table, classes: list[str], data: dict[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Return what a tool imports: an object for each item."""
    if tool == "label-studio":
        return label_studio.tasks(_by_item(table), data)
    if "confidence" not in table.column_names:
        raise InputError(
            f"{tool} imports one label for each item; decode the answers first, with covote decode"
        )
    columns = (table.column(name).to_pylist() for name in ("item", "label", "confidence"))
    labels: Iterator[Labelled] = (
        (item, label, _rounded(score)) for item, label, score in zip(*columns, strict=True)
    )
    if tool == "prodigy":
        return annotation_tools.prodigy_tasks(labels, data, classes)
    write = annotation_tools.argilla_records if tool == "argilla" else annotation_tools.doccano_documents
    return write(labels, data)


def _rounded(score: float | None) -> float | None:
    """Return a probability without the digits that a float of 32 bits does not have."""
    return None if score is None else round(score, 6)


def _json(records: list[dict[str, Any]], *, lines: bool) -> str:
    if lines:
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def _by_item(table: pa.Table) -> Iterator[tuple[Any, list[tuple[str, str, float | None]]]]:
    """Yield each item with its answers: who, what, and how sure; labels are the answers of covote."""
    rows = table.to_pylist()
    score = "confidence" if "confidence" in table.column_names else "probability"
    for item, some in groupby(rows, key=lambda row: row["item"]):
        yield (
            item,
            [
                (str(row.get("expert", "covote")), str(row["label"]), _rounded(row.get(score)))
                for row in some
                if row["label"] is not None
            ],
        )


def _known(path: Place) -> dict[str, dict[str, Any]]:
    """Return what a table knows about each item; text in one file may be a number in the other."""
    source = TableFile(path, exports=True)
    name = id_column(source.names)
    if name is None:
        raise InputError(f"{path} has no column item, task or id that names the items")
    return {str(row.pop(name)): row for row in source.table().to_pylist()}


def _configurations(panel: Panel, folder: Path, shown: str, none: str) -> list[Path]:
    """Write one labelling configuration for each expert, which offers its classes and "none of mine"."""
    if not re.fullmatch(r"\w+", shown):
        raise InputError(f"shown={shown!r} is not the name of a field; write letters, digits and _")
    files: dict[Path, str] = {}
    for name, known in zip(panel.names, panel.blocks(), strict=True):
        plain = re.sub(r"[^\w.-]+", "_", str(name)).strip(".")
        file = folder / f"{plain or '_'}.xml"
        if any(str(file).casefold() == str(other).casefold() for other in files):  # one file on many systems
            raise InputError(f"two experts would both be written to {file}; rename one of them")
        classes = [*map(str, known), *([] if len(known) == len(panel.classes) else [none])]
        files[file] = label_studio.configuration(classes, shown, _TAGS.get(shown, "Text"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}; choose another") from error
    for file, text in files.items():
        atomic.write_text(file, text)
    return list(files)
