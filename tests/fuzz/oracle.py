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
import unicodedata
import zipfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq

NONE = "none of mine"
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


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
    if name.endswith(".xlsx"):
        return _sheet(path)
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


def _sheet(path: Path) -> list[dict[str, Any]]:
    """Return the rows of the only sheet of a spreadsheet, below the row that begins with ``item``."""
    rows: dict[int, dict[str, str]] = {}
    try:
        with zipfile.ZipFile(path) as packed:
            tree = ElementTree.fromstring(packed.read("xl/worksheets/sheet1.xml"))
    except Exception as error:
        raise UndecidedError from error
    for row in tree.iter(f"{SHEET}row"):
        number = int(row.get("r", "0"))
        if number in rows:
            raise RefusedError("a row that is there twice")
        if not 0 < number <= 2**20:
            raise RefusedError("a row at an impossible place")
        cells = {}
        for cell in row.iter(f"{SHEET}c"):
            letters = re.sub(r"[^A-Z]", "", cell.get("r", ""))
            cells[letters] = _cell(cell).strip()
        rows[number] = {place: text for place, text in cells.items() if text}
    table = [rows[number] for number in sorted(rows) if rows[number]]
    head = next((n for n, row in enumerate(table) if row.get("A") == "item"), None)
    if head is None or any(len(row) == 1 for row in table[head + 1 :]):
        raise UndecidedError("no heading, or a row that may be a remark")
    names = table[head]
    if len(set(names.values())) < len(names):
        raise UndecidedError("a column that is there twice")
    return [{name: row.get(place) for place, name in names.items()} for row in table[head + 1 :]]


def _cell(cell: ElementTree.Element) -> str:
    """Return a cell as it looks; numbers that a spreadsheet has rounded are refused."""
    text = "".join(part.text or "" for part in cell.iter(f"{SHEET}t"))
    value = cell.findtext(f"{SHEET}v")
    if value is None:
        return text
    if cell.get("t") == "b":
        return "TRUE" if value == "1" else "FALSE"
    if re.fullmatch(r"-?\d+", value):
        return str(int(value))
    number = float(value)
    if number.is_integer() and abs(number) >= 10**15:
        raise RefusedError("a number that was rounded")
    return str(int(number)) if number.is_integer() else str(number)


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


NO_EXPERT = {"", "na", "n/a", "#n/a", "nan", "null", "nil", "-", "--", "."}
"""What people write where there is no expert."""
NO_ANSWER = NO_EXPERT | {"?", "??", "ka", "unknown", "unbekannt", "missing", "skip", "skipped", "/"}
"""What people write where there is no answer."""
INVISIBLE = "\u200b\u200c\u200e\u200f\u2060\ufeff\xad\ufe0e\ufe0f"


def plain(text: str) -> str:
    """Return a text without case, accents, invisible letters, and blanks and marks between words."""
    letters = unicodedata.normalize("NFKD", text).casefold().replace("–", "-").replace("_", "-")
    seen = [c for c in letters if c not in INVISIBLE]
    # An accent is a variant of a letter; a digit has none.
    accents = [unicodedata.combining(c) and not b.isdigit() for b, c in zip(["", *seen], seen, strict=False)]
    known = [c for c, accent in zip(seen, accents, strict=True) if not accent]
    found = ""
    words = " ".join("".join(known).split())
    for n, letter in enumerate(words):
        before, after = words[n - 1 : n], words[n + 1 : n + 2]
        between = before.isalnum() and after.isalnum() and not (before.isdigit() and after.isdigit())
        gone = (
            (letter == " " and not (before.isdigit() and after.isdigit()))
            or (letter == "-" and between)
            or (letter == "." and not after.isdigit())
            or (letter == "'" and not before.isdigit())
        )
        found += "" if gone else letter
    return found or words


class Names:
    """Reads names as people write them; None for silence, the text itself for a name that nobody has."""

    def __init__(self, known: list[str], loose: bool, none: str | None = None) -> None:
        self.known, self.loose, self.none = known, loose, none

    def meant(self, text: str) -> str | None:
        """Return the name that is meant."""
        if text in self.known or text == self.none or not self.loose:
            return text
        whole = re.fullmatch(r"\s*(-?\d+)\.0+\s*", text)  # as some programs write whole numbers
        for wanted in (plain(text), whole[1] if whole else plain(text)):
            near = [name for name in self.known if plain(name) == wanted]
            if near:
                return near[0] if len(near) == 1 else text
        if self.none is not None and plain(text) == plain(self.none):
            return self.none
        return None if plain(text) in (NO_EXPERT if self.none is None else NO_ANSWER) else text


def answers_of(rows: list[dict[str, Any]], who_is: Names, what_is: Names) -> dict[Any, dict[str, str]]:
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
    experts = {c: who_is.meant(c) for c in columns - {item}}
    experts = {c: name for c, name in experts.items() if name in who_is.known}
    if len(set(experts.values())) < len(experts) and (who is None or what is None):
        raise UndecidedError("two columns of one expert")
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
            name, said = who_is.meant(str(expert)), what_is.meant(str(label))
            if name is None or said is None:
                continue
            if answers.setdefault(name, said) != said:
                raise UndecidedError("two answers")  # one of which may be dropped
    return dict(found)


def trimmed(answers: dict[Any, dict[str, str]]) -> dict[Any, dict[str, str]]:
    """Return the answers to items of cells: blanks around their names do not matter."""
    found: dict[Any, dict[str, str]] = defaultdict(dict)
    for item, said in answers.items():
        name = item.strip() if isinstance(item, str) else item
        if any(found[name].get(expert, label) != label for expert, label in said.items()):
            raise UndecidedError("two answers")
        found[name] |= said
    return dict(found)


def best(classes: list[str], experts: dict[str, set[str]], answers: dict[str, str]) -> set[str]:
    """Return the classes with the greatest share N_k / d_k of their authorities who answered."""
    share = {}
    for k in classes:
        heard = [label for expert, label in answers.items() if k in experts.get(expert, ())]
        if heard:
            share[k] = Fraction(heard.count(k), len(heard))
    return {k for k, s in share.items() if s == max(share.values())}


def disagreement(
    votes: Path, panel: Path, labels: Path, drop: bool, loose: bool, authority: bool
) -> str | None:
    """Return how the labels of an accepted file differ from the authority vote; None if they do not.

    With `drop`, answers that an expert cannot give count as silence; else none is accepted. With `loose`,
    names match over case, blanks and accents. Labels other than by the method `authority` may differ; only
    which items there are is compared then.
    """
    try:
        classes, experts = panel_of(panel)
        answers = answers_of(rows_of(votes), Names(list(experts), loose), Names(classes, loose, NONE))
        if loose:
            answers = trimmed(answers)
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
    for item, said in wanted.items() if authority else ():
        row = got[item] if item in got else next(r for i, r in got.items() if str(i) == str(item))
        winners = best(classes, experts, said)
        label = None if row["label"] is None else str(row["label"])
        if (len(winners) == 1 and {label} != winners) or (label is not None and label not in winners):
            return f"item {item!r} is {label!r}, the authority vote says {sorted(winners)}"
        if len(winners) > 1 and row["status"] not in ("tied", "incomplete"):
            return f"item {item!r} is tied, its status is {row['status']!r}"
    return None
