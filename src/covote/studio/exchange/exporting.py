"""Files that leave the studio: votes and panel as `covote decode` reads them, labels with provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, select

from covote.files import decode_file
from covote.studio.answers.results import Results, shown_lists
from covote.studio.people.managing import decisions
from covote.studio.people.roster import Roster
from covote.studio.rules import Refused
from covote.studio.storage.schema import answer, item

FORMATS = ("parquet", "csv", "jsonl")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings at which a spreadsheet takes a text for a formula."""


def keys_of(connection: Connection, ids: Any) -> pa.Array:
    """Return the keys of items, for ascending ids."""
    wanted = np.asarray(ids)
    rows = connection.execute(
        select(item.c.id, item.c.key).where(item.c.id.between(int(wanted[0]), int(wanted[-1])))
    )
    table = {row.id: row.key for row in rows} if len(wanted) else {}
    return pa.array([table[int(one)] for one in wanted], pa.string())


def votes_table(connection: Connection, results: Results) -> pa.Table:
    """Return the votes that count: item, expert, label."""
    table = results.votes.to_arrow()
    keys = keys_of(connection, results.items)
    repeats = np.repeat(np.arange(len(results.items)), np.diff(results.votes.ragged.indptr))
    return table.set_column(0, "item", keys.take(pa.array(repeats)))


def safe_text(value: Any) -> Any:
    """Return a cell that no spreadsheet runs as a formula.

    >>> safe_text("=HYPERLINK(0)")
    "'=HYPERLINK(0)"
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as its file's ending says; cells of CSV files are safe to open in a spreadsheet."""
    kind = path.suffix.removeprefix(".")
    if kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    elif kind == "jsonl":
        with path.open("w", encoding="utf-8") as lines:
            for batch in table.to_batches(max_chunksize=10_000):
                lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
    elif kind == "csv":
        from pyarrow import csv

        csv.write_csv(_safe(table), path)
    else:
        raise Refused(f"No file of kind {kind!r} can be written; choose one of {', '.join(FORMATS)}.", 404)


def _safe(table: pa.Table) -> pa.Table:
    for n, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(kind):
            values = [safe_text(value) for value in table.column(n).to_pylist()]
            table = table.set_column(n, field.name, pa.array(values, pa.string()))
    return table


def write_labels(connection: Connection, results: Results, path: Path, folder: Path) -> None:
    """Write what `covote decode` writes for the votes and the panel of this project, byte for byte."""
    votes = folder / "votes.parquet"
    write_table(votes_table(connection, results), votes)
    decode_file(votes, path, results.panel)


def provenance_table(connection: Connection, results: Results | None, roster: Roster, flat: bool) -> pa.Table:
    """Return every item with its label, the evidence, the decision, and who said what, when, seeing what.

    In a flat table the answers are one text; else they are a list.
    """
    rows = list(_item_rows(connection, results, roster))
    if flat:
        for row in rows:
            row["answers"] = "; ".join(f"{one['expert']}: {one['answer']}" for one in row["answers"])
    answers = pa.string() if flat else _ANSWERS
    schema = pa.schema([*_COLUMNS, pa.field("answers", answers)])
    return pa.Table.from_pylist(rows, schema)


_COLUMNS = (
    pa.field("item", pa.string()), pa.field("label", pa.string()), pa.field("confidence", pa.float32()),
    pa.field("margin", pa.float32()), pa.field("runner_up", pa.string()), pa.field("violations", pa.int32()),
    pa.field("status", pa.string()), pa.field("gold", pa.string()), pa.field("decided", pa.string()),
    pa.field("decided_by", pa.string()), pa.field("reason", pa.string()),
)  # fmt: skip
_ANSWERS = pa.list_(
    pa.struct(
        [
            pa.field("expert", pa.string()), pa.field("answer", pa.string()), pa.field("at", pa.float64()),
            pa.field("via", pa.string()), pa.field("shown", pa.list_(pa.string())),
        ]
    )
)  # fmt: skip


def _item_rows(connection: Connection, results: Results | None, roster: Roster) -> Iterator[dict[str, Any]]:
    shown, decided = shown_lists(connection), decisions(connection)
    names = {one.id: one.name for one in roster.members}
    listed = {
        one: [roster.class_by_id[k].name for k in sorted(ids) if k in roster.class_by_id]
        for one, ids in shown.items()
    }
    said: dict[int, list[dict[str, Any]]] = {}
    for row in connection.execute(select(answer).order_by(answer.c.id)):
        entry = {
            "expert": names[row.person_id], "answer": roster.answer_name(row.class_id), "at": row.at,
            "via": row.via, "shown": listed[row.options_id],
        }  # fmt: skip
        said.setdefault(row.item_id, []).append(entry)
    labels = results.labels if results is not None else None
    for row in connection.execute(select(item.c.id, item.c.key, item.c.gold).order_by(item.c.position)):
        at = results.position(row.id) if results is not None else None
        decision = decided.get(row.id)
        known = labels is not None and at is not None
        yield {
            "item": row.key,
            "label": labels.value[at] if known and labels is not None else None,
            "confidence": float(labels.confidence[at]) if known and labels is not None else None,
            "margin": float(labels.margin[at]) if known and labels is not None else None,
            "runner_up": labels.runner_up[at] if known and labels is not None else None,
            "violations": int(labels.violations[at]) if known and labels is not None else None,
            "status": str(labels.status[at]) if known and labels is not None else None,
            "gold": roster.class_by_id[row.gold].name if row.gold else None,
            "decided": roster.class_by_id[decision.class_id].name if decision else None,
            "decided_by": decision.by if decision else None,
            "reason": decision.reason if decision else None,
            "answers": said.get(row.id, []),
        }
