"""Exports of other tools with odd ids, odd names and damage, and what a careful reader finds in them.

The answers are made first, as (id of the item, expert, label) for each record; every tool writes them in its
way.
Two records are one item only if they bear the same id; a record without an id is an item of its own.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz import mutators

LABELS = ["robin", "magpie", "raven", "wren"]
MISSING = object()
"""The key of an id is not there at all."""
ODD_IDS = [
    MISSING, None, "", " ", 0, 1, 2, 3, "0", "1", "2", "3", "i1", "I1", "i1 ", "1.0", 1.0, 1.5, -1, 2**53 + 1,
    2**63, 2**64, True, "nan", "null", "None", "a,b", "a\nb", "i\u0301", "\u00ed", "皮", "x" * 300, ["i1"],
    {},
]  # fmt: skip
ODD_EXPERTS = ["ann", "Ann", "ann ", "", None, 1, "1", 1.0, 2**63, True, "皮", ["ann"], {}]
ODD_LABELS = ["Robin", "robin ", "", None, 7, 2.5, True, ["robin"], ["robin", "wren"], [], {}, "none of mine"]


@dataclass
class Record:
    """An item as one record of an export has it, and the answers there."""

    id: Any
    answers: list[tuple[Any, Any]]
    is_damaged: bool = False


@dataclass
class Written:
    """An export on disk, and the records that are in it, file by file."""

    path: Path
    files: list[list[Record]]
    is_whole: bool = True
    """Whether what cannot be read as answers was not damaged, so that all answers can be compared."""


def make(random: Random, folder: Path) -> tuple[str, Written]:
    """Write an export of a random tool into a folder; return the tool's name and what is in it."""
    tool = random.choice(list(TOOLS))
    files = [
        _records(random, number) for number in range(random.choice([1, 1, 2, 3]) if tool in FOLDERS else 1)
    ]
    how = random.random()
    if how < 0.6:
        _make_odd(random, files)
    written = TOOLS[tool](random, folder, files)
    if how >= 0.5:
        _damage(random, written, one_each=tool in FOLDERS)
    return tool, written


def _records(random: Random, file: int) -> list[Record]:
    names = random.sample(["ann", "bob", "cy", "dee"], random.randrange(1, 5))
    first = random.choice([0, 100 * file])
    numbered = random.random() < 0.3
    return [
        Record(
            first + n if numbered else f"i{first + n}",
            [(e, random.choice(LABELS)) for e in names if random.random() < 0.8],
        )
        for n in range(random.choice([1, 2, 5, 12]))
    ]


def _make_odd(random: Random, files: list[list[Record]]) -> None:
    """Change a few ids, experts and labels."""
    whole = random.random() < 0.2
    if whole:  # none of them has an id
        for record in (r for records in files for r in records):
            record.id = MISSING
    for _ in range(random.choice([1, 1, 2, 4])):
        record = random.choice(random.choice(files))
        what = random.random()
        if what < 0.6 or not record.answers:
            record.id = random.choice(ODD_IDS)
            continue
        place = random.randrange(len(record.answers))
        expert, label = record.answers[place]
        new = (random.choice(ODD_EXPERTS), label) if what < 0.8 else (expert, random.choice(ODD_LABELS))
        record.answers[place] = new


def _damage(random: Random, written: Written, one_each: bool) -> None:
    """Damage a file: values of one record of JSON (with `one_each`, of one item), else bytes anywhere."""
    place = written.path
    paths = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
    number = random.randrange(len(paths))
    path, data = paths[number], paths[number].read_bytes()
    if path.suffix in (".json", ".jsonl") and data.strip() and random.random() < 0.7:
        lines = path.suffix == ".jsonl"
        tree = [json.loads(line) for line in data.decode().splitlines()] if lines else json.loads(data)
        if isinstance(tree, list) and tree:
            which = random.randrange(len(tree))
            tree[which] = mutators.damaged_tree(random, tree[which])
            if one_each:
                written.files[number][which].is_damaged = True
        else:
            tree, one_each = mutators.damaged_tree(random, tree), False
        path.write_text("".join(json.dumps(one) + "\n" for one in tree) if lines else json.dumps(tree))
        written.is_whole = one_each
        return
    written.is_whole = False
    if path.suffix == ".parquet" and random.random() < 0.7:
        data = mutators.damaged_parquet(random, data, pq.read_metadata(path))
    else:
        data = mutators.damaged(random, data)
    path.write_bytes(data)


