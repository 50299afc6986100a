"""Label Studio 1.x: exports as JSON, JSON-MIN and CSV; predictions and labelling configurations to import.

Format: https://labelstud.io/guide/task_format and https://labelstud.io/guide/export (1.21).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from covote.tables.formats.exported_answers import ExportedAnswers

_AROUND = ("item", "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")
QUESTION, OBJECT = "label", "item"
"""Names of the question and of what it is about, in configurations that covote writes."""


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is a task with its annotations, or with predictions."""
    return "data" in record and ("annotations" in record or "predictions" in record)


def read(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the annotations; in a file without any, the predictions are the answers.

    The item is the field `item` of the task's data, if it has one, and else the number of the task: numbers
    change when tasks are imported again.
    """
    predictions = []
    for task in records:
        data = task["data"]
        what = f"task {task.get('id', rows.record)}"
        own = data["item"] if isinstance(data.get("item"), str | int | float) else None
        item = rows.named(own, task.get("id"))
        for annotation in task.get("annotations") or []:
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                rows.drop("cancelled annotation")
                continue
            by = annotation["completed_by"]
            expert = by.get("email") or by["id"] if isinstance(by, Mapping) else by
            rows.add(item, expert, _answers(annotation["result"], rows), more=data, what=what)
        for prediction in task.get("predictions") or []:
            if isinstance(prediction, int):  # a light export has their numbers only
                rows.drop("prediction")
            else:
                predictions.append((item, prediction, data, what))
    if rows.found:
        for _ in predictions:
            rows.drop("prediction")
        return
    for item, prediction, data, what in predictions:
        model = prediction.get("model_version") or "model"
        rows.add(
            item, model, _answers(prediction["result"], rows), prediction.get("score"), more=data, what=what
        )


def _answers(result: Sequence[Mapping[str, Any]] | None, rows: ExportedAnswers) -> dict[str, list[Any]]:
    """Return what was chosen in answer to each question of a form."""
    chosen: dict[str, list[Any]] = {}
    for region in result or []:
        if region["type"] == "choices":
            choices = region["value"]["choices"]
            chosen.setdefault(region["from_name"], []).extend(
                [choices] if isinstance(choices, str) else choices
            )
        else:
            rows.drop(f"{region['type']} result")
    return chosen


def fits_min(record: Mapping[str, Any]) -> bool:
    """Whether a record is one annotation, with the task's data and the answers side by side."""
    return "annotator" in record and "annotation_id" in record


def read_min(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the answers, which stand between the number of the task and the annotator; in CSV, anywhere."""
    for record in records:
        if record["annotation_id"] is None:
            rows.drop("unlabelled task")
            continue
        names = list(record)
        first, last = names.index("id"), names.index("annotator")
        questions = [name for name in (names[first:last] if first < last else names) if name not in _AROUND]
        answers = {name: _chosen(record[name]) for name in questions}
        data = {name: record[name] for name in names if name not in (*_AROUND, *questions)}
        rows.add(
            record.get("item", record["id"]),
            record["annotator"],
            answers,
            more=data,
            what=f"task {record['id']}",
        )


def _chosen(value: Any) -> Any:
    """Return what was chosen: of a group of choices, one is written as it is, and several as an object."""
    return value["choices"] if isinstance(value, Mapping) and "choices" in value else value


def tasks(
    answers: Iterable[tuple[Any, Sequence[tuple[str, str, float | None]]]],
    data: Mapping[str, Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield tasks to import: what is known of each item, and its predictions (model, label, score)."""
    for item, predictions in answers:
        yield {
            "data": {"item": item, **data.get(str(item), {})},
            "predictions": [
                {
                    "model_version": model,
                    **({} if score is None else {"score": score}),
                    "result": [
                        {
                            "from_name": QUESTION,
                            "to_name": OBJECT,
                            "type": "choices",
                            "value": {"choices": [label]},
                        }
                    ],
                }
                for model, label, score in predictions
            ],
        }


def configuration(classes: Sequence[str], shown: str = "item", tag: str = "Text") -> str:
    """Return a labelling configuration that offers these choices about a field of the task's data."""
    from xml.sax.saxutils import quoteattr  # loads urllib and the http client

    choices = "".join(f"    <Choice value={quoteattr(name)}/>\n" for name in classes)
    return (
        f"<View>\n  <{tag} name={quoteattr(OBJECT)} value={quoteattr('$' + shown)}/>\n"
        f'  <Choices name={quoteattr(QUESTION)} toName={quoteattr(OBJECT)} choice="single">\n'
        f"{choices}  </Choices>\n</View>\n"
    )
