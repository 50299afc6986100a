"""Argilla, doccano and Prodigy: exports of what people answered, and records with a label to review.

Formats: https://docs.argilla.io/latest/reference/argilla/records/records (2.8; 1.x is read, too),
https://doccano.github.io/doccano/tutorial (1.8, text and image classification),
https://prodi.gy/docs/api-interfaces (1.18, textcat with one label, and choices with options).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from covote.tables.formats.exported_answers import ExportedAnswers, Labelled

_VOID = {"ignore": "ignored answer", "reject": "rejected answer"}  # by Prodigy

# Argilla: records with the responses of each user


def fits_argilla(record: Mapping[str, Any]) -> bool:
    """Whether a record has fields and responses."""
    return "fields" in record and "responses" in record


def read_argilla(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the responses that were submitted; a user is named by an id."""
    for record in records:
        item = rows.named(record.get("id"), record.get("external_id"))
        for user, status, answers in _responses(record["responses"] or {}):
            if status not in (None, "submitted"):
                rows.drop(f"{status} response")
                continue
            rows.add(item, user, answers, more=record["fields"], what=f"record {item}")


def _responses(by_question: Any) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield user, status and the answer to each question; 2.x groups responses by question, 1.x by user."""
    if isinstance(by_question, list):
        for entry in by_question:
            answers = {question: response["value"] for question, response in (entry["values"] or {}).items()}
            yield entry["user_id"], entry.get("status"), answers
        return
    users: dict[tuple[str, int], tuple[str | None, dict[str, Any]]] = {}
    for question, responses in by_question.items():
        occurrence: Counter[str] = Counter()  # a user's second answer to a question is another answer
        for entry in responses:
            user = entry["user_id"]
            _, answers = users.setdefault((user, occurrence[user]), (entry.get("status"), {}))
            answers[question] = entry["value"]
            occurrence[user] += 1
    for (user, _), (status, answers) in users.items():
        yield user, status, answers


def argilla_records(
    labels: Iterable[Labelled], data: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield records for ``records.from_json`` of 2.x, with a suggestion for the question `label`."""
    for item, label, score in labels:
        suggestion = {"value": label, "score": score, "agent": "covote"}
        yield {
            "id": str(item),
            "fields": dict(data.get(str(item)) or {"text": str(item)}),
            "metadata": {},
            "suggestions": {} if label is None else {"label": suggestion},
            "responses": {},
            "vectors": {},
        }


# doccano: the lines of one member, in a file with the member's name, or a folder of such files


def fits_doccano(record: Any) -> bool:
    """Whether a record is a document with a list of labels."""
    return (
        isinstance(record, Mapping)
        and "id" in record
        and isinstance(record.get("label"), list)
        and ("text" in record or "filename" in record)
    )


def read_doccano(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the labels; the file bears the name of the member who gave them."""
    for document in records:
        if document["label"]:
            what = f"document {document['id']}"
            rows.add(document["id"], rows.file, document["label"], more=document, what=what)
        else:
            rows.drop("unlabelled document")


def doccano_documents(
    labels: Iterable[Labelled], data: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield documents to import; what is known of an item and is not its text becomes metadata there."""
    for item, label, score in labels:
        yield {
            "id": item,
            **(data.get(str(item)) or {"text": str(item)}),
            "label": [] if label is None else [label],
            **({} if score is None else {"score": score}),
        }


# Prodigy: the lines of db-out, one for each answer


def fits_prodigy(record: Mapping[str, Any]) -> bool:
    """Whether a record is an answer."""
    return "_input_hash" in record and "answer" in record


def read_prodigy(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
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


def prodigy_tasks(
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
