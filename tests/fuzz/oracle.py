"""A slow, obvious reading of panels and votes, and the authority vote over it; nothing of covote is used.

Where a file can be read in two ways, the oracle does not judge the labels (`UndecidedError`).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import tomllib
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

NONE = "none of mine"


class UndecidedError(Exception):
    """A file that the oracle does not judge."""


def panel_of(path: Path) -> tuple[list[str], dict[str, set[str]]]:
    """Return the classes and {expert: what it knows}, all as text."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix == ".csv":
            return _csv_panel(text)
        tree = json.loads(text, object_pairs_hook=_once) if path.suffix == ".json" else tomllib.loads(text)
        classes = [_name(c) for c in tree["classes"]]
        experts = {
            _name(e.get("name", f"expert-{n}")): {_name(c) for c in e["knows"]}
            for n, e in enumerate(tree.get("experts", []), 1)
        }
    except UndecidedError:
        raise
    except Exception as error:
        raise UndecidedError from error
    if len(set(classes)) < len(classes) or len(experts) < len(tree["experts"]):
        raise UndecidedError("names that are there twice")
    return classes, experts


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise UndecidedError("a key that is there twice")
    return dict(pairs)


def _name(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UndecidedError(f"{value!r} as a name")
    return str(value)


def _csv_panel(text: str) -> tuple[list[str], dict[str, set[str]]]:
    rows = [
        row for row in csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True) if row
    ]
    first = 2 if rows[0][1:2] == ["cost"] else 1
    classes = [cell.removeprefix("'") for cell in rows[0][first:]]
    experts = {
        row[0].removeprefix("'"): {
            c for c, mark in zip(classes, row[first:], strict=True) if mark.strip() == "1"
        }
        for row in rows[1:]
    }
    if len(experts) < len(rows) - 1 or len(set(classes)) < len(classes):
        raise UndecidedError("names that are there twice")
    return classes, experts


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table of votes: CSV cells as text, other values as they are."""
    name = path.name
    data = path.read_bytes()
    if name.endswith(".gz"):
        data, name = gzip.decompress(data), name[:-3]
    if name.endswith(".parquet"):
        return _parquet(path)
    try:
        text = data.decode("utf-8-sig")
        if name.endswith(".jsonl"):
            rows = [json.loads(line, object_pairs_hook=_once) for line in text.split("\n") if line.strip()]
            if not all(isinstance(row, dict) for row in rows):
                raise UndecidedError("rows that are no objects")
            return rows
        if "\x00" in text or re.search(r'[^,\t\n"]"[^,\t\n"]', text) or re.search(r"\r(?!\n)", text):
            raise UndecidedError("quotes and line breaks that programs read differently")
        table = [
            row
            for row in csv.reader(
                io.StringIO(text, newline=""), strict=True, delimiter="\t" if name.endswith(".tsv") else ","
            )
            if row
        ]
        head = table[0]
        if len(set(head)) < len(head):
            raise UndecidedError("a column that is there twice")
        return [{c: v or None for c, v in zip(head, row, strict=True)} for row in table[1:]]
    except UndecidedError:
        raise
    except Exception as error:
        raise UndecidedError from error


class RefusedError(Exception):
    """A file that a careful reader refuses: to accept it is an error."""


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        table = pq.ParquetFile(path).read()
        table.validate(full=True)
        return table.to_pylist()
    except (UnicodeDecodeError, OverflowError, ValueError) as error:
        if isinstance(error, pa.ArrowNotImplementedError):
            raise UndecidedError from error
        raise RefusedError(str(error)) from error
    except Exception as error:
        raise RefusedError(str(error)) from error


def answers_of(rows: list[dict[str, Any]], experts: dict[str, set[str]]) -> dict[Any, dict[str, str]]:
    """Return {item: {expert: label}}; silence is left out."""
    found: dict[Any, dict[str, str]] = defaultdict(dict)
    columns = set().union(*rows) if rows else set()
    item = next((c for c in ("item", "task") if c in columns), None)
    if item is None:
        raise UndecidedError("no items")
    who = next((c for c in ("expert", "worker") if c in columns), None)
    what = "label" if "label" in columns else None
    if len(columns) == 3 and (who is None) != (what is None):
        (rest,) = columns - {item, who, what}  # a damaged heading; who answers and what is told by the cells
        who, what = who or rest, what or rest
    for row in rows:
        if isinstance(row.get(item), float | dict | list | bool):
            raise UndecidedError("items that are no names")
        answers = found[row.get(item)]
        long = who is not None and what is not None
        votes = [(row.get(who), row.get(what))] if long else [(c, row.get(c)) for c in experts]
        for expert, label in votes:
            if expert is None or label is None:
                continue
            if isinstance(expert, float | dict | list | bool) or isinstance(
                label, float | dict | list | bool
            ):
                raise UndecidedError("names that are none")
            if answers.setdefault(str(expert), str(label)) != str(label):
                raise UndecidedError("two answers")  # one of which may be dropped
    return dict(found)


def best(classes: list[str], experts: dict[str, set[str]], answers: dict[str, str]) -> set[str]:
    """Return the classes with the greatest share N_k / d_k of their authorities who answered."""
    share = {}
    for k in classes:
        heard = [label for expert, label in answers.items() if k in experts.get(expert, ())]
        if heard:
            share[k] = Fraction(heard.count(k), len(heard))
    return {k for k, s in share.items() if s == max(share.values())}


def disagreement(votes: Path, panel: Path, labels: Path, drop: bool) -> str | None:
    """Return how the labels of an accepted file differ from the authority vote; None if they do not.

    With `drop`, answers that an expert cannot give count as silence; else none is accepted.
    """
    try:
        classes, experts = panel_of(panel)
        answers = answers_of(rows_of(votes), experts)
    except UndecidedError:
        return None
    except RefusedError as error:
        return f"a careful reader refuses the file: {error}"
    for said in answers.values():
        for expert, label in list(said.items()):
            if (label != NONE and label not in experts.get(expert, ())) or expert not in experts:
                if not drop:
                    return f"expert {expert!r} cannot answer {label!r}, but that was accepted"
                del said[expert]
    written = pq.read_table(labels)
    got = {row["item"]: row for row in written.to_pylist()}
    as_text = pa.types.is_string(written.schema.field("item").type) or pa.types.is_large_string(
        written.schema.field("item").type
    )
    wanted = {str(i) if as_text else i: a for i, a in answers.items()}
    if len(wanted) < len(answers):
        return None  # 7 and "7" in one column
    if not as_text and all(isinstance(i, str) for i in answers):
        if not all(isinstance(i, int) for i in got):
            return f"items are text, the labels have {written.schema.field('item').type}"
        wanted = {int(i): a for i, a in answers.items()}
        if len(wanted) < len(answers):
            return "two items became one"
    if set(map(str, wanted)) != set(map(str, got)):
        return f"items differ: {sorted(map(str, set(wanted) ^ set(got)))[:4]}"
    for item, said in wanted.items():
        row = got[item] if item in got else next(r for i, r in got.items() if str(i) == str(item))
        winners = best(classes, experts, said)
        label = None if row["label"] is None else str(row["label"])
        if (len(winners) == 1 and {label} != winners) or (label is not None and label not in winners):
            return f"item {item!r} is {label!r}, the authority vote says {sorted(winners)}"
        if len(winners) > 1 and row["status"] != "tied":
            return f"item {item!r} is tied, its status is {row['status']!r}"
    return None
