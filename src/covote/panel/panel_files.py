"""Panel files: TOML that people can write, JSON, and tables (CSV, spreadsheets).

Panels are plain dicts here. Reading a file that was written here gives the same panel.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from covote import atomic
from covote.errors import FileError, InputError
from covote.panel.panel_tables import cell_of, has_panel, matrix, panel_of_rows, panel_sheet
from covote.panel.ranges import classes_in
from covote.tables.dialect import (
    decode_text,
    read_bytes,
    read_cells,
    refuse_folders,
    split,
    workbook_and_sheet,
)
from covote.tables.sheets import read_sheet, write_sheet

_OF_AN_EXPERT = ("name", "knows", "cost", "left", "model")
_TABLES = ("csv", "tsv", "xlsx")
_OWN_TABLES = ('"expert","cost"', '"expert","left","cost"')
"""The beginnings of the CSV files that are written here."""


def format_of(path: str | os.PathLike[str], *, reading: bool = False) -> str:
    """Return "toml", "json", "csv" or "xlsx" by the file's ending; a .tsv file can only be read."""
    ending = Path(workbook_and_sheet(path)[0]).suffix.lower().removeprefix(".")
    if ending not in (*_WRITERS, "xlsx") and not (reading and ending in _TABLES):
        known = ".toml, .json, .csv, .tsv or .xlsx" if reading else ".toml, .json, .csv or .xlsx"
        raise InputError(f"{path}: a panel file ends in {known}, not in {Path(path).suffix!r}")
    return ending


def is_panel_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a panel: by its ending, or by its cells if it is a table."""
    ending = Path(workbook_and_sheet(path)[0]).suffix.lower().removeprefix(".")
    if ending not in _TABLES:
        return ending in ("toml", "json")
    try:
        return has_panel(read_cells(path))
    except (FileError, InputError):
        return False


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the dict of a panel file."""
    refuse_folders(path)
    kind = format_of(path, reading=True)
    if kind == "xlsx":
        return panel_of_rows([*read_sheet(path, panel_sheet).rows])
    data = read_bytes(path)
    if kind in _TABLES:
        return loads(decode_text(data, path), kind)
    try:
        # Bytes, because text mode changes line breaks inside names; -sig for files from spreadsheets.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not a text file in UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error
    return loads(text, kind)


def save(path: str | os.PathLike[str], data: Mapping[str, Any]) -> None:
    """Write a panel's dict atomically, in the format of the file's ending."""
    kind = format_of(path)
    if kind == "xlsx":
        rows = _sheet_rows(data)
        with atomic.replacing(path) as temporary:
            write_sheet(temporary, rows)
    else:
        atomic.write_text(path, dumps(data, kind))


def dumps(data: Mapping[str, Any], kind: str) -> str:
    """Write a panel's dict in the given format."""
    return _WRITERS[kind](data)


def loads(text: str, kind: str) -> dict[str, Any]:
    """Read a panel's dict from text in the given format."""
    return {"toml": _toml_loads, "json": _json_loads}.get(kind, _table_loads)(text)


