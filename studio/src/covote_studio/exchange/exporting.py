"""Exports: votes and panel as `covote decode` reads them, labels with provenance."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi.responses import FileResponse, Response
from sqlalchemy import Connection, select
from starlette.background import BackgroundTask

from covote.files import decode_file
from covote_studio.answers.results import Results, shown_names
from covote_studio.context import Studio
from covote_studio.exchange.table_files import write_table
from covote_studio.people.managing import decisions
from covote_studio.people.roster import Roster
from covote_studio.rules import Refusal
from covote_studio.storage.schema import CHOICE, answer, item

FILES = ("labels.csv", "labels.xlsx", "everything.parquet", "everything.csv", "votes.zip")
"""What can be exported; `votes.zip` has the votes and the panel."""


def export_response(studio: Studio, name: str) -> Response:
    """Send one of :data:`FILES`; it is removed once it is sent."""
    folder = Path(tempfile.mkdtemp(prefix="covote-"))
    try:
        place = write_export(studio, name, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(
        place, filename=name, media_type="application/octet-stream",
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )  # fmt: skip


def write_export(studio: Studio, name: str, folder: Path) -> Path:
    """Write one of :data:`FILES` into a folder, and return its place.

    The labels are what `covote decode` writes for the votes and the panel, byte for byte.
    """
    if name not in FILES:
        raise Refusal(f"There is no such file; choose one of {', '.join(FILES)}.", 404)
    place, votes, panel = folder / name, folder / "votes.parquet", folder / "panel.toml"
    results = studio.results.refresh()
    with studio.database.read() as connection:
        _, roster = studio.snapshot(connection)
        if name.startswith("everything"):
            write_table(_provenance_table(connection, results, roster, flat=name.endswith(".csv")), place)
            return place
        if results is not None:
            write_table(_votes_table(connection, results), votes)
    if name == "votes.zip":
        known = roster.panel if results is None else results.panel
        if known is None or not len(known):
            raise Refusal("There is no panel yet: add classes, and people who know some.", 409)
        known.save(panel)
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
            for one in (panel, votes):
                if one.exists():
                    archive.write(one, one.name)
    elif results is None:
        raise Refusal("No one has answered yet; export again when someone has.", 409)
    else:
        decode_file(votes, place, results.panel)
    return place


def _keys_of(connection: Connection, ids: Any) -> pa.Array:
    """Return the keys of items, for ascending ids."""
    wanted = np.asarray(ids)
    rows = connection.execute(
        select(item.c.id, item.c.key).where(item.c.id.between(int(wanted[0]), int(wanted[-1])))
    )
    table = {row.id: row.key for row in rows}
    return pa.array([table[int(one)] for one in wanted], pa.string())


def _votes_table(connection: Connection, results: Results) -> pa.Table:
    """Return the votes that count: item, expert, label."""
    table = results.votes.to_arrow()
    keys = _keys_of(connection, results.items)
    repeats = np.repeat(np.arange(len(results.items)), np.diff(results.votes.ragged.indptr))
    return table.set_column(0, "item", keys.take(pa.array(repeats)))


def _provenance_table(
    connection: Connection, results: Results | None, roster: Roster, flat: bool
) -> pa.Table:
    """Return every item with its label, evidence, decision and answers, with times and the classes shown.

    In a flat table the answers are one text; otherwise they are a list.
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
    pa.field("retired", pa.bool_()),
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
    shown, decided = shown_names(connection, roster), decisions(connection)
    names = {one.id: one.name for one in roster.members}
    answers: dict[int, list[dict[str, Any]]] = {}
    for row in connection.execute(select(answer, CHOICE).order_by(answer.c.id)):
        entry = {
            "expert": names[row.person_id], "answer": roster.vote_name(row.choice), "at": row.at,
            "via": row.via, "shown": shown[row.options_id],
        }  # fmt: skip
        answers.setdefault(row.item_id, []).append(entry)
    wanted = select(item.c.id, item.c.key, item.c.gold, item.c.retired).order_by(item.c.position)
    for row in connection.execute(wanted):
        decision = decided.get(row.id)
        at = None if results is None else results.position(row.id)
        yield {
            "item": row.key,
            **({} if results is None or at is None else results.verdict(at)),
            "gold": roster.vote_name(row.gold) if row.gold else None,
            "decided": roster.vote_name(decision.class_id) if decision else None,
            "decided_by": decision.by if decision else None,
            "reason": decision.reason if decision else None,
            "retired": row.retired,
            "answers": answers.get(row.id, []),
        }
