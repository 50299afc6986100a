"""Prodigy 1.x: the lines of ``prodigy db-out``, one for each answer; tasks with a choice to review.

Format: https://prodi.gy/docs/api-interfaces (1.18): textcat with one label, and choices with options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from covote.tables.formats.exported_answers import ExportedAnswers, Labelled

_VOID = {"ignore": "ignored answer", "reject": "rejected answer"}


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is an answer."""
    return "_input_hash" in record and "answer" in record


def read(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the answers that were accepted; the hash of the input names the item.

    A rejected label says what an item is not, which is not a vote.
    """
    for record in records:
        item = record["_input_hash"]
        if record.get("answer") != "accept":
            rows.drop(_VOID.get(str(record.get("answer")), "task without an answer"))
            continue
        if "accept" not in record and "label" not in record:
            rows.drop("answer without a choice")
            continue
        expert = record.get("_annotator_id") or record.get("_session_id") or rows.file
        more = {
            name: value for name, value in record.items() if not name.startswith("_") and name != "answer"
        }
        choices = record["accept"] if "accept" in record else record["label"]
        rows.add(item, expert, choices, more=more, what=f"the answer to input {item}")


def tasks(
    labels: Iterable[Labelled], data: Mapping[str, Mapping[str, Any]], classes: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield tasks of the choice interface, which shows the label as chosen."""
    options = [{"id": name, "text": name} for name in classes]
    for item, label, score in labels:
        yield {
            **(data.get(str(item)) or {"text": str(item)}),
            "options": options,
            "accept": [] if label is None else [label],
            "meta": {"item": item, **({} if score is None else {"score": score})},
        }