def checked_experts(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Check the shape of a panel's dict and return its experts, each with a name."""
    if not isinstance(data, Mapping) or not isinstance(data.get("classes"), list):
        raise InputError('no list of classes; write classes = ["...", "..."] at the top')
    experts = data.get("experts", [])
    if not isinstance(experts, list) or not all(isinstance(expert, Mapping) for expert in experts):
        raise InputError("experts must be tables; write [[experts]] above each expert's name and knows")
    unknown = set(data) - {"classes", "experts", "describe"}  # what the classes mean, for language models
    if unknown:
        raise InputError(f"unexpected entry {sorted(unknown)[0]!r}; a panel has classes and experts")
    checked = []
    for number, expert in enumerate(experts, start=1):
        named = {"name": f"expert-{number}", **expert}
        if not named.keys() <= set(_OF_AN_EXPERT):
            named = with_options(named)
        surplus = sorted(named.keys() - set(_OF_AN_EXPERT))
        if surplus:
            raise InputError(
                f"expert {named['name']!r} has an unexpected entry {surplus[0]!r}; an expert has "
                "name, knows, cost, left and model, and next to a model its options"
            )
        if named.get("knows") == "all":
            named["knows"] = list(data["classes"])
        elif isinstance(named.get("knows"), str):
            named["knows"] = classes_in(named["knows"], data["classes"])
        if not isinstance(named.get("knows"), list):
            raise InputError(
                f'expert {named["name"]!r} needs a list of what it knows: knows = ["...", "..."], or "all"'
            )
        if not isinstance(named.get("left", False), bool):
            raise InputError(
                f"expert {named['name']!r} has left = {named['left']!r}; write true if they have left"
            )
        checked.append(named)
    return checked


def with_options(expert: dict[str, Any]) -> dict[str, Any]:
    """Return an expert in which options next to the model have been moved into it.

    The model decides which options exist; entries that resemble those of an expert stay where they are.
    """
    options = {
        key: value
        for key, value in expert.items()
        if key not in _OF_AN_EXPERT and not difflib.get_close_matches(key, _OF_AN_EXPERT, n=1, cutoff=0.7)
    }
    if not options or "model" not in expert:
        return expert
    model = expert["model"]
    inside = dict(model) if isinstance(model, Mapping) else {"use": model}
    rest = {key: value for key, value in expert.items() if key not in options}
    return {**rest, "model": {**inside, **options}}


# TOML


def _toml_value(value: Any) -> str:
    if isinstance(value, str):
        # TOML uses JSON's escapes, but also requires DEL to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        pairs = (f"{_toml_value(str(key))} = {_toml_value(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    raise InputError(f"a panel file cannot hold {value!r} ({type(value).__name__})")


def _toml_dumps(data: Mapping[str, Any]) -> str:
    lines = [f"classes = {_toml_value(data['classes'])}"]
    for expert in data["experts"]:
        lines += ["", "[[experts]]"]
        lines += [f"{key} = {_toml_value(value)}" for key, value in expert.items()]
    return "\n".join(lines) + "\n"


def _toml_loads(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as error:  # including integers of thousands of digits, and deep nesting
        raise InputError(f"not a TOML file: {error}") from error


# JSON


def _json_dumps(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _json_loads(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a JSON file: {error}") from error
    if not isinstance(data, dict):
        raise InputError("not a panel: the JSON file must be an object with classes and experts")
    return data


# Tables are written as a matrix, with one row per expert and one column per class. Integers are written bare;
# a string that looks like an integer, or begins with an apostrophe, gets an apostrophe in front, as in
# spreadsheets.


def _matrix_rows(data: Mapping[str, Any], tick: str, blank: str, *, priced: bool) -> list[list[str]]:
    """Return the cells of a table: who has left if somebody has, costs, and ticks."""
    if any("model" in expert for expert in data["experts"]):
        raise InputError("a table has no room for models; save the panel as .toml or .json")
    gone = any(expert.get("left") for expert in data["experts"])
    rows = [["expert", *["left"] * gone, *["cost"] * priced, *map(cell_of, data["classes"])]]
    for expert in data["experts"]:
        known = set(expert["knows"])
        left = [tick if expert.get("left") else blank] * gone
        cost = [repr(expert.get("cost", 1))] * priced
        ticks = [tick if name in known else blank for name in data["classes"]]
        rows.append([cell_of(expert["name"]), *left, *cost, *ticks])
    return rows


def _sheet_rows(data: Mapping[str, Any]) -> list[list[str]]:
    """Return the cells of a spreadsheet: ticks, and costs if they differ from 1."""
    rows = _matrix_rows(data, "x", "", priced=any(expert.get("cost", 1) != 1 for expert in data["experts"]))
    try:
        same = _as_written(panel_of_rows([*rows])) == _as_written(data)
    except InputError:
        same = False
    if not same:
        raise InputError("a spreadsheet would not give back these names and ticks; save the panel as .toml")
    return rows


def _as_written(data: Mapping[str, Any]) -> Any:
    """Return what a spreadsheet has to give back."""
    return data["classes"], [
        (one["name"], one["knows"], float(one.get("cost", 1)), one.get("left", False))
        for one in data["experts"]
    ]


def _csv_dumps(data: Mapping[str, Any]) -> str:
    out = io.StringIO()
    # Everything is quoted, so that names with line breaks or blanks at their ends are read back unchanged.
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(_matrix_rows(data, "1", "0", priced=True))
    return out.getvalue()


def _table_loads(text: str) -> dict[str, Any]:
    if not text.startswith(_OWN_TABLES):
        return panel_of_rows(split(text))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"not a CSV file: {error}") from error
    return matrix(rows, rows[0].index("cost"), 1 if rows[0][1] == "left" else None)


_WRITERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "toml": _toml_dumps,
    "json": _json_dumps,
    "csv": _csv_dumps,
}
