"""Amazon Mechanical Turk: the results of a batch as CSV, one row for each assignment.

Format: https://docs.aws.amazon.com/AWSMechTurk/latest/RequesterUI (API version 2017-01-17).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from covote.tables.formats.rows import Rows, ticked

_ANSWER, _INPUT = "Answer.", "Input."


def fits(names: Mapping[str, Any]) -> bool:
    """Whether these are the columns of a batch."""
    return {"HITId", "WorkerId"} <= set(names) and any(name.startswith(_ANSWER) for name in names)


def read(records: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Add the assignments that were not rejected.

    A group of radio buttons has one column for each option, ``Answer.animal.cat`` and ``Answer.animal.dog``,
    with true in one of them.
    """
    for row in records:
        if row.get("AssignmentStatus") == "Rejected":
            rows.drop("rejected assignment")
            continue
        more = {name.removeprefix(_INPUT): value for name, value in row.items() if name.startswith(_INPUT)}
        said = {name.removeprefix(_ANSWER): value for name, value in row.items() if name.startswith(_ANSWER)}
        labels: dict[str, Any] = {}
        groups: dict[str, dict[str, Any]] = {}
        for name, value in said.items():
            question, dot, option = name.rpartition(".")
            if dot and str(value).lower() in ("true", "false"):
                groups.setdefault(question, {})[option] = str(value).lower()
            else:
                labels[name] = value
        what = f"assignment {row.get('AssignmentId')}"
        rows.add(
            row["HITId"],
            row["WorkerId"],
            labels | {question: ticked(boxes, what) for question, boxes in groups.items()},
            more=more,
        )
