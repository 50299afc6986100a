"""Label Studio 1.x: exports as JSON and JSON-MIN; predictions and labelling configurations to import.

Format: https://labelstud.io/guide/task_format and https://labelstud.io/guide/export (1.21).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from covote.tables.formats.rows import Rows, one_of

_AROUND = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
QUESTION, OBJECT = "label", "item"
"""Names of the question and of what it is about, in configurations that covote writes."""


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is a task with its annotations, or with predictions."""
    return "data" in record and ("annotations" in record or "predictions" in record)


def read(records: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Add the annotations; in a file without any, the predictions are the answers.

    The item is the field `item` of the task's data, if it has one, and else the number of the task: numbers
    change when tasks are imported again.
    """
    predictions = []
    for task in records:
        data, number = task["data"], task.get("id", rows.record)
        item = data.get("item", number)
        for said in task.get("annotations") or []:
            if said.get("was_cancelled"):
                rows.drop("cancelled annotation")
                continue
            by = said["completed_by"]
            expert = by.get("email") or by["id"] if isinstance(by, Mapping) else by
            rows.add(item, expert, _labels(said["result"], number), more=data)
        for said in task.get("predictions") or []:
            if isinstance(said, int):  # a light export has their numbers only
                rows.drop("prediction")
                continue
            labels = _labels(said["result"], number)
            predictions.append((item, said["model_version"], labels, said.get("score"), data))
    if not rows.found:
        for answer in predictions:
            rows.add(*answer)
    else:
        for _ in predictions:
            rows.drop("prediction")


def _labels(result: Sequence[Mapping[str, Any]], number: Any) -> dict[str, str | None]:
    """Return the choice for each question of a form."""
    chosen: dict[str, list[Any]] = {}
    for region in result:
        if region["type"] == "choices":
            chosen.setdefault(region["from_name"], []).extend(region["value"]["choices"])
    return {name: one_of(choices, f"task {number}") for name, choices in chosen.items()}


def fits_min(record: Mapping[str, Any]) -> bool:
    """Whether a record is one annotation, with the task's data and the answers side by side."""
    return "annotator" in record and "annotation_id" in record


def read_min(records: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Add the answers, which stand between the number of the task and the annotator."""
    for said in records:
        names = list(said)
        answers = names[names.index("id") + 1 : names.index("annotator")]
        item = said.get("item", said["id"])
        labels = {name: _choice(said[name], said["id"]) for name in answers}
        data = {name: said[name] for name in names if name not in (*_AROUND, *answers)}
        rows.add(item, said["annotator"], labels, more=data)


def _choice(value: Any, number: Any) -> str | None:
    if isinstance(value, Mapping):
        return one_of(value["choices"], f"task {number}")
    return None if value in ("", None) else str(value)


def tasks(
    answers: Iterable[tuple[Any, Sequence[tuple[str, str, float | None]]]],
    data: Mapping[str, Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield tasks to import: what is known of each item, and its predictions (model, label, score)."""
    for item, said in answers:
        yield {
            "data": {"item": item, **data.get(str(item), {})},
            "predictions": [
                {
                    "model_version": model,
                    **({} if score is None else {"score": round(score, 6)}),
                    "result": [
                        {
                            "from_name": QUESTION,
                            "to_name": OBJECT,
                            "type": "choices",
                            "value": {"choices": [label]},
                        }
                    ],
                }
                for model, label, score in said
            ],
        }


def configuration(classes: Sequence[str], shown: str = "item", tag: str = "Text") -> str:
    """Return a labelling configuration that offers these choices about a field of the task's data."""
    choices = "".join(f"    <Choice value={quoteattr(name)}/>\n" for name in classes)
    return (
        f"<View>\n  <{tag} name={quoteattr(OBJECT)} value={quoteattr('$' + shown)}/>\n"
        f'  <Choices name={quoteattr(QUESTION)} toName={quoteattr(OBJECT)} choice="single">\n'
        f"{choices}  </Choices>\n</View>\n"
    )
