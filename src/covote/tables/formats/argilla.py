"""Argilla: records with the responses of each user, of 2.x (``records.to_json``) and of 1.x; suggestions.

Format: https://docs.argilla.io/latest/reference/argilla/records/records (2.8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from covote.tables.formats.exported_answers import ExportedAnswers, Labelled


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record has fields and responses."""
    return "fields" in record and "responses" in record


def read(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
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


def records(labels: Iterable[Labelled], data: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
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
