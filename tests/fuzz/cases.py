"""Cases: whole inputs of a command, of which one file is damaged. A case is its number, on every machine."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz import exports, mutators

BEFORE = b"labels of yesterday"

EXPERTS = """
def expert(known):
    def answer(batch):
        values = batch["x"] if isinstance(batch, dict) else batch.reshape(len(batch), -1)[:, 0]
        return [known[int(abs(float(x))) % len(known)] if abs(float(x)) < 1e9 else known[0] for x in values]
    return answer

def __getattr__(name):
    if name.startswith("knows_"):
        return expert(name[6:].split("_"))
    raise AttributeError(name)
"""


@dataclass
class Case:
    """A command in a folder of its own, and what the oracle compares."""

    kind: str
    argv: list[str]
    votes: Path | None = None
    panel: Path | None = None
    same: bytes | None = None
    """Labels that the command has to write if it accepts the files, whatever was damaged."""
    export: exports.Written | None = None
    typed: str = ""
    """What a person types, line by line."""


def make(number: int, folder: Path, what: str = "files") -> Case:
    """Write the files of a case into an empty folder."""
    random = Random(number)
    case = random.choice(KINDS[what])(random, folder)
    if case.argv[-2:] == ["--match", "exact"] and random.random() < 0.5:
        case.argv[-1] = "loose"
        if case.votes is not None and case.panel is not None and case.kind.startswith("votes"):
            _loosen(random, case.votes, case.panel)
    if "--method" not in case.argv and case.argv[0] == "decode" and random.random() < 0.75:
        case.argv[-2:-2] = ["--method", "authority"]  # whose labels the oracle knows
    return case


def _loosen(random: Random, votes: Path, panel: Path) -> None:
    """Write some names of a text file as people do: in other letters, with blanks and accents."""
    if votes.suffix not in (".csv", ".tsv", ".jsonl"):
        return
    tree, data = json.loads(panel.read_text()), votes.read_bytes()
    names = [*map(str, tree["classes"]), *(e["name"] for e in tree["experts"]), "none of mine"]
    for _ in range(random.choice([1, 3, 10])):
        name = random.choice(names)
        other = random.choice(
            [
                name.upper(), name.title(), f" {name}", f"{name}  ", f"\u00a0{name}",
                f"{name[0]}\u0301{name[1:]}", f"{name}.0", f"{name[:1]} {name[1:]}",
                f"{name}\u200b", name.swapcase(), "N/A", "–", " ",
            ]
        )  # fmt: skip
        found = list(re.finditer(rb"(?<![\w-])" + re.escape(name.encode()) + rb"(?![\w-])", data))
        if found:
            where = random.choice(found)
            data = data[: where.start()] + other.encode() + data[where.end() :]
    votes.write_bytes(data)


def _panel(random: Random) -> tuple[list[Any], dict[Any, list[Any]]]:
    count = random.randrange(2, 7)
    classes: list[Any] = random.choice(
        [
            list(range(count)),
            ["skin", "eye", "ear", "lip", "toe", "jaw"][:count],
            [f"c{n}" for n in range(count)],
        ]
    )
    experts: dict[Any, list[Any]] = {}
    for n in range(random.randrange(2, 7)):
        known = sorted(random.sample(range(count), random.randrange(1, count + 1)))
        experts[random.choice([f"dr-{n}", f"e{n}"])] = [classes[k] for k in known]
    return classes, experts


def _rows(random: Random, experts: dict[Any, list[Any]], items: list[Any]) -> list[tuple[Any, Any, Any]]:
    rows = []
    for item in items:
        for name, known in experts.items():
            if random.random() < 0.8:
                rows.append(
                    (
                        item,
                        name,
                        "none of mine"
                        if random.random() < 0.1 and isinstance(known[0], str)
                        else random.choice(known),
                    )
                )
    if random.random() < 0.5:
        random.shuffle(rows)
    return rows or [(items[0], *next((n, k[0]) for n, k in experts.items()))]


def _items(random: Random) -> list[Any]:
    count = random.choice([1, 3, 12, 40])
    how = random.randrange(6)
    if how == 0:
        return [f"i{n}" for n in range(count)]
    if how == 1:
        return [2**53 + n for n in range(count)]
    if how == 2:
        return [2**63 - 41 + n for n in range(count)]
    if how == 3:
        return [f"2020-01-{n + 1:02d}" for n in range(min(count, 28))]
    if how == 4:
        return random.sample(range(-1000, 1000), count)
    return list(range(count))


def _toml(tree: dict[str, Any]) -> str:
    lines = [f"classes = {json.dumps(tree.get('classes'))}"]
    for expert in tree.get("experts", []):
        lines += (
            ["[[experts]]", *(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in expert.items())]
            if isinstance(expert, dict)
            else []
        )
    return "\n".join(lines) + "\n"


def _csv_panel(tree: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["expert", *tree["classes"]])
    for e in tree["experts"]:
        writer.writerow([e["name"], *(int(c in e["knows"]) for c in tree["classes"])])
    return out.getvalue()


def _tree(classes: list[Any], experts: dict[Any, list[Any]]) -> dict[str, Any]:
    return {"classes": classes, "experts": [{"name": n, "knows": k} for n, k in experts.items()]}


def _write_panel(folder: Path, classes: list[Any], experts: dict[Any, list[Any]]) -> Path:
    path = folder / "panel.json"
    path.write_text(json.dumps(_tree(classes, experts)))
    return path


def _decode(kind: str, folder: Path, votes: Path, panel: Path, *more: str) -> Case:
    (folder / "labels.parquet").write_bytes(BEFORE)
    argv = ["decode", str(votes), "--panel", str(panel), "-o", str(folder / "labels.parquet"), *more]
    if not more and kind.startswith("votes") and Random(kind + str(votes.stat().st_size)).random() < 0.5:
        argv += ["--unknown", "drop"]  # more files are accepted, and their labels compared
    argv += ["--match", "exact"]
    return Case(kind, argv, votes, panel)


def _csv(rows: list[tuple[Any, ...]], head: tuple[str, ...], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", delimiter=delimiter)
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue().encode()


def _wide(
    rows: list[tuple[Any, Any, Any]], experts: dict[Any, list[Any]]
) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    table: dict[Any, dict[Any, Any]] = {}
    for item, name, label in rows:
        table.setdefault(item, {})[name] = label
    return [(i, *(a.get(n) for n in experts)) for i, a in table.items()], ("item", *map(str, experts))


def votes_text(random: Random, folder: Path) -> Case:
    """CSV, TSV, compressed CSV and JSON-lines, long and wide; cells, lines or bytes are damaged."""
    classes, experts = _panel(random)
    rows: list[tuple[Any, ...]] = _rows(random, experts, _items(random))
    head: tuple[str, ...] = ("item", "expert", "label")
    if random.random() < 0.4:
        rows, head = _wide(rows, experts)
    values = random.random() < 0.6
    if values:
        for _ in range(random.choice([1, 1, 2, 5])):
            n, c = random.randrange(len(rows)), random.randrange(len(head))
            odd = random.choice(
                [
                    *mutators.ODD_TEXTS,
                    *mutators.ODD_NUMBERS,
                    None,
                    *classes,
                    rows[random.randrange(len(rows))][c],
                ]
            )
            rows[n] = (*rows[n][:c], odd, *rows[n][c + 1 :])
    kind = random.choice(["csv", "csv", "tsv", "csv.gz", "jsonl", "jsonl", "jsonl"])
    if kind == "jsonl":
        lines = [
            {c: v for c, v in zip(head, row, strict=True) if v is not None or random.random() < 0.5}
            for row in rows
        ]
        data = "".join(json.dumps(line, ensure_ascii=random.random() < 0.5) + "\n" for line in lines).encode(
            "utf-8", "surrogatepass"
        )
    else:
        data = _csv(rows, head, "\t" if kind == "tsv" else ",")
    if not values or random.random() < 0.2:
        data = mutators.damaged(random, data)
    if kind == "csv.gz":
        data = gzip.compress(data, mtime=0)
        if random.random() < 0.3:
            data = mutators.damaged(random, data)
    votes = folder / f"votes.{kind}"
    votes.write_bytes(data)
    return _decode(f"votes {kind}", folder, votes, _write_panel(folder, classes, experts))


def votes_sheet(random: Random, folder: Path) -> Case:
    """Spreadsheets with titles, empty rows and odd cells; rows in any order, at any place; bytes damaged."""
    classes, experts = _panel(random)
    rows: list[tuple[Any, ...]] = _rows(random, experts, _items(random))
    head: tuple[str, ...] = ("item", "expert", "label")
    if random.random() < 0.4:
        rows, head = _wide(rows, experts)
    for _ in range(random.choice([0, 1, 1, 3])):
        n, c = random.randrange(len(rows)), random.randrange(len(head))
        odd = random.choice([*mutators.ODD_TEXTS, *mutators.ODD_NUMBERS, True, None, rows[0][c]])
        rows[n] = (*rows[n][:c], odd, *rows[n][c + 1 :])
    titles = [("votes of May",), (), ("made", "2024-05-01")][: random.choice([0, 0, 1, 2])]
    numbers, number = [], 0
    for _ in range(len(titles) + 1 + len(rows)):
        number += 1 if random.random() < 0.95 else 2
        numbers.append(number)
    if random.random() < 0.2:
        numbers[-1] = random.choice([10**9, 2**20, 2**20 + 1, 0, -1, numbers[0]])
    lines = [_sheet_row(n, row) for n, row in zip(numbers, [*titles, head, *rows], strict=True)]
    if random.random() < 0.3:
        random.shuffle(lines)
    votes = folder / "votes.xlsx"
    with zipfile.ZipFile(votes, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in SHEET_PARTS.items():
            packed.writestr(zipfile.ZipInfo(name), text.replace("ROWS", "".join(lines)))
    if random.random() < 0.3:
        votes.write_bytes(mutators.damaged(random, votes.read_bytes()))
    return _decode("votes xlsx", folder, votes, _write_panel(folder, classes, experts))


def _sheet_row(number: int, cells: tuple[Any, ...]) -> str:
    found = []
    for column, value in enumerate(cells):
        place = f"{chr(65 + column)}{number}"
        if isinstance(value, bool):
            found.append(f'<c r="{place}" t="b"><v>{int(value)}</v></c>')
        elif isinstance(value, int | float):
            found.append(f'<c r="{place}"><v>{value!r}</v></c>')
        elif value is not None:
            text = "".join(c for c in escape(value) if c >= " " or c in "\t\n\r")
            found.append(f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>')
    return f'<row r="{number}">{"".join(found)}</row>'


_OFFICE = "http://schemas.openxmlformats.org"
SHEET_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/'
    'vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>'
    "</Relationships>",
    "xl/workbook.xml": f'<workbook xmlns="{_OFFICE}/spreadsheetml/2006/main" '
    f'xmlns:r="{_OFFICE}/officeDocument/2006/relationships"><sheets><sheet name="one" sheetId="1" '
    'r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/>'
    "</Relationships>",
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_OFFICE}/spreadsheetml/2006/main"><sheetData>ROWS'
    "</sheetData></worksheet>",
}
"""The parts of the smallest spreadsheet, in which the rows are put."""


def _column(random: Random, values: list[Any]) -> pa.Array:
    array = pa.array(values)
    if pa.types.is_string(array.type):
        return random.choice([array, array.dictionary_encode(), array.cast(pa.large_string())])
    if pa.types.is_integer(array.type):
        small = max(map(abs, values)) < 100
        return array.cast(
            random.choice(
                [
                    pa.int64(),
                    pa.int16() if small else pa.int64(),
                    pa.float64() if small else pa.int64(),
                    pa.decimal256(40, 2) if small else pa.int64(),
                ]
            )
        )
    return array


def votes_parquet(random: Random, folder: Path) -> Case:
    """Parquet files, long and wide, of several types; pages, dictionaries and footers are damaged."""
    classes, experts = _panel(random)
    rows: list[tuple[Any, ...]] = _rows(random, experts, _items(random))
    head: tuple[str, ...] = ("item", "expert", "label")
    if random.random() < 0.4:
        rows, head = _wide(rows, experts)
    columns: list[Any] = []
    for c in range(len(head)):
        values = [row[c] for row in rows]
        if len({type(v) for v in values if v is not None}) > 1:
            values = [None if v is None else str(v) for v in values]
        columns.append(_column(random, values) if None not in values else pa.array(values))
    table = pa.table(columns, names=list(head))
    votes = folder / "votes.parquet"
    how = {
        "row_group_size": random.choice([1000, 50, 7]),
        "compression": random.choice(["none", "none", "snappy"]),
        "use_dictionary": random.random() < 0.7,
        "data_page_version": random.choice(["1.0", "2.0"]),
        "write_page_index": random.random() < 0.3,
    }
    pq.write_table(table, votes, **how)
    if random.random() < 0.95:
        votes.write_bytes(mutators.damaged_parquet(random, votes.read_bytes(), pq.read_metadata(votes)))
    return _decode("votes parquet", folder, votes, _write_panel(folder, classes, experts))


def panel_case(random: Random, folder: Path) -> Case:
    """Panels in TOML, JSON and CSV; the tree or the text is damaged."""
    classes, experts = _panel(random)
    votes = folder / "votes.csv"
    votes.write_bytes(_csv(_rows(random, experts, _items(random)), ("item", "expert", "label")))
    tree = _tree(classes, experts)
    kind = random.choice(["toml", "json", "csv"])
    if kind != "csv" and random.random() < 0.6:
        tree = mutators.damaged_tree(random, tree)
        tree = tree if isinstance(tree, dict) else {"classes": tree}
    try:
        text = {"toml": _toml, "json": json.dumps, "csv": _csv_panel}[kind](tree)
    except (TypeError, AttributeError, RecursionError):
        text = repr(tree)
    data = text.encode("utf-8", "surrogatepass")
    if kind == "csv" or random.random() < 0.5:
        data = mutators.damaged(random, data)
    panel = folder / f"panel.{kind}"
    panel.write_bytes(data)
    return _decode(f"panel {kind}", folder, votes, panel)


def gold_case(random: Random, folder: Path) -> Case:
    """Gold in CSV, JSON-lines and Parquet, for a method that uses it."""
    classes, experts = _panel(random)
    items = _items(random)
    votes = folder / "votes.csv"
    votes.write_bytes(_csv(_rows(random, experts, items), ("item", "expert", "label")))
    rows: list[tuple[Any, ...]] = [(i, random.choice(classes)) for i in items]
    kind = random.choice(["csv", "jsonl", "parquet"])
    gold = folder / f"gold.{kind}"
    if kind == "parquet":
        pq.write_table(
            pa.table({"item": [r[0] for r in rows], "label": [r[1] for r in rows]}), gold, compression="none"
        )
        gold.write_bytes(mutators.damaged_parquet(random, gold.read_bytes(), pq.read_metadata(gold)))
    else:
        if random.random() < 0.6:
            n, c = random.randrange(len(rows)), random.randrange(2)
            odd = random.choice([*mutators.ODD_TEXTS, *mutators.ODD_NUMBERS, None])
            rows[n] = (*rows[n][:c], odd, *rows[n][c + 1 :])
        data = _csv(rows, ("item", "label"))
        if kind == "jsonl":
            data = "".join(json.dumps({"item": r[0], "label": r[1]}) + "\n" for r in rows).encode(
                "utf-8", "surrogatepass"
            )
        if random.random() < 0.5:
            data = mutators.damaged(random, data)
        gold.write_bytes(data)
    case = _decode(
        f"gold {kind}",
        folder,
        votes,
        _write_panel(folder, classes, experts),
        "--gold",
        str(gold),
        "--method",
        random.choice(["learned", "em", "dawid-skene"]),
    )
    case.votes = None
    return case


def statistics_case(random: Random, folder: Path) -> Case:
    """Statistics, for a method that goes on from them."""
    from covote import Panel
    from covote.decoding import Statistics

    classes, experts = _panel(random)
    votes = folder / "votes.csv"
    votes.write_bytes(_csv(_rows(random, experts, _items(random)), ("item", "expert", "label")))
    panel = Panel.from_dict(_tree(classes, experts))
    method, path = random.choice(["em", "dawid-skene"]), folder / "stats.json"
    cells = len(panel.layout.cells.label) * len(classes)
    share = np.full(len(classes), 1 << 30)
    Statistics.of(panel, method, 5, share, np.arange(cells), np.full(cells, 1 << 28)).save(path)
    data = path.read_bytes()
    if random.random() < 0.7:
        path.write_text(json.dumps(mutators.damaged_tree(random, json.loads(data))))
    else:
        path.write_bytes(mutators.damaged(random, data))
    case = _decode(
        "statistics",
        folder,
        votes,
        _write_panel(folder, classes, experts),
        "--load-stats",
        str(path),
        "--method",
        method,
    )
    case.votes = None
    return case


def _labelling(random: Random, folder: Path, kind: str) -> tuple[Path, Path]:
    """Write data of numbers and a panel of Python functions that label them; return both paths."""
    count, number = random.choice([3, 20]), random.choice(["i8", "f4", "i2"])
    numbers = np.array([random.randrange(-5, 50) for _ in range(count)], dtype=number)
    rows = [(f"i{n}", x) for n, x in enumerate(numbers.tolist())]
    data = folder / f"data.{kind}"
    if kind == "npy":
        np.save(data, numbers.reshape(-1, 1))
    elif kind == "parquet":
        pq.write_table(pa.table({"item": [i for i, _ in rows], "x": numbers}), data, compression="none")
    elif kind == "jsonl":
        data.write_text("".join(json.dumps({"item": i, "x": x}) + "\n" for i, x in rows))
    else:
        data.write_bytes(_csv(rows, ("item", "x")))
    module = "python:fuzzed_experts:knows_"
    known = [["skin", "eye"], ["eye", "ear"], ["skin", "ear"]]
    experts = [{"name": f"e{n}", "knows": k, "model": module + "_".join(k)} for n, k in enumerate(known)]
    panel = folder / "panel.json"
    panel.write_text(json.dumps({"classes": ["skin", "eye", "ear"], "experts": experts}))
    (folder / "fuzzed_experts.py").write_text(EXPERTS)
    (folder / "labels.parquet").write_bytes(BEFORE)
    return data, panel


def data_case(random: Random, folder: Path) -> Case:
    """Data to be labelled, as .npy, .csv, .jsonl and .parquet."""
    kind = random.choice(["npy", "csv", "jsonl", "parquet"])
    data, panel = _labelling(random, folder, kind)
    if kind == "parquet":
        data.write_bytes(mutators.damaged_parquet(random, data.read_bytes(), pq.read_metadata(data)))
    else:
        data.write_bytes(mutators.damaged(random, data.read_bytes()))
    argv = ["label", str(data), "--panel", str(panel), "-o", str(folder / "labels.parquet"), "--trust"]
    return Case(f"data {kind}", argv)


def answers_case(random: Random, folder: Path) -> Case:
    """Answers kept by an earlier run, damaged: the labels stay the same, or the file is rejected."""
    from tests.fuzz.driver import run

    data, panel = _labelling(random, folder, "csv")
    argv = [
        "label",
        str(data),
        "--panel",
        str(panel),
        "-o",
        str(folder / "labels.parquet"),
        "--trust",
        "--batch",
        "4",
    ]
    status, said = run(argv)
    if status != 0:
        raise RuntimeError(said)
    labels = (folder / "labels.parquet").read_bytes()
    file = folder / "labels.answers.sqlite"
    file.write_bytes(mutators.damaged(random, file.read_bytes()))
    (folder / "labels.parquet").write_bytes(BEFORE)
    return Case(f"answers {file.suffix[1:]}", argv, same=labels)


def asking_case(random: Random, folder: Path) -> Case:
    """The state of asking one expert after another, damaged in its bytes, its header or its arrays."""
    from covote import Panel
    from covote.asking import Asker

    classes, experts = _panel(random)
    panel = _write_panel(folder, classes, experts)
    count = random.choice([1, 5, 40])
    ids = random.choice([count, [f"i{n}" for n in range(count)], list(range(7, 7 + count))])
    rule, seed = random.choice(["elimination", "vote"]), random.randrange(99)
    asker = Asker(Panel.load(panel), ids, rule, partial=True, seed=seed)
    for _ in range(random.randrange(12)):
        for question in asker.next(1):
            asker.tell(question.item, question.expert, random.choice([None, *question.classes]))
    state = folder / "state.npz"
    asker.save(state)
    how = random.random()
    if how < 0.3:
        state.write_bytes(mutators.damaged(random, state.read_bytes()))
    else:
        with np.load(state) as stored:
            arrays = dict(stored)
        if how < 0.65:
            head = mutators.damaged_tree(random, json.loads(arrays["head"].tobytes()))
            arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
        else:
            mutators.damage_arrays(random, arrays)
        np.savez(state, **arrays)
    (folder / "labels.parquet").write_bytes(BEFORE)
    lines = [*classes, "none", "skip", "undo", "quit", "", "x"]
    typed = "".join(f"{random.choice(lines)}\n" for _ in range(random.randrange(6)))
    return Case("asking npz", ["ask", "--state", str(state), "--panel", str(panel)], typed=typed)


def export_case(random: Random, folder: Path) -> Case:
    """An export of another tool, turned into a plain table."""
    tool, written = exports.make(random, folder)
    output = folder / "labels.parquet"
    output.write_bytes(BEFORE)
    argv = ["convert", str(written.path), str(output), "--match", "exact"]
    return Case(f"export {tool}", argv, export=written)


KINDS = {
    "files": [
        votes_text, votes_text, votes_sheet, votes_parquet, votes_parquet, votes_parquet, panel_case,
        gold_case, statistics_case, data_case, answers_case,
    ],
    "states": [statistics_case, answers_case, asking_case, asking_case],
    "exports": [export_case],
}  # fmt: skip
"""What is damaged: files that people make, what earlier runs have kept, exports of other tools."""