def _with_id(name: str, value: Any, record: dict[str, Any]) -> dict[str, Any]:
    return record if value is MISSING else {name: value, **record}


def _save(folder: Path, ending: str, files: list[list[Record]], trees: list[list[Any]]) -> Written:
    """Write records of JSON to one file, or to a folder if there are several."""
    place = folder / "export"
    paths = [folder / f"export{ending}"]
    if len(trees) > 1:
        place.mkdir()
        paths = [place / f"part-{n}{ending}" for n in range(len(trees))]
    for path, records in zip(paths, trees, strict=True):
        if ending == ".jsonl":
            path.write_text("".join(json.dumps(one) + "\n" for one in records))
        else:
            path.write_text(json.dumps(records))
    return Written(place if len(trees) > 1 else paths[0], files)


def _choices(label: Any) -> Any:
    return label if isinstance(label, list) else [] if label is None else [label]


def label_studio(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """Tasks with annotations; the item is a field of the data or the number of the task."""
    in_data = random.random() < 0.5

    def task(record: Record) -> dict[str, Any]:
        kind = {"from_name": "bird", "to_name": "x", "type": "choices"}
        said = [
            {"completed_by": expert, "result": [{**kind, "value": {"choices": _choices(label)}}]}
            for expert, label in record.answers
        ]
        own = {} if not in_data or record.id is MISSING else {"item": record.id}
        return _with_id(
            "id", MISSING if in_data else record.id, {"data": {"image": "x", **own}, "annotations": said}
        )

    return _save(folder, ".json", files, [[task(r) for r in records] for records in files])


def label_studio_min(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """One object for each annotation."""
    every = [
        _with_id("id", r.id, {"bird": label, "annotator": expert, "annotation_id": n})
        for n, (r, expert, label) in enumerate((r, e, x) for r in files[0] for e, x in r.answers)
    ]  # fmt: skip
    return _save(folder, ".json", files, [every])


def argilla(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """Records of 2.x, whose responses are grouped by question, or of 1.x."""
    name, old = random.choice(["id", "external_id"]), random.random() < 0.5

    def record(one: Record) -> dict[str, Any]:
        said: Any = {"bird": [{"value": label, "user_id": expert} for expert, label in one.answers]}
        if old:
            said = [
                {"user_id": expert, "values": {"bird": {"value": label}}, "status": "submitted"}
                for expert, label in one.answers
            ]
        return _with_id(name, one.id, {"fields": {"text": "x"}, "responses": said})

    return _save(
        folder, random.choice([".json", ".jsonl"]), files, [[record(r) for r in part] for part in files]
    )


def ground_truth(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """Objects with annotations whose content is JSON inside of JSON."""

    def one(record: Record) -> dict[str, Any]:
        said = [
            {"workerId": e, "annotationData": {"content": json.dumps({"bird": {"label": label}})}}
            for e, label in record.answers
        ]
        return _with_id("datasetObjectId", record.id, {"dataObject": {"s3Uri": "x"}, "annotations": said})

    return _save(folder, ".json", files, [[one(r) for r in records] for records in files])


def prodigy(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """A line for each answer; the name of the file stands for an annotator without a name."""
    for record in files[0]:
        record.answers = [(expert or "export", label) for expert, label in record.answers]
    every = [
        _with_id("_input_hash", r.id, {"accept": _choices(x), "answer": "accept", "_annotator_id": expert})
        for r in files[0]
        for expert, x in r.answers
    ]
    return _save(folder, ".jsonl", files, [every])


def mturk(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """Rows of assignments, in CSV."""
    return _table(folder, ".csv", files, ("HITId", "WorkerId", "Answer.bird.label"))


def label_studio_csv(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """Rows of annotations, in CSV."""
    return _table(folder, ".csv", files, ("id", "annotator", "bird"), is_sorted=True)


def _table(
    folder: Path, ending: str, files: list[list[Record]], names: tuple[str, str, str], is_sorted: bool = False
) -> Written:
    """Write a row for each answer; Label Studio sorts its columns by their names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", delimiter=",")
    order = [1, 2, 0] if is_sorted else [0, 1, 2]
    more = ["annotation_id"] if is_sorted else []
    writer.writerow([*more, *(names[n] for n in order)])
    for record in files[0]:
        # A cell is text: what has no text of its own is not there.
        record.id = _text(record.id)
        record.answers = [(_text(e), _text(x)) for e, x in record.answers]
        for row in ((record.id, *said) for said in record.answers):
            writer.writerow([*("7" for _ in more), *(row[n] for n in order)])
    path = folder / f"export{ending}"
    path.write_text(out.getvalue())
    return Written(path, files)


def _text(value: Any) -> str:
    return "" if value is MISSING or value is None or isinstance(value, list | dict) else str(value)


def doccano(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """A folder with a file for each member."""
    members = dict.fromkeys(
        e for r in files[0] for e, _ in r.answers if isinstance(e, str) and e.strip() and e != "Ann"
    )
    place = folder / "export"
    place.mkdir()
    for record in files[0]:
        record.answers = [(e, x) for e, x in record.answers if isinstance(e, str) and e in members]
    for name in members or {"ann": None}:
        said = [(r, x) for r in files[0] for e, x in r.answers if e == name]
        lines = (_with_id("id", r.id, {"text": "x", "label": _choices(x)}) for r, x in said)
        (place / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Written(place, files)


def hugging_face(random: Random, folder: Path, files: list[list[Record]]) -> Written:
    """A dataset on disk, or one Parquet file, with numbers for classes."""
    rows = [
        (str(r.id), str(e), x) for r in files[0] for e, x in r.answers if r.id is not MISSING and x in LABELS
    ]
    for record in files[0]:
        record.id = record.id if record.id is MISSING else str(record.id)
        record.answers = [(str(e), x) for e, x in record.answers if record.id is not MISSING and x in LABELS]
    columns = [[row[n] for row in rows] for n in range(2)]
    numbers = pa.array([LABELS.index(x) for _, _, x in rows], pa.int64())
    table = pa.table(
        {
            "item": pa.array(columns[0], pa.string()),
            "expert": pa.array(columns[1], pa.string()),
            "label": numbers,
        }
    )
    features = {
        "item": {"dtype": "string", "_type": "Value"},
        "expert": {"dtype": "string", "_type": "Value"},
        "label": {"names": LABELS, "_type": "ClassLabel"},
    }
    if random.random() < 0.5:
        path = folder / "export.parquet"
        about = {"huggingface": json.dumps({"info": {"features": features}})}
        pq.write_table(table.replace_schema_metadata(about), path)
        return Written(path, files)
    place = folder / "export"
    place.mkdir()
    with pa.OSFile(str(place / "data.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    (place / "dataset_info.json").write_text(json.dumps({"features": features}))
    (place / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return Written(place, files)


TOOLS = {
    "label-studio": label_studio, "label-studio-min": label_studio_min, "label-studio-csv": label_studio_csv,
    "argilla": argilla, "ground-truth": ground_truth, "prodigy": prodigy, "doccano": doccano, "mturk": mturk,
    "hugging-face": hugging_face,
}  # fmt: skip
FOLDERS = {"label-studio", "argilla", "ground-truth"}
"""Tools of which several files may lie in a folder."""


def disagreement(written: Written, table: Path, loose: bool) -> str | None:
    """Return how a table of answers differs from what the export says; None if it does not.

    With `loose`, blanks around the names of items do not matter.
    """
    if not written.is_whole:
        return None
    rows = [row for row in pq.read_table(table).to_pylist() if row["label"] is not None]
    got = Counter((str(row["item"]), str(row["expert"]), str(row["label"])) for row in rows)
    wanted: Counter[tuple[str, str, str]] = Counter()
    has_damage = False
    for number, records in enumerate(written.files):
        for place, record in enumerate(records):
            has_damage |= record.is_damaged
            named = record.id is not MISSING and record.id is not None and record.id != ""
            named = named and not isinstance(record.id, list | dict)
            name = str(record.id) if named else f"nameless {number} {place}"
            name = name.strip() if loose else name
            for expert, label in [] if record.is_damaged else record.answers:
                said = label[0] if isinstance(label, list) and len(label) == 1 else label
                if expert not in (None, "") and said not in (None, "", []):
                    wanted[name, str(expert), str(said)] += 1
    distinct, items = {name for name, _, _ in wanted}, {name for name, _, _ in got}
    if len(items) < len(distinct) or (len(items) > len(distinct) and not has_damage):
        return f"{len(distinct)} items became {len(items)}: {sorted(distinct)[:6]} {sorted(items)[:6]}"
    lost = [key for key in wanted if not key[0].startswith("nameless") and key not in got]
    if lost or got.total() < len(wanted):
        return f"answers were lost or changed: {lost[:3]}, {len(wanted)} became {got.total()}"
    return None
