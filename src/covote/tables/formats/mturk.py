"""Amazon Mechanical Turk: the results of a batch as CSV, one row for each assignment.

Format: https://docs.aws.amazon.com/AWSMechTurk/latest/RequesterUI (API version 2017-01-17).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from covote.tables.formats import crowd_forms
from covote.tables.formats.exported_answers import ExportedAnswers

_ANSWER, _INPUT = "Answer.", "Input."


def fits(names: Mapping[str, Any]) -> bool:
    """Whether these are the columns of a batch."""
    return {"HITId", "WorkerId"} <= set(names) and any(name.startswith(_ANSWER) for name in names)


def read(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the assignments that were not rejected."""
    for row in records:
        if str(row.get("AssignmentStatus")).lower() == "rejected":
            rows.drop("rejected assignment")
            continue
        rows.add(
            row["HITId"],
            row["WorkerId"],
            crowd_forms.answers(_form(row)),
            more={name.removeprefix(_INPUT): said for name, said in row.items() if name.startswith(_INPUT)},
            what=f"assignment {row.get('AssignmentId')}",
        )


def _form(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form that a worker filled in.

    It is JSON in ``Answer.taskAnswers``, or each element has a column. A group of radio buttons has one for
    each option, ``Answer.animal.cat`` and ``Answer.animal.dog``, with true in one of them.
    """
    form: dict[str, Any] = {}
    for name, said in row.items():
        if not name.startswith(_ANSWER) or said is None:
            continue
        question, dot, option = (name := name.removeprefix(_ANSWER)).rpartition(".")
        if name == "taskAnswers":
            (answers,) = json.loads(said)
            form |= answers
        elif dot and said.lower() in ("true", "false"):
            form.setdefault(question, {})[option] = said.lower() == "true"
        else:
            form[name] = json.loads(said) if dot and option == "labels" else said
    return form
