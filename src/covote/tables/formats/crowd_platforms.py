"""Crowd platforms: Amazon Mechanical Turk and SageMaker Ground Truth.

Formats: https://docs.aws.amazon.com/AWSMechTurk/latest/RequesterUI (API version 2017-01-17),
https://docs.aws.amazon.com/sagemaker/latest/dg/sms-custom-templates-step3-lambda-requirements.html (version
2018-10-16 of the request), https://docs.aws.amazon.com/sagemaker/latest/dg/sms-ui-template-reference.html.
crowd-kit's frames (task, worker, label) are plain tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from covote.tables.formats.exported_answers import ExportedAnswers

BUTTONS = "buttons"
"""The question that buttons answer which are elements of their own."""
_ANSWER, _INPUT = "Answer.", "Input."  # columns of Mechanical Turk

# Forms of crowd HTML elements, for Mechanical Turk and Ground Truth


def form_answers(form: Any) -> dict[str, Any]:
    """Return the answer to each question of a form, which may be wrapped in a list of one.

    >>> form_answers([{"animal": {"label": "cat"}, "light": {"good": True, "poor": False}}])
    {'animal': 'cat', 'light': ['good']}
    >>> form_answers({"cat": {"on": False}, "dog": {"on": True}})
    {'buttons': ['dog']}
    """
    if isinstance(form, list):
        (form,) = form
    found: dict[str, Any] = {}
    for name, value in form.items():
        if not isinstance(value, Mapping):
            found[name] = value
        elif "labels" in value or "label" in value:
            found[name] = value["labels"] if "labels" in value else value["label"]
        elif value and all(isinstance(ticked, bool) for ticked in value.values()):
            chosen = [option for option, ticked in value.items() if ticked]
            if len(value) > 1:
                found[name] = chosen
            else:
                found.setdefault(BUTTONS, []).extend(name if option == "on" else option for option in chosen)
        else:
            found[name] = value
    return found


# Mechanical Turk: the results of a batch as CSV, a row for each assignment


def fits_mturk(names: Mapping[str, Any]) -> bool:
    """Whether these are the columns of a batch."""
    return {"HITId", "WorkerId"} <= set(names) and any(name.startswith(_ANSWER) for name in names)


def read_mturk(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the assignments that were not rejected."""
    for row in records:
        if str(row.get("AssignmentStatus")).lower() == "rejected":
            rows.drop("rejected assignment")
            continue
        rows.add(
            row["HITId"],
            row["WorkerId"],
            form_answers(_form(row)),
            more={name.removeprefix(_INPUT): value for name, value in row.items() if name.startswith(_INPUT)},
            what=f"assignment {row.get('AssignmentId')}",
        )


def _form(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form that a worker filled in.

    It is JSON in ``Answer.taskAnswers``, or each element has a column. A group of radio buttons has one for
    each option, ``Answer.animal.cat`` and ``Answer.animal.dog``, with true in one of them.
    """
    form: dict[str, Any] = {}
    for name, value in row.items():
        if not name.startswith(_ANSWER) or value is None:
            continue
        question, dot, option = (name := name.removeprefix(_ANSWER)).rpartition(".")
        if name == "taskAnswers":
            (answers,) = json.loads(value)
            form |= answers
        elif dot and value.lower() in ("true", "false"):
            form.setdefault(question, {})[option] = value.lower() == "true"
        else:
            form[name] = json.loads(value) if dot and option == "labels" else value
    return form


# Ground Truth: the file of a consolidation request, with the answers of each worker


def fits_ground_truth(record: Mapping[str, Any]) -> bool:
    """Whether a record is an object of the dataset with its annotations."""
    return "datasetObjectId" in record and "annotations" in record


def read_ground_truth(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the annotations; what a worker said is JSON inside of JSON, one entry for each form element."""
    for record in records:
        item = record["datasetObjectId"]
        for annotation in record["annotations"]:
            content = annotation["annotationData"]["content"]
            form = json.loads(content) if isinstance(content, str) else content
            rows.add(
                item,
                annotation["workerId"],
                form_answers(form),
                more=record.get("dataObject"),
                what=f"object {item}",
            )
